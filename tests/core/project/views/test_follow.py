"""An open project notices what is made and deleted by hand, but never trusts a running job."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.core.submission.plan.model import Plan

WORKFLOW = """\
[workspace]
value_file = "value.json"

[[action]]
name = "first"
command = "sh run.sh {directory}"
products = ["out/result"]

[[action]]
name = "second"
command = "touch workspace/{directory}/second"
products = ["second"]
previous_actions = ["first"]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("a", "b", "it's\n-c"):
        folder = root / "workspace" / name
        folder.mkdir(parents=True)
        (folder / "value.json").write_text(json.dumps({"name": name}))
        (folder / "out").mkdir()
    (root / "workflow.toml").write_text(WORKFLOW)
    return root


@pytest.fixture
async def engine(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[InProcessEngine]:
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "local"))
    monkeypatch.setenv("ROW_HOME", str(tmp_path / "nowhere"))
    engine = InProcessEngine(OpenProject.open(root, cluster="local"))
    yield engine
    await engine.close()


async def change(
    engine: InProcessEngine, act: Callable[[], object], holds: Callable[[ProjectSnapshot], bool]
) -> ProjectSnapshot:
    """What the engine shows after `act`, which it is not told of, once `holds` does."""
    awaited = {"watching reports", "watching directories"}
    async with asyncio.timeout(30):
        async for word in engine.changes():
            if word in awaited:
                awaited.remove(word)
                if not awaited:
                    act()
            snapshot = await engine.refresh()
            if not awaited and holds(snapshot):
                return snapshot
    raise AssertionError("the engine was closed")


async def test_a_product_made_by_hand_is_seen_and_so_is_its_loss(
    engine: InProcessEngine, root: Path
) -> None:
    snapshot = await engine.refresh()
    assert [action.completed for action in snapshot.actions] == [0, 0]
    product = root / "workspace" / "it's\n-c" / "second"
    snapshot = await change(engine, product.touch, lambda it: it.actions[1].completed == 1)
    assert snapshot.actions[1].completed == 1
    snapshot = await change(engine, product.unlink, lambda it: it.actions[1].completed == 0)
    assert snapshot.actions[1].completed == 0


async def test_a_product_made_while_the_watch_is_begun_anew_is_seen(
    engine: InProcessEngine, root: Path
) -> None:
    await engine.refresh()
    await change(engine, lambda: None, lambda it: it.directories == 3)
    # when it is made after one watch has ended and before the next begins
    (root / "workspace" / "a" / "second").touch()
    # then the next one reports it
    await change(engine, lambda: None, lambda it: it.actions[1].completed == 1)


async def test_a_new_directory_is_seen_and_watched(engine: InProcessEngine, root: Path) -> None:
    await engine.refresh()
    folder = root / "workspace" / "new"

    def make() -> None:
        folder.mkdir()
        (folder / "value.json").write_text("{}")

    await change(engine, make, lambda it: it.directories == 4 and it.bad_count == 0)
    product = folder / "second"
    await change(engine, product.touch, lambda it: it.actions[1].completed == 1)


async def test_a_half_written_product_of_a_running_job_does_not_count(
    engine: InProcessEngine, root: Path
) -> None:
    # given a job that makes its product at once and goes on until it may end
    (root / "run.sh").write_text(
        'touch "workspace/$1/out/result" "workspace/$1/begun"\n'
        "while [ ! -e finish ]; do sleep 0.05; done\n"
    )
    await engine.refresh()
    plan = await engine.plans.make(0, None, None)
    assert isinstance(plan, Plan)
    # when it runs
    async for _ in engine.plans.submit(plan):
        pass
    began = await change(
        engine,
        lambda: None,
        lambda _: (root / "workspace" / "a" / "begun").exists(),
    )
    # then nothing is complete before it has ended
    began = await engine.refresh()
    assert (began.actions[0].completed, began.actions[0].submitted) == (0, 3)
    assert began.actions[1].eligible == 0
    ended = await change(engine, (root / "finish").touch, lambda it: it.actions[0].completed == 3)
    assert ended.actions[1].eligible == 3
