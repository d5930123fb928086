"""The samples of a source or node as a list: filtered, sorted and paged.

Takes a network's samples as columns and the states of their jobs; gives pages. Filters and sorts
work on whole columns (`core/groups/listing.py`), so that a page of a million samples is as quick as
a page of ten. An order is cached until the graph changes. Without a requested order, samples that
need the user's attention come first.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from rowtui.core.base.filter import parse_filter, with_known_fields
from rowtui.core.groups.listing import Coded, Rows, chosen_rows, sorted_rows
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.core.runs.views import SamplesPage, SampleView
from rowtui.core.state.model import Directories
from rowtui.core.state.names import NameTable

KEPT: Final = 4  # cached orders: 8 MB each at a million samples
FIRST: Final = (
    GraphJobState.FAILED,
    GraphJobState.SUBMITTED,
    GraphJobState.ELIGIBLE,
    GraphJobState.CANCELLED,
    GraphJobState.BLOCKED,
    GraphJobState.WAITING,
    GraphJobState.SKIPPED,
    GraphJobState.COMPLETED,
)
"""The default order of samples: states that need the user's attention come first."""

_TURN: Final = np.array([FIRST.index(state) for state in GraphJobState], np.uint8)  # rank by state
_WORDS: Final = tuple(state.name.lower() for state in FIRST)
_OWN_FIELDS: Final = {
    "state": "state", "status": "state", "why": "why", "reason": "why", "directory": "directory",
    "name": "directory", "job": "job",
}  # fmt: skip
"""Names that the user may write for the columns that every list of samples has."""

_Order = NDArray[Any]


def dimension_column(name: str) -> str:
    """Return the column name of a dimension; the prefix keeps it apart from other columns."""
    return f"={name}"


class RequestedSamples(NamedTuple):
    """The requested list. When `go_on` returns False, the work ends with `Superseded`."""

    node: str
    states: tuple[GraphJobState, ...] = ()
    asked: ListRequest = AS_IS
    go_on: Callable[[], bool] = lambda: True

    @property
    def key(self) -> Hashable:
        """Return the cache key of the list."""
        return self.node, self.states, self.asked


class _Names(NamedTuple):
    """The directories of a node's samples by row, without an object for each."""

    of: list[str]
    table: NameTable

    def name(self, row: int) -> str:
        return self.of[row]


class SampleLists:
    """The most recently requested lists of samples."""

    def __init__(self) -> None:
        self._of: tuple[Growth, int] | None = None
        self._orders: OrderedDict[Hashable, _Order] = OrderedDict()
        self._names: _Names | None = None

    def page(
        self, growth: Growth, which: RequestedSamples, offset: int, limit: int, *, find: str = ""
    ) -> SamplesPage:
        """Return samples from `offset` on of a source or node, with the place of `find`.

        `find` is a job's number, or a directory of a source. Raises: FilterError; Superseded.
        """
        order, flow = self._order(growth, which), growth.flow
        node = which.node
        names = flow.directories(node) if _is_known(growth, node) else []
        first = max(offset, 0)
        rows = order[first : first + max(limit, 0)].tolist()
        every = states_of(growth, node)
        if every is None:
            found = [SampleView(names[row], flow.values(node, row), "") for row in rows]
        else:
            jobs = growth.jobs(node)
            found = [
                SampleView(
                    names[row],
                    flow.values(node, row),
                    GraphJobState(every[row]).name.lower(),
                    growth.graph.reason(int(jobs[row])),
                    int(jobs[row]),
                )
                for row in rows
            ]
        return SamplesPage(
            node,
            len(order),
            offset,
            tuple(found),
            self._count(growth, which),
            _place(growth, node, order, find) if find else None,
        )

    def _count(self, growth: Growth, which: RequestedSamples) -> int:
        """Return the number of samples without the filter."""
        if not which.asked.filter:
            return len(self._order(growth, which))
        return len(self._order(growth, which._replace(asked=AS_IS)))

    def _order(self, growth: Growth, which: RequestedSamples) -> _Order:
        of = (growth, growth.graph.generation)
        if self._of is None or self._of[0] is not of[0] or self._of[1] != of[1]:
            self._of = of
            self._orders.clear()
        if which.key not in self._orders:
            self._orders[which.key] = self._arranged(growth, which)
            while len(self._orders) > KEPT:
                self._orders.popitem(last=False)
        self._orders.move_to_end(which.key)
        return self._orders[which.key]

    def _arranged(self, growth: Growth, which: RequestedSamples) -> _Order:
        """Compute the rows of the list."""
        node, asked = which.node, which.asked
        every = states_of(growth, node)
        if asked == AS_IS:
            count = growth.flow.columns(node).count if _is_known(growth, node) else 0
            rows: _Order = np.arange(count) if every is None else _in_turn(every)
        else:
            rows = self._asked(growth, which, every)
        if which.states and every is not None:
            rows = rows[np.isin(every[rows], [int(state) for state in which.states])]
        return rows

    def _asked(self, growth: Growth, which: RequestedSamples, every: _Order | None) -> _Order:
        node, asked = which.node, which.asked
        if not _is_known(growth, node):
            return np.arange(0)
        known, columns = _columns(growth, node, every)
        wanted = with_known_fields(parse_filter(asked.filter), known)
        directories = cast(Directories, self._named(growth.flow.directories(node)))
        positions = np.arange(growth.flow.columns(node).count, dtype=np.uint32)
        rows = Rows(directories, positions, columns, name="directory", go_on=which.go_on)
        chosen: _Order = chosen_rows(rows, wanted)
        if asked.sort:
            return cast(_Order, sorted_rows(rows, chosen, asked.sort, asked.descending))
        return chosen if every is None else chosen[_in_turn(every[chosen])]

    def _named(self, names: list[str]) -> _Names:
        if self._names is None or self._names.of is not names:
            self._names = _Names(names, NameTable.of(list(map(os.fsencode, names))))
        return self._names


