"""Pilots hold an allocation and run what is handed to them while they go on."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Launchers, Partition
from rowtui.core.clusters.schedulers.base import JobKey, JobState
from rowtui.core.clusters.schedulers.local import LocalScheduler
from rowtui.core.clusters.schedulers.local_machine import user_name
from rowtui.core.clusters.schedulers.slurm import SlurmScheduler
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import Nobody, SshTarget
from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import Group
from rowtui.core.grouping.request import job_requests
from rowtui.core.state.model import positions
from rowtui.core.submission import carry_out as carrying_out
from rowtui.core.submission.journal import job_records
from rowtui.core.submission.model import Plan, PlannedJob, Step
from rowtui.core.submission.pilot import IntoPilot, start_pilot
from rowtui.core.submission.pilot_model import Allocation, is_in_pilot
from rowtui.core.submission.pilot_spool import Look, hand_over, look_at, take_numbers
from rowtui.core.submission.plan import Setting, make_plan
from rowtui.core.submission.site import Access, LocalSite, RemoteSite, Site
from rowtui.core.workflow.model import Resources, Walltime, Workflow

from tests.core.submission.conftest import RealProject
from tests.core.submission.test_remote_crashes import (
    SteppingJournal,
    SteppingReservations,
    Steps,
)
from tests.rig.login import LoginNode
from tests.rig.processes import wait_until
from tests.rig.slurm import SlurmCluster

NAMES = ("a", "b c", "$(touch pwned)", "d", "e")
ALPHA = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu", memory_per_cpu_mb=10),))
SMALL = Allocation(cpus=2, memory_mb=500, gpus=0, seconds=600, idle_seconds=1)


class Piloted(RealProject):
    """A project with a pilot; `go` files let commands end."""

    pilot: PlannedJob
    pilot_plan: Plan
    site: Site | None = None

    @property
    def access(self) -> Access:
        return Access(self.scheduler, self.site or LocalSite(self.root))

    async def start(self, allocation: Allocation = SMALL) -> None:
        partition = "cpu" if self.cluster.scheduler == "slurm" else ""
        self.pilot_plan = start_pilot(
            allocation,
            self.cluster,
            partition,
            created="2026-01-01T00:00:00Z",
            user=user_name(),
            nonce=secrets.token_hex(4),
        )
        (self.pilot,) = self.pilot_plan.jobs
        progress = await self.submit(self.pilot_plan)
        assert [step.error for step in progress if step.error] == []

    def for_pilot(self, *names: str, cpus: int = 1, seconds: int = 60) -> Plan:
        """A plan that hands these directories over, each as a request."""
        action = self.action._replace(
            resources=Resources(
                threads_per_process=cpus, walltime=Walltime(seconds, per_directory=False)
            )
        )
        state = self.state
        positions = [state.directories.position(name) for name in names]
        groups = [Group(action, (at,)) for at in positions if at is not None]
        setting = Setting(
            self.cluster,
            Launchers({}),
            "2026-01-01T00:00:00Z",
            user_name(),
            secrets.token_hex(4),
            pack=IntoPilot(self.pilot, partial(take_numbers, self.root, self.pilot.token)),
        )
        workflow = Workflow(self.root, actions=(action,))
        return make_plan(workflow, job_requests(groups), state.directories, setting)

    async def hand(self, *names: str, cpus: int = 1) -> Plan:
        plan = self.for_pilot(*names, cpus=cpus)
        assert all(is_in_pilot(job.token) for job in plan.jobs)
        progress = await self.submit(plan)
        assert [step.error for step in progress if step.error] == []
        return plan

    async def until(self, holds: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + 40
        while not holds():
            assert time.monotonic() < deadline, what
            await self.settle()
            await asyncio.sleep(0.1)

    async def over(self) -> None:
        """Until everything is settled, the pilot too."""
        await self.until(lambda: not self.journal.open_plan_ids(), f"the end: {self.logs()}")

    def logs(self) -> str:
        found = self.root.glob("rowtui-pilot-*.out")
        return "".join(path.read_text(errors="replace") for path in found)

    def ran(self, *names: str) -> bool:
        return all(self.runs()[name] for name in names)

    def said(self, plan: Plan) -> dict[str, str]:
        return {
            it.directories[0]: f"{it.step.value}: {it.end_reason}"
            for it in job_records(plan, self.journal.entries(plan.id))
        }

    async def pilot_key(self) -> JobKey:
        found = await self.scheduler.find([self.pilot.token])
        assert found is not None
        return found[self.pilot.token][0].key

    async def look(self) -> Look:
        return (await look_at([self.pilot.token], self.access))[self.pilot.token]

    def wait_for_go(self) -> None:
        self.with_command(
            "echo x >> workspace/{directory}/runs; "
            "until [ -e go ]; do sleep 0.05; done; touch workspace/{directory}/out"
        )

    def go(self) -> None:
        (self.root / "go").touch()


@pytest.fixture(
    params=[
        "local",
        pytest.param("slurm", marks=[pytest.mark.slurm, pytest.mark.slow]),
    ]
)
def real(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Piloted:
    if request.param == "local":
        monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
        return Piloted(tmp_path / "pro ject", NAMES, LocalScheduler(folder=tmp_path / "queue"))
    slurm: SlurmCluster = request.getfixturevalue("slurm")
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return Piloted(tmp_path / "pro ject", NAMES, SlurmScheduler("alpha"), ALPHA)


# -- life ------------------------------------------------------------------------------------------


async def test_what_comes_while_it_runs_is_run_without_queueing(real: Piloted) -> None:
    await real.start(replace(SMALL, idle_seconds=3))
    first = await real.hand("a", "b c")
    await real.until(lambda: real.ran("a", "b c"), "the first")
    second = await real.hand("$(touch pwned)", "d", "e")
    await real.over()

    assert real.runs() == dict.fromkeys(NAMES, 1)
    assert real.state.completed["one"] == real.state.everything
    assert (real.state.submitted, real.state.failed) == ({}, {})
    records = [
        record
        for plan in (first, second, real.pilot_plan)
        for record in job_records(plan, real.journal.entries(plan.id))
    ]
    assert len({record.job_id for record in records}) == 1
    assert {record.step for record in records} == {Step.ENDED}
    assert [record.member for record in records] == [1, 2, 3, 4, 5, None]
    assert all((real.root / record.log_path).exists() for record in records)
    assert not list(real.root.glob(".row/rowtui/pilot/*/*.taken"))


async def test_a_request_starts_when_its_cores_are_free(real: Piloted) -> None:
    real.wait_for_go()
    await real.start()
    narrow = await real.hand("a")
    await real.until(lambda: real.ran("a"), "the first")
    wide = await real.hand("d", cpus=2)
    await real.hand("e")
    await real.until(lambda: real.ran("e"), "the one beside it")
    look = await real.look()
    assert look.state is not None
    assert (look.state.free_cpus, look.state.running, look.waiting) == (0, 2, 1)
    assert not real.ran("d")
    real.go()
    await real.over()
    assert real.runs() == {"a": 1, "d": 1, "e": 1, "b c": 0, "$(touch pwned)": 0}
    assert {*real.said(narrow).values(), *real.said(wide).values()} == {"ended: "}


async def test_one_that_fails_is_the_only_one_that_failed(real: Piloted) -> None:
    real.with_command(f"[ {{directory}} != a ] || exit 5; {real.action.command}")
    await real.start()
    plan = await real.hand("a", "d")
    await real.over()
    assert real.said(plan) == {"a": "ended: exit code 2: the command ended with 5", "d": "ended: "}
    assert real.runs()["d"] == 1
    assert next(iter(real.state.failed["one"].values())).token == plan.jobs[0].token


async def test_what_a_cancelled_pilot_had_not_begun_has_not_failed(real: Piloted) -> None:
    real.wait_for_go()
    await real.start(replace(SMALL, cpus=1))
    plan = await real.hand("a", "d", "e")
    await real.until(lambda: real.ran("a"), "the first")
    await real.scheduler.cancel([await real.pilot_key()])
    await real.over()
    said = real.said(plan)
    assert said["a"] == "ended: cancelled"
    assert {said[name].split(":")[0] for name in "de"} == {"abandoned"}
    assert len(real.state.failed["one"]) == 1
    assert (sum(real.runs().values()), real.state.submitted) == (1, {})


async def test_a_driver_that_was_killed_leaves_nothing_behind(real: Piloted) -> None:
    real.with_command(
        "echo x >> workspace/{directory}/runs; cat /proc/self/stat >/dev/null; sleep 1000"
    )
    await real.start(replace(SMALL, cpus=1))
    plan = await real.hand("a", "d")
    await real.until(lambda: real.ran("a"), "the first")
    os.kill(driver_of(real), signal.SIGKILL)
    await real.over()
    said = real.said(plan)
    assert said["a"].startswith("ended: ")
    assert said["a"] != "ended: "
    assert said["d"].startswith("abandoned")
    assert (sum(real.runs().values()), real.state.submitted) == (1, {})


def driver_of(real: Piloted) -> int:
    """The process of the pilot's script itself: its lanes come from it, and look like it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            above = Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")
            here = os.readlink(folder / "cwd") == str(real.root)
        except OSError:
            continue
        if here and words[0].endswith(b"bash") and words != above and b"rowtui." not in words[1]:
            found.append(int(folder.name))
    (driver,) = found
    return driver


