"""The nodes of a network as a list: each below all of its inputs, with its progress.

The input is a `NetworkView`; the output is rows, columns and cells. A list fits where a picture of
the network would not, and a list can be filtered and sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.views import NetworkView, NodeView
from rowtui.tui.views.network.picture.boxes import (
    Arrow,
    NodeKey,
    arrows,
    box_lines,
    counts_line,
    key_of,
    progress_bar,
    title_of,
)
from rowtui.tui.widgets.cells import Cell, Line, line, width_of
from rowtui.tui.widgets.columns import TableColumn


class NodeRow(NamedTuple):
    """One node. `shown` is the node whose jobs are counted: for a sink, the node that it takes
    from.

    `depth` is the number of steps from the sources; `marks` shows what its links do with samples.
    """

    key: NodeKey
    node: NodeView
    shown: NodeView | None
    depth: int
    marks: str


def node_rows(view: NetworkView) -> list[NodeRow]:
    """Return all nodes, each after all of its inputs."""
    links = arrows(view)
    nodes = {key_of(node): node for node in view.nodes}
    rows = []
    for key, depth in in_order(view.nodes, links):
        node = nodes[key]
        shown = nodes.get(("", node.home)) if node.kind == "sink" else node
        marks = "  ".join(dict.fromkeys(it.mark for it in links if it.target == key and it.mark))
        rows.append(NodeRow(key, node, shown, depth, marks))
    return rows


def node_columns(rows: Sequence[NodeRow]) -> tuple[TableColumn, ...]:
    """Return the columns for these nodes."""
    names = [width_of(_name(row)) for row in rows]
    marks = max((width_of(line(row.marks)) for row in rows), default=0)
    columns = [
        TableColumn("node", "Node", min(max([*names, 12]), 20), min(max([*names, 12]), 30)),
        TableColumn("done", "Progress", 10, 12, priority=1),
        TableColumn("jobs", "Jobs", 14, 16, priority=2, grow=2),
    ]
    if marks:
        columns.append(TableColumn("links", "Links", min(marks, 16), min(marks, 24), priority=3))
    if any(_number(row, GraphJobState.FAILED) for row in rows):
        columns.append(TableColumn("failed", "Failed", 6, align="right", priority=5))
    columns.append(TableColumn("left", "Left", 6, align="right", priority=4))
    return tuple(columns)


def node_cells(row: NodeRow) -> dict[str, Cell]:
    """Return one row of the list."""
    return {
        "node": _name(row),
        "done": _Done(row.node, row.shown),
        "jobs": _Jobs(row.node, row.shown),
        "links": line((row.marks, "dim")),
        "failed": _count(row, "failed", GraphJobState.FAILED),
        "left": _count(row, "", GraphJobState.WAITING, GraphJobState.ELIGIBLE),
    }


def node_values(row: NodeRow) -> dict[str, Any]:
    """Return the values of a node for filters and files; numbers as numbers."""
    counts = row.shown.counts if row.shown else ()
    total = sum(counts)
    return {
        "node": row.node.name,
        "done": 100 * counts[GraphJobState.COMPLETED] // total if total else "",
        "jobs": total if counts else "",
        "links": row.marks,
        "failed": _number(row, GraphJobState.FAILED) if counts else "",
        "left": _number(row, GraphJobState.WAITING, GraphJobState.ELIGIBLE) if counts else "",
    }


def changed_nodes(old: Sequence[NodeRow], new: Sequence[NodeRow]) -> dict[NodeKey, tuple[str, ...]]:
    """Return the nodes whose numbers have changed, with the columns of those numbers."""
    before = {row.key: node_values(row) for row in old}
    found = {}
    for row in new:
        was, now = before.get(row.key), node_values(row)
        counts = next((it.shown.counts for it in old if it.key == row.key and it.shown), None)
        columns = [name for name in now if was is not None and now[name] != was[name]]
        if counts is not None and row.shown and counts != row.shown.counts:
            columns.append("jobs")
        if columns:
            found[row.key] = tuple(dict.fromkeys(columns))
    return found


def _name(row: NodeRow) -> Line:
    critical = row.node.critical is not None
    arrow = "" if row.node.kind == "source" else "→ " if row.node.kind == "sink" else ""
    return line(
        "  " * row.depth,
        (arrow, "dim"),
        (title_of(row.node, critical=critical), "warning" if critical else ""),
    )


def _number(row: NodeRow, *states: GraphJobState) -> int:
    counts = row.shown.counts if row.shown else ()
    return sum(counts[state] for state in states) if counts else 0


def _count(row: NodeRow, style: str, *states: GraphJobState) -> Line:
    number = _number(row, *states)
    return line((f"{number:,}", style)) if number else ()


@dataclass(frozen=True, slots=True)
class _Done:
    """The bar of a node; for a source, its samples."""

    node: NodeView
    shown: NodeView | None

    def at(self, width: int) -> Line:
        if not self.node.needed:
            return line(("not needed", "dim"))
        if self.node.kind == "source" or self.shown is None or not self.shown.counts:
            return box_lines(self.node, self.shown, width)[0]
        return progress_bar(self.shown, width)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The numbers of jobs by state, as far as there is room."""

    node: NodeView
    shown: NodeView | None

    def at(self, width: int) -> Line:
        if not self.node.needed:
            return line(("by any result", "dim"))
        if self.node.kind != "node" or self.shown is None or not self.shown.counts:
            return box_lines(self.node, self.shown, width)[1]
        return counts_line(self.shown.counts, width, bool(self.shown.lists))


def in_order(nodes: Sequence[NodeView], links: Sequence[Arrow]) -> list[tuple[NodeKey, int]]:
    """Return each node with its depth, after all of its inputs and as near to one as possible."""
    after: dict[NodeKey, list[NodeKey]] = {key_of(node): [] for node in nodes}
    left = {key_of(node): set[NodeKey]() for node in nodes}
    for one in links:
        after[one.source].append(one.target)
        left[one.target].add(one.source)
    found: list[tuple[NodeKey, int]] = []
    todo = [(key_of(node), 0) for node in reversed(nodes) if not left[key_of(node)]]
    while todo:
        key, depth = todo.pop()
        found.append((key, depth))
        ready = []
        for other in dict.fromkeys(after[key]):
            left[other].discard(key)
            if not left[other]:
                ready.append((other, depth + 1))
        todo += reversed(ready)
    return found