def states_of(growth: Growth, node: str) -> NDArray[np.uint8] | None:
    """Return the state of each sample's job; None for a source, which has no jobs."""
    if node not in growth.flow.runs:
        return None
    jobs = np.asarray(growth.jobs(node))
    return np.frombuffer(growth.graph.snapshot().states, np.uint8)[jobs]


def _is_known(growth: Growth, node: str) -> bool:
    """Whether the samples are known; a node that no sink needs has none."""
    return node in growth.flow.runs or node in growth.flow.sources


def _in_turn(every: _Order) -> _Order:
    """Return the rows, with states that need the user's attention first."""
    return np.argsort(_TURN[every], kind="stable")


def _columns(
    growth: Growth, node: str, every: _Order | None
) -> tuple[Mapping[str, str], Mapping[str, Coded]]:
    """Return the accepted column names, and the columns."""
    table = growth.flow.columns(node)
    columns = {
        dimension_column(axis.name): Coded(codes, axis.values, said=True)
        for axis, codes in zip(table.axes, table.codes, strict=True)
    }
    known = {axis.name: dimension_column(axis.name) for axis in table.axes}
    known |= {column: column for column in columns}
    if every is not None:
        jobs = np.asarray(growth.jobs(node))
        columns["state"] = Coded(_TURN[every], _WORDS, said=True, ranked=True)
        columns["why"] = _reasons(growth, jobs, every)
        order = np.argsort(jobs)
        ranks = np.empty(len(jobs), dtype=np.int64)
        ranks[order] = np.arange(len(jobs))
        columns["job"] = Coded(ranks, jobs[order].tolist(), ranked=True)
    return known | _OWN_FIELDS, columns


def _reasons(growth: Growth, jobs: _Order, every: _Order) -> Coded:
    """Return the reasons of failed and cancelled samples; other samples have none."""
    having = np.flatnonzero(np.isin(every, [GraphJobState.FAILED, GraphJobState.CANCELLED]))
    texts = [growth.graph.reason(int(job)) for job in jobs[having]]
    values = ["", *dict.fromkeys(text for text in texts if text)]
    code_of = {text: code for code, text in enumerate(values)}
    codes = np.zeros(len(jobs), dtype=np.uint32)
    codes[having] = [code_of[text] for text in texts]
    return Coded(codes, values, said=True)


def _place(growth: Growth, node: str, order: _Order, find: str) -> int | None:
    """Return the place of the sample that `find` names; None if it is not in the list."""
    row: int | None = None
    if node in growth.flow.runs:
        if find.isdecimal() and int(find) < len(growth.graph):
            it = growth.where(int(find))
            row = it.row if it.node == node else None
    elif node in growth.flow.sources:
        row = growth.places(node).get(find)
    if row is None:
        return None
    found = np.flatnonzero(order == row)
    return int(found[0]) if len(found) else None
