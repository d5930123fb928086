"""Directories of later nodes are there when their inputs are, and not before."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.execution.advance import follow_network
from rowtui.core.runs.execution.execution import RoundWork
from rowtui.core.runs.execution.lists import waves
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.running import OpenRun
from rowtui.core.state.records import forget
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.submission.sending.reservations import ReservationRelease, StoredReservations

from tests.core.runs.driving import Drive, action, begin, drive, inputs, make

NETWORK = """\
[[source]]
name = "state"
[source.values]
t = [1, 2]
r = [0, 1]

[[node]]
name = "simulate"
from = "state"

[[node]]
name = "average"
from = "simulate"
output = "energy"
collapse = ["r"]

[[node]]
name = "report"
from = "average"
output = "mean"
collapse = ["t"]
"""
ACTIONS = (
    action("simulate", "touch energy", ["energy"], node="state"),
    action("average", "touch mean", ["mean"]),
    action("report", "touch report", ["report"]),
)
SOURCES = ["state,t=1,r=0", "state,t=1,r=1", "state,t=2,r=0", "state,t=2,r=1"]


@pytest.fixture
def root(here: Path) -> Path:
    """A project with this network, whose sources have their directories."""
    root = make(here / "p", NETWORK, *ACTIONS)
    project = OpenProject.open(root, cluster="local")
    assert sorted(Networks(project).unstarted().make().made) == SOURCES
    project.close()
    return root


def there(root: Path) -> list[str]:
    """The directories that Row and everyone else see."""
    return sorted(set(os.listdir(root / "workspace")) - set(SOURCES))


def complete(root: Path, name: str, product: str, *directories: str) -> None:
    """Complete an action in directories as a job of Row's does it: products, and staged files."""
    for each in directories:
        (root / "workspace" / each / product).touch()
    stage_completions(root, {name: directories})


def opened(root: Path) -> OpenProject:
    """The project as a command opens it."""
    project = OpenProject.open(root, cluster="local")
    follow_network(project)
    project.synchronise()
    return project


def test_what_others_complete_makes_directories_with_their_inputs_and_no_more(root: Path) -> None:
    opened(root)
    assert there(root) == []
    complete(root, "simulate", "energy", SOURCES[0])
    opened(root)
    assert there(root) == []  # the other replica is not there
    complete(root, "simulate", "energy", SOURCES[1])
    project = opened(root)
    assert there(root) == ["average,t=1"]
    assert [it["directory"] for it in inputs(root, "average,t=1")["inputs"]["simulate"]] == [
        SOURCES[0],
        SOURCES[1],
    ]
    (average,) = project.workflow.named("average")
    assert project.status_row(average).eligible.bit_count() == 1
    assert not project.take_notices()


def test_a_network_that_was_advanced_is_not_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete(root, "simulate", "energy", *SOURCES)
    opened(root)
    assert there(root) == ["average,t=1", "average,t=2"]

    def fails(_: object) -> bool:
        raise AssertionError("the network is read")

    monkeypatch.setattr(Networks, "advance", fails)
    opened(root)


def test_a_directory_that_has_to_wait_again_is_put_away_as_it_is_and_comes_back(
    root: Path,
) -> None:
    complete(root, "simulate", "energy", *SOURCES)
    opened(root)
    (root / "workspace/average,t=1/notes").write_text("of a person")
    os.unlink(root / "workspace" / SOURCES[0] / "energy")
    project = OpenProject.open(root, cluster="local")
    follow_network(project)
    project.synchronise(full=True)
    assert there(root) == ["average,t=2"]
    assert len(project.state.directories) == len(SOURCES) + 1

    complete(root, "simulate", "energy", SOURCES[0])
    opened(root)

    assert there(root) == ["average,t=1", "average,t=2"]
    assert (root / "workspace/average,t=1/notes").read_text() == "of a person"


def test_a_directory_with_products_stays_whatever_the_records_have_lost(root: Path) -> None:
    complete(root, "simulate", "energy", *SOURCES)
    opened(root)
    complete(root, "average", "mean", "average,t=1")
    project = opened(root)
    forget(project.store, directories=False, submitted=False, completed=True)
    assert there(root) == ["average,t=1", "average,t=2"]
    opened(root)
    assert there(root) == ["average,t=1"]


def test_a_run_that_nobody_drives_goes_on_too_and_one_that_is_driven_is_left_alone(
    root: Path,
) -> None:
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    with run.hold():
        OpenRun(project, run).begin()
        complete(root, "simulate", "energy", *SOURCES[:2])
        opened(root)
        assert there(root) == []  # the driver makes it
    opened(root)
    assert there(root) == ["average,t=1"]
    assert "average,t=1" in run.made()


