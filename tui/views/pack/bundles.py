"""A packing as rows: node types, beneath each its bundles, and the jobs that are not packed.

Bundles that are alike are one row with a count, so that a list of a thousand stays readable. The
input is the engine's `PackedPlan`; the output is values that are computed once for each answer, and
the cells of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.text import si, visible
from rowtui.core.project.planning.pack_views import NodeTypeView
from rowtui.tui.widgets.cells import FirstThatFits, Number, Span, line, percentage, portion
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import duration

if TYPE_CHECKING:
    from rowtui.core.packing.model import ResourceAmounts
    from rowtui.core.project.planning.pack_views import (
        BundleView,
        LeftAlone,
        PackedDestination,
        PackedPlan,
    )
    from rowtui.core.submission.plan.model import PlannedJob
    from rowtui.tui.widgets.cells import Cell, Line

FINE = 10_000
"""The number of parts into which shares are divided."""

HALF = 0.5
"""Share of a node: a bundle that holds less than this share is highlighted."""

AXES = 3
"""Cores, memory and GPUs, for which bars are drawn. Local disks have no price of their own."""


class Share(NamedTuple):
    """The used share of a node: `busy` over the time that is paid for, `held` for any part."""

    busy: float
    held: float

    @property
    def percent(self) -> str:
        """The busy share as text for a bar: 100 % only if nothing is idle."""
        return percentage(round(self.busy * FINE), FINE).strip()


# Of cores, memory and GPUs; None if the node has none, or the amount is unknown.
Shares = tuple[Share | None, ...]


class BundleRow(NamedTuple):
    """Bundles that are alike: one of them, their number, and their total cost."""

    key: tuple[str, str, int]
    bundle: BundleView
    times: int
    node_type: NodeTypeView
    shares: Shares
    cost: float

    @property
    def jobs(self) -> int:
        """The number of jobs in all of these bundles."""
        return self.times * self.bundle.jobs


class TypeRow(NamedTuple):
    """A node type, and the totals of all bundles on it. `on`: jobs may be packed on this type."""

    key: tuple[str, str, int]
    node_type: NodeTypeView
    on: bool
    nodes: int
    jobs: int
    shares: Shares
    seconds: int  # The time of the longest bundle.
    cost: float


class AloneRow(NamedTuple):
    """Jobs that are not packed, and the reason."""

    key: tuple[str, str, int]
    left: LeftAlone


Row = TypeRow | BundleRow | AloneRow


@dataclass(frozen=True, slots=True)
class BundleLook:
    """The packing at one destination, ready to be drawn."""

    of: PackedDestination
    known: tuple[NodeTypeView, ...]  # All node types there, including those switched off.
    rows: tuple[Row, ...]
    nodes: tuple[tuple[str, int], ...]  # Name and number of nodes of each node type that is used.
    total: Shares


@dataclass(frozen=True, slots=True)
class Picture:
    """One answer of the packer."""

    packed: PackedPlan
    looks: tuple[BundleLook, ...]


Known = Mapping[str, tuple[NodeTypeView, ...]]


def picture_of(packed: PackedPlan, known: Known) -> Picture:
    """Return all values that are drawn for a packing. `known` has the node types by destination."""
    jobs = packed.plan.jobs
    return Picture(packed, tuple(_look(there, jobs, known) for there in packed.destinations))


class _Sum:
    """The totals of bundles, weighted by their time."""

    def __init__(self) -> None:
        self.paid = [0.0] * AXES
        self.busy = [0.0] * AXES
        self.held = [0.0] * AXES

    def add(self, bundle: BundleView, node: ResourceAmounts, times: int = 1) -> None:
        seconds = (bundle.busy_seconds or 1) * times
        for at in range(AXES):
            busy = sum(lane.amounts[at] * (sum(lane.seconds) or 1) for lane in bundle.lanes) * times
            held = max(bundle.used[at], sum(lane.amounts[at] for lane in bundle.lanes))
            self.paid[at] += node[at] * seconds
            self.busy[at] += busy
            self.held[at] += max(busy, held * seconds)

    def merge(self, other: _Sum) -> None:
        for mine, theirs in (
            (self.paid, other.paid),
            (self.busy, other.busy),
            (self.held, other.held),
        ):
            for at in range(AXES):
                mine[at] += theirs[at]

    @property
    def shares(self) -> Shares:
        return tuple(
            Share(min(1.0, busy / paid), min(1.0, held / paid)) if paid else None
            for paid, busy, held in zip(self.paid, self.busy, self.held, strict=True)
        )


def _look(there: PackedDestination, jobs: Sequence[PlannedJob], known: Known) -> BundleLook:
    alike: dict[tuple[object, ...], list[BundleView]] = {}
    for bundle in there.bundles:
        alike.setdefault(_shape(bundle, jobs), []).append(bundle)
    by_type: dict[int, list[BundleRow]] = {}
    sums: dict[int, _Sum] = {}
    total = _Sum()
    for shape, those in alike.items():
        first, number = those[0], those[0].node_type
        node_type = there.node_types[number]
        own = _Sum()
        own.add(first, node_type.amounts, len(those))
        sums.setdefault(number, _Sum()).merge(own)
        total.merge(own)
        key = ("bundle", node_type.name, hash(shape))
        cost = sum(bundle.cost for bundle in those)
        row = BundleRow(key, first, len(those), node_type, own.shares, cost)
        by_type.setdefault(number, []).append(row)
    used: list[tuple[TypeRow, list[BundleRow]]] = []
    for number, bundles in by_type.items():
        bundles.sort(key=lambda row: (-row.times, -row.cost))
        used.append((_type_row(there.node_types[number], bundles, sums[number].shares), bundles))
    used.sort(key=lambda pair: -pair[0].cost)
    rows: list[Row] = []
    for type_row, bundles in used:
        rows += [type_row, *bundles]
    rows += [AloneRow(("alone", left.reason, 0), left) for left in there.left_alone]
    types = known.get(str(there.destination)) or there.node_types
    on = {one.name for one in there.node_types}
    seen = {there.node_types[number].name for number in by_type}
    rows += [
        TypeRow(_key(one), one, one.name in on, 0, 0, (None,) * AXES, 0, 0.0)
        for one in types
        if one.name not in seen
    ]
    nodes = tuple((row.node_type.name, row.nodes) for row, _ in used)
    return BundleLook(there, types, tuple(rows), nodes, total.shares)


def _shape(bundle: BundleView, jobs: Sequence[PlannedJob]) -> tuple[object, ...]:
    """Return a key that bundles with equal sizes, times and actions share."""
    lanes = sorted(
        (lane.amounts, lane.seconds, tuple(jobs[at].action for at in lane.jobs))
        for lane in bundle.lanes
    )
    return (bundle.node_type, bundle.used, bundle.seconds, tuple(lanes))


def _key(node_type: NodeTypeView) -> tuple[str, str, int]:
    return ("type", node_type.name, 0)


def _type_row(node_type: NodeTypeView, bundles: Iterable[BundleRow], shares: Shares) -> TypeRow:
    those = list(bundles)
    return TypeRow(
        _key(node_type),
        node_type,
        True,
        sum(row.times for row in those),
        sum(row.jobs for row in those),
        shares,
        max(row.bundle.seconds for row in those),
        sum(row.cost for row in those),
    )


# Cells


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
            name: ShareBar(share) if share else line(("–", "faint"))
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
        text = f" {duration(self.seconds):>8}"
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
