"""The rows of a packing as cells of a table, with bars for shares and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rowtui.core.base.text import memory, plural, price, visible
from rowtui.core.project.planning.pack_views import price_of
from rowtui.tui.views.pack.bundles import (
    FINE,
    HALF,
    AloneRow,
    BundleRow,
    Row,
    Share,
    TypeRow,
    capacity,
)
from rowtui.tui.widgets.cells import Line, Number, Span, Wide, bar, line, percentage
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import limit

if TYPE_CHECKING:
    from rowtui.core.clusters.model import NodeType
    from rowtui.core.packing.model import ResourceAmounts
    from rowtui.tui.views.pack.bundles import BundleLook, Shares
    from rowtui.tui.widgets.cells import Cell


AXIS_NAMES = ("cores", "memory", "gpus")
"""The columns of the shares, in the order of the shares."""


def bundle_columns(rows: Sequence[Row], unit: str = "") -> tuple[TableColumn, ...]:
    """Return the columns for these rows; columns that would be empty are left out."""
    packed = [row for row in rows if not isinstance(row, AloneRow)]
    names = [len(visible(row.node_type.name)) + 2 for row in packed]
    costs = [len(price(row.cost)) for row in packed]
    columns = [
        TableColumn("what", "Node type", 10, min(max([*names, 12]), 28)),
        TableColumn("nodes", "Nodes", 5, align="right"),
        TableColumn("jobs", "Jobs", 4, 5, "right"),
    ]
    titles = ("CPUs used", "Memory used", "GPUs used")
    for at, (name, title) in enumerate(zip(AXIS_NAMES, titles, strict=True)):
        if not at or any(row.shares[at] is not None for row in packed):
            short = title.removesuffix(" used")
            columns.append(TableColumn(name, title, 10, 13, priority=3 * at, grow=2, short=short))
    cost = max([*costs, len(unit), 6])
    columns += [
        TableColumn("time", "Time", 6, 10, "right", priority=2),
        TableColumn("cost", visible(unit) or "Cost", 6, min(cost, 12), "right", priority=1),
    ]
    return tuple(columns)


def half_empty(row: Row) -> bool:
    """Whether the jobs hold less than half of the node's CPUs, of its memory and of its GPUs."""
    if not isinstance(row, BundleRow):
        return False
    held = [share.held for share in row.shares if share is not None]
    return bool(held) and max(held) < HALF


def bundle_values(row: Row) -> dict[str, Any]:
    """Return the values of a row for filters and files; numbers as numbers."""
    if isinstance(row, AloneRow):
        words = {"what": "not packed", "jobs": len(row.left.jobs), "cores": row.left.reason}
        return dict.fromkeys(("nodes", "memory", "gpus", "time", "cost"), "") | words
    shares = dict(zip(AXIS_NAMES, row.shares, strict=True))
    percents = {name: "" if it is None else round(100 * it.busy) for name, it in shares.items()}
    if isinstance(row, TypeRow):
        state = "" if row.nodes else " not needed" if row.on else " off"
        rest = {"nodes": row.nodes, "jobs": row.jobs, "time": row.seconds, "cost": row.cost}
        return {"what": row.node_type.name + state} | percents | rest
    empty = " half empty" if half_empty(row) else ""
    what = f"{row.node_type.name} {slots(row)}{empty}"
    rest = {"nodes": row.times, "jobs": row.jobs, "time": row.bundle.seconds, "cost": row.cost}
    return {"what": what} | percents | rest


def slots(row: BundleRow) -> str:
    """Return `5 slots`."""
    return plural(len(row.bundle.lanes), "slot")


def bundle_cells(row: Row, unit: str = "") -> dict[str, Cell]:
    """Return the cells of one row: a node type, similar bundles, or jobs that are not packed."""
    unknown = line(("–", "dim"))
    if isinstance(row, AloneRow):
        what = line(("▲ ", "warning"), ("not packed", "warning"))
        reason, jobs = Wide(line((row.left.reason, "dim"))), Number(len(row.left.jobs))
        return {"what": what, "nodes": unknown, "jobs": jobs, "cores": reason}
    if isinstance(row, TypeRow) and not row.nodes:
        kind = row.node_type
        words = f"not needed: {amounts_words(capacity(kind))}, {an_hour(kind, unit)}"
        mark, why = ("○ ", words) if row.on else ("✗ ", "switched off: Space uses it again")
        what = line((mark, "dim"), (kind.name, "dim"))
        return {"what": what, "nodes": unknown, "jobs": unknown, "cores": Wide(line((why, "dim")))}
    if isinstance(row, TypeRow):
        what = line(("● ", "completed"), (row.node_type.name, "title"))
        return {"what": what, **_sums(row.nodes, row.jobs, row.shares, row.seconds, row.cost)}
    half = ("▲ ", "warning") if half_empty(row) else ("  ", "")
    sums = _sums(row.times, row.jobs, row.shares, row.bundle.seconds, row.cost)
    return {"what": line("  ", half, slots(row)), **sums}


def total_cells(look: BundleLook) -> dict[str, Cell]:
    """Return the row below the node types: the sums of the columns."""
    used = [row for row in look.rows if isinstance(row, TypeRow) and row.nodes]
    nodes, jobs = sum(row.nodes for row in used), sum(row.jobs for row in used)
    cost, longest = sum(row.cost for row in used), max((row.seconds for row in used), default=0)
    return {"what": line("all"), **_sums(nodes, jobs, look.total, longest, cost)}


def _sums(nodes: int, jobs: int, shares: Shares, seconds: int, cost: float) -> dict[str, Cell]:
    bars = {
        name: ShareBar(share) if share else line(("–", "dim"))
        for name, share in zip(AXIS_NAMES, shares, strict=True)
    }
    times = {"time": line(limit(seconds)), "cost": line(price(cost))}
    return {"nodes": Number(nodes), "jobs": Number(jobs), **bars, **times}


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A share as a bar: busy, held but idle, and free parts differ in their glyph and colour."""

    share: Share

    def at(self, width: int) -> Line:
        """Return `██████▒▒░░  61%`."""
        percent = percentage(round(self.share.busy * FINE), FINE)
        room = width - len(percent)
        if room < 3:
            return (Span(percent[-width:]),)
        held = max(0.0, self.share.held - self.share.busy)
        # A share that is held in part ends at whole cells, as the next part begins there.
        parts = [
            (self.share.busy, "█", "completed"),
            (held if held > 0.01 else 0.0, "▒", "submitted"),
        ]
        *drawn, free = bar(parts, 1.0, room)
        return (*drawn, Span("░" * len(free.text), "dim"), Span(percent))


def an_hour(kind: NodeType, unit: str) -> str:
    """Return `2.20 EUR an hour`: the price of a node."""
    return f"{price(price_of(kind))} {visible(unit)} an hour".replace("  ", " ")


def amounts_words(amounts: ResourceAmounts) -> str:
    """Return `16 CPUs, 32 GB, 2 GPUs`; amounts that are zero, or unknown, are left out."""
    words = [plural(amounts.cpus, "CPU")]
    if amounts.memory_mb:
        words.append(memory(amounts.memory_mb))
    if amounts.gpus:
        words.append(plural(amounts.gpus, "GPU"))
    return ", ".join(words)
