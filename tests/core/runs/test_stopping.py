"""A run that is stopped, or confirmed step by step, is left as it can be gone on with."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.runs.execution.autopilot import Autopilot
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.execution.permission import PlanAnswer
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import NotSent, RunStatus, Stopped
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.running import OpenRun

from tests.core.runs.test_redo import driven, project_at
from tests.eventually import eventually_async


async def test_a_run_that_is_stopped_while_it_makes_directories_leaves_only_whole_ones(
    tmp_path: Path,
) -> None:
    networks = Networks(project_at(tmp_path))
    run = networks.begin(RunLimits())
    running = OpenRun(networks.project, run)
    autopilot = Autopilot(running, nobody)
    autopilot.stop()

    with run.hold():
        told = [it async for it in autopilot.drive()]

    # then it ended before anything was sent, and going on makes the rest
    assert told == []
    made = list((tmp_path / "workspace").iterdir())
    assert all((path / "value.json").is_file() for path in made)
    assert not any(networks.project.state.submitted.values())
    assert await driven(networks)
    assert networks.run().status is RunStatus.FINISHED  # type: ignore[union-attr]


async def test_a_run_that_another_process_stops_sends_nothing_more(tmp_path: Path) -> None:
    networks = Networks(project_at(tmp_path))
    run = networks.begin(RunLimits())
    other = Networks(networks.project).run(run.id)
    assert other is not None
    told = []

    async for it in networks.drive(run):
        told.append(it)
        if it.kind is MessageKind.BEGUN:
            other.append(Stopped(1.0))

    assert [it.kind for it in told] == [MessageKind.BEGUN, MessageKind.PAUSED]
    assert told[-1].sentence == "another process stopped the run"
    assert run.status is RunStatus.STOPPED
    assert not any(networks.project.state.submitted.values())


async def nobody(*_: object) -> PlanAnswer:
    return PlanAnswer()


async def test_what_a_person_confirmed_and_was_not_sent_costs_nothing(tmp_path: Path) -> None:
    networks = Networks(project_at(tmp_path))
    run = networks.begin(RunLimits())
    plan, blocked = await networks.next_plan(run)
    assert plan is not None
    assert not blocked
    networks.note_submitted(run, plan)

    # when nothing of the plan was sent
    networks.note_unsent(run, plan)

    running = OpenRun(networks.project, run)
    assert running.spent().cpu_hours == 0
    (event,) = (it for it in run.events() if isinstance(it, NotSent))
    assert set(event.jobs) == {job.token for job in plan.jobs}


async def test_the_step_after_the_last_one_finishes_the_run(tmp_path: Path) -> None:
    networks = Networks(project_at(tmp_path))
    run = networks.begin(RunLimits())
    while True:
        plan, _ = await networks.next_plan(run)
        if plan is None:
            break
        networks.note_submitted(run, plan)
        assert [step.error async for step in networks.project.jobs.submit(plan) if step.error] == []
        await ended(networks)
        networks.note_unsent(run, plan)
    assert run.status is RunStatus.FINISHED


async def ended(networks: Networks) -> None:
    """Wait until no job is with the scheduler."""
    await eventually_async(
        networks.project.jobs.view, lambda _: not any(networks.project.state.submitted.values())
    )
