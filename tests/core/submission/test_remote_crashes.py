"""rowtui is killed at every step of submitting held jobs over SSH, and of settling them.

Once with two jobs of which the first is sent alone, once with a bundle of several requests.

The steps are named here: whoever adds one to the protocol has to add it to its list, and is killed
after it from then on.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncssh  # noqa: F401  loaded once, not in every child
import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    SubmitResult,
)
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.submission.plan.model import JournalEntry, Plan, PlannedJob
from rowtui.core.submission.reconcile.reconcile import settle
from rowtui.core.submission.sending import carry_out as carrying_out
from rowtui.core.submission.sending.journal import RECORDED, RELEASED, Journal
from rowtui.core.submission.sending.reservations import ReservationRelease, StoredReservations
from rowtui.core.submission.sending.site import Access, LocalSite

from tests.core.submission.bundled import in_lanes
from tests.core.submission.conftest import RealProject
from tests.eventually import eventually, eventually_async
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmCluster

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

CLUSTER = Cluster(
    "alpha", Identify(always=True), "slurm", (Partition("cpu", memory_per_cpu_mb=60),)
)
NAMES = ["a", "b c"]  # a job for each; the first is sent alone
MEMBERS = ["a", "b c", "d", "e"]  # a request for each, in two lanes of one bundle

# Each of these changes something, or asks for what the next one rests on. To be killed before a
# step is to be killed after the one before it.
SUBMITTING = (
    "write the plan",
    "journal planned",
    "reserve",
    "journal sending",
    "reserve 2",
    "submit",
    "journal accepted",
    "journal sending 2",
    "reserve 3",
    "submit 2",
    "journal accepted 2",
    "record",
    "journal recorded",
    "find",
    "release",
    "journal released",
)
# Of a submission that was killed before its second job was sent: that one is looked for and sent
# again, the first is let go; then the second one is.
SETTLING = (
    "find",
    "reserve",
    "journal sending",
    "submit",
    "find 2",
    "reserve 2",
    "release",
    "record",
    "journal accepted",
    "find 3",
    "reserve 3",
    "release 2",
    "record 2",
    "journal released",
)
KILLED_SUBMISSION = "before submit 2"
# The same of a bundle, which is one job for the scheduler.
SUBMITTING_BUNDLE = tuple(
    step for step in SUBMITTING if step == "reserve 2" or not step.endswith((" 2", " 3"))
)
SETTLING_BUNDLE = (
    "find",
    "reserve",
    "journal sending",
    "submit",
    "record",
    "journal accepted",
    "find 2",
    "reserve 2",
    "release",
    "record 2",
    "journal released",
)
KILLED_BUNDLE = "before submit"
AT_ONCE = 4  # children: sshd drops logins when many come at once


def points(steps: Iterable[str]) -> list[str]:
    """Where to be killed: to be killed after a look is to be killed after the step before it."""
    return [f"after {step}" for step in steps if not step.startswith("find")]


class Steps:
    """Counts the steps; kills this process before or after one of them."""

    def __init__(self, kill: str = "") -> None:
        self.kill = kill
        self.taken: list[str] = []

    @contextmanager
    def step(self, name: str) -> Any:
        count = sum(taken.rstrip(" 0123456789") == name for taken in self.taken) + 1
        name = name if count == 1 else f"{name} {count}"
        self.taken.append(name)
        self.reached(f"before {name}")
        yield
        self.reached(f"after {name}")

    def reached(self, point: str) -> None:
        if point == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)


class SteppingJournal(Journal):
    def __init__(self, root: Path, steps: Steps) -> None:
        super().__init__(root)
        self.steps = steps

    def append(self, entries: Iterable[JournalEntry]) -> None:
        entries = list(entries)
        first = entries[0]
        word = first.detail if first.detail in (RECORDED, RELEASED) else first.step.value
        with self.steps.step(f"journal {word}"):
            super().append(entries)


class SteppingReservations(StoredReservations):
    def __init__(self, real: RealProject, steps: Steps) -> None:
        super().__init__(real.store)
        self.steps = steps

    def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
        with self.steps.step("reserve"):
            return super().reserve(jobs)

    def record(self, ids: Mapping[str, int]) -> None:
        if ids:
            with self.steps.step("record"):
                super().record(ids)

    def release(self, releases: Collection[ReservationRelease]) -> None:
        if releases:
            with self.steps.step("give back"):
                super().release(releases)


class SteppingScheduler(SlurmScheduler):
    def __init__(self, transport: AsyncsshTransport, steps: Steps) -> None:
        super().__init__("alpha", transport)
        self.steps = steps

    async def submit(self, job: JobSpec) -> SubmitResult:
        with self.steps.step("submit"):
            return await super().submit(job)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        with self.steps.step("find"):
            return await super().find(tokens)

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        with self.steps.step("cancel"):
            return await super().cancel(jobs)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        with self.steps.step("release"):
            return await super().release(jobs)


class Case:
    """One project and its plan, and what one process does with it."""

    def __init__(self, folder: Path, login: LoginNode, *, bundle: bool = False) -> None:
        self.names = MEMBERS if bundle else NAMES
        self.bundle = bundle
        self.real = RealProject(folder, self.names, SlurmScheduler("alpha"), CLUSTER)
        command = self.real.action.command
        self.real.with_command(f"while [ -e gate ]; do sleep 0.2; done; {command}")
        (folder / "gate").touch()  # until `finish` no job ends, however quick the cluster is
        self.login = login
        self.nonce = secrets.token_hex(6)
        self.plan = self.planned(self.nonce)

    def planned(self, nonce: str) -> Plan:
        """A plan for everything that is free."""
        plan = self.real.plan(nonce)
        return in_lanes(plan, 2) if self.bundle else plan

    @asynccontextmanager
    async def over_ssh(self, steps: Steps) -> AsyncIterator[SteppingScheduler]:
        target = SshTarget(self.login.name, config=(self.login.ssh_config,))
        transport = AsyncsshTransport(target, NoUser())
        try:
            yield SteppingScheduler(transport, steps)
        finally:
            await transport.close()

    async def submit(self, steps: Steps) -> None:
        real = self.real
        real.journal = SteppingJournal(real.root, steps)
        original = carrying_out.save_plan

        def save_plan(root: Path, plan: Plan) -> None:
            with steps.step("write the plan"):
                original(root, plan)

        carrying_out.save_plan = save_plan
        try:
            async with self.over_ssh(steps) as scheduler:
                real.scheduler = scheduler
                tools = real.tools()
                tools = carrying_out.Tools(
                    tools.access,
                    tools.journal,
                    SteppingReservations(real, steps),
                    real.root,
                    lookup_pause=0.0,
                )
                async for step in carrying_out.carry_out(self.plan, tools):
                    assert not step.error, step.error
        finally:
            carrying_out.save_plan = original

    async def settle_twice(self, steps: Steps) -> None:
        real = self.real
        async with self.over_ssh(steps) as scheduler:
            for _ in range(2):
                settled = await settle(
                    SteppingJournal(real.root, steps),
                    Access(scheduler, LocalSite(real.root)),
                    real.root,
                    reservations=SteppingReservations(real, steps),
                )
                real.synchronise()
                real.enter(settled, SteppingReservations(real, steps))


async def finish(cases: Sequence[Case], slurm: SlurmCluster) -> None:
    """What the next rowtui does: settle alone; people submit again what was given back."""
    for case in cases:
        (case.real.root / "gate").unlink()
        case.real.scheduler = SlurmScheduler("alpha")
        case.real.journal = Journal(case.real.root)
        await case.real.settle()
        again = case.planned(f"{case.nonce}z")
        await case.real.submit(again)
    waiting = list(cases)

    async def still_open() -> list[str]:
        for case in waiting:
            await case.real.settle()
        waiting[:] = [case for case in waiting if case.real.journal.open_plan_ids()]
        return [case.real.root.name for case in waiting]

    await eventually_async(still_open, lambda names: not names, every=0.1)
    # A job that wrote down its end is over for us, and has a moment to go for Slurm.
    await eventually_async(
        lambda: slurm.run("squeue -h -o '%T %k'").stdout,
        lambda queue: not any(case.nonce in queue for case in cases),
        every=0.1,
    )
    for case in cases:
        point = case.real.root.name
        assert case.real.runs() == dict.fromkeys(case.names, 1), point
        assert case.real.state.completed["one"] == case.real.state.everything, point
        assert (case.real.state.submitted, case.real.state.ends) == ({}, {}), point


def in_children(cases: Sequence[tuple[Case, str]], work: Callable[[Case, Steps], Any]) -> None:
    """Do the work of each case in a process of its own that is killed at its point."""
    left = list(cases)
    missed: list[str] = []
    running: dict[int, str] = {}
    while left or running:
        while left and len(running) < AT_ONCE:
            case, point = left.pop(0)
            child = os.fork()
            if child == 0:
                try:
                    asyncio.run(work(case, Steps(point)))
                finally:
                    os._exit(70)
            running[child] = point
        pid, status = os.waitpid(-1, 0)
        if pid in running:
            point = running.pop(pid)
            if not os.WIFSIGNALED(status):
                missed.append(point)
    assert not missed, f"{', '.join(missed)} not reached"


@pytest.fixture
def slurm_here(slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return slurm


@pytest.mark.parametrize(
    ("bundle", "submitting", "settling", "killed"),
    [
        pytest.param(False, SUBMITTING, SETTLING, KILLED_SUBMISSION, id="jobs"),
        pytest.param(True, SUBMITTING_BUNDLE, SETTLING_BUNDLE, KILLED_BUNDLE, id="bundle"),
    ],
)
def test_the_steps_of_submitting_and_of_settling_are_these(
    bundle: bool,
    submitting: tuple[str, ...],
    settling: tuple[str, ...],
    killed: str,
    slurm_here: SlurmCluster,
    login: LoginNode,
    tmp_path: Path,
) -> None:
    case = Case(tmp_path / "undisturbed", login, bundle=bundle)
    steps = Steps()
    asyncio.run(case.submit(steps))
    assert tuple(steps.taken) == submitting

    other = Case(tmp_path / "killed", login, bundle=bundle)
    in_children([(other, killed)], Case.submit)
    steps = Steps()
    asyncio.run(other.settle_twice(steps))
    assert tuple(steps.taken) == settling

    asyncio.run(finish([case, other], slurm_here))


def test_killed_after_each_step_of_submitting_every_directory_runs_once(
    slurm_here: SlurmCluster, login: LoginNode, tmp_path: Path
) -> None:
    cases = [
        (Case(tmp_path / point, login), point)
        for point in [f"before {SUBMITTING[0]}", *points(SUBMITTING)]
    ]

    in_children(cases, Case.submit)

    asyncio.run(finish([case for case, _ in cases], slurm_here))


def test_killed_after_each_step_of_settling_every_directory_runs_once(
    slurm_here: SlurmCluster, login: LoginNode, tmp_path: Path
) -> None:
    cases = [
        (Case(tmp_path / point, login), point)
        for point in [f"before {SETTLING[0]}", *points(SETTLING)]
    ]
    in_children([(case, KILLED_SUBMISSION) for case, _ in cases], Case.submit)

    in_children(cases, Case.settle_twice)

    asyncio.run(finish([case for case, _ in cases], slurm_here))


def test_killed_after_each_step_every_request_of_a_bundle_runs_once(
    slurm_here: SlurmCluster, login: LoginNode, tmp_path: Path
) -> None:
    submitted, settled = (
        [
            (Case(tmp_path / f"{folder} {point}", login, bundle=True), point)
            for point in points(steps)
        ]
        for folder, steps in (("submit", SUBMITTING_BUNDLE), ("settle", SETTLING_BUNDLE))
    )
    in_children([(case, KILLED_BUNDLE) for case, _ in settled], Case.submit)

    in_children(submitted, Case.submit)
    in_children(settled, Case.settle_twice)

    asyncio.run(finish([case for case, _ in (*submitted, *settled)], slurm_here))


def test_killed_while_its_sbatch_is_on_its_way_what_comes_late_is_taken_away(
    slurm_here: SlurmCluster, login: LoginNode, tmp_path: Path
) -> None:
    case = Case(tmp_path / "late", login)
    slow = tmp_path / "slow"
    gate = tmp_path / "gate"
    # An sbatch that waits on the login node; whoever sent it is killed meanwhile.
    slow.write_text(
        f"#!/bin/sh\ntouch {gate}.there\nwhile [ ! -e {gate} ]; do sleep 0.02; done\n"
        f'exec "$@" > {gate}.id\n'
    )
    slow.chmod(0o755)

    class Late(AsyncsshTransport):
        async def run(self, argv: Sequence[str], **rest: Any) -> Any:
            if argv[0] == "sbatch":
                argv = [str(slow), *argv]
            return await super().run(argv, **rest)

    async def send(case: Case, steps: Steps) -> None:
        transport = Late(SshTarget(login.name, config=(login.ssh_config,)), NoUser())
        case.real.scheduler = SlurmScheduler("alpha", transport)
        await case.real.submit(case.plan)

    child = os.fork()
    if child == 0:
        try:
            asyncio.run(send(case, Steps()))
        finally:
            os._exit(70)
    eventually(Path(f"{gate}.there").exists)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    # The next one sends it again under the same token; then the first arrives after all.
    asyncio.run(case.real.settle())
    gate.touch()
    written = Path(f"{gate}.id")
    late = int(eventually(lambda: written.exists() and written.read_text().strip()))
    found = asyncio.run(case.real.scheduler.find([case.plan.jobs[0].token]))
    assert found is not None
    assert [job.id for job in found[case.plan.jobs[0].token]][-1] == late

    asyncio.run(finish([case], slurm_here))
    left = asyncio.run(case.real.scheduler.find([case.plan.jobs[0].token]))
    assert left is not None
    assert {job.state for job in left[case.plan.jobs[0].token] if job.id == late} == {
        JobState.CANCELLED
    }