def test_a_directory_with_something_else_in_it_is_named_and_left_alone(root: Path) -> None:
    mine = root / "workspace/average,t=1"
    mine.mkdir()
    (mine / "value.json").write_text(json.dumps({"node": "average", "t": 7}))
    complete(root, "simulate", "energy", *SOURCES)
    project = opened(root)
    assert project.take_notices() == ("average,t=1: it exists already, with another value",)
    assert there(root) == ["average,t=1", "average,t=2"]
    assert not (mine / "inputs.json").exists()


def test_an_edited_value_fails_its_job_in_every_view_until_it_is_mended_and_retried(
    root: Path,
) -> None:
    path = root / "workspace" / SOURCES[0] / "value.json"
    wanted = path.read_text()
    path.write_text(wanted.replace('"t": 1', '"t": 7'))
    driven = drive(root)
    assert driven.told[-1].sentence.startswith("nothing is left to do: 1 sample failed")
    networks = Networks(OpenProject.open(root, cluster="local"))
    (failure,) = networks.view().failures
    assert (failure.node, failure.directory) == ("simulate", SOURCES[0])
    assert failure.reason == ("its directory cannot be used: it exists already, with another value")
    networks.retry([failure.job])
    assert [it.job for it in networks.view().failures] == [failure.job]  # it is as it was

    path.write_text(wanted)
    networks.retry([failure.job])
    assert networks.view().failures == ()
    assert drive(root).told[-1].success
    assert len(networks.runs()) == 1


def test_what_ends_while_directories_are_made_makes_its_own_as_well(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OpenProject.open(root, cluster="local")
    follow_network(project)
    complete(root, "simulate", "energy", *SOURCES[:2])
    synchronise, later = project.synchronise, [SOURCES[2:]]

    def slowly() -> None:
        if there(root) and later:  # the first directories are made, and not in the records yet
            complete(root, "simulate", "energy", *later.pop())
        synchronise()

    monkeypatch.setattr(project, "synchronise", slowly)
    project.synchronise()

    assert later == []
    assert there(root) == ["average,t=1", "average,t=2"]


def test_a_value_edited_out_of_its_action_fails_its_job_in_every_view_until_it_is_mended(
    root: Path,
) -> None:
    path = root / "workspace" / SOURCES[0] / "value.json"
    wanted = path.read_text()
    reason = "its directory cannot be used: with value.json as it is now, 'simulate' leaves it out"
    path.write_text(wanted.replace('"state"', '"other"'))

    def failures() -> list[tuple[str, str, str]]:
        project = OpenProject.open(root, cluster="local")
        project.synchronise(check_values=True)
        view = Networks(project).view()
        project.close()
        return [(it.node, it.directory, it.reason) for it in view.failures]

    assert failures() == [("simulate", SOURCES[0], reason)]  # before any run
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    with run.hold():
        path.write_text(wanted)
        project.synchronise(check_values=True)
        running = OpenRun(project, run)
        running.begin()
        assert running.look().failed == ()
        path.write_text(wanted.replace('"state"', '"other"'))
        project.synchronise(check_values=True)
        assert len(running.look().failed) == 1  # while it is driven
        assert running.look().failed == ()
    project.close()
    assert failures() == [("simulate", SOURCES[0], reason)]

    path.write_text(wanted)
    assert drive(root).told[-1].success
    assert failures() == []


def test_what_was_sent_ahead_and_never_began_loses_its_directory(root: Path) -> None:
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    with run.hold():
        running = OpenRun(project, run)
        running.begin()
        parts = RoundWork(running).parts()
        waves(parts)
        plan = RoundWork(running).plan(parts).plan
        assert plan is not None
        assert len(plan.jobs) == 4 + 2 + 1
        assert there(root) == []
        running.prepare(plan)
        ahead = ["average,t=1", "average,t=2", "report"]
        assert there(root) == ahead
        reservations = StoredReservations(project.store)
        assert reservations.reserve(plan.jobs) == {}
    opened(root)
    assert there(root) == ahead  # they are with a scheduler

    reservations.release([ReservationRelease(job.token, job.action, {}) for job in plan.jobs])
    opened(root)

    assert there(root) == []


def test_at_no_moment_of_a_run_is_there_a_directory_whose_inputs_are_not(root: Path) -> None:
    driven = Drive(OpenProject.open(root, cluster="local"))
    seen: set[str] = set()

    async def looks(_: object) -> None:
        for name in there(root):
            seen.add(name)
            members = inputs(root, name)["inputs"].values()
            paths = [root / "workspace" / name / it["path"] for those in members for it in those]
            assert paths
            assert all(path.exists() for path in paths), name

    assert asyncio.run(driven.to_the_end(looks)).success
    assert seen == {"average,t=1", "average,t=2", "report"}
