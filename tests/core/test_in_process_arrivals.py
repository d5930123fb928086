"""Completions that arrive are shown as if everything had been read anew, and are saved."""

from __future__ import annotations

import json
import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from rowtui.core.base.errors import NotSavedError
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.engine.local import InProcessEngine, arrivals, cuts
from rowtui.core.groups.model import Status
from rowtui.core.project import project as projects
from rowtui.core.project.open_project import OpenProject
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.state.store.store import Store

from tests.eventually import eventually_async

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
split_by_sort_key = true
maximum_size = 4

[[action]]
name = "two"
command = "touch {workspace_path}/{directory}/y"
products = ["y"]
previous_actions = ["one"]
[action.group]
maximum_size = 3
reverse_sort = true

[[action]]
name = "three"
command = "touch {workspace_path}/{directory}/z"
products = ["z"]
previous_actions = ["two"]
[action.group]
include = [{ condition = ["/v", "<", 4] }]
sort_by = ["/w", "/v"]
"""
NAMES = [f"d{number:02}" for number in range(40)]
STATUSES = ((Status.ELIGIBLE,), tuple(Status), (Status.COMPLETED,), (Status.WAITING,))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    for number, name in enumerate(NAMES):
        (root / "workspace" / name).mkdir(parents=True)
        value = {"v": number % 7, "w": number % 3 / 2}
        (root / "workspace" / name / "v.json").write_text(json.dumps(value))
    (root / "workflow.toml").write_text(WORKFLOW)
    os.utime(root / "workspace", (1, 1))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    # As if forty were very many.
    monkeypatch.setattr(arrivals, "STAMPS_UP_TO", 0)
    monkeypatch.setattr(arrivals, "TIDY_SECONDS", 0.0)
    monkeypatch.setattr(cuts, "LIVE_FROM", 0)
    monkeypatch.setattr(projects, "STORED_ORDER_FROM", 0)
    return root


def opened(root: Path) -> InProcessEngine:
    environment = {"HOME": str(root.parent), "PATH": os.environ["PATH"]}
    return InProcessEngine(OpenProject.open(root, cluster="local", environment=environment))


@pytest.fixture
async def engine(root: Path) -> AsyncIterator[InProcessEngine]:
    engine = opened(root)
    await engine.refresh()
    yield engine
    await engine.close()


async def shown(engine: InProcessEngine, snapshot: ProjectSnapshot) -> list[object]:
    """All that a screen could show, without its age."""
    told: list[object] = [snapshot.actions]
    for action in snapshot.actions:
        for statuses in STATUSES:
            groups = await engine.groups.page(action.index, statuses, 1, 30)
            everyone = await engine.groups.members(action.index, statuses, None, 0, 50)
            told += [replace(page, generation=0) for page in (groups, everyone)]
    return told


@pytest.mark.parametrize("seed", range(4))
async def test_what_arrives_is_shown_as_if_all_had_been_read_anew(
    engine: InProcessEngine, root: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        for action in chance.sample(["one", "two", "three"], 2):
            stage_completions(root, {action: chance.sample(NAMES, chance.randrange(1, 9))})
        followed = await shown(engine, await engine.refresh())
        if chance.random() < 0.5:
            await engine.settled()
        if chance.random() < 0.3:  # somebody else commits meanwhile
            OpenProject.open(root, cluster="local").synchronise()
        another = opened(root)
        fresh = await shown(another, await another.refresh(full=False))
        await another.close()
        assert followed == fresh
    assert await shown(engine, await engine.refresh()) == fresh


async def test_what_is_shown_is_saved_before_anything_is_decided(
    engine: InProcessEngine, root: Path
) -> None:
    stage_completions(root, {"one": NAMES[:8]})
    before = Store(root).load().stored
    snapshot = await engine.refresh()
    assert snapshot.actions[0].completed == 8
    unsaved = Store(root).load().stored
    assert before is not None
    assert unsaved is not None
    assert unsaved.state.generation == before.state.generation

    plan = await engine.plans.make(1, None, None)

    saved = Store(root).load().stored
    assert saved is not None
    assert saved.state.completed["one"].bit_count() == 8
    assert sum(len(job.directories) for job in plan.jobs) == 8


async def test_what_cannot_be_saved_is_said_and_tried_again(
    engine: InProcessEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NotSavedError("nothing can be saved: no space left", "free some", forbidden=False)

    stage_completions(root, {"one": NAMES[:8]})
    await engine.refresh()
    with monkeypatch.context() as broken:
        broken.setattr(Store, "publish", full)
        await engine.settled()
        snapshot = await engine.refresh()
        assert any("no space left" in notice for notice in snapshot.notices)
    stage_completions(root, {"one": NAMES[8:10]})

    snapshot = await engine.refresh()
    await engine.settled()

    assert snapshot.actions[0].completed == 10
    saved = Store(root).load().stored
    assert saved is not None
    assert saved.state.completed["one"].bit_count() == 10


async def test_rows_files_follow_soon_after(engine: InProcessEngine, root: Path) -> None:
    stage_completions(root, {"two": NAMES[:3]})
    await engine.refresh()
    await eventually_async(
        lambda: [*(root / ".row/completed").iterdir()], lambda staged: not staged
    )
