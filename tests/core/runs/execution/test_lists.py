"""Lists of jobs that run one after another, and chains that are queued at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.network.definition.spec import Gather
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.execution import RoundWork
from rowtui.core.runs.execution.lists import SequentialLists, lists, waves
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import JobFailed
from rowtui.core.runs.running import OpenRun

from tests.core.runs.chained import (
    JOBS,
    SLURM,
    chained,
    fails_and_is_mended,
    in_queue,
    is_done_once,
    sends,
)
from tests.core.runs.driving import Drive, action, begin, drive, inputs, make, ran
from tests.core.runs.killed import Moment, was_killed
from tests.core.runs.killed import begin as begin_killed
from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster

LISTS = 'execution = "sequential"\ngather = { size = 50 }\n'


@pytest.fixture
def alpha(here: Path, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for projects whose jobs go to a real Slurm."""
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    folder = here / "home/.config/rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(SLURM)
    return here


def prepared(root: Path) -> OpenRun:
    """A run that has begun, of which nothing was sent."""
    project = OpenProject.open(root, cluster="local")
    running = OpenRun(project, begin(project))
    running.begin()
    return running


# Lists


def test_a_whole_network_is_one_scheduler_job_where_there_is_room(here: Path) -> None:
    root = chained(here / "p", LISTS)
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert len(in_queue(root)) == 1
    (bundle,) = {job.bundle for job in driven.sent() if job.bundle and job.bundle.lane == 0}
    assert bundle.cpus == 1
    assert bundle.seconds >= JOBS * 600
    assert sends(driven.run)[0].cpu_hours == pytest.approx(bundle.seconds / 3600)


def test_a_list_has_no_more_jobs_than_was_asked_for(here: Path) -> None:
    root = chained(here / "p", 'execution = "sequential"\ngather = { size = 4 }\n')
    parts = RoundWork(prepared(root)).parts()
    found = lists(parts, Gather(4))
    actions = [[parts.all[it].group.action.name for it in unit] for unit in found]
    # a sample goes through both nodes, and the average of two samples has to wait
    assert actions == [["simulate", "polish"] * 2] * 2
    assert lists(RoundWork(prepared(root)).parts(), Gather(1)) == [[0], [1], [2], [3]]
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert len(in_queue(root)) <= 2 + 3  # averages are ready together, or not


def test_a_list_takes_no_longer_than_was_asked_for(here: Path) -> None:
    parts = RoundWork(prepared(chained(here / "p", ""))).parts()
    found = lists(parts, Gather(0, 3 * 600))
    assert [len(unit) for unit in found] == [2, 2, 2, 2]
    parts = RoundWork(prepared(here / "p")).parts()
    assert [len(unit) for unit in lists(parts, Gather(0, 5 * 600))] == [5, 5]


def test_in_a_list_only_what_needs_a_failed_job_is_not_reached(here: Path) -> None:
    root = chained(here / "p", LISTS, unlucky=True)
    fails_and_is_mended(root, "local")
    # What was mended goes in one list, or what needs it follows when it is ready.
    assert 2 <= len(in_queue(root)) <= 2 + 3


@pytest.mark.parametrize("ahead", [False, True])
def test_a_chain_that_goes_to_two_places_is_taken_apart(here: Path, ahead: bool) -> None:
    # given averages that go to another partition
    folder = here / "home/.config/rowtui"
    folder.mkdir(parents=True)
    cpu = '{ name = "cpu", memory_per_cpu = "60M" }'
    (folder / "clusters.toml").write_text(SLURM.replace(cpu, f'{cpu}, {{ name = "batch" }}'))
    root = chained(here / "p", LISTS + f"ahead = {str(ahead).lower()}\n")
    path = root / "workflow.toml"
    text = path.read_text()
    at = text.index('name = "average"')
    options = '[action.submit_options.alpha]\npartition = "batch"\n'
    end = text.index("[[action]]", at)
    path.write_text(text[:end] + options + text[end:])
    project = OpenProject.open(root, cluster="alpha")
    running = OpenRun(project, begin(project))
    running.begin()
    # when all is planned
    found = asyncio.run(SequentialLists().plan(RoundWork(running)))
    assert found.plan is not None
    jobs = found.plan.jobs
    # then they are in no list with the others, and go at once only if the scheduler orders them
    places = {job.action: str(job.destination) for job in jobs}
    expected = {"simulate": "alpha/cpu", "polish": "alpha/cpu"}
    if ahead:
        expected |= {"average": "alpha/batch", "report": "alpha/cpu"}
    assert places == expected
    tokens = {token_in_queue(job.token): job.action for job in jobs}
    assert len(tokens) == (3 if ahead else 1)
    order = [job.token for job in jobs]
    assert all(order.index(it) < order.index(job.token) for job in jobs for it in job.depends_on)


def test_who_collects_a_list_waits_until_it_is_known(here: Path) -> None:
    network = """\
[[source]]
name = "state"
values = { t = [1, 2] }

[[node]]
name = "split"
from = "state"

[[node]]
name = "train"
from = "split"
output = "folds.json"
expand = "fold"

[[node]]
name = "score"
from = "train"
output = "model"
collapse = ["fold"]

[schedule]
ahead = true
"""
    root = make(
        here / "p",
        network + LISTS,
        action("split", "echo '[1, 2, 3]' > folds.json", ["folds.json"], node="state"),
        action("train", "touch model", ["model"]),
        action("score", "touch score", ["score"]),
    )
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    assert len(ran(root)) == 2 + 6 + 2
    assert set(ran(root).values()) == {1}
    assert len(inputs(root, "score,t=1")["inputs"]["train"]) == 3