# -- exactly once ----------------------------------------------------------------------------------


async def test_what_comes_when_it_has_ended_is_free_again(real: Piloted) -> None:
    await real.start(replace(SMALL, idle_seconds=0))
    await real.over()
    plan = real.for_pilot("a")
    progress = await real.submit(plan)
    assert "the pilot has ended" in progress[-1].error
    assert (real.steps(plan), real.state.submitted) == (["rejected"], {})


async def test_what_comes_while_it_closes_is_taken_back(real: Piloted) -> None:
    await real.start(replace(SMALL, idle_seconds=60))
    await real.until(lambda: real.logs() is not None and real_folder(real).exists(), "its begin")
    (real_folder(real) / "closed").touch()
    plan = real.for_pilot("a", "d")
    progress = await real.submit(plan)
    assert "the pilot has ended" in progress[-1].error
    assert not list(real_folder(real).glob("*.new"))
    assert (real.steps(plan), real.state.submitted) == (["rejected"] * 2, {})
    await real.scheduler.cancel([await real.pilot_key()])
    await real.over()


async def test_killed_after_it_was_put_there_or_before_it_runs_at_most_once(
    real: Piloted,
) -> None:
    real.wait_for_go()
    await real.start(replace(SMALL, cpus=1))
    plans = {}
    for name, steps in (("a", "before"), ("d", "after"), ("e", "before")):
        plan = plans[name] = real.for_pilot(name)
        assert os.WIFSIGNALED(await asyncio.to_thread(in_child, real, plan, steps))
    # Not settled before: what did not begin is given back then.
    await asyncio.to_thread(wait_until, lambda: real.ran("d"), "what was put there")
    await real.settle()
    real.go()
    assert real.steps(plans["a"]) == real.steps(plans["e"]) == ["abandoned"]
    await real.hand("a", "e")
    await real.over()
    assert real.runs() == {"a": 1, "d": 1, "e": 1, "b c": 0, "$(touch pwned)": 0}
    assert real.state.submitted == {}


