"""A run meets what people do to its files: what it says, and what it still shows."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.local.network import NetworkWork
from rowtui.core.engine.local.planned_run import PlannedRun
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.scan import look_again
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import Cancelled, Grew, JobFailed, PlanSubmitted, RunStarted
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.running import OpenRun

from tests.core.runs.driving import action, begin, drive, make

VALUES = '[[source]]\nname = "state"\nvalues = { t = { range = 32 } }\n'
NODE = '[[node]]\nname = "split"\nfrom = "state"\n'
LISTED = f"""{VALUES}{NODE}
[[node]]
name = "train"
from = "split"
output = "folds.json"
expand = "fold"
"""
SPLIT = action("split", "true", ["folds.json"], node="state", size=50)
TRAIN = action("train", "true", ["model"])


def test_a_run_is_shown_though_its_network_toml_is_gone_or_makes_no_sense(here: Path) -> None:
    root = make(here / "p", VALUES + NODE, SPLIT)
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    work = NetworkWork(project, asyncio.Lock(), _nothing, lambda _: None, PlannedRun())
    networks = Networks(project)

    (root / "network.toml").write_text("this is = no TOML [")
    broken = networks.view()
    (root / "network.toml").unlink()
    gone, on_screen = networks.view(), asyncio.run(work.view(frozen=True))

    for view in (broken, gone, on_screen):
        assert view is not None
        assert view.run is not None
        assert (view.run.id, view.jobs, view.changed) == (run.id, 32, True)
    assert asyncio.run(work.view(frozen=False)) is None
    with pytest.raises(RowtuiError):
        networks.view(frozen=False)


async def _nothing() -> None: ...


class Opened(OpenRun):
    """A run that takes long to open: until somebody who shares the loop lets it."""

    begun = threading.Event()
    may = threading.Event()

    def __init__(self, *arguments: Any) -> None:
        self.begun.set()
        assert self.may.wait(20)
        super().__init__(*arguments)


def test_others_go_on_while_a_large_run_is_opened_and_may_stop_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make(here / "p", VALUES + NODE, SPLIT)
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    monkeypatch.setattr("rowtui.core.runs.networks.OpenRun", Opened)
    for name in ("begun", "may"):
        monkeypatch.setattr(Opened, name, threading.Event())
    work = NetworkWork(project, asyncio.Lock(), _nothing, lambda _: None, PlannedRun())

    async def start_and_stop() -> None:
        await work.start(RunLimits(), anew=False)
        assert await asyncio.to_thread(Opened.begun.wait, 20)
        assert run.holder() is not None
        await work.stop()
        assert run.holder() is None
        Opened.may.set()

    async def drive_on() -> DriverMessage:
        Opened.may.clear()
        asyncio.get_running_loop().call_soon(Opened.may.set)
        async with contextlib.aclosing(Networks(project).drive(run)) as telling:
            return await anext(telling)

    asyncio.run(start_and_stop())
    assert RunStarted not in map(type, run.events())
    assert asyncio.run(drive_on()).kind is MessageKind.BEGUN


def test_a_directory_of_the_workspace_that_vanished_is_asked_for(here: Path) -> None:
    text = '[[source]]\nname = "state"\nworkspace = true\n' + NODE
    root = make(here / "p", text, SPLIT)
    (root / "workspace" / "mine").mkdir(parents=True)
    (root / "workspace" / "mine" / "value.json").write_text('{"node": "state", "t": 1}')
    begin(OpenProject.open(root, cluster="local"))
    shutil.rmtree(root / "workspace" / "mine")

    driven = drive(root)

    last = driven.told[-1]
    assert not last.success
    assert "mine: it is no longer in the workspace: bring it back, or give it up" in last.sentence


def test_who_looks_on_takes_in_what_happens_and_begins_anew_only_where_jobs_change(
    here: Path,
) -> None:
    root = make(here / "p", VALUES + NODE, SPLIT)
    project = OpenProject.open(root, cluster="local")
    run = begin(project)
    networks = Networks(project)
    first = networks.running()

    run.append(RunStarted(1.0), PlanSubmitted(2.0, "p", ("t-1",), 3.0))
    run.append(JobFailed(3.0, "split", "state,t=1", "why", "t-1"))
    second = networks.running()
    run.append(Cancelled(4.0, "split", ("state,t=2",), "no more"))
    third = networks.running()

    assert first is not None
    assert second is first
    assert networks.run() is first.run  # which does not read its journal from the beginning
    assert second.tokens == {"t-1"}
    assert second.spent().cpu_hours == 3.0
    assert third is not None
    assert sum(each[GraphJobState.CANCELLED] for each in third.graph.counts()) == 1


def test_one_wrong_list_among_many_is_found_in_few_steps(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make(here / "p", LISTED, SPLIT, TRAIN)
    project = OpenProject.open(root, cluster="local")
    running = OpenRun(project, begin(project))
    running.begin()
    names = sorted(os.listdir(root / "workspace"))
    for name in names:
        folds = '["b", "B"]' if name == "state,t=20" else '["a"]'
        (root / "workspace" / name / "folds.json").write_text(folds)
    grow, steps = Growth.grow, []

    def counted(self: Growth, *arguments: Any) -> Any:
        steps.append(1)
        return grow(self, *arguments)

    monkeypatch.setattr(Growth, "grow", counted)
    look_again(project, [os.fsencode(name) for name in names])
    project.synchronise()
    running.look()

    events = running.run.events()
    assert [it.sample for it in events if isinstance(it, JobFailed)] == ["state,t=20"]
    assert sum(isinstance(it, Grew) for it in events) == 31
    assert len(steps) <= 11
