"""A Gantt chart of a simulated run in few lines: the activity of each machine or node over time.

Takes spans, and gives rows of cells: each cell names the node that took most of it, and how full
the cell was. Cells are computed as sums over all spans, so spans shorter than a cell still count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.simulation.simulate import Simulated, SimulatedMachines, SimulatedWork

By = Literal["machines", "nodes"]

NOTHING = -1  # in a cell: no node


class GanttCell(NamedTuple):
    """One cell of a row: the node that took most of it (`NOTHING` for none), and how full it was.

    `share` is the share of the row's cores, or of a node's maximum; from 0 to 1.
    """

    node: int
    share: float


class GanttRow(NamedTuple):
    """One line. `first` and `last`: the range of machines or nodes in the row."""

    label: str
    first: int
    last: int
    cells: tuple[GanttCell, ...]


class Gantt(NamedTuple):
    """A chart. Each cell is `seconds` long; the first begins at 0. `nodes` are their names."""

    by: By
    seconds: float
    nodes: tuple[str, ...]
    rows: tuple[GanttRow, ...]


def gantt(
    work: SimulatedWork,
    machines: Sequence[SimulatedMachines],
    run: Simulated,
    *,
    by: By = "machines",
    height: int = 20,
    width: int = 60,
) -> Gantt:
    """Return the chart of a run in at most `height` rows of `width` cells.

    Neighbouring machines (or nodes) share a row where there are more of them than rows.
    """
    height, width = max(1, height), max(1, width)
    names = tuple(dict.fromkeys(it.name for it in work.nodes))
    spans = run.spans
    length = run.makespan / width
    if not len(spans.job) or length <= 0:
        return Gantt(by, 0.0, names, ())
    kind = np.asarray(work.node)[spans.job].astype(np.int64)
    node = np.array([names.index(it.name) for it in work.nodes], np.int64)[kind]
    cpus = np.maximum([it.cpus for it in work.nodes], 1).astype(np.float64)[kind]
    if by == "machines":
        of_span, things = spans.machine.astype(np.int64), len(run.opened)
    else:
        there = np.unique(node)
        of_span, things = np.searchsorted(there, node), len(there)
    rows = min(height, things)
    bounds = [at * things // rows for at in range(rows + 1)]
    row = np.searchsorted(bounds, of_span, side="right") - 1
    steps = (spans.start / length, spans.end / length)
    taken = _taken(row * len(names) + node, cpus, steps, (rows, len(names), width))
    most, total = taken.argmax(axis=1), taken.sum(axis=1)
    if by == "machines":
        cores = [max(1, machines[it.kind].cpus) for it in run.opened]
        room = np.add.reduceat(np.array(cores, np.float64), bounds[:-1])
        labels = _machine_labels(machines, run, bounds)
    else:
        room = np.maximum(total.max(axis=1), 1e-12)
        labels = [
            _joined(names[int(there[first])], names[int(there[end - 1])], end - first)
            for first, end in pairwise(bounds)
        ]
    shares = np.clip(total / room[:, None], 0.0, 1.0)
    found = []
    for at, label in enumerate(labels):
        cells = tuple(
            GanttCell(int(which) if share > 0 else NOTHING, float(share))
            for which, share in zip(most[at], shares[at].round(6), strict=True)
        )
        found.append(GanttRow(label, bounds[at], bounds[at + 1] - 1, cells))
    return Gantt(by, length, names, tuple(found))


def _taken(
    line: NDArray[np.int64],
    cpus: NDArray[np.float64],
    times: tuple[NDArray[np.float64], NDArray[np.float64]],
    shape: tuple[int, int, int],
) -> NDArray[np.float64]:
    """Return the mean number of cores of each node for each row and cell. `times` are in cells.

    A span adds its cores at its start and subtracts them at its end. The integral until the end of
    each cell is the sum of such steps, each times its distance to that end.
    """
    rows, nodes, width = shape
    size = rows * nodes * (width + 1)
    steps, moments = np.zeros(size), np.zeros(size)
    for at, sign in zip(times, (1.0, -1.0), strict=True):
        # the first cell boundary not before the time
        bound = np.clip(np.ceil(at), 0, width).astype(np.int64)
        key = line * (width + 1) + bound
        steps += np.bincount(key, sign * cpus, size)
        moments += np.bincount(key, sign * cpus * at, size)
    parts = (rows, nodes, width + 1)
    bounds = np.arange(width + 1)
    until = steps.reshape(parts).cumsum(axis=2) * bounds - moments.reshape(parts).cumsum(axis=2)
    taken: NDArray[np.float64] = np.diff(until, axis=2)
    taken[taken < 1e-9 * cpus.max()] = 0.0  # rounding errors
    return taken


def _machine_labels(
    machines: Sequence[SimulatedMachines], run: Simulated, bounds: Sequence[int]
) -> list[str]:
    counted: dict[int, int] = {}
    names = []
    for it in run.opened:
        counted[it.kind] = counted.get(it.kind, 0) + 1
        names.append(f"{machines[it.kind].name} {counted[it.kind]}")
    return [_joined(names[first], names[end - 1], end - first) for first, end in pairwise(bounds)]


def _joined(first: str, last: str, number: int) -> str:
    """Return `node 1` or `node 1-4`; both names if they differ in more than a number."""
    if number == 1:
        return first
    start, _, end = last.rpartition(" ")
    if start and first.rpartition(" ")[0] == start:
        return f"{first}-{end}"
    return f"{first} .. {last}"
