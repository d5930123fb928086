"""Pilots that get what is ready in a run, on this machine's own queue and on a real Slurm."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.scan import scan
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.runs.execution.driver import MessageKind
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.running import OpenRun
from rowtui.core.runs.snapshot import read_study
from rowtui.core.runs.store import RunStore
from rowtui.core.submission.bundles.pilot_model import is_in_pilot, is_pilot
from rowtui.core.submission.plan.model import JobStep

from tests.core.runs.chained import (
    JOBS,
    SLURM,
    chained,
    fails_and_is_mended,
    in_queue,
    is_done_once,
    sends,
)
from tests.core.runs.driving import Drive, drive
from tests.core.runs.killed import Moment, was_killed
from tests.core.runs.killed import begin as begin_killed
from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster

PILOT = """\
execution = "pilot"
[schedule.pilot]
cpus = 2
walltime = "02:00:00"
idle = "00:00:30"
"""
ONE = RunLimits(cpu_hours=4.0, jobs_in_queue=1)  # what one pilot costs, and no job besides


@pytest.fixture
def alpha(here: Path, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for projects whose jobs go to a real Slurm."""
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    folder = here / "home/.config/rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(SLURM)
    return here


def ran_in_one_pilot(root: Path, driven: Drive) -> None:
    """All jobs were its requests, it was paid for once, and it did not wait when all was done."""
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    (pilot,) = in_queue(root)
    assert is_pilot(pilot)
    sent = sends(driven.run)
    assert sum(it.cpu_hours for it in sent) == pytest.approx(4.0)
    tokens = [token for it in sent for token in it.jobs]
    assert len({token for token in tokens if is_in_pilot(token)}) == JOBS


def test_one_scheduler_job_runs_all_that_becomes_ready(here: Path) -> None:
    root = chained(here / "p", PILOT)
    driven = drive(root, limits=ONE)
    ran_in_one_pilot(root, driven)
    assert driven.person.asked == []
    assert driven.problems() == []
    # and it was ended when the run was over
    project = OpenProject.open(root, cluster="local")
    assert [it.step for it in project.jobs.records() if is_pilot(it.token)] != [JobStep.REJECTED]


@pytest.mark.parametrize(
    "moment",
    [
        Moment("rowtui.core.runs.execution.driver:submitted_events", 2, after=True),
        Moment("rowtui.core.submission.sending.send:hand_over", 1),
        # before the pilot is about to be sent, and before its acceptance is in the journal
        Moment("rowtui.core.submission.sending.journal:Journal.append", 2),
        Moment("rowtui.core.submission.sending.journal:Journal.append", 3),
        Moment("rowtui.core.runs.execution.pool:cancel_jobs", 1),
    ],
    ids=lambda moment: f"{moment.where.split(':')[1]}-{moment.number}",
)
def test_a_pilot_outlives_who_drives(here: Path, moment: Moment) -> None:
    root = chained(here / "p", PILOT)
    assert was_killed(begin_killed(lambda: _drive(root), moment))
    driven = drive(root, limits=RunLimits(jobs_in_queue=1))
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert len(in_queue(root)) == 1


def _drive(root: Path) -> None:
    drive(root, limits=ONE)


def test_what_fails_in_a_pilot_is_tried_again_in_one(here: Path) -> None:
    root = chained(here / "p", PILOT, unlucky=True)
    fails_and_is_mended(root, "local")
    assert all(map(is_pilot, in_queue(root)))


def test_one_pilot_runs_a_network_on_a_real_slurm(alpha: Path) -> None:
    root = chained(alpha / "p", PILOT)
    ran_in_one_pilot(root, drive(root, cluster="alpha", limits=ONE))


def test_there_are_as_many_pilots_as_network_toml_allows(here: Path) -> None:
    root = chained(here / "p", PILOT.replace("cpus = 2", "cpus = 1\nnumber = 2"))
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    # a pilot of one core gets two jobs, so that four need two
    assert len(in_queue(root)) == 2


