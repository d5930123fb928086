"""The list of a plan: which of its rows a filter leaves, in which order; live while it is sent.

Takes the rows of `render/plan_rows.py`; gives rows for a `ListTable`. A plan may have thousands of
jobs: some of them are looked at in one step, and the rows before stay until all have been.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rowtui.core.engine import AS_IS, ListAsked
from rowtui.core.row_filter import (
    RowFilter,
    row_matches,
)
from rowtui.core.submission.model import PlannedJob
from rowtui.core.values import Kind, kind_of
from rowtui.tui.render.plan import Sending
from rowtui.tui.render.plan_rows import PlanRow, SingleRows, row_cells, row_values
from rowtui.tui.widgets.asked_rows import LOADED, Loaded, read_filter
from rowtui.tui.widgets.rows import ListRows

AT_ONCE = 200
"""Rows that are looked at in one step: some milliseconds."""

REST = 10
"""How many times as long as a look took nothing is looked at again, while jobs are sent."""

Pair = tuple[Any, Any]
"""What is sorted, and the value that it is sorted by."""

Spawn = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


class PlanRows(ListRows[PlanRow]):
    """The rows of the plan of `sending`, filtered and sorted. `arrived`: there are other rows now.

    A short plan is arranged at once, a long one by work that is started with `spawn`.
    """

    def __init__(
        self,
        rows: Sequence[PlanRow],
        sending: Sending,
        spawn: Spawn,
        arrived: Callable[[], None],
    ) -> None:
        super().__init__(rows, lambda row: row.key, lambda _, row: row_cells(row, sending))
        self.everything = rows
        self.asked = AS_IS
        self.problem = ""
        self.settled = True
        self._sending = sending
        self._spawn = spawn
        self._arrived = arrived
        self._wanted = RowFilter()
        self._run = 0  # a run with an older number ends at its next step
        self._running = False
        self._of = self._stamp  # what had become of the jobs when the rows were looked at

    @property
    def of(self) -> int:
        """How many rows there are without the filter."""
        return len(self.everything)

    def index_of(self, key: Hashable) -> int | None:
        """Where the row is. Of a plan as it is that is known without a look at all rows."""
        if isinstance(self.items, SingleRows) and isinstance(key, str):
            return self._sending.chosen.find(key)
        return super().index_of(key)

    def item(self, index: int) -> PlanRow | None:
        """A row that is shown."""
        return self.items[index] if 0 <= index < len(self.items) else None

    def jobs(self, start: int, stop: int) -> list[PlannedJob]:
        """The jobs of the rows that are shown at these places, once each."""
        jobs = {job.token: job for row in self.items[start:stop] for job in row.jobs}
        return list(jobs.values())

    def is_on(self, job: PlannedJob) -> bool:
        """Whether a job is sent."""
        return self._sending.chosen.is_on(job.token)

    @property
    def hidden_on(self) -> int:
        """How many jobs are on and not shown."""
        shown = sum(map(self.is_on, self.jobs(0, len(self.items))))
        return self._sending.chosen.requests - shown

    # What a `ListTable` asks

    def arrange(self, asked: ListAsked, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Other rows, or another order; a filter that cannot be used changes nothing."""
        wanted, self.problem = read_filter(asked.filter, names)
        if wanted is None:
            return
        self.asked, self._wanted = asked, wanted
        self.settled = False
        self._begin()

    def weight(self, index: int) -> tuple[float, ...]:
        """Nothing is added up."""
        return ()

    async def load(self, start: int, stop: int) -> list[Loaded]:
        """Rows, for a file."""
        rows = self.items[start : min(stop, start + LOADED)]
        return [Loaded(row.key, (), row_values(row, self._sending)) for row in rows]

    # How it is done

    @property
    def _stamp(self) -> tuple[object, ...]:
        sending = self._sending
        return len(sending.outcomes), sending.phase, sending.under_way, bool(sending.copied)

    def follow(self) -> None:
        """Look again if something became of a job, where the rows depend on that."""
        live = self.asked.sort == "outcome" or any(
            term.field in ("", "outcome") for term in self._wanted.terms
        )
        if live and not self._running and self._of != self._stamp:
            self._begin()

    def _begin(self, wait: float = 0.0) -> None:
        self._run += 1
        self._running = True
        if len(self.everything) > AT_ONCE and self.asked != AS_IS:
            self._spawn(partial(self._in_steps, self._run, wait))
            return
        for _ in self._looks():
            pass
        self._running = False

    async def _in_steps(self, run: int, wait: float) -> None:
        await asyncio.sleep(wait)
        spent = 0.0
        looks = self._looks()
        while run == self._run:
            began = time.monotonic()
            over = next(looks, True)
            spent += time.monotonic() - began
            if over:
                break
            await asyncio.sleep(0)
        if run != self._run:
            return
        self._running = False
        if self._of != self._stamp and self._sending.phase != "review":
            self._begin(REST * spent)  # more has become of them since
        self._arrived()

    def _looks(self) -> Iterator[bool]:
        """Look at all rows, some at each step; the last step puts them in their order."""
        self._of = self._stamp
        if self.asked == AS_IS:
            self._take(self.everything)
            return
        wanted, sort = self._wanted, self.asked.sort
        found: list[Pair] = []
        for start in range(0, len(self.everything), AT_ONCE):
            for row in self.everything[start : start + AT_ONCE]:
                values = row_values(row, self._sending)
                if row_matches(wanted, values):
                    found.append((row, values.get(sort, "")))
            yield False
        if sort:
            single = isinstance(self.everything, SingleRows)
            found = (_by_value if single else _by_family)(found, self.asked.descending)
        self._take([row for row, _ in found])

    def _take(self, items: Sequence[PlanRow]) -> None:
        self.items = items
        self._indices = None
        self.settled = True


def _by_value(pairs: list[Pair], descending: bool) -> list[Pair]:
    """By their values; those without one come last either way."""
    having = [(_sort_key(pair[1]), pair) for pair in pairs if pair[1] != ""]
    having.sort(key=_first, reverse=descending)
    return [pair for _, pair in having] + [pair for pair in pairs if pair[1] == ""]


def _by_family(pairs: list[Pair], descending: bool) -> list[Pair]:
    """The same, but the requests of a bundle stay below its heading."""
    families: list[tuple[list[Pair], Any]] = []
    for _, found in groupby(pairs, lambda pair: pair[0].number):
        family = list(found)
        heading = family[: family[0][0].bundle is not None]
        family = heading + _by_value(family[len(heading) :], descending)
        families.append((family, family[0][1]))
    return [pair for family, _ in _by_value(families, descending) for pair in family]


def _first(one: tuple[Any, object]) -> Any:
    return one[0]


def _sort_key(value: Any) -> tuple[int, Any]:
    kind = kind_of(value)
    return kind, value if kind is Kind.NUMBER else str(value).lower()