def test_lists_run_one_after_another_on_a_real_slurm(alpha: Path) -> None:
    root = chained(alpha / "p", LISTS)
    driven = drive(root, cluster="alpha")
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert len(in_queue(root)) == 1


# Ahead


def test_a_whole_chain_is_queued_at_once_on_a_real_slurm(alpha: Path) -> None:
    config = alpha / "home/.config/rowtui/clusters.toml"
    config.write_text(SLURM + "arrays = true\n")
    root = chained(alpha / "p", "ahead = true\n", unlucky=True)
    driven = fails_and_is_mended(root, "alpha")
    # then all was sent at once, and again what was cancelled for the failure
    assert [len(it.jobs) for it in sends(driven.run)] == [JOBS, 4]
    # tasks that wait for tasks, and jobs that wait for several of them
    assert {job.action for job in driven.sent() if job.array} == {"simulate", "polish"}


def test_a_whole_chain_is_queued_at_once_on_this_machine(here: Path) -> None:
    root = chained(here / "p", "ahead = true\n", unlucky=True)
    # The three jobs that were cancelled for the failed one are not paid for twice.
    driven = fails_and_is_mended(root, "local", RunLimits(cpu_hours=(JOBS + 1) / 6))
    assert [len(it.jobs) for it in sends(driven.run)] == [JOBS, 4]
    assert round(driven.run.standing.cpu_hours * 6, 6) == JOBS + 1


def test_a_person_may_give_up_what_is_queued_ahead(here: Path) -> None:
    # given a chain in the queue, the first jobs of which wait for a word
    root = chained(here / "p", "ahead = true\n")
    script = root / "steps/simulate.sh"
    wait = "until [ -e ../../go ]; do sleep 0.2; done\n"
    script.write_text(script.read_text().replace("\n", f"\n{wait}", 1))
    driven = Drive(OpenProject.open(root, cluster="local"))

    async def give_up(told: DriverMessage) -> None:
        running = driven.running
        if told.kind is MessageKind.SENT:
            job = running.growth.job_in("average", "average,t=2")
            assert job is not None
            running.cancel([job], "no longer wanted")

    # when one in the middle is given up
    async def to_the_end() -> DriverMessage:
        going = asyncio.create_task(driven.to_the_end(give_up))
        await eventually_async(
            lambda: {*driven.project.state.submitted.get("average", {})}, lambda left: left == {0}
        )
        (root / "go").touch()
        return await going

    last = asyncio.run(to_the_end())
    # then it, and what needs it, never run, and nothing has failed
    assert last.sentence.startswith("nothing is left to do: 1 sample was cancelled, and 1 ")
    assert not [it for it in driven.run.events() if isinstance(it, JobFailed)]
    assert set(ran(root).values()) == {1}
    assert len(ran(root)) == JOBS - 2


@pytest.mark.parametrize("schedule", ["ahead = true\n", LISTS + "ahead = true\n"])
def test_chains_run_once_though_who_queues_them_is_killed(here: Path, schedule: str) -> None:
    root = chained(here / "p", schedule)
    local = "rowtui.core.clusters.schedulers.local.scheduler:LocalScheduler.submit"
    number = 1 if "gather" in schedule else 6
    assert was_killed(begin_killed(lambda: _drive(root), Moment(local, number, after=True)))
    assert drive(root).told[-1].success
    is_done_once(root)


def _drive(root: Path) -> None:
    drive(root)


def test_lists_wait_for_lists_where_chains_are_queued_at_once(here: Path) -> None:
    root = chained(here / "p", 'ahead = true\nexecution = "sequential"\ngather = { size = 4 }\n')
    driven = drive(root)
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    (sent,) = sends(driven.run)
    assert len(sent.jobs) == JOBS
    assert len(in_queue(root)) == 2 + 1 + 1


def test_nothing_is_queued_ahead_where_the_order_would_not_be_kept(here: Path) -> None:
    root = chained(here / "p", "ahead = true\n")
    driven = drive(root, cluster="none")
    assert driven.told[-1].success, driven.problems()
    is_done_once(root)
    assert len(sends(driven.run)) > 1


def test_what_waits_for_a_budget_holds_back_what_needs_it(here: Path) -> None:
    root = chained(here / "p", "ahead = true\n")
    driven = drive(root, limits=RunLimits(cpu_hours=3.5 / 6))
    (sent,) = sends(driven.run)
    assert len(sent.jobs) == 3
    assert driven.told[-1].kind.value == "paused"


def test_what_is_queued_ahead_asks_for_all_that_it_needs(here: Path) -> None:
    running = prepared(chained(here / "p", "ahead = true\n"))
    parts = RoundWork(running).parts()
    assert [len(wave) for wave in waves(parts)] == [4, 2, 1]
    polish, average = parts.all[4].request, parts.all[8].request
    assert polish.requires == ("state,t=1,r=0/energy",)
    assert average.requires == ("state,t=1,r=0/polished", "state,t=1,r=1/polished")
    average_there = here / "p/workspace/average,t=1"
    plan = RoundWork(running).plan(parts).plan
    assert plan is not None
    assert not average_there.exists()  # Row would take it

    running.prepare(plan)

    said = json.loads((average_there / "inputs.json").read_text())
    assert [it["directory"] for it in said["inputs"]["polish"]] == [
        "state,t=1,r=0",
        "state,t=1,r=1",
    ]
    running.look()
    assert not average_there.exists()  # it was not sent after all
