"""The steps to the decision about a job: the origin of each value, tags, rules and matches; and all
destinations compared.

The input is an `PlacementExplanation`; the output is lines of at most a width.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Decision, Refusal
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.destination import (
    aligned,
    failed_cells,
    origin_part,
    origin_text,
    section,
)
from rowtui.tui.views.explain.explain import DestinationRow
from rowtui.tui.views.explain.what_if import amount_text
from rowtui.tui.widgets.cells import Line, cut, fit, line, wrapped
from rowtui.tui.widgets.links import linked

LONGEST_VALUE = 300
"""The number of characters of one value that are shown."""

_UNITS = {"mem": " GB", "min_mem": " GB", "max_mem": " GB", "mem there": " GB"}


def story_lines(explanation: PlacementExplanation, width: int) -> list[Line]:
    """Return where the job's values come from, and the problems in the files that set them."""
    decision = explanation.decision
    lines: list[Line] = []
    if explanation.problems:
        lines += _problems(explanation, width)
    if decision is not None:
        lines += _values(decision, width)
        lines += _tags(decision, width)
        lines += _rules(decision, width)
        lines += _matched(decision, width)
    notices = [*explanation.notices, *(decision.chosen.notices if decision else ())]
    if notices:
        lines += section("Notices")
        lines += aligned(([line(("▲", "warning")), line(notice)] for notice in notices), width)
    if decision is not None or explanation.files:
        lines += _files(explanation, width)
    return lines[1:] if lines and lines[0] == () else lines


def comparison_lines(rows: Sequence[DestinationRow], decision: Decision, width: int) -> list[Line]:
    """Return the scores of all destinations side by side, and every reason of every refusal."""
    lines = [*_matrix(decision, width)]
    for row in rows:
        if isinstance(row.of, Refusal):
            lines += section(f"{row.place} refuses the job")
            lines += aligned(map(failed_cells, row.of.failed), width)
    return lines[1:] or [line(("All destinations accept the job, with the same score.", "dim"))]


def _problems(explanation: PlacementExplanation, width: int) -> Iterator[Line]:
    yield from section("Wrong in the mapping files")
    for problem in explanation.problems:
        word = "warning" if problem.severity == "warning" else "error"
        style = "warning" if word == "warning" else "failed"
        glyph = "▲" if word == "warning" else "✗"
        first, _, hint = str(problem).partition("\n")
        yield from wrapped(line((f"  {glyph} {word} ", style), first), width, 4)
        if hint.strip():
            yield from wrapped(line((f"    {visible(hint.strip())}", "dim")), width, 4)


def _matched(decision: Decision, width: int) -> Iterator[Line]:
    yield from section("What applied, in this order")
    if not decision.matched:
        yield line(("  nothing in the mapping files: the action as it is", "dim"))
    rows = []
    for number, matched in enumerate(decision.matched, 1):
        how = ""
        if matched.subject and matched.pattern and matched.pattern != matched.subject:
            how = f"  {matched.pattern} matches {matched.subject}"
        elif not matched.pattern and matched.subject:
            how = f"  applies to every job ({matched.subject})"
        rows.append([line((str(number), "dim")), line(origin_part(matched.origin), (how, "dim"))])
    yield from aligned(rows, width)


def _rules(decision: Decision, width: int) -> Iterator[Line]:
    if not decision.rules:
        return
    yield from section("Rules that were looked at, in this order")
    rows = []
    for rule in decision.rules:
        glyph, style = ("✓", "completed") if rule.matched else ("·", "waiting")
        effect = f": {_short(rule.effect)}" if rule.effect else ""
        text = (f"{_short(rule.condition)}{effect}", "") if rule.matched else (
            f"does not apply: {_short(rule.condition)}", "dim")  # fmt: skip
        name = line(rule.origin.rule or rule.origin.id)
        rows.append(
            [
                line((glyph, style)),
                name,
                line(text, origin_part(rule.origin, f"  {_place(rule.origin)}")),
            ]
        )
    yield from aligned(rows, width)


_LABELS = {"cores": "CPUs", "gpus": "GPUs", "mem": "memory", "params.partition": "partition"}
_SHORT_VALUE = 16
"""Columns of a value that has a column of its own; a longer one is in front of its origin."""


