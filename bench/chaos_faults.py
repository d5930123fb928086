"""The faults of `python -m bench.chaos`, at random moments, and the outcome of a seed."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from rowtui.core.clusters.schedulers.base import Job, JobSpec, SubmitResult
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from bench.remote import URGENT, ProjectsHere, RemoteProjects

Projects = RemoteProjects | ProjectsHere

BETWEEN_FAULTS = (0.2, 1.5)  # seconds of peace, at least and at most
FROZEN = (0.3, 3.5)  # seconds; clients give up after 2 (MessageTimeout)
DEAF = (0.1, 1.0)  # seconds without a listener
DEAD = (0.0, 1.0)  # seconds without a controller
NO_DISK = (0.3, 3.0)  # seconds with a full or read-only disk
LOST_SHARE = 0.1  # of rowtui's files, each time
DISK = "48m"  # the size of the project's file system
QUEUED = 3.0  # seconds in which a job is to be seen in the queue before its journal is removed
NEW_NAMESPACE = 0x00020000  # CLONE_NEWNS


@dataclass
class Outcome:
    """What became of the directories of one seed, and what was done to them."""

    seed: int
    arrays: bool
    crashes: bool
    jobs: int
    packs: bool = False
    cluster: str = "slurm"
    damage: bool = False
    disk: bool = False
    journal: bool = False
    preempt: str = ""  # what Slurm does with preempted jobs: CANCEL or REQUEUE
    submitters: int = 1
    bundles: int = 0  # that were planned
    packed: int = 0  # requests in them
    faults: dict[str, int] = field(default_factory=dict)
    once: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # what stayed held, waiting or reserved
    forgotten: list[str] = field(default_factory=list)  # completed directories that ceased to be
    errors: list[str] = field(default_factory=list)  # exceptions that no user may see
    by_hand: int = 0  # times that a person had to delete a damaged file
    stopped: str = ""  # the message of a seed that ended because its journal was removed
    sent_again: int = 0  # submissions of a job or array after its first
    planned_again: int = 0  # jobs given back or failed, and planned anew
    plans: int = 0
    seconds: float = 0.0

    @property
    def well(self) -> bool:
        """Whether every directory ran exactly once and nothing is left over.

        Without its journal, a seed may also stop sending, with a message.
        """
        wrong = self.twice or self.forgotten or self.errors or self.by_hand
        ended = self.once == self.jobs and not (self.lost or self.left)
        return not wrong and (ended or bool(self.stopped))


def mount(*arguments: str) -> None:
    """Run `mount`, as root."""
    subprocess.run(["mount", *arguments], check=True)


def own_namespace() -> None:
    """Keep the mounts of this process and its children from all others. Raises: SystemExit."""
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_NAMESPACE):
        raise SystemExit(f"--disk mounts file systems: {os.strerror(ctypes.get_errno())}; be root")
    mount("--make-rprivate", "/")


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A small file system of its own at this folder, while the block lasts."""
    folder.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", f"size={DISK}", "rowtui-chaos", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Clock:
    """The clock of this process, which may be wrong from `begin` to `end`."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._right = time.time

    def begin(self) -> None:
        """Be asked in place of the right clock."""
        time.time = self  # type: ignore[assignment]

    def end(self) -> None:
        """Leave the process its right clock."""
        self.offset = 0.0
        time.time = self._right

    def __call__(self) -> float:
        return self._right() + self.offset


CLOCK = Clock()


class Chaos:
    """Faults at random moments, in a thread, until there were enough or all is done."""

    def __init__(
        self,
        here: Projects,
        folder: Path,
        outcome: Outcome,
        faults: int,
        completed: Callable[[], int],
        talk: Callable[[str], None],
    ) -> None:
        self.here = here
        self.folder = folder
        self.outcome = outcome
        self.completed = completed  # directories that were seen to be completed
        self.talk = talk
        seed, crashes = outcome.seed, outcome.crashes
        self.chance = random.Random(seed)
        self.left = faults
        self.done = threading.Event()
        self.happened: Counter[str] = Counter()
        self.error: BaseException | None = None
        self.journal_removed = False
        self._thread = threading.Thread(target=self._run)
        self.kinds: list[Callable[[], None]] = []
        # The journal of an unfinished submission and the queue are the two witnesses of what was
        # sent. A seed takes one of them away, never both.
        self.contradicts = isinstance(here, RemoteProjects) and seed % 2 == 1
        if isinstance(here, RemoteProjects):
            self.kinds += [self.cut, self.deafen, self.freeze, self.both]
            self.kinds += [self.crash] * crashes
        if outcome.damage:
            self.kinds += [self.lose, self.damage_rows, self.damage_usage, self.set_clock]
            self.kinds += [self.damage_before_readers]
            self.kinds += [self.contradict] * self.contradicts
        if outcome.disk:
            self.kinds += [self.fill_disk, self.read_only]
        if outcome.preempt:
            self.kinds += [self.preempt] * 2
        self.removes_journal = outcome.journal and not self.contradicts
        if self.removes_journal:
            self.kinds.append(self.remove_journal)

    def __enter__(self) -> Self:
        CLOCK.begin()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._thread.join()
        CLOCK.end()
        if isinstance(self.here, RemoteProjects):
            self.here.login.clean()
            if self.here.cluster.controller.alive:
                self.here.cluster.continue_controller()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while (
                self.left
                and self.kinds
                and not self.done.wait(self.chance.uniform(*BETWEEN_FAULTS))
            ):
                fault = self.chance.choice(self.kinds)
                self.happened[fault.__name__] += 1
                self.left -= 1
                self.talk(f"--- {fault.__name__}")
                fault()
        except BaseException as error:
            self.error = error

    @property
    def remote(self) -> RemoteProjects:
        assert isinstance(self.here, RemoteProjects)
        return self.here

    def cut(self) -> None:
        self.remote.login.cut()

    def deafen(self) -> None:
        self.remote.login.kill()
        if self.chance.random() < 0.5:
            self.remote.login.cut()
        time.sleep(self.chance.uniform(*DEAF))
        self.remote.login.restart()

    def freeze(self, *, cut: bool = False) -> None:
        controller = self.remote.cluster.controller
        seconds = self.chance.uniform(*FROZEN)
        controller.stop()
        if cut:
            time.sleep(seconds * self.chance.random())
            self.remote.login.cut()
        time.sleep(seconds)
        controller.go_on()

    def both(self) -> None:
        self.freeze(cut=True)

    def crash(self) -> None:
        cluster = self.remote.cluster
        cluster.kill_controller()
        time.sleep(self.chance.uniform(*DEAD))
        cluster._start_controller(fresh=False)  # the nodes go on meanwhile

    def lose(self) -> None:
        """Delete some of rowtui's own files.

        Open journals only where squeue is right: without both nothing shows what was sent.
        """
        ours = self.folder / ".row/rowtui"
        for path in sorted(path for path in ours.rglob("*") if not path.is_dir()):
            if self.contradicts and path.parent == ours / "journal":
                continue
            if self.chance.random() < LOST_SHARE:
                path.unlink(missing_ok=True)

    def damage_rows(self) -> None:
        """Cut one of Row's files, empty it, or put other bytes or a folder in its place."""
        name = self.chance.choice(["completed.postcard", "submitted.postcard", "directories.json"])
        path = self.folder / ".row" / name
        try:
            data = path.read_bytes()
            how = self.chance.randrange(4)
            if how == 3:
                path.unlink()
                path.mkdir()
            else:
                path.write_bytes((data[: len(data) // 2], b"", self.chance.randbytes(50))[how])
        except OSError:
            pass  # it is not there right now

    def damage_usage(self) -> None:
        """Cut a file of what jobs used, empty it, put other bytes in it, or remove them all."""
        for path in sorted((self.folder / ".row/rowtui/usage").glob("*")):
            try:
                data = path.read_bytes()
                how = self.chance.randrange(4)
                if how == 3:
                    path.unlink()
                else:
                    path.write_bytes((data[: len(data) // 2], b"", self.chance.randbytes(80))[how])
            except OSError:
                pass  # it is not there right now

    def damage_before_readers(self) -> None:
        """Put random bytes into Row's completions, and have two new processes read them at once."""
        before = self.completed()
        with contextlib.suppress(OSError):
            path = self.folder / ".row/completed.postcard"
            path.write_bytes(self.chance.randbytes(50))
        program = str(Path(sys.executable).with_name("rowtui"))
        command = [program, "show", "status", "--all", "--json", "--cluster", self.here.name]
        environment = os.environ | {"XDG_CONFIG_HOME": str(self.folder / "config")}
        readers = [
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        for reader in readers:
            out, complaints = reader.communicate(timeout=60)
            if reader.returncode:
                self.outcome.errors.append(f"show status: {complaints.strip()}")
            elif (now := json.loads(out)["actions"][0]["completed"]) < before:
                self.outcome.forgotten.append(f"show status: {now} completed, {before} before")

    def remove_journal(self) -> None:
        """Remove the journal while jobs are queued, once."""
        end = time.monotonic() + QUEUED
        while not self.here.waiting():
            if time.monotonic() > end or self.done.wait(0.01):
                self.happened["remove_journal"] -= 1
                return
        self.kinds.remove(self.remove_journal)
        self.journal_removed = True
        shutil.rmtree(self.folder / ".row/rowtui/journal", ignore_errors=True)

    def fill_disk(self) -> None:
        """Leave no byte of the project's file system free for a while."""
        path = self.folder / "fill"
        try:
            with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1 << 16)):
                    pass
            time.sleep(self.chance.uniform(*NO_DISK))
        finally:
            path.unlink(missing_ok=True)

    def read_only(self) -> None:
        """Let all new accesses to the project find a read-only file system for a while."""
        aside = self.folder.with_name("read-only")  # it can only be made so where nothing writes
        aside.mkdir(exist_ok=True)
        mount("--bind", str(self.folder), str(aside))
        mount("-o", "remount,bind,ro", str(aside))
        mount("--move", str(aside), str(self.folder))
        time.sleep(self.chance.uniform(*NO_DISK))
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def preempt(self) -> None:
        """Take all nodes for a moment with jobs of more importance."""
        options = f"-p {URGENT} -N2 --exclusive --mem=0 -t 1 --no-requeue -o /dev/null"
        options += " --wrap 'sleep 0.5'"
        self.remote.cluster.run(f"sbatch {options}", check=False)

    def set_clock(self) -> None:
        """Set this machine's clock, as rowtui sees it."""
        CLOCK.offset = self.chance.choice([0.0, -86400.0, -120.0, 30.0, 3600.0, 30 * 86400.0])

    def contradict(self) -> None:
        """For a while squeue shows only some of the jobs, and says that these are all."""
        original = SlurmScheduler._jobs

        async def some(scheduler: SlurmScheduler, *options: str) -> tuple[list[Job], str]:
            jobs, complaints = await original(scheduler, *options)
            return [job for job in jobs if self.chance.random() < 0.5], complaints

        SlurmScheduler._jobs = some  # type: ignore[method-assign]
        time.sleep(self.chance.uniform(*FROZEN))
        SlurmScheduler._jobs = original  # type: ignore[method-assign]


class Counting:
    """Counts how often each job or array was handed to Slurm."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()
        original = SlurmScheduler.submit

        async def submit(scheduler: SlurmScheduler, job: JobSpec) -> SubmitResult:
            self.sent[job.token] += 1
            return await original(scheduler, job)

        self._restore = lambda: setattr(SlurmScheduler, "submit", original)
        SlurmScheduler.submit = submit  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    @property
    def again(self) -> int:
        return sum(count - 1 for count in self.sent.values())
