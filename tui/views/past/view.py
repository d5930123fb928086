"""View 9: what ran when, as charts of the jobs that have ended.

The engine computes all numbers. The view asks again after each poll of the queues while it is on
the screen, and never waits for the answer.
"""

from __future__ import annotations

from functools import partialmethod
from typing import NamedTuple

from rowtui.core.project.views.views import JobsView
from rowtui.core.usage.past import PastRequest, PastView
from rowtui.core.usage.past_intervals import DAY, HOUR, WEEK
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.work import NewestAnswer, start
from rowtui.tui.views.past.charts import CHARTS, Draw, PastChart, by_action, nothing_lines
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, cut, line, width_of
from rowtui.tui.widgets.chart import Chart, ChartArea, ChartMark
from rowtui.tui.widgets.chrome import OneLine, set_titles
from textual import events
from textual.app import ComposeResult
from textual.containers import Container


class Period(NamedTuple):
    """A choice of time. `seconds`: 0 for everything."""

    name: str
    words: str
    seconds: float


PERIODS = (
    Period("all", "all the time", 0),
    Period("hour", "the last hour", HOUR),
    Period("day", "the last day", DAY),
    Period("week", "the last week", WEEK),
)

WIDE, HIGH = 100, 30
"""The terminal on which all charts are shown at once, as in `view.tcss`."""

MOST_INTERVALS = 120
AXIS = 12  # columns of frames and axes that no interval can use


class PastScreen(ScreenView):
    """One chart, or all of them where there is room."""

    MODE = "past"
    BINDINGS = bindings_for("past")

    def __init__(self) -> None:
        super().__init__()
        self._chart = 0
        self._period = PERIODS[0]
        self._action = ""
        self._past: PastView | None = None
        self._error: tuple[str, str] | None = None
        self._asked: tuple[PastRequest, JobsView | None] | None = None
        self._answers = NewestAnswer[PastRequest, PastView](
            self._fetch,
            spawn=lambda work: start(self, work, "past"),
            arrived=self._arrived,
            failed=self._failed,
        )

    def body(self) -> ComposeResult:
        """Compose a line with the choices, and the charts."""
        yield OneLine(name="about")
        with Container(id="past-charts"):
            for chart in CHARTS:
                yield Chart(name=f"past-{chart.name}")

    # The engine's answer

    async def _fetch(self, asked: PastRequest) -> PastView:
        return await self.session.engine.past.view(asked)

    def _request(self) -> PastRequest:
        room = self.size.width // (2 if self._all_at_once else 1) - AXIS
        return PastRequest(
            actions=(self._action,) if self._action else (),
            intervals=min(max(room, 10), MOST_INTERVALS),
            period=self._period.seconds,
        )

    def _ask(self) -> None:
        asked = (self._request(), self.session.jobs)
        if self._asked is None or asked[0] != self._asked[0] or asked[1] is not self._asked[1]:
            self._asked = asked
            self._answers.ask(asked[0])

    def _arrived(self, _: PastRequest, past: PastView) -> None:
        self._past, self._error = past, None
        self._show_charts()

    def _failed(self, error: Exception) -> None:
        self._error = describe(error)
        self._show_charts()

    async def on_screen_resume(self) -> None:
        """Ask again, because the answer may be old; the base class shows the view again."""
        self._asked = None

    def on_resize(self, event: events.Resize) -> None:
        """Show the charts that fit; the base class shows the view again."""
        self._show_charts()

    # What is shown

    @property
    def _all_at_once(self) -> bool:
        return self.size.width >= WIDE and self.size.height >= HIGH

    @property
    def _mark(self) -> ChartMark:
        return ChartMark.ASCII if self.dashboard.how.ascii_only else ChartMark.BLOCK

    def show_body(self) -> None:
        """Show the charts, and ask the engine if something may have changed."""
        self._show_charts()
        if self.is_current:
            self._ask()

    def _show_charts(self) -> None:
        if not self.ready:
            return
        past = self._past
        self.query_one("#about", OneLine).show(self._about(self.size.width))
        empty = self._error is not None or past is None or not past.job_count
        for place, chart in enumerate(CHARTS):
            widget = self.query_one(f"#past-{chart.name}", Chart)
            first = 0 if empty else self._chart
            widget.set_class(place == first or (self._all_at_once and not empty), "-shown")
            if empty or past is None:
                set_titles(widget, "Past")
                widget.show_made(lambda width, _: self._instead(width))
            else:
                self._show_chart(widget, chart, past)
        self.set_class(empty, "-empty")

    def _show_chart(self, widget: Chart, chart: PastChart, past: PastView) -> None:
        draw: Draw = chart.draw
        if chart.name == "newest" and self.session.network.view is not None:
            draw = by_action
        set_titles(widget, chart.title, chart.below(past))
        mark = self._mark
        widget.show_made(lambda width, height: draw(past, ChartArea(width, height, mark)))

    def _instead(self, width: int) -> list[Line]:
        if self._error is not None:
            return [line((text, "failed")) for text in self._error if text]
        period = self._period.words if self._period.seconds else ""
        return nothing_lines(self._past, period, self._action, width)

    def _about(self, width: int) -> Line:
        """Return the chart, the period and the action that are chosen, as long as they fit."""
        chosen = [(self._period.words, "title"), (f" · {self._action or 'all actions'}", "")]
        if self._past is not None and self._past.damaged_records:
            chosen.append((f" · {self._past.damaged_records:,} records are damaged", "warning"))
        if self._all_at_once:
            return cut(line(" ", *chosen), width)
        parts: list[tuple[str, str]] = [(" ", "")]
        for place, chart in enumerate(CHARTS):
            here = place == self._chart
            parts.append((f"[{chart.short}]" if here else f" {chart.short} ",
                          "tab" if here else "dim"))  # fmt: skip
        choices = line(*parts, (" · ", "dim"), *chosen)
        if width_of(choices) <= width:
            return choices
        name = f" [{CHARTS[self._chart].short} {self._chart + 1}/{len(CHARTS)}]"
        return cut(line((name, "tab"), (" · ", "dim"), *chosen), width)

    # Commands

    def _go(self, step: int) -> None:
        if self._all_at_once:
            self.answer("all charts are on the screen")
            return
        self._chart = (self._chart + step) % len(CHARTS)
        self._show_charts()

    command_next = partialmethod(_go, 1)
    command_previous = partialmethod(_go, -1)

    def command_period(self) -> None:
        """Choose the next period."""
        self._period = PERIODS[(PERIODS.index(self._period) + 1) % len(PERIODS)]
        self.show()

    def _step_action(self, step: int) -> None:
        """Choose the next action, or all of them after the last one."""
        names = ("", *(self._past.actions if self._past else ()))
        at = names.index(self._action) if self._action in names else 0
        self._action = names[(at + step) % len(names)]
        self.show()

    command_action = partialmethod(_step_action, 1)
    command_action_before = partialmethod(_step_action, -1)
