"""Lists of a real project as the engine gives them: filtered, sorted, found, and submitted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.local import InProcessEngine, cuts
from rowtui.core.groups.model import Status
from rowtui.core.project import project as projects
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.scan import scan
from rowtui.core.project.views.views import AS_IS, ListRequest

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch {workspace_path}/{directory}/x"
products = ["x"]
[action.group]
sort_by = ["/v"]
maximum_size = 4
"""
EVERY = tuple(Status)
NAMES = [f"d{number}" for number in range(10)]


@pytest.fixture
async def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcessEngine]:
    for number, name in enumerate(NAMES):
        folder = tmp_path / "project" / "workspace" / name
        folder.mkdir(parents=True)
        (folder / "v.json").write_text(
            json.dumps({"v": 9 - number, "k": ["even", "odd"][number % 2]})
        )
        if number < 2:
            (folder / "x").touch()
    (tmp_path / "project" / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    engine = InProcessEngine(OpenProject.open(tmp_path / "project", cluster="local"))
    await engine.refresh()
    yield engine
    await engine.close()


async def names(engine: InProcessEngine, asked: ListRequest, start: int = 0) -> list[str]:
    page = await engine.groups.directories(0, EVERY, start, 100, asked=asked)
    return [row.name for row in page.rows]


async def test_all_directories_are_one_list_with_its_own_filter_and_order(
    engine: InProcessEngine,
) -> None:
    assert await names(engine, AS_IS) == NAMES
    assert await names(engine, AS_IS, 8) == NAMES[8:]
    assert await names(engine, ListRequest("completed")) == ["d0", "d1"]
    assert await names(engine, ListRequest("k=even !status=completed v>2")) == ["d2", "d4", "d6"]
    assert await names(engine, ListRequest("k=odd", "/v")) == ["d9", "d7", "d5", "d3", "d1"]
    assert await names(engine, ListRequest("~d[12]", "name", True)) == ["d2", "d1"]
    page = await engine.groups.directories(0, EVERY, 0, 3, asked=ListRequest("k=even"), find="d8")
    assert (page.total, page.of, page.found) == (5, 10, 4)
    assert page.pointers == ("/v", "/k")
    assert page.rows[0].fields == ("9", '"even"')
    some = await engine.groups.directories(0, (Status.COMPLETED,), 0, 9)
    assert [row.name for row in some.rows] == ["d0", "d1"]


async def test_groups_keep_their_numbers_whatever_filter_and_order(engine: InProcessEngine) -> None:
    eligible = (Status.ELIGIBLE,)
    page = await engine.groups.page(0, eligible, 0, 9)
    assert [(group.number, group.first, group.size) for group in page.groups] == [
        (1, "d9", 4), (2, "d5", 4),
    ]  # fmt: skip
    assert (page.of, page.directories) == (2, 8)
    asked = ListRequest("v>2", "number", True)
    page = await engine.groups.page(0, eligible, 0, 9, asked=asked, find="d5")
    assert [(group.number, group.first) for group in page.groups] == [(2, "d5")]
    assert (page.total, page.of, page.directories, page.found) == (1, 2, 4, 0)
    page = await engine.groups.page(0, eligible, 0, 9, asked=ListRequest("", "first"))
    assert [group.number for group in page.groups] == [2, 1]
    inner = await engine.groups.members(0, eligible, 1, 0, 9, asked=ListRequest("", "name"))
    assert [row.name for row in inner.rows] == ["d2", "d3", "d4", "d5"]
    explained = await engine.mapping.explain(0, eligible, page.groups[0].number - 1)
    assert explained.first == "d5"


async def test_a_filter_that_cannot_be_used_is_a_sentence(engine: InProcessEngine) -> None:
    for text, says in (
        ("nosuch=1", "no directory has a value at '/nosuch'"),
        ("name~(", "the pattern is invalid"),
        ("v<x", "compares with a number"),
    ):
        with pytest.raises(RowtuiError, match=says):
            await engine.groups.directories(0, EVERY, 0, 9, asked=ListRequest(text))
        with pytest.raises(RowtuiError):
            await engine.groups.page(0, EVERY, 0, 9, asked=ListRequest(text))
    with pytest.raises(RowtuiError, match="cannot be sorted by 'size'"):
        await engine.groups.directories(0, EVERY, 0, 9, asked=ListRequest("", "size"))


async def test_named_directories_are_planned_alone(engine: InProcessEngine) -> None:
    plan = await engine.plans.make(0, None, None, directories=["d3", "d7", "d0"])
    assert [job.directories for job in plan.jobs] == [("d7", "d3")]  # d0 is completed
    with pytest.raises(RowtuiError, match="no directory 'gone' any more"):
        await engine.plans.make(0, None, None, directories=["gone"])


@pytest.mark.parametrize("live_from", [0, cuts.LIVE_FROM], ids=["counted", "formed"])
async def test_groups_that_are_not_whole_say_so_in_the_words_of_the_plan(
    live_from: int, engine: InProcessEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "LIVE_FROM", live_from)
    monkeypatch.setattr(projects, "STORED_ORDER_FROM", live_from)
    path = tmp_path / "project" / "workflow.toml"
    path.write_text(WORKFLOW + "submit_whole = true\n")
    await engine.refresh()

    page = await engine.groups.page(0, (Status.ELIGIBLE,), 0, 9)
    plan = await engine.plans.make(0, None, None)

    assert [(group.number, group.whole, group.problem) for group in page.groups] == [
        (1, True, ""),
        (2, True, ""),
    ]
    assert plan.refused == ()

    (tmp_path / "project" / "workspace" / "d4" / "x").touch()
    scan(OpenProject.open(tmp_path / "project", cluster="local"))
    await engine.refresh()
    page = await engine.groups.page(0, (Status.ELIGIBLE,), 0, 9)
    plan = await engine.plans.make(0, None, None)

    reason = "it is not whole: 1 directory of the whole group is not eligible or not chosen ('d4')"
    assert [(group.first, group.whole, group.problem) for group in page.groups] == [
        ("d9", True, ""),
        ("d5", False, reason),
    ]
    assert [it.reason for it in plan.refused] == [reason]
    everything = await engine.groups.page(0, EVERY, 0, 9)
    assert all(group.whole for group in everything.groups)
