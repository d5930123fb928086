"""The rows of a packing as cells of a table, with bars for shares and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rowtui.core.base.text import plural, si, visible
from rowtui.core.packing.model import ResourceAmounts
from rowtui.tui.views.pack.bundles import FINE, HALF, AloneRow, BundleRow, Row, Share, TypeRow
from rowtui.tui.widgets.cells import (
    FirstThatFits,
    Line,
    Number,
    Span,
    line,
    percentage,
    portion,
)
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import limit

if TYPE_CHECKING:
    from rowtui.core.packing.model import ResourceAmounts
    from rowtui.tui.widgets.cells import Cell, Line


def bundle_columns(rows: Sequence[Row]) -> tuple[TableColumn, ...]:
    """Return the columns for these rows; columns that would be empty are left out."""
    packed = [row for row in rows if not isinstance(row, AloneRow)]
    names = [len(visible(row.node_type.name)) + 2 for row in packed]
    columns = [
        TableColumn("what", "Node type", 10, min(max([*names, 12]), 28), grow=1, short="Nodes of"),
        TableColumn("nodes", "Nodes", 5, align="right"),
        TableColumn("jobs", "Jobs", 4, 5, "right"),
        TableColumn("cores", "Cores", 10, 13, grow=3),
    ]
    for at, (name, title) in enumerate((("memory", "Memory"), ("gpus", "GPUs")), 1):
        if any(row.shares[at] is not None for row in packed):
            columns.append(TableColumn(name, title, 10, 12, priority=3 + at, grow=2))
    columns += [
        TableColumn("time", "Time", 8, 14, priority=2, grow=2),
        TableColumn("cost", "Cost", 6, 7, "right", priority=1),
    ]
    return tuple(columns)


def half_empty(row: Row) -> bool:
    """Whether the jobs hold less than half of the node's cores, of its memory and of its GPUs."""
    if not isinstance(row, BundleRow):
        return False
    held = [share.held for share in row.shares if share is not None]
    return bool(held) and max(held) < HALF


def bundle_values(row: Row) -> dict[str, Any]:
    """Return the values of a row for filters and files; numbers as numbers."""
    if isinstance(row, AloneRow):
        words = {"what": "not packed", "jobs": len(row.left.jobs), "cores": row.left.reason}
        return dict.fromkeys(("nodes", "memory", "gpus", "time", "cost"), "") | words
    shares = dict(zip(("cores", "memory", "gpus"), row.shares, strict=True))
    percents = {name: "" if it is None else round(100 * it.busy) for name, it in shares.items()}
    if isinstance(row, TypeRow):
        state = "" if row.nodes else " not used" if row.on else " off"
        rest = {"nodes": row.nodes, "jobs": row.jobs, "time": row.seconds, "cost": row.cost}
        return {"what": row.node_type.name + state} | percents | rest
    empty = " half empty" if half_empty(row) else ""
    what = f"{row.node_type.name} {len(row.bundle.lanes)} lanes{empty}"
    rest = {"nodes": row.times, "jobs": row.jobs, "time": row.bundle.seconds, "cost": row.cost}
    return {"what": what} | percents | rest


def bundle_cells(row: Row) -> dict[str, Cell]:
    """Return the cells of one row: a node type, similar bundles, or jobs that are not packed."""
    if isinstance(row, AloneRow):
        return {
            "what": line(("▲ ", "warning"), ("not packed", "warning")),
            "nodes": line(("–", "dim")),
            "jobs": Number(len(row.left.jobs)),
            "cores": line((row.left.reason, "dim")),
        }
    if isinstance(row, TypeRow) and not row.nodes:
        word = "not used" if row.on else "off"
        return {
            "what": line((("○ " if row.on else "– "), "dim"), (row.node_type.name, "dim")),
            "nodes": line(("–", "dim")),
            "jobs": line(("–", "dim")),
            "cores": line((word, "dim")),
        }
    longest = row.node_type.longest_seconds
    if isinstance(row, TypeRow):
        what = line(("● ", "completed"), (row.node_type.name, "title"))
        nodes: Cell = Number(row.nodes, "title")
        seconds, each = row.seconds, ""
    else:
        lanes = len(row.bundle.lanes)
        what = line(("  ", ""), "1 lane" if lanes == 1 else f"{lanes:,} lanes")
        if half_empty(row):
            what = (*line(("▲ ", "warning")), *what[1:])
        each, seconds = "dim", row.bundle.seconds
        nodes = FirstThatFits((line(f"×{row.times:,}"), line(f"×{si(row.times)}")))
    return {
        "what": what,
        "nodes": nodes,
        "jobs": Number(row.jobs, "" if each else "title"),
        **{
            name: ShareBar(share) if share else line(("–", "dim"))
            for name, share in zip(("cores", "memory", "gpus"), row.shares, strict=True)
        },
        "time": TimeBar(seconds, longest),
        "cost": line((price(row.cost), each)),
    }


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A share as a bar: busy, held but idle, and free parts differ in their glyph and colour."""

    share: Share

    def at(self, width: int) -> Line:
        """Return `██████▒▒░░  61%`."""
        busy = round(self.share.busy * FINE)
        percent = percentage(busy, FINE)
        room = width - len(percent)
        if room < 3:
            return (Span(percent[-width:]),)
        full = portion(busy, FINE, room)
        half = max(0, portion(round(self.share.held * FINE), FINE, room) - full)
        return (
            Span("█" * full, "completed"),
            Span("▒" * half, "submitted"),
            Span("░" * (room - full - half), "faint"),
            Span(percent),
        )


@dataclass(frozen=True, slots=True)
class TimeBar:
    """A duration as a bar, relative to the longest possible duration if there is a limit."""

    seconds: int
    longest: int | None

    def at(self, width: int) -> Line:
        """Return `████░░░░  4:00:00`."""
        text = f" {limit(self.seconds):>8}"
        room = width - len(text)
        if room < 3 or not self.longest:
            return (Span(text.strip()),)
        full = portion(min(self.seconds, self.longest), self.longest, room)
        return (Span("█" * full, "submitted"), Span("░" * (room - full), "faint"), Span(text))


def price(amount: float) -> str:
    """Return a cost as a number for the user: `0`, `0.042`, `3.25`, `41.0`, `1,234`."""
    if amount >= 1000:
        return f"{amount:,.0f}"
    if amount >= 10:
        return f"{amount:.1f}"
    if amount >= 0.1 or not amount:
        return f"{amount:.2f}" if amount else "0"
    return f"{amount:.2g}"


def costs(amount: float, unit: str) -> str:
    """Return `12.3 CPU-hours`; only `12.3` if the unit of the prices is unknown."""
    return f"{price(amount)} {visible(unit)}".rstrip()


def amounts_words(amounts: ResourceAmounts) -> str:
    """Return `16 cores, 32 GB, 2 GPUs`; amounts that are zero, or unknown, are left out."""
    words = [plural(amounts.cpus, "core")]
    if amounts.memory_mb:
        words.append(memory_text(amounts.memory_mb))
    if amounts.gpus:
        words.append(plural(amounts.gpus, "GPU"))
    return ", ".join(words)


def memory_text(megabytes: int) -> str:
    """Return `512 MB`, `32 GB`, `1.5 TB`."""
    size, units = float(megabytes), ["MB", "GB", "TB", "PB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return (
        f"{size:.0f} {units[0]}" if size >= 100 or size == int(size) else f"{size:.1f} {units[0]}"
    )