def _values(decision: Decision, width: int) -> Iterator[Line]:
    if not decision.contributions:
        return
    yield from section("Values of the job")
    rows = []
    for one in decision.contributions:
        value, written = value_text(one.value), value_text(one.written)
        text = f"{value}{_UNITS.get(one.field, '')}"
        origin = origin_text(one.origin)
        if written != value and one.written is not None:
            origin += f", written as {written}"
        label = line((_LABELS.get(one.field, one.field), "dim"))
        if len(text) > _SHORT_VALUE:
            rows.append([label, (), line((text, "title"), origin_part(one.origin, f"  {origin}"))])
        else:
            rows.append([label, line((text, "title")), line(origin_part(one.origin, origin))])
        rows += [
            [
                (),
                (),
                line(
                    (f"instead of {value_text(other)}, ", "dim"),
                    origin_part(source, _place(source)),
                ),
            ]
            for other, source in one.replaced
        ]
    yield from aligned(rows, width)


def _place(origin: Origin) -> str:
    return visible(str(origin.place)) if origin.place.file else origin_text(origin)


def value_text(value: Any) -> str:
    """Return a value as it would be written, bounded and visible."""
    if isinstance(value, str):
        return _short(value)
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return amount_text(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = str(type(value).__name__)
    return _short(text)


def _short(text: str) -> str:
    shown = visible(text[: LONGEST_VALUE + 1].strip())
    return shown[:LONGEST_VALUE] + "…" if len(shown) > LONGEST_VALUE else shown


def _tags(decision: Decision, width: int) -> Iterator[Line]:
    if decision.tags:
        yield from section("Tags of the job")
        yield from aligned(
            (
                [line((f"{strength}s", "dim")), line(tag), line(origin_part(origin))]
                for strength, tag, origin in decision.tags
            ),
            width,
        )


NARROW, BROAD = 8, 18
"""Least and largest number of columns of a destination in the table of scores."""


def _matrix(decision: Decision, width: int) -> Iterator[Line]:
    """Yield the points that each tag gave each candidate, if there are several, side by side."""
    ranked = [one for one in decision.candidates if one.rank]
    tags = dict.fromkeys(tag for one in ranked for tag, points in one.by_tag if points)
    if len(ranked) < 2 or not tags:
        return
    label = min(max(len(visible(tag)) for tag in (*tags, "total")), max(8, width // 3)) + 2
    names = [visible(one.destination_id) for one in ranked]
    broad = [min(BROAD, max(NARROW, len(name))) for name in names]
    shown = 0
    while shown < len(ranked) and label + 2 + sum(broad[: shown + 1]) + 2 * shown <= width:
        shown += 1
    if shown < 2:
        return
    yield from section("Scores, tag by tag: the highest is tried first")
    heads = [cut(line((name, "heading")), room) for name, room in zip(names, broad, strict=True)]
    right = [
        (*line("  "), *fit(head, room, "right"))
        for head, room in zip(heads[:shown], broad, strict=False)
    ]
    yield (*line(" " * label), *(span for cells in right for span in cells))
    for tag in tags:
        points = [dict(one.by_tag).get(tag, 0) for one in ranked[:shown]]
        yield _scores(tag, points, label, broad, "")
    yield _scores("total", [one.score for one in ranked[:shown]], label, broad, "title")
    if (more := len(ranked) - shown) > 0:
        yield line((f"  and {more:,} more", "dim"))


def _scores(name: str, points: Sequence[int], label: int, broad: Sequence[int], style: str) -> Line:
    cells = fit(line("  ", (name, style)), label)
    for one, room in zip(points, broad, strict=False):
        text = line((f"{one:+d}", style)) if one else line(("–" if not style else "0", "dim"))
        cells = (*cells, *line("  "), *fit(text, room, "right"))
    return tuple(cells)


def _files(explanation: PlacementExplanation, width: int) -> Iterator[Line]:
    yield from section("Mapping files")
    if not explanation.files:
        yield from wrapped(line(("  none: the cluster's partitions alone count", "dim")), width, 2)
    for file in explanation.files:
        trust = line("trusted") if file.trusted else line(("not trusted", "warning"))
        because = (f": {file.because}" if file.because else "", "dim")
        name = line("  ", linked(file.name, file.name), "  ")
        yield from wrapped((*name, *trust, *line(because)), width, 4)
