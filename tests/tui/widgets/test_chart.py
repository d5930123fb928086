"""Charts: inside their room at any size, readable without colour, and ASCII where it must be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.tui.widgets.cells import Line, plain, width_of
from rowtui.tui.widgets.chart import ChartArea, ChartMark, ChartPart
from rowtui.tui.widgets.time_charts import (
    BarRow,
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


@pytest.mark.parametrize(("mark", "few"), [(ChartMark.BLOCK, "·"), (ChartMark.ASCII, ".")])
def test_one_failure_among_thousands_is_seen_without_colour_and_not_as_a_length(
    mark: ChartMark, few: str
) -> None:
    parts = [ChartPart("well", [9000, 8000]), ChartPart("failed", [0, 1], "failed", "▒", "x")]
    legend, *lines = columns_chart(parts, TIMES, "jobs", ChartArea(40, 10, mark))
    assert sum(few in plain(spans) for spans in lines) == 1
    assert not any(parts[1].drawn(mark) in plain(spans) for spans in lines)
    assert f"{few} a few" in plain(legend)


@given(some.lists(some.integers(0, 50), min_size=2, max_size=2), some.integers(5, 40))
def test_the_parts_of_a_column_are_true_to_half_a_cell(jobs: list[int], height: int) -> None:
    parts = [ChartPart("well", jobs[:1]), ChartPart("failed", jobs[1:], "failed", "▒", "x")]
    top = 100.0
    rows = height - 3
    fixed = ChartPart("all", [top - sum(jobs)], "faint", "░", "-")
    lines = columns_chart([*parts, fixed], TIMES, "jobs", ChartArea(20, height))[1:-2]
    drawn = [sum(part.glyph in plain(spans) for spans in lines) for part in parts]
    assert all(
        abs(cells - value / top * rows) <= 1.01 for cells, value in zip(drawn, jobs, strict=True)
    )


def test_a_node_with_few_failures_has_a_short_bar() -> None:
    rows = [BarRow(f"n{share}", (share / 100,), ("",)) for share in (1, 5, 100)]
    parts = [ChartPart("failed", (), "failed", "█", "x")]
    lines = [plain(one) for one in bars_chart(rows, parts, "share", ChartArea(46, 9), whole=1.0)]
    assert [one[5:].rstrip() for one in lines[1:]] == ["▍", "██", "█" * 40]


def test_what_does_not_fit_is_counted() -> None:
    rows = [BarRow(f"n{at}", (at,), ("",)) for at in range(20)]
    lines = bars_chart(rows, [ChartPart("a", ())], "s", ChartArea(40, 6))
    assert plain(lines[-1]) == "16 more"


def test_the_times_below_an_axis_do_not_repeat() -> None:
    words = time_labels((NOON, NOON + 10 * 86_400), 200).split("  ")
    labels = [word.strip() for word in words if word.strip()]
    assert len(labels) == len(set(labels)) > 3
