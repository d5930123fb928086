"""Values on several lines, wrapped sentences, and jobs in brief: what fits, and nothing lost."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.text import Cost
from rowtui.tui.views.groups.values import pretty
from rowtui.tui.views.queue.jobs import jobs_in_brief
from rowtui.tui.widgets.cells import line, plain, width_of, wrapped
from rowtui.tui.widgets.short_text import cost_forms, file_size

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="ascii")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc{[,:"), inner),
)


@settings(max_examples=40)
@given(VALUES, st.integers(1, 60))
def test_a_pretty_value_is_still_that_value(value: object, width: int) -> None:
    lines = pretty(json.dumps(value), 10_000, 10_000)
    assert json.loads("\n".join(plain(one) for one in lines)) == value
    assert all(width_of(one) <= width for one in pretty(json.dumps(value), width, 10_000))


@given(st.text(max_size=60), st.integers(0, 20), st.integers(0, 9))
def test_any_text_is_laid_out_within_its_room(text: str, width: int, room: int) -> None:
    lines = pretty(text, width, room)
    assert len(lines) <= room
    assert all(width_of(one) <= max(width, 1) for one in lines)


def test_inner_parts_stay_on_one_line_where_they_fit() -> None:
    text = '{"T": 1.1, "box": [1, 2, 3], "model": {"a": 1}}'
    assert [plain(one) for one in pretty(text, 40, 9)] == [
        "{",
        '  "T": 1.1,',
        '  "box": [1, 2, 3],',
        '  "model": {"a": 1}',
        "}",
    ]
    assert [plain(one) for one in pretty(text, 40, 3)][-1] == "…"


def test_a_value_that_was_cut_is_shown_as_far_as_it_goes() -> None:
    shown = [plain(one) for one in pretty('{"a": [1, 2], "b": {"c": "unfini…', 40, 9)]
    assert shown == ["{", '  "a": [1, 2],', '  "b": {', '    "c": "unfini…']


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1), st.integers(12, 40))
def test_wrapping_keeps_every_word_and_fits(words: list[str], width: int) -> None:
    lines = wrapped(line(("▲ ", "warning"), " ".join(words)), width, 2)
    assert " ".join(plain(one) for one in lines).split() == ["▲", *words]
    assert all(width_of(one) <= width for one in lines)
    assert all(plain(one).startswith("  ") for one in lines[1:])


async def test_jobs_in_brief_shows_what_runs_first_and_some_of_all_kinds() -> None:
    engine = SampleEngine()
    plan = await engine.plans.make(3, None, None)
    async for _ in engine.plans.submit(plan):
        pass
    async for _ in engine.plans.submit(await engine.plans.make(2, None, None)):
        pass
    jobs = (await engine.jobs.view()).jobs
    lines = [plain(one) for one in jobs_in_brief(jobs, 60, 6)]
    assert [one.split()[1] for one in lines] == [
        "running", "running", "pending", "pending", "failed", "completed",
    ]  # fmt: skip
    assert all(len(one) <= 60 for one in lines)
    assert jobs_in_brief(jobs, 60, 0) == []


async def test_a_waiting_directory_names_the_action_that_must_be_complete() -> None:
    async with opened(SampleEngine()) as hand:
        await hand.press("2", "right_square_bracket", "f", "f")
        await hand.sees("[waiting 90]", "until equilibrate is complete here")


def test_costs_keep_their_unit_however_narrow() -> None:
    assert cost_forms(Cost(512, 0)) == ("512 CPU-h",)
    assert cost_forms(Cost(0, 12)) == ("12 GPU-h",)
    assert cost_forms(Cost(512, 12)) == ("512 CPU-h + 12 GPU-h", "512+12 GPU-h")
    assert cost_forms(Cost(0, 0))[-1] == "–"


def test_file_sizes() -> None:
    assert [file_size(size) for size in (0, 22, 4_000, 5_000_000)] == [
        "0 B",
        "22 B",
        "4 kB",
        "5 MB",
    ]
