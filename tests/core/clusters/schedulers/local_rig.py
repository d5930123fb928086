"""A real local queue in a temporary folder, waiting by inotify, and no process left behind."""

from __future__ import annotations

import ctypes
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

from rowtui.core.clusters.schedulers.base import Accepted, Job, JobSpec
from rowtui.core.clusters.schedulers.local.processes import (
    ProcessIdentity,
    identify_process,
    processes_of_job,
    signal_process,
)
from rowtui.core.clusters.schedulers.local.queue import LocalQueue
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler

from tests.eventually import eventually

PATIENCE = 30.0
_CHANGES = 0x2 | 0x8 | 0x80 | 0x100 | 0x200  # modify, close_write, moved_to, create, delete


def wait_until(told: Callable[[], bool], *folders: Path) -> None:
    """Return when `told()` holds, asked again at every change in `folders`."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def after_a_change() -> bool:
        if told():
            return True
        if select.select([fd], [], [], 1)[0]:
            os.read(fd, 1 << 16)
        return False

    try:
        for folder in folders:
            assert libc.inotify_add_watch(fd, os.fsencode(folder), _CHANGES) >= 0, folder
        eventually(after_a_change, within=PATIENCE, every=0, what=told)
    finally:
        os.close(fd)


def wait_for_process(identity: ProcessIdentity) -> None:
    """Return when the process has ended."""
    try:
        fd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    try:
        if identify_process(identity.pid) == identity:
            assert select.select([fd], [], [], PATIENCE)[0], "a process did not end"
    finally:
        os.close(fd)


class LocalRig:
    """A queue, its scheduler, and a place for jobs to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "queue"
        self.work = folder / "work"
        self.work.mkdir()
        self.scheduler = LocalScheduler(folder=self.folder, kill_seconds=0.5)
        self.queue = LocalQueue(self.folder)
        self.tokens: list[str] = []

    def spec(self, script: str, token: str = "", **more: object) -> JobSpec:
        token = token or f"token-{len(self.tokens)}-{self.folder}"
        self.tokens.append(token)
        given = {"workdir": self.work, "log_path": "job-%j.out", "name": "test", **more}
        return JobSpec(token=token, script=script, **given)  # type: ignore[arg-type]

    def submit(self, script: str, token: str = "", **more: object) -> int:
        result = self.scheduler.submit_now(self.spec(script, token, **more))
        assert isinstance(result, Accepted), result
        return result.job_id

    async def jobs(self) -> dict[int, Job]:
        snapshot = await self.scheduler.queue()
        assert not snapshot.error
        return {job.id: job for job in snapshot.jobs}

    async def ended(self, *numbers: int) -> list[Job]:
        """The jobs, when they have all ended."""
        for number in numbers:
            folder = self.folder / "jobs" / str(number)
            wait_until((folder / "end").exists, folder)
        jobs = await self.jobs()
        return [jobs[number] for number in numbers]

    def wait_for(self, name: str) -> str:
        """The first full line of a file in the jobs' place, when it is there."""
        path = self.work / name
        wait_until(lambda: path.exists() and "\n" in path.read_text(), self.work)
        return path.read_text()

    def processes(self) -> list[ProcessIdentity]:
        """The supervisor and the keepers of this queue."""
        mark = os.fsencode(self.folder)
        found = []
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) != os.getpid():
                try:
                    line = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                identity = identify_process(int(name))
                if mark in line and identity:
                    found.append(identity)
        return found

    def supervisor(self) -> ProcessIdentity:
        """The process that holds the lock, once it is there: it is started by another one."""

        def found() -> list[ProcessIdentity]:
            claims = map(self.queue.read_claim, self.queue.ids())
            keepers = {claim.pid for claim in claims if claim is not None}
            return [process for process in self.processes() if process.pid not in keepers]

        (supervisor,) = eventually(found, lambda processes: len(processes) == 1)
        return supervisor

    def close(self) -> None:
        """End every process that this queue started, by its id."""
        for process in self.processes():
            signal_process(process, signal.SIGKILL)
            wait_for_process(process)
        for token in set(self.tokens):
            for process in processes_of_job(token, None, self.folder):
                signal_process(process, signal.SIGKILL)
                wait_for_process(process)
        assert not self.processes()
