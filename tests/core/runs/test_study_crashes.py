"""Whoever drives a run is killed with SIGKILL; another goes on: all is done, and nothing twice."""

from __future__ import annotations

import json
import os
from itertools import zip_longest
from pathlib import Path

import pytest
from rowtui.core.runs.model import Finished, JobFailed
from rowtui.core.runs.store import RunStore

from tests.core.runs.driving import action, drive, make, ran
from tests.core.runs.killed import Moment, begin, was_killed

pytestmark = pytest.mark.timeout(150)  # dozens of drivers one after another

NETWORK = """\
[[source]]
name = "state"
[source.values]
t = [1, 2, 3]

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

[[node]]
name = "report"
from = "score"
collapse = ["t"]
require = 1

[[sink]]
name = "report"
from = "report"
output = "report"
publish = "results/report"
"""
ACTIONS = (
    action("split", "cp ../../${PWD##*=}.json folds.json", ["folds.json"], node="state"),
    action("train", '[ "${PWD%fold=bad}" = "$PWD" ] && touch model', ["model"]),
    action("score", "touch score", ["score"]),
    action("report", "cat ../score*/runs > report", ["report"]),
)
LISTS = {1: ["a", "b"], 2: ["bad"], 3: []}
RAN = {
    *(f"state,t={t}: split" for t in LISTS),
    *(f"train,t={t},fold={fold}: train" for t, folds in LISTS.items() for fold in folds),
    *("score,t=1: score", "report: report"),
}
RUN, RUNNING = "rowtui.core.runs.run:Run", "rowtui.core.runs.running"
PUBLISHING = "rowtui.core.runs.directories.sinks"
# Of each run, the deaths of those who drive it one after another.
DEATHS = {
    "before": (
        Moment(f"{RUN}.append"),  # its first word
        Moment(f"{RUN}.append", of="PlanSubmitted"),
        Moment(f"{RUNNING}:write_inputs", 2),
        Moment("rowtui.core.clusters.schedulers.local.scheduler:LocalScheduler.submit", 2),
        Moment(f"{RUN}.append", of="JobFailed"),
        Moment(f"{PUBLISHING}:publish"),
        Moment(f"{RUN}.append", of="Finished"),
    ),
    "after": (
        Moment("rowtui.core.runs.directories.directories:os.rename", 2),
        Moment(f"{RUN}.append", after=True, of="PlanSubmitted"),
        Moment(f"{RUN}.append", of="Grew"),
        Moment(f"{RUN}.append", after=True, of="Grew"),
        Moment(f"{RUN}.append", after=True, of="JobFailed"),
        Moment(f"{PUBLISHING}:publish", after=True),
        Moment(f"{RUN}.append", after=True, of="Finished"),
    ),
    "between": (
        Moment("rowtui.core.runs.directories.readiness:make_directories"),  # those of a list
        Moment("rowtui.core.runs.directories.directories:os.rename", 2),
        Moment("rowtui.core.runs.execution.autopilot:Autopilot._settle_plan", after=True),
        Moment("rowtui.core.submission.sending.reservations:StoredReservations.record"),
    ),
}


def study(root: Path) -> Path:
    make(root, NETWORK, *ACTIONS)
    for number, entries in LISTS.items():
        (root / f"{number}.json").write_text(json.dumps(entries))
    return root


def assert_whole(root: Path) -> None:
    assert ran(root) == dict.fromkeys(RAN, 1), root.name
    assert (root / "results/report").read_text() == "score\n"
    run = RunStore(root).latest()
    assert run is not None
    events = run.events()
    assert isinstance(events[-1], Finished)
    failed = [it.sample for it in events if isinstance(it, JobFailed)]
    assert failed == ["train,t=2,fold=bad"]
    assert not os.listdir(root / ".row/rowtui/network/making")


def test_a_run_is_whole_whenever_its_driver_is_killed(here: Path) -> None:
    roots = {name: study(here / name) for name in DEATHS}
    for moments in zip_longest(*DEATHS.values()):
        children = [
            (name, moment, begin(lambda root=root: _drive(root), moment))
            for (name, root), moment in zip(roots.items(), moments, strict=True)
            if moment is not None
        ]
        assert [it[:2] for it in children if not was_killed(it[2])] == []
    for root in roots.values():
        _drive(root)
        assert_whole(root)


def test_a_run_is_whole_when_its_drivers_are_killed_again_and_again(here: Path) -> None:
    root = study(here / "p")
    changes, deaths = 10, 0
    while was_killed(begin(lambda: _drive(root), (root, changes))):
        deaths += 1
        changes += 10  # each gets a little further than the one before
    assert deaths > 3
    assert_whole(root)


def _drive(root: Path) -> None:
    drive(root)