def in_child(real: Piloted, plan: Plan, when: str) -> int:
    child = os.fork()
    if child == 0:
        asyncio.run(killed(real, plan, when))
    return os.waitpid(child, 0)[1]


async def killed(real: Piloted, plan: Plan, when: str) -> None:
    """Hand over, and be killed before or after the files are there."""
    from rowtui.core.submission import pilot_spool

    async def then(jobs: Sequence[PlannedJob], access: object) -> object:
        if when == "after":
            await hand_over(jobs, access)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    pilot_spool.hand_over = then  # type: ignore[assignment]
    try:
        await real.submit(plan)
    finally:
        os._exit(70)


def real_folder(real: Piloted) -> Path:
    return real.root / ".row/rowtui/pilot" / real.pilot.token


# Each step of handing over that changes something.
STEPS = (
    "write the plan",
    "journal planned",
    "reserve",
    "journal sending",
    "journal accepted",
    "record",
    "journal recorded",
    "journal released",
)


async def test_killed_after_each_step_of_handing_over_every_directory_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: SlurmCluster
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    names = [f"p{at}" for at in range(len(STEPS) + 1)]
    real = Piloted(tmp_path / "project", names, SlurmScheduler("alpha"), ALPHA)
    await real.start(replace(SMALL, idle_seconds=4))
    # undisturbed: these are the steps
    steps = Steps()
    await stepping(real, real.for_pilot(names[-1]), steps)
    assert tuple(steps.taken) == STEPS
    for name, step in zip(names, STEPS, strict=False):
        plan = real.for_pilot(name)
        assert os.WIFSIGNALED(await asyncio.to_thread(in_child_at, real, plan, f"after {step}"))

    await real.settle()
    await real.settle()
    left = [name for name in names if not real.ran(name)]
    free = [name for name in left if real.state.directories.position(name) in given_back(real)]
    if free:
        await real.hand(*free)
    await real.over()
    assert real.runs() == dict.fromkeys(names, 1)
    assert real.state.completed["one"] == real.state.everything
    assert (real.state.submitted, real.state.failed) == ({}, {})


