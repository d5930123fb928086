"""The list of a plan's jobs: marks of other lists correspond here to the jobs that are sent.

The rows are updated while the plan is sent. A plan may have thousands of jobs: one step processes
some of them, and the previous rows stay until all are processed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rowtui.core.base.filter import RowFilter, row_matches
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.submit.plan import Sending
from rowtui.tui.views.submit.plan_rows import PlanRow, SingleRows, row_cells, row_values
from rowtui.tui.widgets.table.engine_rows import MemoryRows, read_filter, sort_key
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.table_lines import RowLook

AT_ONCE = 200
"""Rows that are processed in one step: some milliseconds."""

REST = 10
"""While jobs are sent, the pause before the next pass over the rows, as a multiple of its
duration.
"""

Pair = tuple[Any, Any]
"""A row, and the value by which the rows are sorted."""

Spawn = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
Switch = Callable[[Sequence[PlannedJob], bool | None], None]


class PlanRows(MemoryRows[PlanRow]):
    """The rows of the plan of `sending`, filtered and sorted. `arrived` is called after a change.

    A short plan is arranged at once, a long plan by work that is started with `spawn`.
    """

    def __init__(
        self,
        rows: Sequence[PlanRow],
        sending: Sending,
        spawn: Spawn,
        arrived: Callable[[], None],
    ) -> None:
        super().__init__(
            rows,
            lambda row: row.key,
            lambda _, row: row_cells(row, sending),
            lambda row: row_values(row, sending),
        )
        self._sending = sending
        self._spawn = spawn
        self._arrived = arrived
        self._wanted = RowFilter()
        self._run = 0  # A run with an older number ends at its next step.
        self._running = False
        self._of = self._stamp  # The progress of the submission when the rows were last processed.

    def index_of(self, key: Hashable) -> int | None:
        """Return the position of a row, without a search of a plan that has no filter or order."""
        if isinstance(self.items, SingleRows) and isinstance(key, str):
            return self._sending.chosen.find(key)
        return super().index_of(key)

    def item(self, index: int) -> PlanRow | None:
        """Return a row that is shown."""
        return self.items[index] if 0 <= index < len(self.items) else None

    def jobs(self, start: int, stop: int) -> list[PlannedJob]:
        """Return the jobs of the shown rows at these positions, once each."""
        jobs = {job.token: job for row in self.items[start:stop] for job in row.jobs}
        return list(jobs.values())

    def is_on(self, job: PlannedJob) -> bool:
        """Whether a job is submitted."""
        return self._sending.chosen.is_on(job.token)

    @property
    def hidden_on(self) -> int:
        """The number of jobs that are on and not shown."""
        shown = sum(map(self.is_on, self.jobs(0, len(self.items))))
        return self._sending.chosen.requests - shown

    # The interface for a `ListTable`

    def arrange(self, asked: ListRequest, key: Hashable | None, names: Mapping[str, str]) -> None:
        """Use another filter, or another order; a filter that cannot be parsed changes nothing."""
        wanted, self.problem = read_filter(asked.filter, names)
        if wanted is None:
            return
        self.asked, self._wanted = asked, wanted
        self.settled = False
        self._begin()

    # The implementation

    @property
    def _stamp(self) -> tuple[object, ...]:
        sending = self._sending
        return len(sending.outcomes), sending.phase, sending.under_way, bool(sending.copied)

    def follow(self) -> None:
        """Process the rows again if a new outcome of a job changes the filter or the order."""
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
            self._begin(REST * spent)  # More jobs have an outcome since then.
        self._arrived()

    def _looks(self) -> Iterator[bool]:
        """Process all rows, some in each step; the last step sorts them."""
        self._of = self._stamp
        if self.asked == AS_IS:
            self._take(self.everything)
            return
        wanted, sort = self._wanted, self.asked.sort
        found: list[Pair] = []
        for start in range(0, len(self.everything), AT_ONCE):
            for row in self.everything[start : start + AT_ONCE]:
                values = self._values(row)
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
    """Return the pairs sorted by their values; those without a value are always last."""
    having = [(sort_key(pair[1]), pair) for pair in pairs if pair[1] != ""]
    having.sort(key=lambda one: one[0], reverse=descending)
    return [pair for _, pair in having] + [pair for pair in pairs if pair[1] == ""]


def _by_family(pairs: list[Pair], descending: bool) -> list[Pair]:
    """Return the pairs sorted by value, with the requests of a bundle below its heading."""
    families: list[tuple[list[Pair], Any]] = []
    for _, found in groupby(pairs, lambda pair: pair[0].number):
        family = list(found)
        heading = family[: family[0][0].bundle is not None]
        family = heading + _by_value(family[len(heading) :], descending)
        families.append((family, family[0][1]))
    return [pair for family, _ in _by_value(families, descending) for pair in family]


class PlanTable(ListTable):
    """The list of jobs; `switch(jobs, on)` switches them; None: off if any of them is on."""

    def __init__(self, switch: Switch, may_switch: Callable[[], str]) -> None:
        super().__init__(name="planned", kept_as="plan", may_mark=may_switch)
        self._switch = switch

    def _why_no_marks(self) -> str:
        return self._may_mark() if isinstance(self.source, PlanRows) else "there is no plan"

    def action_range(self) -> None:
        """Begin a range at the cursor; or end the range there, and switch its jobs."""
        if self._anchor is not None or self._why_no_marks():
            super().action_range()
            return
        self._anchor = self.cursor_key
        self.repaint_different()
        self.notify("Move, then v again switches all up to there.", timeout=3, markup=False)

    def action_export(self) -> None:
        """Write the scripts; `:export` writes the list."""
        self.call_later(self.run_action, "app.command('submit.export')")

    def switch_shown(self) -> None:
        """Switch every job that is shown on, or off if all of them are on."""
        if why := self._why_no_marks():
            self.notify(f"on/off: {why}", severity="warning", markup=False)
            return
        assert isinstance(self.source, PlanRows)
        jobs = self.source.jobs(0, self.source.row_count)
        self._switch(jobs, any(not self.source.is_on(job) for job in jobs))

    async def _mark_rows(self, first: int, stop: int) -> None:
        if isinstance(self.source, PlanRows):
            self._switch(self.source.jobs(first, stop), None)

    def _look(self, index: int) -> RowLook:
        """Return the style of a row; the rows of a range that was begun are highlighted, because
        this list has no marks that could show the range.
        """
        look = super()._look(index)
        if not look.marked:
            return look
        return look._replace(marked=False, flashing=tuple(one.id for one in self.columns))
