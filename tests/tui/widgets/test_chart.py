"""Charts: inside their room at any size, readable without colour, and ASCII where it must be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.tui.widgets.cells import Line, plain, width_of
from rowtui.tui.widgets.chart import (
    BarRow,
    ChartArea,
    ChartMark,
    ChartPart,
    SpanRow,
    bars_chart,
    columns_chart,
    curve_chart,
    spans_chart,
    time_labels,
)

NOON = 1_790_000_000.0
TIMES = (NOON, NOON + 36_000)

areas = some.builds(
    ChartArea, some.integers(1, 120), some.integers(1, 40), some.sampled_from(ChartMark)
)
numbers = some.lists(some.floats(0, 1e9), max_size=150)


def fits(lines: list[Line], area: ChartArea) -> None:
    assert all(width_of(spans) <= area.width for spans in lines), [plain(it) for it in lines]
    if area.mark is ChartMark.ASCII and area.width > 60:  # an ellipsis is drawn by a filter
        assert all(plain(spans).replace("…", "").isascii() for spans in lines)


@given(numbers, areas)
def test_columns_and_curves_stay_inside_their_room(values: list[float], area: ChartArea) -> None:
    failed = ChartPart("failed", [value / 7 for value in values], "failed", "▒", "x")
    for lines in (
        columns_chart([ChartPart("well", values), failed], TIMES, "jobs", area),
        curve_chart(values, TIMES, "CPUs", area),
    ):
        fits(lines, area)
        assert len(lines) <= max(area.height, 1)


@given(some.lists(some.tuples(some.text(max_size=30), some.floats(0, 1e9)), max_size=50), areas)
def test_bars_and_spans_stay_inside_their_room(
    found: list[tuple[str, float]], area: ChartArea
) -> None:
    parts = [ChartPart("a", ()), ChartPart("b", (), "failed", "▒", "x")]
    bars = [
        BarRow(name, (size / 2, size), ("a long text about it", "text")) for name, size in found
    ]
    spans = [SpanRow(name, NOON + size, NOON + 2 * size, 1) for name, size in found]
    area = area._replace(height=max(3, area.height), width=max(30, area.width))
    for lines in (bars_chart(bars, parts, "s", area), spans_chart(spans, parts, area)):
        assert all(width_of(one) <= area.width for one in lines), [plain(it) for it in lines]
        assert len(lines) <= area.height


@pytest.mark.parametrize(("mark", "glyph"), [(ChartMark.BLOCK, "▒"), (ChartMark.ASCII, "x")])
def test_one_failure_among_thousands_is_seen_without_colour(mark: ChartMark, glyph: str) -> None:
    parts = [ChartPart("well", [9000, 8000]), ChartPart("failed", [0, 1], "failed", "▒", "x")]
    lines = columns_chart(parts, TIMES, "jobs", ChartArea(40, 10, mark))
    assert sum(glyph in plain(spans) for spans in lines[1:]) == 1


def test_what_does_not_fit_is_counted() -> None:
    rows = [BarRow(f"n{at}", (at,), ("",)) for at in range(20)]
    lines = bars_chart(rows, [ChartPart("a", ())], "s", ChartArea(40, 6))
    assert plain(lines[-1]) == "16 more"


def test_the_times_below_an_axis_do_not_repeat() -> None:
    words = time_labels((NOON, NOON + 10 * 86_400), 200).split("  ")
    labels = [word.strip() for word in words if word.strip()]
    assert len(labels) == len(set(labels)) > 3
