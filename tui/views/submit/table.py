"""The list of a plan's jobs: marks of other lists correspond here to the jobs that are sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rowtui.core.submission.plan.model import PlannedJob
from rowtui.tui.views.submit.rows import PlanRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.table_lines import Look

Switch = Callable[[Sequence[PlannedJob], bool | None], None]


class PlanTable(ListTable):
    """The list of jobs; `switch(jobs, on)` switches them on or off; None: off if any of
    them is on.
    """

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
        self._repaint_different()
        self.notify("Move, then v again switches all up to there.", timeout=3, markup=False)

    def action_mark_matching(self) -> None:
        """Switch every job that is shown on."""
        self.switch_shown(on=True)

    def switch_shown(self, *, on: bool | None = None) -> None:
        """Switch every job that is shown on, or off. None: on, or off if all of them are on."""
        if why := self._why_no_marks():
            self.notify(f"on/off: {why}", severity="warning", markup=False)
            return
        assert isinstance(self.source, PlanRows)
        jobs = self.source.jobs(0, self.source.row_count)
        if on is None:
            on = any(not self.source.is_on(job) for job in jobs)
        self._switch(jobs, on)

    async def _mark_rows(self, first: int, stop: int) -> None:
        if isinstance(self.source, PlanRows):
            self._switch(self.source.jobs(first, stop), None)

    def _look(self, index: int) -> Look:
        """Return the style of a row; the rows of a range that was begun are highlighted, because
        this list has no marks that could show the range.
        """
        look = super()._look(index)
        if not look.marked:
            return look
        return look._replace(marked=False, flashing=tuple(one.id for one in self.columns))
