"""What is handed to a pilot runs once, whoever is killed, and whenever the pilot ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.state.model import positions
from rowtui.core.submission.bundles.pilot import hand_over
from rowtui.core.submission.plan.model import Plan, PlannedJob
from rowtui.core.submission.sending import carry_out as carrying_out
from rowtui.core.submission.sending.site import RemoteSite

from tests.core.submission.piloted import ALPHA, NAMES, SMALL, Piloted
from tests.core.submission.test_remote_crashes import (
    SteppingJournal,
    SteppingReservations,
    Steps,
)
from tests.eventually import eventually
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmCluster


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Piloted:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    return Piloted(tmp_path / "pro ject", NAMES, LocalScheduler(folder=tmp_path / "queue"))


# -- exactly once ----------------------------------------------------------------------------------


async def test_what_comes_when_it_has_ended_is_free_again(here: Piloted) -> None:
    await here.start(SMALL._replace(idle_seconds=0))
    await here.over()
    plan = here.for_pilot("a")
    progress = await here.submit(plan)
    assert "the pilot has ended" in progress[-1].error
    assert (here.steps(plan), here.state.submitted) == (["rejected"], {})


async def test_what_comes_while_it_closes_is_taken_back(here: Piloted) -> None:
    await here.start(SMALL._replace(idle_seconds=60))
    await here.until(lambda: here.logs() is not None and real_folder(here).exists(), "its begin")
    (real_folder(here) / "closed").touch()
    plan = here.for_pilot("a", "d")
    progress = await here.submit(plan)
    assert "the pilot has ended" in progress[-1].error
    assert not list(real_folder(here).glob("*.new"))
    assert (here.steps(plan), here.state.submitted) == (["rejected"] * 2, {})
    await here.scheduler.cancel([await here.pilot_key()])
    await here.over()


async def test_killed_after_it_was_put_there_or_before_it_runs_at_most_once(
    here: Piloted,
) -> None:
    here.wait_for_go()
    await here.start(SMALL._replace(idle_seconds=5))
    await here.hand("b c")  # it waits, so that the pilot has work however long the others take
    plans = {}
    for name, steps in (("a", "before"), ("d", "after"), ("e", "before")):
        plan = plans[name] = here.for_pilot(name)
        assert os.WIFSIGNALED(await asyncio.to_thread(in_child, here, plan, steps))
    # Not settled before: what did not begin is given back then.
    await asyncio.to_thread(eventually, lambda: here.ran("d"), what="what was put there")
    await here.settle()
    here.go()
    assert here.steps(plans["a"]) == here.steps(plans["e"]) == ["abandoned"]
    await here.hand("a", "e")
    await here.over()
    assert here.runs() == {"a": 1, "d": 1, "e": 1, "b c": 1, "$(touch pwned)": 0}
    assert here.state.submitted == {}


def in_child(real: Piloted, plan: Plan, when: str) -> int:
    child = os.fork()
    if child == 0:
        asyncio.run(killed(real, plan, when))
    return os.waitpid(child, 0)[1]


async def killed(real: Piloted, plan: Plan, when: str) -> None:
    """Hand over, and be killed before or after the files are there."""
    from rowtui.core.submission.sending import send

    async def then(jobs: Sequence[PlannedJob], access: object) -> object:
        if when == "after":
            await hand_over(jobs, access)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    send.hand_over = then  # type: ignore[assignment]
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
    "reserve 2",
    "journal accepted",
    "record",
    "journal recorded",
    "journal released",
)


@pytest.mark.slurm
@pytest.mark.slow
async def test_killed_after_each_step_of_handing_over_every_directory_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: SlurmCluster
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    names = [f"p{at}" for at in range(len(STEPS) + 1)]
    real = Piloted(tmp_path / "project", names, SlurmScheduler("alpha"), ALPHA)
    real.wait_for_go()
    await real.start(SMALL._replace(idle_seconds=3))
    # undisturbed: these are the steps, and the pilot has work however long the others take
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
    real.go()
    await real.over()
    assert real.runs() == dict.fromkeys(names, 1)
    assert real.state.completed["one"] == real.state.everything
    assert (real.state.submitted, real.state.ends) == ({}, {})


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


@pytest.mark.slurm
@pytest.mark.slow
async def test_requests_reach_a_pilot_of_a_copy_over_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: SlurmCluster, login: LoginNode
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    real = Piloted(tmp_path / "pro ject", NAMES, SlurmScheduler("alpha"), ALPHA)
    transport = AsyncsshTransport(SshTarget(login.name, config=(login.ssh_config,)), NoUser())
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
