"""All sources of a decision as rows: values, tags, rules and checks.

Those of the destination under the cursor are first. A value from no file (for example a partition
that the cluster reports) has the name of its source in place of a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Decision, Refusal
from rowtui.core.mapping.model.origin import Origin
from rowtui.tui.views.explain.destination import origin_text
from rowtui.tui.views.explain.explain import DestinationRow
from rowtui.tui.views.explain.match_trace import value_text
from rowtui.tui.widgets.cells import Cell, line
from rowtui.tui.widgets.columns import TableColumn


class SourceRow(NamedTuple):
    """One value that was written by the user or reported by a cluster. `number` counts from 0 and
    is the key.
    """

    number: int
    what: str
    says: str
    origin: Origin

    @property
    def place(self) -> str:
        """`mapping.yml:12`, or the name of the source."""
        at = self.origin.place
        return visible(str(at)) if at.file else origin_text(self.origin)


def source_rows(row: DestinationRow | None, decision: Decision) -> list[SourceRow]:
    """Return each source once: those of the destination, then those of the job, in order."""
    found = dict.fromkeys(_sources(row, decision))
    return [SourceRow(number, *one) for number, one in enumerate(found)]


def _sources(row: DestinationRow | None, decision: Decision) -> Iterator[tuple[str, str, Origin]]:
    if row is not None:
        yield "destination", visible(row.name), row.of.origin
        failed = row.of.failed if isinstance(row.of, Refusal) else ()
        for check in (*failed, *(one for one in row.of.checks if one.passed)):
            if check.origin is not None:
                mark = "✓" if check.passed else "✗"
                yield f"{mark} {visible(check.constraint)}", visible(check.offered), check.origin
    for rule in decision.rules:
        mark = "✓" if rule.matched else "·"
        name = visible(rule.origin.rule or rule.origin.id)
        yield f"{mark} rule {name}", value_text(rule.condition), rule.origin
    for value in decision.contributions:
        yield visible(value.field), value_text(value.value), value.origin
        for other, origin in value.replaced:
            yield visible(value.field), f"{value_text(other)} (not used)", origin
    for strength, tag, origin in decision.tags:
        yield f"{strength} {visible(tag)}", "a tag of the job", origin
    for matched in decision.matched:
        yield "matched", visible(matched.pattern or matched.subject), matched.origin


def source_columns() -> tuple[TableColumn, ...]:
    """Return the columns of the sources."""
    return (
        TableColumn("what", "What", 14, 26),
        TableColumn("says", "Says", 12, 30, priority=1, grow=2),
        TableColumn("place", "Written in", 16, 30, grow=1),
        TableColumn("by", "By", 12, 34, priority=2, grow=1),
    )


def source_cells(row: SourceRow) -> dict[str, Cell]:
    """Return one row of the sources."""
    mark = row.what[:1]
    style = {"✓": "completed", "✗": "failed"}.get(mark, "")
    it = row.origin
    by = f"{it.kind} {visible(it.id)}".strip()
    if it.rule:
        by = f"rule {visible(it.rule)} of {by}"
    return {
        "what": line((row.what, style)),
        "says": line(row.says),
        "place": line((row.place, "key" if it.place.file else "dim")),
        "by": line((by + (" (not trusted)" if it.sealed else ""), "dim")),
    }
