"""The steps to the decision about a job: the matches, the rules that apply, the origin of each
value, the tags.

The input is an `PlacementExplanation`; the output is lines of at most a width.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Contribution, Decision
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.destination import origin_text, section
from rowtui.tui.views.explain.what_if import amount_text
from rowtui.tui.widgets.cells import Line, cut, fit, line, wrapped

LONGEST_VALUE = 300
"""The number of characters of one value that are shown."""

_UNITS = {"mem": " GB", "min_mem": " GB", "max_mem": " GB", "mem there": " GB"}


def story_lines(explanation: PlacementExplanation, width: int) -> list[Line]:
    """Return all steps to the job's values, and the problems in the files that set them."""
    decision = explanation.decision
    lines: list[Line] = []
    if explanation.problems:
        lines += _problems(explanation, width)
    if decision is not None:
        lines += _matched(decision, width)
        lines += _rules(decision, width)
        lines += _values(decision, width)
        lines += _tags(decision, width)
        lines += _matrix(decision, width)
    notices = [*explanation.notices, *(decision.chosen.notices if decision else ())]
    if notices:
        lines += section("Notices")
        for notice in notices:
            lines += wrapped(line(("  ▲ ", "warning"), notice), width, 4)
    if decision is not None or explanation.files:
        lines += _files(explanation, width)
    return lines[1:] if lines and lines[0] == () else lines


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
    yield from section("Matched, in this order")
    if not decision.matched:
        yield line(("  nothing in the mapping files: the action as it is", "dim"))
    for number, matched in enumerate(decision.matched, 1):
        how = ""
        if matched.subject and matched.pattern and matched.pattern != matched.subject:
            how = f"  {matched.pattern} matches {matched.subject}"
        elif not matched.pattern and matched.subject:
            how = f"  by {matched.subject}"
        text = line((f"  {number}  ", "dim"), origin_text(matched.origin), (how, "dim"))
        yield from wrapped(text, width, 5)


def _rules(decision: Decision, width: int) -> Iterator[Line]:
    if not decision.rules:
        return
    yield from section("Rules")
    for rule in decision.rules:
        mark = ("✓ applies", "completed") if rule.matched else ("· does not apply", "waiting")
        text = line(
            (f"  {mark[0]}  ", mark[1]),
            rule.origin.rule or rule.origin.id,
            ("  if ", "dim"),
            (_short(rule.condition), "" if rule.matched else "dim"),
        )
        yield from wrapped(text, width, 6)
        if rule.matched and rule.effect:
            yield from wrapped(line(("      then ", "dim"), _short(rule.effect)), width, 6)
        yield from wrapped(line((f"      {origin_text(rule.origin)}", "dim")), width, 6)


def _values(decision: Decision, width: int) -> Iterator[Line]:
    if not decision.contributions:
        return
    yield from section("Values and their origins")
    for contribution in decision.contributions:
        yield from _value(contribution, width)


def _value(contribution: Contribution, width: int) -> Iterator[Line]:
    unit = _UNITS.get(contribution.field, "")
    value = value_text(contribution.value)
    written = value_text(contribution.written)
    parts: list[str | tuple[str, str]] = [
        (f"  {visible(contribution.field)} = ", ""),
        (value + unit, "title"),
    ]
    if written != value and contribution.written is not None:
        parts.append((f"  from {written}", "dim"))
    parts.append((f"  {origin_text(contribution.origin)}", "dim"))
    yield from wrapped(line(*parts), width, 6)
    for other, origin in contribution.replaced:
        text = line((f"      over {value_text(other)}  {origin_text(origin)}", "dim"))
        yield from wrapped(text, width, 8)


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
    if decision.request.what_if is None and not decision.tags:
        return
    yield from section("Tags of the job")
    if not decision.tags:
        yield line(("  none", "dim"))
    for strength, tag, origin in decision.tags:
        text = line((f"  {strength}s ", "dim"), tag, (f"  {origin_text(origin)}", "dim"))
        yield from wrapped(text, width, 6)


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
    yield from section("Scores, tag by tag: the higher goes first")
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
        yield from wrapped(line("  ", file.name), width, 4)