def given_back(real: Piloted) -> set[int]:
    taken = real.state.completed["one"] | real.state.submitted_set("one")
    return set(positions(real.state.everything & ~taken))


def in_child_at(real: Piloted, plan: Plan, point: str) -> int:
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(stepping(real, plan, Steps(point)))
        finally:
            os._exit(70)
    return os.waitpid(child, 0)[1]


async def stepping(real: Piloted, plan: Plan, steps: Steps) -> None:
    original = carrying_out.save_plan

    def save_plan(root: Path, plan: Plan) -> None:
        with steps.step("write the plan"):
            original(root, plan)

    carrying_out.save_plan = save_plan
    tools = replace(
        real.tools(),
        journal=SteppingJournal(real.root, steps),
        reservations=SteppingReservations(real, steps),
    )
    try:
        async for step in carrying_out.carry_out(plan, tools):
            assert not step.error, step.error
    finally:
        carrying_out.save_plan = original


async def test_requests_reach_a_pilot_of_a_copy_over_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: SlurmCluster, login: LoginNode
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    real = Piloted(tmp_path / "pro ject", NAMES, SlurmScheduler("alpha"), ALPHA)
    transport = AsyncsshTransport(SshTarget(login.name, config=(login.ssh_config,)), Nobody())
    real.scheduler = SlurmScheduler("alpha", transport)
    real.site = RemoteSite(transport, real.root)
    try:
        await real.start()
        plan = await real.hand(*NAMES)
        await real.over()
    finally:
        await transport.close()
    assert set(real.said(plan).values()) == {"ended: "}
    assert real.runs() == dict.fromkeys(NAMES, 1)


# -- what it cannot take ---------------------------------------------------------------------------


async def test_what_does_not_fit_into_it_goes_alone(real: Piloted) -> None:
    await real.start(replace(SMALL, idle_seconds=0))
    for rest, why in (
        ({"cpus": 3}, "the pilot has 2 cores"),
        ({"seconds": 1000}, "the pilot has 555 s left"),
    ):
        plan = real.for_pilot("a", **rest)
        assert plan.jobs[0].bundle is None
        assert plan.warnings == (f"pilot: 1 job goes alone: {why}",)
    await real.over()


async def test_what_does_not_fit_into_the_time_left_is_given_back_at_once(real: Piloted) -> None:
    await real.start(replace(SMALL, seconds=120, idle_seconds=3))
    plan = real.for_pilot("a", "d", seconds=60)
    assert plan.jobs[0].bundle is not None
    late = replace(plan.jobs[1].bundle, own_seconds=500)
    jobs = (plan.jobs[0], replace(plan.jobs[1], bundle=late))
    from rowtui.core.submission.plan_json import plan_id

    plan = replace(plan, jobs=jobs)
    plan = replace(plan, id=plan_id(plan))
    await real.submit(plan)
    await real.until(lambda: real.steps(plan)[1] == "abandoned", "it to be given back")
    snapshot = await real.scheduler.queue()
    states = {job.state for job in snapshot.jobs if job.token == real.pilot.token}
    assert states == {JobState.RUNNING}
    await real.over()
    assert real.runs()["d"] == 0


def test_numbers_are_given_once(tmp_path: Path) -> None:
    assert list(take_numbers(tmp_path, "t", 3)) == [1, 2, 3]
    assert list(take_numbers(tmp_path, "t", 2)) == [4, 5]
    assert list(take_numbers(tmp_path, "other", 1)) == [1]


def test_a_pilot_that_could_run_nothing_is_refused() -> None:
    place = {"created": "", "user": "", "nonce": "n"}
    with pytest.raises(RowtuiError, match="no time"):
        start_pilot(replace(SMALL, seconds=40), ALPHA, **place)
    with pytest.raises(RowtuiError, match="no queue"):
        start_pilot(SMALL, Cluster("none", Identify(always=True), "bash"), **place)
