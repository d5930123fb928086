"""The engine of the dashboard on a real project: snapshots, pages, changes, jobs."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.engine.engine import Engine
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.groups.model import Status
from rowtui.core.packing.model import Bundle, GoOn, PackingProblem
from rowtui.core.packing.pack import Installed
from rowtui.core.packing.packers import OURS
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning import packing
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.queue.views import QueueRequest
from rowtui.core.state.row.staging import stage_completions

from tests.eventually import eventually_async

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "echo {directory}; touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
maximum_size = 4

[[action]]
name = "two"
command = "touch {workspace_path}/{directory}/y"
products = ["y"]
previous_actions = ["one"]
"""
NAMES = [f"d{number}" for number in range(10)]
EVERY = tuple(Status)
PATIENCE = 30  # seconds; nothing here is expected to take a second


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    for number, name in enumerate(NAMES):
        (root / "workspace" / name).mkdir(parents=True)
        (root / "workspace" / name / "v.json").write_text(json.dumps({"v": 9 - number}))
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    return root


@pytest.fixture
async def engine(root: Path) -> AsyncIterator[InProcessEngine]:
    environment = {"HOME": str(root.parent), "PATH": os.environ["PATH"]}
    engine = InProcessEngine(OpenProject.open(root, cluster="local", environment=environment))
    yield engine
    await engine.close()


def counts(snapshot: ProjectSnapshot, index: int = 0) -> tuple[int, int, int, int]:
    row = snapshot.actions[index]
    return row.completed, row.submitted, row.eligible, row.waiting


async def next_word(words: AsyncIterator[str], *wanted: str) -> str:
    """The next of these words; what else changes meanwhile is passed over."""
    async with asyncio.timeout(PATIENCE):
        async for word in words:
            if word in wanted:
                return word
    raise AssertionError("the engine was closed")


async def noticed(words: AsyncIterator[str], word: str, change: Callable[[], None]) -> None:
    """Change something until the word comes: from when on it is listened for cannot be seen."""
    waiting = asyncio.ensure_future(next_word(words, word))
    while not waiting.done():
        change()
        await asyncio.wait([waiting], timeout=0.2)
    assert waiting.result() == word


async def test_it_is_an_engine(engine: InProcessEngine) -> None:
    seen: Engine = engine
    snapshot = await seen.refresh()
    assert (snapshot.cluster, snapshot.scheduler) == ("local", "local")
    assert snapshot.directories == 10
    assert counts(snapshot) == (0, 0, 10, 0)
    assert counts(snapshot, 1) == (0, 0, 0, 10)
    assert (snapshot.problems, snapshot.notices, snapshot.bad) == ((), (), ())
    assert (await seen.refresh()).generation > snapshot.generation


async def test_pages_are_parts_of_one_list(engine: InProcessEngine) -> None:
    await engine.refresh()
    page = await engine.groups.page(0, (Status.ELIGIBLE,), 0, 100)
    assert (page.total, page.directories) == (3, 10)
    assert [(group.number, group.size, group.first) for group in page.groups] == [
        (1, 4, "d9"),
        (2, 4, "d5"),
        (3, 2, "d1"),
    ]
    assert [group.sort_key for group in page.groups] == ["[0]", "[4]", "[8]"]
    (second,) = (await engine.groups.page(0, (Status.ELIGIBLE,), 1, 1)).groups
    assert second == page.groups[1]

    whole = await engine.groups.members(0, EVERY, None, 0, 100)
    assert [row.name for row in whole.rows] == NAMES[::-1]
    assert [row.value for row in whole.rows] == [f'{{"v":{number}}}' for number in range(10)]
    parts = [await engine.groups.members(0, EVERY, None, start, 3) for start in (0, 3, 6, 9)]
    assert [row for part in parts for row in part.rows] == list(whole.rows)
    of_one = await engine.groups.members(0, EVERY, 1, 0, 100)
    assert (of_one.total, of_one.rows) == (4, whole.rows[4:8])


async def test_what_was_staged_is_noticed_and_counted(engine: InProcessEngine, root: Path) -> None:
    await engine.refresh()
    # When a job that runs somewhere reports two completions, then the engine says so,
    (root / "workspace/d0/x").touch()

    def report() -> None:
        stage_completions(root, {"one": [b"d0", b"d3"]})

    await noticed(engine.changes(), "completed", report)
    # and the next snapshot counts them.
    snapshot = await engine.refresh()
    assert counts(snapshot) == (2, 0, 8, 0)
    assert counts(snapshot, 1) == (0, 0, 2, 8)
    rows = (await engine.groups.members(0, (Status.COMPLETED,), None, 0, 9)).rows
    assert [row.name for row in rows] == ["d3", "d0"]


