"""The programs that HiGHS solves for column generation; `prices.py` is the other user of HiGHS.

HiGHS is the optional extra `exact`: only code that runs where it is installed imports this module.
HiGHS runs in one thread and is ended by counts of its own work and by `go_on`, never by its clock,
so the same results of `go_on` give the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from rowtui.core.packing.model import GoOn

Numbers = NDArray[np.float64]

# The entries of a column: (row, number).
Entries = Sequence[tuple[int, int]]


class LinearSolution(NamedTuple):
    """A linear program's optimum: the cost of each row's unit, and the times of each column."""

    cost: float
    duals: tuple[float, ...]
    times: tuple[float, ...]


class IntegerSolution(NamedTuple):
    """The solution that an integer program found, and a bound of its optimum."""

    times: tuple[int, ...]
    bound: float


@dataclass(frozen=True, slots=True)
class Effort:
    """When an integer program ends without a proof: nodes, and how often HiGHS calls `go_on`.

    HiGHS calls it ten to a hundred times in a second, always at the same points of its work.
    """

    nodes: int
    asks: int


class Cover:
    """The cheapest mix of columns with at least so much of each row. Columns are never removed."""

    def __init__(self, numbers: Sequence[float]) -> None:
        """`numbers`: the amount that each row needs."""
        self._solver = _solver()
        self._go_on: GoOn = bool  # replaced by each call of `solve`
        _ask(self._solver, self._may_go_on)
        for number in numbers:
            self._solver.addRow(number, _infinite(), 0, *_columns(()))

    def add(self, price: float, entries: Entries) -> None:
        """Add a column."""
        self._solver.addCol(price, 0.0, _infinite(), len(entries), *_columns(entries))

    def solve(self, go_on: GoOn) -> LinearSolution | None:
        """Return the optimum, or None if the program was ended or cannot be solved."""
        self._go_on = go_on
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._solver.getSolution()
        return LinearSolution(
            self._solver.getInfo().objective_function_value,
            tuple(solution.row_dual),
            tuple(solution.col_value),
        )

    def _may_go_on(self) -> bool:
        return self._go_on()


def cover_whole(
    numbers: Sequence[int],
    columns: Sequence[tuple[float, Entries]],
    *,
    start: Sequence[int],
    effort: Effort,
    gap: float,
    go_on: GoOn,
) -> IntegerSolution:
    """Return the cheapest whole numbers of columns (price, entries) with so much of each row.

    `start` is a feasible choice. The search ends when no choice is cheaper by more than `gap`;
    `bound`: a lower bound of the cost of every choice of these columns.
    """
    solver = _solver()
    for number in numbers:
        solver.addRow(float(number), _infinite(), 0, *_columns(()))
    for price, entries in columns:
        most = max((-(-numbers[row] // there) for row, there in entries), default=0)
        solver.addCol(price, 0.0, float(most), len(entries), *_columns(entries))
    return _whole(solver, [float(times) for times in start], effort, gap, go_on)


def fill_whole(
    values: Sequence[float],
    loads: Sequence[Sequence[float]],
    copies: Sequence[int],
    *,
    start: Sequence[int],
    effort: Effort,
    go_on: GoOn,
) -> IntegerSolution:
    """Return the most valuable content of one bin; `bound`: no content is worth more.

    `loads[axis]`: the part of the bin's room in one resource that each item takes.
    """
    solver = _solver()
    for _ in loads:
        solver.addRow(-_infinite(), 1.0, 0, *_columns(()))
    for number, (value, most) in enumerate(zip(values, copies, strict=True)):
        entries = [(axis, load[number]) for axis, load in enumerate(loads) if load[number]]
        solver.addCol(-value, 0.0, float(most), len(entries), *_columns(entries))
    chosen = _whole(solver, [float(times) for times in start], effort, 0.0, go_on)
    return IntegerSolution(chosen.times, -chosen.bound)


# -- HiGHS -----------------------------------------------------------------------------------------


def _solver() -> highspy.Highs:
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("parallel", "off")
    return solver


def _whole(
    solver: highspy.Highs, start: list[float], effort: Effort, gap: float, go_on: GoOn
) -> IntegerSolution:
    count = solver.getNumCol()
    places = np.arange(count, dtype=np.int32)
    whole = np.full(count, int(highspy.HighsVarType.kInteger), np.uint8)
    solver.changeColsIntegrality(count, places, whole)
    solver.setOptionValue("mip_max_nodes", effort.nodes)
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", max(gap, 1e-9))
    solution = highspy.HighsSolution()
    solution.col_value = start
    solver.setSolution(solution)
    asks = iter(range(effort.asks))
    _ask(solver, lambda: next(asks, None) is not None and go_on())
    solver.run()
    info = solver.getInfo()
    values = list(solver.getSolution().col_value)
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    times = tuple(round(value) for value in (values if found and values else start))
    return IntegerSolution(times, info.mip_dual_bound)


def _ask(solver: highspy.Highs, go_on: GoOn) -> None:
    """Let the solver call `go_on` while it works."""

    def end(event: highspy.HighsCallbackEvent) -> None:
        if not go_on():
            event.interrupt()

    solver.cbMipInterrupt.subscribe(end)
    solver.cbSimplexInterrupt.subscribe(end)


def _infinite() -> float:
    return float(highspy.kHighsInf)


def _columns(entries: Sequence[tuple[int, float]]) -> tuple[NDArray[np.int32], Numbers]:
    return (
        np.array([row for row, _ in entries], np.int32),
        np.array([there for _, there in entries], np.float64),
    )
