"""Where the dashboard opens, and what is stored of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.tui.commands.command import GROUP_STATUSES, TITLES
from rowtui.tui.shell.recall import (
    LONGEST_TEXT,
    MOST_BYTES,
    KeptList,
    Memory,
    Place,
    StartState,
    command_for,
    recall_of,
    view_named,
)
from rowtui.tui.shell.session import FILTERS

from tests.tui.hand import opened

TEXTS = st.text(max_size=50)


def test_every_status_of_groups_can_be_named() -> None:
    assert tuple(one.word for one in FILTERS) == GROUP_STATUSES


@pytest.mark.parametrize(
    ("typed", "view"),
    [("queue", "queue"), ("6", "queue"), ("Queue", "queue"), ("C", "clusters"), ("77", "")],
)
def test_a_view_has_a_name_and_a_number(typed: str, view: str) -> None:
    assert view_named(typed) == view


def test_a_copied_command_is_quoted_for_the_shell() -> None:
    place = Place("queue", filter="state=failed !a b", job="12_3")
    assert command_for("/a b/$(x)", place) == (
        "cd '/a b/$(x)' && rowtui --view queue --filter 'state=failed !a b' --job 12_3"
    )
    assert Place("groups", directory="-d").words == ["--view", "groups", "--directory=-d"]


@given(
    st.builds(
        StartState,
        view=st.sampled_from(sorted(set(TITLES) - {"submit"})),
        action=TEXTS,
        status=TEXTS,
        group=st.integers(0, 10**8),
        job=TEXTS,
        directories=st.booleans(),
        whose=TEXTS,
        cluster=TEXTS,
        folding=st.booleans(),
        lists=st.dictionaries(
            TEXTS, st.builds(KeptList, TEXTS, TEXTS, st.booleans(), TEXTS), max_size=3
        ),
        filters=st.dictionaries(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3), max_size=3),
    )
)
def test_what_is_stored_comes_back(tmp_path_factory: Any, recall: StartState) -> None:
    state = tmp_path_factory.mktemp("state")
    Memory(state, "/project").save(recall)
    memory = Memory(state, "/project")
    assert memory.load() == recall
    assert memory.notice == ""
    assert Memory(state, "/other").load() == StartState()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", '{"version": 2}', '{"version": 1, "view": 3}', "[" * 100_000,
     '{"version": 1, "lists": {"queue": []}}', " " * (MOST_BYTES + 1)],
)  # fmt: skip
def test_a_damaged_file_is_reported_and_replaced_at_the_end(tmp_path: Path, text: str) -> None:
    Memory(tmp_path, "/project").save(StartState(view="queue"))
    [path] = (tmp_path / "sessions").iterdir()
    path.write_text(text)
    memory = Memory(tmp_path, "/project")
    assert memory.load() == StartState()
    assert str(path) in memory.notice
    memory.save(StartState(view="log"))
    assert Memory(tmp_path, "/project").load().view == "log"


def test_long_texts_and_unknown_views_are_not_restored() -> None:
    with pytest.raises(ValueError, match="too long"):
        recall_of({"version": 1, "action": "a" * (LONGEST_TEXT + 1)})
    assert recall_of({"version": 1, "view": "nowhere"}).view == "status"
    assert recall_of({"version": 1, "view": "submit"}).view == "status"


async def test_filter_order_row_and_view_come_back(tmp_path: Path) -> None:
    memory = Memory(tmp_path, "/project")
    async with opened(recall=StartState(view="groups", status="all")) as hand:
        hand.app.memory = memory
        await hand.sees("Groups of", "[all 240]")
        await hand.press("slash", *"dirs>0", "enter", "o", "o", "down", "down")
        await hand.rests()
        table = hand.app.view.list_at_hand  # type: ignore[union-attr]
        key, asked = table.cursor_key, table.asked
        hand.app.exit()
    async with opened(recall=Memory(tmp_path, "/project").load()) as hand:
        await hand.sees("[2 Groups]", "/ dirs>0")
        table = hand.app.view.list_at_hand  # type: ignore[union-attr]
        await hand.until(lambda: table.cursor_key == key, "the same row")
        assert table.asked == asked
        assert asked.sort


async def test_the_options_of_the_command_line_win() -> None:
    recall = StartState(view="queue", lists={"queue": KeptList("state=failed", "elapsed", True)})
    recall.open_at(Place("queue", filter="state=running"))
    async with opened(recall=recall) as hand:
        await hand.sees("[6 Queue]", "/ state=running")
        assert hand.app.view is not None
        assert hand.app.view.list_at_hand.asked.sort == ""


async def test_a_missing_action_or_job_of_the_command_line_is_reported() -> None:
    for place in (Place("status", action="nothing"), Place("queue", job="999999")):
        recall = StartState()
        recall.open_at(place)
        async with opened(recall=recall) as hand:
            await hand.sees("There is no action nothing." if place.action else "is called 999999")


def test_the_file_is_small(tmp_path: Path) -> None:
    Memory(tmp_path, "/project").save(StartState(action="x" * MOST_BYTES))
    assert not (tmp_path / "sessions").exists()
    Memory(tmp_path, "/project").save(StartState())
    [path] = (tmp_path / "sessions").iterdir()
    assert json.loads(path.read_text())["version"] == 1
