"""Charts: true to their numbers, inside their room at any size, and ASCII where they must be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from rowtui.tui.widgets.bar_charts import BOX, BarRow, bars_chart, box_lengths, spans_chart
from rowtui.tui.widgets.cells import Line, Span, plain, width_of
from rowtui.tui.widgets.chart import ChartArea, ChartMark, ChartPart
from rowtui.tui.widgets.chart_axes import (
    COUNTS,
    DURATIONS,
    NUMBERS,
    SHARES,
    AxisTime,
    Units,
    axis_lines,
    scale_for,
)
from rowtui.tui.widgets.chart_cells import GAP, SIDEWAYS, UPWARDS, stacked
from rowtui.tui.widgets.column_charts import area_chart, columns_chart

NOON = 1_790_000_000.0
TIMES = AxisTime(NOON, NOON + 36_000, now=True)
FAILED = ChartPart("failed", (), "failed", "▒", "x")
DONE = ChartPart("completed", (), "completed")
CANCELLED = ChartPart("cancelled", (), "waiting", "░", "-")

marks = some.sampled_from(ChartMark)
areas = some.builds(ChartArea, some.integers(1, 120), some.integers(1, 40), marks)
room = some.builds(ChartArea, some.integers(30, 120), some.integers(8, 40), marks)
numbers = some.lists(some.floats(0, 1e9), max_size=150)


def fits(lines: Sequence[Line], area: ChartArea) -> None:
    assert all(width_of(spans) <= area.width for spans in lines), [plain(it) for it in lines]
    assert len(lines) <= max(area.height, 1)
    if area.ascii:  # a filter draws axes and ellipses, but would not tell parts apart
        assert not any(set(plain(spans)) & set(UPWARDS[1:] + SIDEWAYS[1:]) for spans in lines)


def painted(cells: Sequence[Span], parts: Sequence[ChartPart], mark: ChartMark) -> Counter[str]:
    """Return how many cells each part has, read from glyphs and colours alone."""
    found: Counter[str] = Counter()
    names = {part.style: part.name for part in parts if part.name}
    for text, style in cells:
        below, _, above = style.partition(" on ")
        for glyph in text:
            if glyph in " │|" and " on " not in style:
                continue
            glyphs = {part.drawn(mark): part.name for part in parts}
            if mark is not ChartMark.COLOUR and glyph in glyphs and glyph not in "█#-":
                found[glyphs[glyph]] += 8
            elif glyph in UPWARDS or glyph in SIDEWAYS:
                eighths = max(UPWARDS.find(glyph), SIDEWAYS.find(glyph))
                found[names.get(below, "")] += eighths
                if above:
                    found[names[above]] += 8 - eighths
            elif glyph in "=-" and mark is ChartMark.ASCII and len(parts) == 1:
                found[names[below]] += 4 if glyph == "=" else 1
            else:
                found[names[below]] += 8
    return Counter({name: number / 8 for name, number in found.items()})


def named(lines: Sequence[Line]) -> list[Line]:
    """Return the rows of a chart that have a name; a bar may be several lines deep."""
    return [spans for spans in lines[1:-2] if not plain(spans).startswith(" ")]


def close(cells: float, value: float) -> bool:
    return abs(cells - value) <= 0.5 + 1e-6


@given(some.lists(some.floats(0, 100), min_size=2, max_size=2), some.integers(4, 30), marks)
def test_each_of_two_parts_has_the_cells_of_its_number_within_half_a_cell(
    values: list[float], length: int, mark: ChartMark
) -> None:
    scale = length / 200
    for eighths in (UPWARDS, SIDEWAYS):
        cells = stacked(values, scale, length, [FAILED, DONE], mark, eighths=eighths)
        assert len(cells) == length
        found = painted(cells, [FAILED, DONE], mark)
        for part, value in zip((FAILED, DONE), values, strict=True):
            assert close(found[part.name], value * scale), (found, cells)


@given(some.lists(some.floats(0, 60), min_size=3, max_size=3), some.integers(4, 30), marks)
def test_of_three_parts_the_smallest_in_a_cell_gives_way(
    values: list[float], length: int, mark: ChartMark
) -> None:
    parts, scale = [FAILED, CANCELLED, DONE], length / 200
    found = painted(stacked(values, scale, length, parts, mark), parts, mark)
    for part, value in zip(parts, values, strict=True):
        assert abs(found[part.name] - value * scale) <= 0.8
    if mark is ChartMark.COLOUR:
        assert abs(found.total() - sum(values) * scale) <= 0.8


@given(some.floats(1e-9, 1), some.integers(4, 30), some.sampled_from([UPWARDS, SIDEWAYS]))
def test_what_is_not_zero_has_an_eighth_and_never_a_cell(
    value: float, length: int, eighths: str
) -> None:
    scale = 0.05
    (first, *rest) = stacked([value], scale, length, [DONE], ChartMark.COLOUR, eighths=eighths)
    assert first.text == eighths[1]
    assert not any(cell.text.strip() for cell in rest)


def test_two_parts_share_a_cell_as_its_two_colours() -> None:
    cells = stacked([23, 5], 1 / 5, 8, [DONE, FAILED], ChartMark.COLOUR)
    assert cells[3:7] == [
        Span("█", "completed"),
        Span("▅", "completed on failed"),
        Span("▅", "failed"),
        Span(" "),
    ]


def in_columns(lines: Sequence[Line], left: int) -> list[list[Span]]:
    """Return the cells of a chart by column, from the axis on."""
    rows = [
        [Span(glyph, span.style) for span in spans for glyph in span.text][left:] for spans in lines
    ]
    width = max(map(len, rows))
    padded = [row + [Span(" ")] * (width - len(row)) for row in rows]
    return [[row[at] for row in reversed(padded)] for at in range(width)]


def read_axis(lines: Sequence[Line]) -> tuple[int, float, list[float]]:
    """Return the columns of the axis at the left, the cells for 1, and the figures at its ticks."""
    texts = [plain(spans) for spans in lines]
    zero = next(at for at, text in enumerate(texts) if re.match(r" *0[└▔]", text))
    left = re.match(r" *0[└▔]", texts[zero])
    ticks = {
        zero - at: float(found[1].replace(",", ""))
        for at, text in enumerate(texts[1:zero], 1)
        if (found := re.match(r" *([\d.,]+)[┤▔]", text))
    }
    assert left is not None
    assert len(ticks) >= 2, "at least three ticks, one of them zero on the axis"
    rows, top = max(ticks.items())
    for row, figure in ticks.items():
        assert figure == pytest.approx(top * row / rows, rel=1e-3)
    return left.end(), rows / top, sorted(ticks.values())


@given(
    some.lists(some.tuples(some.integers(0, 60), some.integers(0, 9)), min_size=1, max_size=40),
    room,
)
def test_columns_are_as_high_as_their_axis_states(
    jobs: list[tuple[int, int]], area: ChartArea
) -> None:
    parts = [FAILED._replace(values=[bad for _, bad in jobs]),
             DONE._replace(values=[good for good, _ in jobs])]  # fmt: skip
    lines = columns_chart(parts, TIMES, "jobs", area, COUNTS)
    fits(lines, area)
    left, per_unit, _ = read_axis(lines)
    zero = next(at for at, it in enumerate(lines) if re.match(r" *0[└▔]", plain(it)))
    columns = in_columns(lines[1:zero], left)
    count = min(len(jobs), area.width - left)
    length = area.width - left
    for at, (good, bad) in enumerate(jobs[-count:]):
        cells = columns[at * length // count] if at * length // count < len(columns) else []
        found = painted(cells, parts, area.mark)
        assert close(found["completed"], good * per_unit)
        assert close(found["failed"], bad * per_unit)


@given(some.lists(some.integers(0, 5000), min_size=1, max_size=200), room)
def test_the_area_below_a_curve_is_that_of_its_numbers(values: list[int], area: ChartArea) -> None:
    assume(any(values))
    lines = area_chart(values, TIMES, "CPUs", area, DONE)
    fits(lines, area)
    left, per_unit, _ = read_axis(lines)
    zero = next(at for at, it in enumerate(lines) if re.match(r" *0[└▔]", plain(it)))
    columns = in_columns(lines[1:zero], left)
    each = len(values) / (area.width - left)
    for at, cells in enumerate(columns):
        ends = (at * each, (at + 1) * each)
        mean = sum(
            value * max(0.0, min(ends[1], place + 1) - max(ends[0], place))
            for place, value in enumerate(values)
        ) / each  # fmt: skip
        shown = sum(
            {" ": 0.0, "#": 1.0, ":": 0.5}[text]
            if area.ascii
            else (ord(text) & 0xFF).bit_count() / 8
            for text, _ in cells
            if area.ascii or text != " "
        )
        assert close(shown, mean * per_unit), (at, shown, mean * per_unit)


@given(some.lists(some.tuples(some.floats(0, 1), some.floats(0, 1)), min_size=1, max_size=20), room)
def test_bars_on_0_to_100_percent_are_as_long_as_their_share(
    found: list[tuple[float, float]], area: ChartArea
) -> None:
    rows = [BarRow(f"n{at:02}", (share,), (f"{share:.0%}",)) for at, (share, _) in enumerate(found)]
    lines = bars_chart(rows, [DONE], "share", area, SHARES, most=1.0)
    fits(lines, area)
    axis, labels = plain(lines[-2]), plain(lines[-1])
    ticks = [at for at, glyph in enumerate(axis) if glyph == "┬"]
    assert labels.split("%")[0].strip() == "0"
    assert "100 %" in labels
    assert len(ticks) in (3, 5)
    length = ticks[-1] - ticks[0]
    for row, spans in zip(rows, named(lines), strict=False):
        if not plain(spans).startswith(row.name):
            break  # "3 more"
        cells = [Span(glyph, span.style) for span in spans for glyph in span.text]
        bar = cells[ticks[0] : ticks[0] + length]
        shown = painted(bar, [DONE], area.mark)["completed"]
        assert close(shown, row.lengths[0] * length)


@given(some.lists(some.lists(some.floats(0, 1), min_size=5, max_size=5), min_size=1, max_size=9),
       room)  # fmt: skip
def test_each_quarter_of_a_box_plot_is_as_long_as_its_numbers_are_apart(
    found: list[list[float]], area: ChartArea
) -> None:
    rows = [BarRow(f"a{at}", box_lengths(sorted(points))) for at, points in enumerate(found)]
    lines = bars_chart(rows, BOX, "", area, SHARES, most=1.0)
    fits(lines, area)
    axis = plain(lines[-2])
    ticks = [at for at, glyph in enumerate(axis) if glyph == "┬"]
    length = ticks[-1] - ticks[0]
    for row, spans in zip(rows, named(lines), strict=False):
        if not plain(spans).startswith(row.name):
            break
        cells = [Span(glyph, span.style) for span in spans for glyph in span.text]
        shown = painted(cells[ticks[0] :][:length], BOX, area.mark)
        for part, size in zip(BOX[2:4], row.lengths[2:4], strict=True):
            assert abs(shown[part.name] - size * length) <= 0.8


@given(numbers, areas)
def test_columns_and_areas_stay_inside_their_room(values: list[float], area: ChartArea) -> None:
    failed = FAILED._replace(values=[value / 7 for value in values])
    for lines in (
        columns_chart([failed, DONE._replace(values=values)], TIMES, "jobs", area),
        columns_chart([DONE._replace(values=values)], [(0.0, "0 %"), (1.0, "the limit")], "", area),
        area_chart(values, TIMES, "CPUs", area, DONE),
    ):
        fits(lines, area)


@given(some.lists(some.tuples(some.text(max_size=30), some.floats(0, 1e9)), max_size=50), areas)
def test_bars_boxes_and_spans_stay_inside_their_room(
    found: list[tuple[str, float]], area: ChartArea
) -> None:
    area = area._replace(mark=ChartMark.COLOUR)
    bars = [
        BarRow(name, (size / 2, size), ("a long text about it", "text")) for name, size in found
    ]
    boxes = [BarRow(name, box_lengths((0, size, size, size, 2 * size))) for name, size in found]
    spans = [BarRow(name, (size / 2, size / 3)) for name, size in found]
    period = AxisTime(NOON, NOON + 1e9)
    for lines in (
        bars_chart(bars, [DONE, FAILED], "s", area, DURATIONS),
        bars_chart(boxes, BOX, "s", area, NUMBERS),
        spans_chart(spans, [GAP, FAILED], area, period),
    ):
        fits(lines, area)


@given(
    some.floats(0, 1e12),
    some.integers(4, 200),
    some.sampled_from([NUMBERS, COUNTS, DURATIONS]),
)
def test_a_scale_begins_at_zero_and_has_three_round_ticks(
    most: float, length: int, units: Units
) -> None:
    scale = scale_for(most, length, units)
    assert scale is not None
    assert scale.step * scale.steps >= most * (1 - 1e-9)
    assert scale.steps >= 2
    assert scale.length <= length
    if units is COUNTS:
        assert scale.step == int(scale.step)


@given(some.floats(0, 2e9), some.floats(60, 4e8), some.integers(20, 200), some.booleans())
def test_times_below_an_axis_are_apart_and_in_order(
    first: float, length: float, room: int, now: bool
) -> None:
    ticks = AxisTime(first, first + length, now).ticks(room)
    axis, labels = axis_lines(ticks, room)
    assert len(axis) == room
    assert len(labels) <= room
    found = labels.split("  ")
    assert [word.strip() for word in found if word.strip()] == [text for _, text in ticks]
    assert axis.count("┬") == len(ticks)
    assert not now or ticks[-1][1] == "now"


def test_a_long_time_has_three_ticks_at_full_units() -> None:
    for length in (600, 3600, 86_400, 3 * 86_400, 40 * 86_400, 900 * 86_400):
        assert len(AxisTime(NOON, NOON + length).ticks(60)) >= 3
    texts = [text for _, text in AxisTime(NOON, NOON + 3 * 86_400).ticks(60)]
    assert all(text.endswith((":00", "Sep")) for text in texts)


def test_a_node_with_few_failures_has_a_short_bar() -> None:
    rows = [BarRow(f"n{share}", (share / 100,)) for share in (1, 5, 100)]
    lines = [plain(one) for one in bars_chart(rows, [DONE], "share", ChartArea(48, 9), SHARES)]
    assert [one[6:].rstrip() for one in lines[1:-2:2]] == ["▍", "██", "█" * 40]


@pytest.mark.parametrize("mark", [ChartMark.SHADE, ChartMark.ASCII])
def test_without_colours_the_figures_stand_below_the_columns(mark: ChartMark) -> None:
    parts = [FAILED._replace(values=[0, 1]), DONE._replace(values=[9000, 8000])]
    lines = columns_chart(parts, TIMES, "jobs", ChartArea(40, 14, mark))
    texts = [plain(spans) for spans in lines]
    assert texts[-2].split() == ["all", "9,000", "8,001"]
    assert texts[-1].split() == ["failed", "0", "1"]
    assert not any(FAILED.drawn(mark) in text for text in texts[1:-4])


def test_what_does_not_fit_is_counted() -> None:
    rows = [BarRow(f"n{at}", (at,)) for at in range(20)]
    lines = bars_chart(rows, [DONE], "s", ChartArea(40, 8), COUNTS)
    assert plain(lines[-3]) == "16 more"


def test_a_small_part_is_named_in_the_legend() -> None:
    parts = [FAILED._replace(values=[1]), DONE._replace(values=[9000])]
    legend = columns_chart(parts, TIMES, "jobs", ChartArea(60, 10))[0]
    assert "▁ or less" in plain(legend)


def test_a_running_job_reaches_up_to_its_limit() -> None:
    parts = [GAP, ChartPart("running", (), "submitted"), ChartPart("limit", (), "faint", "░", ".")]
    row = BarRow("7 sim", (21, 50, 29))
    lines = spans_chart([row], parts, ChartArea(47, 6), AxisTime(NOON, NOON + 100))
    bar = [span for span in lines[1] if span.style not in ("", "dim")]
    assert bar == [
        Span("▍", "ground on submitted"),  # 21 s of 2.5 s a cell: 8.4 cells
        Span("█" * 19, "submitted"),
        Span("▍", "submitted on faint"),
        Span("█" * 11, "faint"),
    ]
