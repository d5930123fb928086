"""rowtui is killed with SIGKILL at every step: no job is lost, and none runs twice."""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.submission.plan.model import Plan

from tests.core.submission.bundled import in_lanes
from tests.core.submission.conftest import RealProject
from tests.eventually import eventually

NAMES = ["a", "b c", "d\udcff"]
# What changes a file or starts something. Before each of these the process may be killed.
STEPS = {
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.symlink",
    "subprocess.Popen",
    "os.posix_spawn",
    "os.fork",
}
WRITING = os.O_WRONLY | os.O_RDWR
AT_ONCE = 4  # projects that are brought to their end: most of it is waiting


def kill_before(step: int, where: Path) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook that kills this process before its step-th change below `where`."""
    own = os.getpid()
    below = os.fsencode(where)
    left = step

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if os.getpid() != own:
            return  # a process that it started: it goes on, as it would
        if event == "open":
            path, _, flags = arguments
            counts = isinstance(flags, int) and bool(flags & WRITING)
            counts = counts and isinstance(path, (str, bytes, os.PathLike))
            counts = counts and os.fsencode(path).startswith(below)
        else:
            counts = event in STEPS
        if counts:
            left -= 1
            if left == 0:
                os.kill(own, signal.SIGKILL)

    return hook


def in_a_child(where: Path, step: int, work: Callable[[], None]) -> bool:
    """Do the work in a child that is killed before its step; whether it was."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            sys.addaudithook(kill_before(step, where))
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


def nonce() -> str:
    """Jobs are ended with all that has their token, also elsewhere on this machine."""
    return secrets.token_hex(4)


def submit(real: RealProject, size: int) -> None:
    asyncio.run(real.submit(real.plan(nonce(), size)))


def carry_on(real: RealProject, plan: Plan) -> None:
    asyncio.run(real.submit(plan))


def look_again(real: RealProject) -> None:
    asyncio.run(real.settle())


async def finish(real: RealProject, size: int) -> None:
    """What people do afterwards: start again, submit what is left, wait."""
    await real.settle()
    await real.submit(real.plan(nonce(), size))
    await real.wait()
    await real.settle()


def finish_all(reals: Sequence[RealProject], size: int) -> None:
    """Each in a process of its own, as who starts rowtui again would do it."""
    children = []
    for real in reals:
        child = os.fork()
        if child == 0:
            status = 70
            try:
                asyncio.run(finish(real, size))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)


@pytest.mark.slow
def test_killed_at_any_change_of_a_file_every_directory_runs_once(tmp_path: Path) -> None:
    step, killed = 0, True
    while killed:
        some: dict[int, RealProject] = {}
        while killed and len(some) < AT_ONCE:
            step += 1
            root = tmp_path / str(step)
            real = RealProject(root / "project", NAMES, LocalScheduler(folder=root / "queue"))
            killed = in_a_child(root, step, functools.partial(submit, real, 2))
            some[step] = real
        finish_all([*some.values()], 2)

        for at, real in some.items():
            assert real.runs() == dict.fromkeys(NAMES, 1), f"killed before step {at}"
            assert real.state.completed["one"] == 0b111
            assert real.state.submitted == {}
            assert real.journal.open_plan_ids() == []
    assert step > 35


class Killing(LocalScheduler):
    """Ends its process when a second job is submitted."""

    submitted = 0

    async def submit(self, job: Any) -> Any:
        self.submitted += 1
        if self.submitted == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().submit(job)


@pytest.mark.slow
def test_killed_while_settling_every_directory_runs_once(tmp_path: Path) -> None:
    step, killed = 0, True
    while killed:
        some: dict[int, RealProject] = {}
        while killed and len(some) < AT_ONCE:
            step += 1
            root = tmp_path / str(step)
            real = RealProject(root / "project", NAMES, LocalScheduler(folder=root / "queue"))
            # Of three jobs one was sent, one was about to be, and one was only planned.
            real.scheduler = Killing(folder=root / "queue")
            assert in_a_child(root, 1 << 30, functools.partial(carry_on, real, real.plan(nonce())))
            real.scheduler = LocalScheduler(folder=root / "queue")

            killed = in_a_child(root, step, functools.partial(look_again, real))
            some[step] = real
        finish_all([*some.values()], 1)

        for at, real in some.items():
            assert real.runs() == dict.fromkeys(NAMES, 1), f"killed before step {at}"
            assert real.state.submitted == {}
            assert real.journal.open_plan_ids() == []
    assert step > 5


def test_killed_while_a_bundle_runs_inside_its_requests_are_not_free(tmp_path: Path) -> None:
    # given a rowtui that is killed while it runs a bundle: the bundle goes on
    real = RealProject(tmp_path / "project", NAMES, BashScheduler())
    real.with_command(
        "echo x >> workspace/{directory}/runs; touch began\n"
        "while [ ! -e go ]; do sleep 0.1; done; touch workspace/{directory}/out"
    )
    plan = in_lanes(real.plan(nonce()), 2)
    child = os.fork()
    if child == 0:
        try:
            carry_on(real, plan)
        finally:
            os._exit(70)
    eventually(lambda: sum(real.runs().values()) == 2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # when another one starts meanwhile, then none of its directories is free
    said = asyncio.run(real.settle())
    assert ["still running" in it.message for it in said] == [True] * 3
    assert real.plan("second").jobs == ()
    # and when it has ended, all are complete
    (real.root / "go").touch()
    ended = real.root / ".row/rowtui/ended"
    eventually(lambda: all((ended / job.token).exists() for job in plan.jobs))
    asyncio.run(real.settle())
    assert real.runs() == dict.fromkeys(NAMES, 1)
    assert real.state.completed["one"] == 0b111
    assert (real.state.submitted, real.state.ends) == ({}, {})


def test_killed_while_a_job_runs_inside_every_directory_runs_once(tmp_path: Path) -> None:
    # Given a rowtui that is killed while it runs a job itself: the job goes on.
    real = RealProject(tmp_path / "project", ["a", "b c"], BashScheduler())
    real.with_command(
        "echo x >> workspace/{directory}/runs; touch began\n"
        "while [ ! -e go ]; do sleep 0.1; done; touch workspace/{directory}/out"
    )
    plan = real.plan(nonce(), 2)
    child = os.fork()
    if child == 0:
        try:
            carry_on(real, plan)
        finally:
            os._exit(70)
    eventually((real.root / "began").exists)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    # When another one starts while the job still runs, then its directories are not free.
    (said,) = asyncio.run(real.settle())
    assert "still running" in said.message
    assert real.plan("second").jobs == ()

    # And when it has ended, they are complete.
    (real.root / "go").touch()
    eventually((real.root / ".row/rowtui/ended" / plan.jobs[0].token).exists)
    asyncio.run(real.settle())
    assert real.runs() == {"a": 1, "b c": 1}
    assert real.state.completed["one"] == 0b11
    assert real.state.submitted == {}
