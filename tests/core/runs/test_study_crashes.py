"""Whoever drives a run is killed with SIGKILL; another goes on: all is done, and nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

from rowtui.core.project.project import Project
from rowtui.core.runs.model import Finished, JobFailed
from rowtui.core.runs.store import RunStore

from tests.core.runs.driving import Drive, action, drive, make, ran
from tests.core.runs.killed import Moment, begin, was_killed

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
AT_ONCE = 3  # most of it is waiting
RUN, RUNNING = "rowtui.core.runs.run:Run", "rowtui.core.runs.running"
PUBLISHING = "rowtui.core.runs.publishing"
MOMENTS = {
    "before its first word": Moment(f"{RUN}.append"),
    "while directories are made": Moment("rowtui.core.runs.directories:os.rename", 6),
    "before inputs are written": Moment(f"{RUNNING}:write_inputs", 2),
    "before a plan is written down": Moment(f"{RUN}.append", of="PlanSubmitted"),
    "after a plan was written down": Moment(f"{RUN}.append", after=True, of="PlanSubmitted"),
    "before the second job is sent": Moment(
        "rowtui.core.clusters.schedulers.local:LocalScheduler.submit", 2
    ),
    "before what was sent is recorded": Moment(
        "rowtui.core.submission.reservations:StoredReservations.record"
    ),
    "while jobs run": Moment("rowtui.core.runs.autopilot:Autopilot._settle_plan", after=True),
    "before a list is written down": Moment(f"{RUN}.append", of="Grew"),
    "after a list was written down": Moment(f"{RUN}.append", 1, True, "Grew"),
    "before the directories of a list": Moment(f"{RUNNING}:make_directories", 2),
    "before a failure is written down": Moment(f"{RUN}.append", of="JobFailed"),
    "after a failure was written down": Moment(f"{RUN}.append", 1, True, "JobFailed"),
    "before something is published": Moment(f"{PUBLISHING}:publish"),
    "after something was published": Moment(f"{PUBLISHING}:publish", after=True),
    "before its last word": Moment(f"{RUN}.append", of="Finished"),
    "after its last word": Moment(f"{RUN}.append", 1, True, "Finished"),
}


def study(root: Path) -> Path:
    make(root, NETWORK, *ACTIONS)
    for number, entries in LISTS.items():
        (root / f"{number}.json").write_text(json.dumps(entries))
    return root


def go_on(roots: Sequence[Path]) -> None:
    """Others drive what is left, and are done."""

    async def one(root: Path, few: asyncio.Semaphore) -> None:
        async with few:
            await Drive(Project.open(root, cluster="local")).to_the_end()

    async def every() -> None:
        few = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(one(root, few) for root in roots))

    asyncio.run(every())


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
    roots = [study(here / name.replace(" ", "-")) for name in MOMENTS]
    left = list(zip(roots, MOMENTS.values(), strict=True))
    while left:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        children = [(root, begin(lambda root=root: _drive(root), at)) for root, at in some]
        assert [root.name for root, child in children if not was_killed(child)] == []
    go_on(roots)
    for root in roots:
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