async def test_new_directories_and_an_edited_workflow_are_noticed(
    engine: InProcessEngine, root: Path
) -> None:
    await engine.refresh()
    words = engine.changes()
    new = root / "workspace/d10"

    def make() -> None:
        new.mkdir(exist_ok=True)
        (new / "v.json").write_text("{}")
        (root / f"workspace/file{len(os.listdir(root / 'workspace'))}").touch()

    await noticed(words, "workspace", make)
    # A directory whose value lacks what is sorted by is an error of the one action, in words.
    await engine.refresh()
    page = await engine.groups.page(0, EVERY, 0, 10)
    assert (page.total, page.groups) == (0, ())
    assert "d10" in page.problem
    (new / "v.json").write_text('{"v": 10}')
    await engine.refresh(full=True)
    assert (await engine.groups.page(0, EVERY, 0, 10)).problem == ""

    (root / "workflow.toml").write_text(WORKFLOW.replace("maximum_size = 4", "maximum_size = 20"))
    assert await next_word(words, "workflow") == "workflow"
    await engine.refresh()
    assert (await engine.groups.page(0, EVERY, 0, 10)).total == 1


async def test_a_workflow_that_breaks_while_open_leaves_the_old_one(
    engine: InProcessEngine, root: Path
) -> None:
    before = await engine.refresh()
    (root / "workflow.toml").write_text("[[action]]\nname = \n")
    snapshot = await engine.refresh()
    assert snapshot.actions == before.actions
    problem = snapshot.problems[0]
    assert problem.message.startswith("not used as it is now: not valid TOML")
    assert (problem.file, problem.line, problem.column) == (str(root / "workflow.toml"), 2, 8)
    assert problem.severity == "error"  # it stands above all else, and Enter opens the file
    # Mended, it is used again without another word.
    (root / "workflow.toml").write_text(WORKFLOW.replace("/y", "/z"))
    snapshot = await engine.refresh()
    assert snapshot.actions[1].command == "touch {workspace_path}/{directory}/z"
    assert snapshot.problems == ()


async def test_groups_are_planned_sent_and_followed_to_their_end(engine: InProcessEngine) -> None:
    await engine.refresh()
    plan = await engine.plans.make(0, [0, 2], None)
    assert [len(job.directories) for job in plan.jobs] == [4, 2]
    steps = [step async for step in engine.plans.submit(plan)]
    assert [step.error for step in steps if step.error] == []
    assert steps[-1].done == steps[-1].total == 2
    assert counts(await engine.refresh())[2] == 4

    view = await eventually_async(
        engine.jobs.view, lambda view: not any(job.state.active for job in view.jobs), every=0.05
    )
    assert [job.state for job in view.jobs] == [JobState.COMPLETED] * 2
    assert view.error == ""
    assert counts(await engine.refresh()) == (6, 0, 4, 0)
    tail = await engine.logs.tail(plan.jobs[1].token, 1)
    assert tail.lines == ("d0",)
    assert (await engine.logs.tail("nobody-0", 5)).error


async def test_a_job_is_cancelled_from_the_engine(engine: InProcessEngine, root: Path) -> None:
    (root / "workflow.toml").write_text(WORKFLOW.replace("echo", "sleep 600; echo"))
    await engine.refresh()
    plan = await engine.plans.make(0, [0], None)
    async for step in engine.plans.submit(plan):
        assert not step.error
    await engine.jobs.view()
    (row,) = (await engine.queue.page(QueueRequest(), 0, 10)).rows
    assert (await engine.queue.act([row.key], "cancel")).done == 1
    view = await eventually_async(engine.jobs.view, lambda view: not view.jobs[0].state.active)
    assert view.jobs[0].state is JobState.CANCELLED
    assert counts(await engine.refresh()) == (0, 0, 10, 0)


async def test_an_action_that_is_gone_is_an_error_in_words(
    engine: InProcessEngine, root: Path
) -> None:
    await engine.refresh()
    (root / "workflow.toml").write_text(WORKFLOW[: WORKFLOW.index('[[action]]\nname = "two"')])
    await engine.refresh()
    with pytest.raises(RowtuiError, match="no longer in workflow"):
        await engine.groups.page(1, EVERY, 0, 10)
    with pytest.raises(RowtuiError, match="no longer in workflow"):
        await engine.plans.make(1, None, None)


async def test_closing_ends_the_changes(engine: InProcessEngine) -> None:
    await engine.refresh()

    async def listen() -> list[str]:
        return [word async for word in engine.changes()]

    listening = asyncio.ensure_future(listen())
    await asyncio.sleep(0.1)
    await engine.close()
    async with asyncio.timeout(PATIENCE):
        await listening


class Patient:
    """Looks for a better packing as long as it may."""

    name = "patient"
    summary = "takes its time"
    begun = threading.Event()

    def pack(self, problem: PackingProblem, go_on: GoOn) -> tuple[Bundle, ...]:
        self.begun.set()
        while go_on():
            time.sleep(0.01)
        return OURS["seed"].pack(problem, go_on)


async def test_a_newer_question_ends_the_search_for_a_better_packing(
    engine: InProcessEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = Installed({"patient": Patient()}, ())
    monkeypatch.setattr(packing, "installed_packers", lambda: installed)
    await engine.refresh()
    # given somebody who wants ten minutes to be spent
    first = asyncio.ensure_future(
        engine.plans.pack(None, None, None, PackChoice(packer="patient", budget=600.0))
    )
    assert await asyncio.to_thread(Patient.begun.wait, 30)
    # when something else is asked
    async with asyncio.timeout(60):
        second = await engine.plans.pack(None, None, None, PackChoice(packer="seed"))
        # then both have their answers
        assert (await first).plan.jobs
        assert second.plan.jobs
