"""What a person sends or cancels by hand in a network is a step of its run."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import JobAnswer
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.project.scan import scan
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.lock import Holder
from rowtui.core.runs.model import (
    Event,
    Finished,
    NotSent,
    Paused,
    PlanSubmitted,
    Published,
    Retried,
    RunStarted,
    RunStatus,
)
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.store import Run, RunStore
from rowtui.core.submission.plan.model import Plan

from tests.core.runs import killed
from tests.core.runs.driving import Drive, action, begin, drive, make, ran
from tests.core.runs.killed import Moment, was_killed
from tests.eventually import eventually, eventually_async

NETWORK = """\
[[source]]
name = "state"
values = { t = [1, 2] }

[[node]]
name = "simulate"
from = "state"

[[node]]
name = "report"
from = "simulate"
output = "energy"
collapse = ["t"]
"""
SINK = """\
[[sink]]
name = "report"
from = "report"
output = "report"
publish = "results/report"
"""
# Fails where there is a file `fail`, waits where there is a file `wait`.
SCRIPT = """\
[ ! -e ../../fail ] || exit 3
while [ -e ../../wait ]; do sleep 0.1; done
touch energy
"""
ACTIONS = (
    action("simulate", SCRIPT, ["energy"], node="state"),
    action("report", "echo all > report", ["report"]),
)


@pytest.fixture
def root(here: Path) -> Path:
    """A project with this network, whose sources have their directories."""
    root = make(here / "p", NETWORK, *ACTIONS)
    Networks(opened(root)).unstarted().make()
    return root


@pytest.fixture
def with_sink(root: Path) -> Path:
    """The same, whose report is published."""
    with (root / "network.toml").open("a") as file:
        file.write(SINK)
    return root


def opened(root: Path) -> OpenProject:
    """The project as a command opens it."""
    project = OpenProject.open(root, cluster="local")
    follow_network(project)
    project.synchronise()
    return project


def submit(project: OpenProject, *, limit: int | None = None) -> Plan:
    """Send what is eligible, as `rowtui submit` does."""
    plan = plan_submission(project, project.workflow.actions, limit=limit)

    async def send() -> None:
        async for _ in project.jobs.submit(plan):
            pass
        await project.let_go()

    asyncio.run(send())
    return plan


def ended(root: Path, count: int) -> OpenProject:
    """The project once it has no submitted directories, and that many that ended or are done."""

    def look() -> OpenProject | None:
        project = opened(root)
        asyncio.run(ask(project))
        state = project.state
        number = sum(map(len, state.ends.values()))
        number += sum(each.bit_count() for each in state.completed.values())
        return project if not any(state.submitted.values()) and number >= count else None

    return eventually(look)


async def ask(project: OpenProject) -> None:
    """Ask the schedulers once."""
    await project.jobs.ask()
    await project.let_go()


def latest(root: Path) -> Run:
    """The newest run."""
    run = RunStore(root).latest()
    assert run is not None
    return run


def test_a_submit_by_hand_begins_a_run_that_a_driver_ends(root: Path) -> None:
    plan = submit(opened(root))
    run = latest(root)
    assert [type(it) for it in run.events()] == [PlanSubmitted, Paused]
    assert run.standing.submitted == len(plan.jobs) == 2
    ended(root, 2)
    driven = drive(root)
    assert driven.run.id == run.id
    assert driven.told[-1].sentence == "all jobs are completed"
    assert ran(root) == {
        "state,t=1: simulate": 1,
        "state,t=2: simulate": 1,
        "report: report": 1,
    }


def published(root: Path) -> list[Event]:
    """What the newest run wrote down about its results and its end; the results are there."""
    assert (root / "results/report").read_text() == "all\n"
    return [it for it in latest(root).events() if isinstance(it, Published | Finished)]


def completed(root: Path, *, but: str = "") -> Run:
    """A paused run whose products are there as Row's jobs leave them (`but`: of another action)."""
    project = opened(root)
    run = begin(project)
    run.append(RunStarted(0.0), Paused(0.0, "a person decides"))
    for name, file in ((f"state,t={t}", "energy") for t in (1, 2)):
        (root / "workspace" / name / file).touch()
    scan(project)
    opened(root)  # the directory of the last job is there now
    if but != "report":
        (root / "workspace/report/report").write_text("all\n")
        scan(OpenProject.open(root, cluster="local"))
    return run


