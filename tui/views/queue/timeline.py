"""When the jobs of the project run: those of the last day, and running ones up to their limits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.usage.past import PastRequest, PastView
from rowtui.core.usage.past_intervals import DAY
from rowtui.tui.shell.work import start
from rowtui.tui.views.past.job_charts import of_timeline, timeline
from rowtui.tui.widgets.chart import Chart, ChartArea, mark_for
from rowtui.tui.widgets.chrome import set_titles

if TYPE_CHECKING:
    from rowtui.tui.views.view import ScreenView


class JobsTimeline(Chart):
    """The chart beside the job under the cursor; it asks again after each poll of the queues."""

    _seen: object = None

    def look(self, view: ScreenView) -> None:
        """Ask for the jobs, if the queues were polled since the last time."""
        if self.display and view.session.jobs is not self._seen:
            self._seen = view.session.jobs
            start(view, partial(self._read, view), "timeline", exclusive=True)

    async def _read(self, view: ScreenView) -> None:
        try:
            past = await view.session.engine.past.view(PastRequest(period=DAY))
        except Exception:  # damaged records, or an engine that was lost: view Past reports them
            return
        if self.is_attached:
            self._show(past, view)

    def _show(self, past: PastView, view: ScreenView) -> None:
        mark = mark_for(view.dashboard.how)
        self.show_made(lambda width, height: timeline(past, ChartArea(width, height, mark)))
        set_titles(self, "When they run", of_timeline(past))