def test_what_no_pilot_could_take_goes_alone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")  # room for a job beside the pilot
    root = chained(here / "p", PILOT.replace("02:00:00", "00:11:00"))
    path = root / "workflow.toml"
    text = path.read_text()
    at = text.index('name = "report"')
    path.write_text(text[:at] + text[at:].replace("00:10:00", "00:20:00"))
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    (problem,) = driven.problems()
    assert problem.startswith("pool: 1 job goes alone: ")
    assert len([token for token in in_queue(root) if not is_pilot(token)]) == 1


def test_pilots_that_cost_more_than_was_confirmed_are_asked_for(here: Path) -> None:
    root = chained(here / "p", PILOT)
    driven = drive(root, limits=RunLimits(cpu_hours=3.9))
    assert driven.told[-1].kind is MessageKind.PAUSED
    ((plan, _),) = driven.person.asked
    assert [is_pilot(job.token) for job in plan.jobs] == [True]
    assert in_queue(root) == set()


async def test_step_by_step_a_pilot_is_the_first_plan_and_its_work_the_next(here: Path) -> None:
    root = chained(here / "p", PILOT)
    project = OpenProject.open(root, cluster="local")
    networks = Networks(project)
    run = networks.begin()
    plans = []
    for _ in range(2):
        plan, blocked = await networks.next_plan(run)
        assert plan is not None
        assert blocked == ()
        networks.note_submitted(run, plan)
        assert not [step.error async for step in project.jobs.submit(plan) if step.error]
        plans.append(plan)
    (pilot,) = plans[0].jobs
    assert is_pilot(pilot.token)
    assert {token_in_queue(job.token) for job in plans[1].jobs} == {pilot.token}
    await project.let_go()

    # and who drives goes on with it
    driven = await asyncio.to_thread(drive, root, limits=ONE)
    ran_in_one_pilot(root, driven)


async def test_a_run_that_is_complete_is_left_to_the_driver_that_ends_its_pilots(
    here: Path,
) -> None:
    root = chained(here / "p", PILOT)
    project = OpenProject.open(root, cluster="local")
    networks = Networks(project)
    run = networks.begin()
    plan, _ = await networks.next_plan(run)
    assert plan is not None
    networks.note_submitted(run, plan)
    assert not [step.error async for step in project.jobs.submit(plan) if step.error]
    await project.let_go()

    made = {"state": ("energy", "polished"), "average": ("mean",), "report": ("report",)}
    for _ in range(3):  # each makes directories that wait for the one before
        for folder in (root / "workspace").iterdir():
            for product in made[folder.name.partition(",")[0]]:
                (folder / product).touch()
        scan(OpenProject.open(root, cluster="local"))
        later = OpenProject.open(root, cluster="local")
        follow_network(later)
        later.synchronise()

    running = Networks(later).running()
    assert running is not None
    assert (running.is_complete, running.run.status.is_over) == (True, False)
    driven = await asyncio.to_thread(drive, root, limits=ONE)
    assert driven.told[-1].success, driven.problems()

    async def ended() -> bool:
        now = OpenProject.open(root, cluster="local")
        await now.jobs.ask()
        await now.let_go()
        return not OpenRun(now, run, drives=False).pilots()

    assert await eventually_async(ended)


def test_without_a_word_of_what_a_pilot_holds_the_run_pauses_and_says_so(here: Path) -> None:
    root = chained(here / "p", "")
    project = OpenProject.open(root, cluster="local")
    study = read_study(project)
    run = RunStore(root).create(study.network, study.rows.values(), plug_ins={"execution": "pilot"})
    driven = drive(root, run=run)
    assert driven.told[-1].kind is MessageKind.PAUSED
    assert "the pilot has no size" in driven.told[-1].sentence


def test_a_network_runs_in_a_pool_of_the_nodes_that_there_are(here: Path) -> None:
    root = chained(here / "p", 'execution = "pool"\n')
    driven = drive(root, limits=RunLimits(jobs_in_queue=1))
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert all(map(is_pilot, in_queue(root)))


def test_where_there_are_no_pilots_jobs_go_alone(here: Path) -> None:
    root = chained(here / "p", PILOT)
    driven = drive(root, cluster="none")
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert "has no queue" in driven.problems()[0]
