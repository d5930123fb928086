"""`rowtui network stop` and `network limits`: a run that another process may drive."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.store import Run

from tests.cli.on_clusters import OnClusters
from tests.cli.small_network import small_network
from tests.eventually import eventually


@pytest.fixture
def run(here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of the small network that has begun, and that no process drives."""
    folder = small_network(tmp_path / "project")
    monkeypatch.chdir(folder)
    return Networks(OpenProject.open(folder)).begin(RunLimits(cpu_hours=1.0, jobs_in_queue=4))


def test_stop_waits_until_the_process_that_drives_the_run_has_ended(
    here: OnClusters, run: Run
) -> None:
    with ThreadPoolExecutor(1) as pool:
        with run.hold():
            stopping = pool.submit(here, "network", "stop")
            eventually(lambda: run.status is RunStatus.STOPPED)
            assert not stopping.done()
        done = stopping.result(30)
    assert (done.code, done.out) == (0, f"Run {run.id} is stopped; submitted jobs continue.\n")


def test_stop_refuses_a_run_that_no_process_drives(here: OnClusters, run: Run) -> None:
    done = here("network", "stop", "--json")
    assert done.code == 1
    assert f"no process drives run {run.id}" in json.loads(done.out)["error"]["message"]
    assert f"no process drives run {run.id}" in done.err
    assert run.status is not RunStatus.STOPPED


def test_limits_shows_the_limits_and_changes_those_that_are_named(
    here: OnClusters, run: Run
) -> None:
    shown = here("network", "limits")
    assert f"Run {run.id} is new.\nLimits:\n" in shown.out
    assert "New limits" not in shown.out

    with run.hold():  # also while another process drives the run
        changed = json.loads(here("network", "limits", "--max-jobs", "9", "--yes", "--json").out)

    assert changed["changed"] is True
    assert (run.limits.cpu_hours, run.limits.jobs_in_queue) == (1.0, 9)
    assert json.loads(here("network", "limits", "--json").out)["changed"] is False


def test_limits_are_not_changed_without_a_yes(here: OnClusters, run: Run) -> None:
    done = here("network", "limits", "--max-jobs", "9")
    assert done.code == 1
    assert "--yes" in done.err
    assert "there is no cluster" in here("network", "limits", "--to", "nowhere", "--yes").err
    assert run.limits.jobs_in_queue == 4
