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
from rowtui.tui.views.past.charts import CHARTS, PastChart, by_action, headlines, nothing_lines
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, cut, line, width_of
from rowtui.tui.widgets.chart import Chart, ChartArea, ChartMark, mark_for
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
    Period("all", "since the first job", 0),
    Period("hour", "the last hour", HOUR),
    Period("day", "the last day", DAY),
    Period("week", "the last week", WEEK),
)

WIDE, HIGH, WIDEST = 100, 30, 160
"""The terminal on which charts are shown together; in three columns."""

MOST_INTERVALS = 120
AXIS = 10  # columns of frames and axes that no interval can use
COLUMN, FIGURES = 1, 5  # columns of one interval at least; with its figures below


class PastScreen(ScreenView):
    """One chart, or all of them where there is room."""

    MODE = "past"
    BINDINGS = bindings_for("past")

    def __init__(self) -> None:
        super().__init__()
        self._chart: int | None = None  # the one that is shown alone
        self._period = PERIODS[0]
        self._action = ""
        self._past: PastView | None = None
        self._error: tuple[str, str] | None = None
        self._asked: tuple[PastRequest, JobsView | None] | None = None
        self._answers = NewestAnswer[PastRequest, PastView](
            self.session.engine.past.view,
            spawn=lambda work: start(self, work, "past"),
            arrived=self._arrived,
            failed=self._failed,
        )

    def body(self) -> ComposeResult:
        """Compose a line with the choices, one with the totals, and the charts."""
        yield OneLine(name="choices")
        yield OneLine(name="about")
        with Container(id="past-charts"):
            for chart in CHARTS:
                yield Chart(name=f"past-{chart.name}")

    # The engine's answer

    def _request(self) -> PastRequest:
        width = self.size.width // (1 if self._alone is not None else self._columns)
        each = COLUMN if mark_for(self.dashboard.how) is ChartMark.COLOUR else FIGURES
        return PastRequest(
            actions=(self._action,) if self._action else (),
            intervals=min(max((width - AXIS) // each, 10), MOST_INTERVALS),
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
    def _alone(self) -> int | None:
        """The chart that is shown alone; None for all of them."""
        return self._chart if self._large else self._chart or 0

    @property
    def _large(self) -> bool:
        return self.size.width >= WIDE and self.size.height >= HIGH

    @property
    def _columns(self) -> int:
        return 3 if self.size.width >= WIDEST else 2

    def show_body(self) -> None:
        """Show the charts, and ask the engine if something may have changed."""
        self._show_charts()
        if self.is_current:
            self._ask()

    def _show_charts(self) -> None:
        if not self.ready:
            return
        past, alone = self._past, self._alone
        empty = self._error is not None or past is None or not past.job_count
        self.query_one("#choices", OneLine).show(self._choices(self.size.width))
        self.query_one("#about", OneLine).show(self._about(self.size.width))
        for place, chart in enumerate(CHARTS):
            widget = self.query_one(f"#past-{chart.name}", Chart)
            shown = place == (alone or 0) if empty or alone is not None else self._fits(chart)
            widget.set_class(shown, "-shown")
            if empty or past is None:
                set_titles(widget, "Past")
                widget.show_made(lambda width, _: self._instead(width))
            else:
                self._show_chart(widget, chart, past)
        self.set_class(not empty and alone is None, "-together")
        self.set_class(self._columns > 2, "-three")
        self.set_class(past is None or not past.budgets, "-no-budget")

    def _fits(self, chart: PastChart) -> bool:
        """Whether a chart is among those that are shown together."""
        if chart.name == "budget":
            return self._past is not None and bool(self._past.budgets)
        return chart.name not in ("causes", "cpus") or self._columns > 2

    def _show_chart(self, widget: Chart, chart: PastChart, past: PastView) -> None:
        network = chart.name == "timeline" and self.session.network.view is not None
        draw = by_action if network else chart.draw
        set_titles(widget, chart.title, chart.below(past))
        mark = mark_for(self.dashboard.how)
        widget.show_made(
            lambda width, height: chart.lines(past, ChartArea(width, height, mark), draw)
        )

    def _instead(self, width: int) -> list[Line]:
        if self._error is not None:
            return [line((text, "failed")) for text in self._error if text]
        period = self._period.words if self._period.seconds else ""
        return nothing_lines(self._past, period, self._action, width)

    def _choices(self, width: int) -> Line:
        """Return all charts, with the one that is shown; shorter where they do not fit."""
        alone = self._alone
        parts = []
        names = [chart.short for chart in CHARTS]
        for place, name in enumerate(("all", *names) if self._large else names):
            here = place == (0 if alone is None else alone + self._large)
            parts.append((f"[{name}]" if here else f" {name} ", "tab" if here else "dim"))
        where = f"{alone + 1} of {len(CHARTS)}; → the next" if alone is not None else "→ one chart"
        choices = line(" ", *parts, (f"  {where}", "dim"))
        if width_of(choices) <= width or alone is None:
            return cut(choices, width)
        return cut(line((f" [{names[alone]}]", "tab"), (f" {where}", "dim")), width)

    def _about(self, width: int) -> Line:
        """Return the totals of the period and the action that are chosen."""
        period = self._period.words if self._period.seconds else ""
        past = self._past
        if past is None or not past.job_count:
            chosen = f"{self._period.words} · {self._action or 'all actions'}"
        else:
            texts = headlines(past, period, self._action)
            chosen = next((text for text in texts if len(text) < width), texts[-1])
        parts = [(f" {chosen}", "title")]
        if past is not None and past.damaged_records:
            parts.append((f" · {past.damaged_records:,} records are damaged", "warning"))
        return cut(line(*parts), width)

    # Commands

    def _go(self, step: int) -> None:
        """Show the next chart alone; where all fit, they come before the first one."""
        choices = [None, *range(len(CHARTS))] if self._large else [*range(len(CHARTS))]
        at = choices.index(self._alone)
        self._chart = choices[(at + step) % len(choices)]
        self.show()

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