def test_a_run_whose_last_jobs_are_sent_by_hand_is_finished_with_its_results(
    with_sink: Path,
) -> None:
    submit(opened(with_sink))
    ended(with_sink, 2)
    submit(opened(with_sink))

    project = ended(with_sink, 3)

    run = latest(with_sink)
    assert run.status is RunStatus.FINISHED
    assert [type(it) for it in published(with_sink)] == [Published, Finished]
    opened(with_sink)
    Networks(opened(with_sink)).view()
    assert [type(it) for it in published(with_sink)] == [Published, Finished]
    assert len(RunStore(with_sink).runs()) == 1
    assert "1 result published" in " ".join(project.take_notices())


def test_a_run_that_another_process_ends_is_not_ended_twice(
    with_sink: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = completed(with_sink)
    with run.hold():
        opened(with_sink)
        assert run.status is RunStatus.PAUSED
        assert not (with_sink / "results").exists()
    hold = Run.hold

    def late(self: Run) -> AbstractContextManager[Holder]:
        monkeypatch.undo()
        opened(with_sink)  # another process is faster
        return hold(self)

    monkeypatch.setattr(Run, "hold", late)

    assert opened(with_sink).take_notices() == ()
    assert [type(it) for it in published(with_sink)] == [Published, Finished]


def test_a_run_with_a_job_that_failed_stays_paused(with_sink: Path) -> None:
    (with_sink / "fail").touch()
    submit(opened(with_sink))
    ended(with_sink, 2)
    assert latest(with_sink).status is RunStatus.PAUSED


@pytest.mark.parametrize(
    "moment",
    [
        Moment("rowtui.core.runs.directories.sinks:publish"),
        Moment("rowtui.core.runs.run:Run.append", of="Published"),
        Moment("rowtui.core.runs.run:Run.append", of="Finished"),
        Moment("rowtui.core.runs.run:Run.append", after=True, of="Finished"),
    ],
)
def test_a_command_that_is_killed_while_the_run_ends_leaves_the_end_to_the_next(
    with_sink: Path, moment: Moment
) -> None:
    run = completed(with_sink)
    assert was_killed(killed.begin(lambda: void(opened(with_sink)), moment))
    opened(with_sink)
    assert [type(it) for it in published(with_sink)] == [Published, Finished]
    assert run.status is RunStatus.FINISHED


def void(_: object) -> None:
    """Take a value and return none."""


def test_a_submit_by_hand_keeps_to_the_limits_of_its_run(root: Path) -> None:
    project = opened(root)
    begin(project, RunLimits(cpu_hours=0.2))
    with pytest.raises(RowtuiError, match=r"does not allow this: .*CPU-hours"):
        submit(project)
    assert latest(root).events() == []
    assert not any(opened(root).state.submitted.values())

    submit(opened(root), limit=1)

    assert latest(root).standing.cpu_hours == pytest.approx(1 / 6)


def test_attempts_are_counted_on_and_a_run_that_failed_goes_on(root: Path) -> None:
    (root / "fail").touch()
    driven = drive(root, limits=RunLimits(failures=9))
    assert driven.run.status is RunStatus.FAILED
    plan = submit(opened(root))
    assert [job.attempt for job in plan.jobs] == [2, 2]
    ended(root, 2)
    run = latest(root)
    assert run.id == driven.run.id
    assert run.limits == RunLimits(failures=9)
    assert any(isinstance(it, Retried) for it in run.events())
    networks = Networks(opened(root))
    assert len(networks.view().failures) == 2  # of the second attempts: they count

    (root / "fail").unlink()
    networks.retry([it.job for it in networks.view().failures])
    again = drive(root)

    assert again.told[-1].success, again.problems()
    assert {job.attempt for job in again.sent() if job.action == "simulate"} == {3}
    assert latest(root).id == driven.run.id


def test_a_driver_takes_in_what_a_person_sends(root: Path) -> None:
    project = opened(root)
    run = begin(project)
    (root / "fail").touch()
    with run.hold():
        running = OpenRun(project, run)
        running.begin()
        plan = submit(opened(root))
        ended(root, 2)
        project.synchronise()
        running.look()
        assert {job.token for job in plan.jobs} <= running.tokens
        counts = running.graph.counts()
        assert sum(each[GraphJobState.FAILED] for each in counts) == 2


def test_what_was_not_sent_costs_nothing(root: Path) -> None:
    project = opened(root)
    plan = plan_submission(project, project.workflow.actions)
    submit(opened(root))  # somebody was faster
    networks = Networks(project)
    taken = networks.take_plan(plan)
    assert taken is not None
    networks.note_unsent(*taken)
    run = latest(root)
    assert isinstance(run.events()[-1], NotSent)
    assert run.standing.submitted == 2
    assert networks.take_plan(plan) is None  # it is written down


def test_what_a_person_cancels_waits_until_it_is_retried(root: Path) -> None:
    (root / "wait").touch()
    project = opened(root)
    run = begin(project)
    driven = Drive(project, run)

    async def cancels(told: object) -> None:
        if len(project.state.submitted.get("simulate", {})) == 2 and not cancelled:
            other = opened(root)
            tokens = [it.token for it in other.state.submitted["simulate"].values()]
            cancelled.extend(tokens)
            await cancel_jobs(other, tokens)
            await other.let_go()

    cancelled: list[str] = []
    last = asyncio.run(driven.to_the_end(cancels))
    assert len(cancelled) == 2
    assert last.sentence == (
        "nothing is left to do: 2 samples were cancelled, "
        "and 1 that depend on their results cannot run"
    )
    assert len(driven.sent()) == 2

    (root / "wait").unlink()
    networks = Networks(opened(root))
    running = networks.running()
    assert running is not None
    networks.retry(running.growth.jobs("simulate").tolist())
    assert drive(root).told[-1].sentence == "all jobs are completed"


def test_the_end_of_a_cancelled_job_that_comes_after_its_retry_is_no_failure(root: Path) -> None:
    (root / "wait").touch()
    project = opened(root)
    submit(project)
    sent = [it.token for it in opened(root).state.submitted["simulate"].values()]
    networks = Networks(opened(root))
    networks.take_cancelled(sent)
    running = networks.running()
    assert running is not None
    networks.retry(running.growth.jobs("simulate").tolist())
    scheduler = LocalScheduler()
    found = cancelled_there(scheduler, sent)
    assert [it.error for it in found] == ["", ""]

    (root / "wait").unlink()
    assert drive(root).told[-1].sentence == "all jobs are completed"


def test_the_end_of_a_job_that_its_driver_cancelled_and_retried_is_no_failure(root: Path) -> None:
    (root / "wait").touch()
    project = opened(root)
    submit(project)
    sent = [it.token for it in opened(root).state.submitted["simulate"].values()]
    project = opened(root)
    run = latest(root)
    with run.hold():
        running = OpenRun(project, run)
        running.begin()
        jobs = running.growth.jobs("simulate").tolist()
        running.cancel(jobs, "not wanted")
        running.retry(jobs)
        found = cancelled_there(LocalScheduler(), sent)
        assert [it.error for it in found] == ["", ""]
        ended(root, 2)
        project.synchronise()
        running.look()

        counts = running.graph.counts()
        assert sum(each[GraphJobState.FAILED] for each in counts) == 0


def cancelled_there(scheduler: LocalScheduler, tokens: list[str]) -> list[JobAnswer]:
    """Cancel these jobs at the queue only, and wait until they have ended there."""

    async def cancel() -> list[JobAnswer]:
        there = await scheduler.find(tokens)
        assert there is not None
        jobs = [it.key for its in there.values() for it in its]
        answers = await scheduler.cancel(jobs)
        await eventually_async(
            lambda: scheduler.find(tokens),
            lambda found: (
                found and not any(it.state.active for its in found.values() for it in its)
            ),
        )
        return list(answers)

    return asyncio.run(cancel())
