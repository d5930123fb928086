"""View 1: all actions, the chosen one in detail, and the items that need the user."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rowtui.core.base.text import plural
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.queue.jobs import jobs_in_brief
from rowtui.tui.views.status.needs import need_detail
from rowtui.tui.views.status.status import (
    action_cells,
    action_columns,
    action_detail,
    counts_explained,
    job_counts,
    pace_of,
    total_cells,
    used_words,
)
from rowtui.tui.views.status.steps import NeedSteps
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chart import Chart, ChartArea, ChartMark, mark_for
from rowtui.tui.widgets.chrome import FRAME, Panel, set_titles
from rowtui.tui.widgets.short_text import clock_time
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.engine.api.snapshot import ActionSummary
    from rowtui.core.usage.past import PastView
    from rowtui.core.usage.table import UsageRow
    from rowtui.tui.views.past.charts import Draw
    from rowtui.tui.widgets.cells import Line
    from textual.widget import Widget


WIDE_CHARTS = ("ended", "cpus", "budget", "waits")
"""The charts below the panes of a wide screen; the first one is of directories here."""

LEAST_NEEDS = 5
"""Rows of the list of needs that have room, also beside few actions."""

RULES = 2
"""Lines of the rules above two panes that are below each other."""

LOWEST_CHART = 8
"""Lines of the lowest chart with its frame; with less room there is none."""

MOST_ROWS = 50
"""Events and jobs in their panes: as many as fit on the highest screen."""


AGAIN_SECONDS = 20.0
"""Seconds between two requests for what the jobs of each action used."""


class StatusView(NeedSteps):
    """The first view: it shows what needs the user."""

    MODE = "status"
    PRESSED = "status.open"
    BINDINGS = bindings_for("status")
    AUTO_FOCUS: ClassVar[str | None] = "#actions"

    def __init__(self) -> None:
        super().__init__()
        self._used: dict[str, UsageRow] = {}
        self._used_at = -AGAIN_SECONDS  # when the used amounts were asked for

    def body(self) -> ComposeResult:
        """Compose the actions and the chosen one beside the needs, jobs, events and charts."""
        with Horizontal(id="columns"):
            with Vertical(id="left"):
                yield ListTable(name="actions")
                with Horizontal(id="middle"):
                    yield Panel("Action", name="detail")
                    yield Panel("Jobs", name="wide-jobs")
                yield Chart(name="pace")
            with Vertical(id="right"):
                yield VirtualTable(name="needs", headed=False)
                yield Panel("Jobs", name="jobs")
                yield Panel("What happened", name="activity")
        with Container(id="charts"):
            for name in WIDE_CHARTS:
                yield Chart(name=f"day-{name}")
        yield Panel("", name="brief")

    @property
    def table(self) -> ListTable:
        """The actions."""
        return self.query_one("#actions", ListTable)

    def show_body(self) -> None:
        """Show everything from the latest snapshot."""
        session = self.session
        snapshot = session.snapshot
        actions = snapshot.actions if snapshot else ()
        table = self.table
        if table.filtered:
            table.empty = line(("No action fits the filter; Esc shows all.", "dim"))
        elif snapshot is not None:
            table.empty = line(("workflow.toml has no action yet.", "dim"))
        elif session.broken is not None:
            table.empty = line(("The project could not be read: see below.", "failed"))
        else:
            table.empty = line(("Reading the project…", "dim"))
        rows = MemoryRows(actions, _key, lambda _, it: action_cells(it))
        table.show(rows, action_columns(actions), stale=session.stale)
        table.sum_up(total_cells(rows.items) if len(rows.items) > 1 else None)
        if session.action is not None:
            table.choose(_key(session.action))
        if session.changed:
            by_index = {action.index: _key(action) for action in actions}
            table.flash((by_index[index], count) for index, count in session.changed)
            session.changed = frozenset()
        found = [counts_explained(table.placed) if actions and self.side_by_side else ""]
        if (network := session.network.view) is not None and network.waiting:
            words = ("job of the network waits", "jobs of the network wait")
            found = [f"{plural(network.waiting, *words)} for inputs"]
        set_titles(table, f"Workflow{table.filter_named}", *found)
        self.show_needs()
        self.show_detail()
        self._ask_used()
        self._show_pace()
        self._show_jobs()
        self._show_events()
        self._show_brief(actions)
        self._share_height()

    def _share_height(self) -> None:
        """Give the panes of the first two rows the lines that they need, and the rest to a chart.

        Where the panes are below each other, their styles give the heights.
        """
        if self.maximized is not None:
            return
        names = ("#actions", "#needs", "#middle", "#jobs", "#activity", "#pace")
        actions, needs, middle, jobs, activity, chart = map(self.query_one, names)
        beside = self.side_by_side
        columns, charts = self.query_one("#columns"), self.query_one("#charts")
        charts.display = wide = self.has_class("-wide", "-high")
        heights: dict[Widget, int | str | None] = dict.fromkeys(
            (actions, needs, middle, jobs, columns)
        )
        chart.display = False
        if beside:
            most = self.query_one("#body").size.height
            rows = max(actions.virtual_size.height, min(len(self.needs), LEAST_NEEDS), 2) + FRAME
            first = min(rows, most * 2 // 5)
            second = self.query_one("#detail", Panel).line_count + FRAME
            roomy = most - first - second >= LOWEST_CHART
            chart.display = roomy and not wide
            heights[actions] = heights[needs] = first
            heights[middle] = heights[jobs] = second if chart.display else "1fr"
            if wide:
                heights[columns] = first + second
        for widget, height in heights.items():
            widget.styles.height = height
        room = self.query_one("#right").size.height - len(self.needs) - RULES
        activity.display = beside or room > 0

    def _show_events(self) -> None:
        panel = self.query_one("#activity", Panel)
        panel.show(
            line((f"{clock_time(entry.at)}  ", "dim"), (entry.text, entry.style))
            for entry in list(self.session.activity)[-MOST_ROWS:][::-1]
        )
        set_titles(panel, "What happened", "@ everything")

    def _show_brief(self, actions: Sequence[ActionSummary]) -> None:
        """Show on a small screen what the table has no room for, and the first needs."""
        total = sum(action.total for action in actions)
        submitted, waiting = (
            sum(getattr(action, name) for action in actions) for name in ("submitted", "waiting")
        )
        counts = line(
            (f"▶ {submitted:,} submitted", "submitted"),
            (f"  · {waiting:,} waiting", "waiting"),
            (f"  of {total:,}", "dim"),
        )
        needs = [need.spans for need in self.needs[:2]]
        self.query_one("#brief", Panel).show([counts, *needs] if actions else needs)

    def _ask_used(self) -> None:
        """Ask, not often, what the jobs of each action used."""
        now = monotonic()
        if self.session.snapshot is not None and now - self._used_at >= AGAIN_SECONDS:
            self._used_at = now
            start(self, self._read_used, "used", exclusive=True)

    async def _read_used(self) -> None:
        try:
            rows = await self.session.engine.past.used()
            if self.has_class("-wide", "-high"):
                await self._show_day()
        except Exception:  # damaged records, or an engine that was lost
            return
        used = {row.name: row for row in rows if used_words(row)}
        if used != self._used:
            self._used = used
            if self.ready:
                self.show_body()

    def show_detail(self) -> None:
        """Show the details of the item, or of the action, under the cursor."""
        session = self.session
        action, need = session.action, session.need
        detail = self.query_one("#detail", Panel)
        width = detail.size.width
        if need is not None:
            detail.show(need_detail(need, width), stale=session.stale)
            set_titles(detail, "What needs you")
            return
        if action is None:
            detail.show([])
            set_titles(detail, "Action")
            return
        pace = pace_of(session.jobs, action, session.clock())
        shown = action_detail(action, width, self._used.get(action.name), pace)
        detail.show(shown, stale=session.stale)
        set_titles(detail, action.name, "Enter: its groups")

    def _show_pace(self) -> None:
        """Show the directories that all actions completed in each of the last hours."""
        jobs = self.session.jobs
        if jobs is None:
            return  # nothing that only charts need is loaded before the first paint
        from rowtui.tui.views.past.job_charts import completed_by_hour, of_completed

        paces = jobs.paces
        now, mark = self.session.clock(), mark_for(self.dashboard.how)
        for chart in (self.query_one("#pace", Chart), self.query_one("#day-ended", Chart)):
            chart.show_made(
                lambda width, height: completed_by_hour(paces, now, ChartArea(width, height, mark))
            )
            below = of_completed(paces) if paces else ""
            set_titles(chart, "Completed in the last 24 hours", below)

    async def _show_day(self) -> None:
        """Show the charts of the last day that only a wide screen has room for."""
        from rowtui.tui.views.past.charts import LAST_DAY, chart_named

        past, mark = await self.session.engine.past.view(LAST_DAY), mark_for(self.dashboard.how)
        if not past.job_count:
            return
        self.query_one("#day-ended").styles.column_span = 1
        for chart in map(chart_named, WIDE_CHARTS[1:]):
            widget = self.query_one(f"#day-{chart.name}", Chart)
            widget.display = True
            widget.show_made(partial(self._drawn, chart.draw, past, mark))
            set_titles(widget, f"{chart.title}, last 24 hours", chart.below(past))
        budget, waits = self.query_one("#day-budget"), self.query_one("#day-waits")
        budget.display = bool(past.budgets)
        waits.styles.column_span = 1 if budget.display else 2

    @staticmethod
    def _drawn(
        draw: Draw, past: PastView, mark: ChartMark, width: int, height: int
    ) -> Sequence[Line]:
        return draw(past, ChartArea(width, height, mark))

    def _show_jobs(self) -> None:
        """Show how many jobs run and wait and, as far as there is room, the newest ones."""
        view = self.session.jobs
        counts = job_counts(view)
        for panel in (self.query_one("#jobs", Panel), self.query_one("#wide-jobs", Panel)):
            lines = [line(("no jobs yet" if view is not None else "not asked yet", "dim"))]
            if view is not None and view.jobs:
                lines = jobs_in_brief(view.jobs, panel.size.width, MOST_ROWS)
            panel.show(lines, stale=self.session.stale)
            set_titles(panel, f"Jobs: {counts}" if counts else "Jobs", "6 queue")

    def on_descendant_focus(self) -> None:
        """Choose the item of the list that has the focus, because the keys apply to it."""
        if self.ready:
            self.choose_need()

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Choose the action, or need, under the cursor."""
        if event.table.id == "needs":
            self.choose_need()
            return
        # The cursor may have moved on since the message.
        if isinstance(self.table.cursor_key, tuple):
            self.session.action_index = self.table.cursor_key[1]
            self.table.choose(self.table.cursor_key)
            self.show_detail()
            self.show_bottom()

    def on_list_table_rearranged(self) -> None:
        """Show the sums of the actions that another filter leaves."""
        self.show()

    def command_pane(self) -> None:
        """Move to the other list."""
        needs_you = self.query_one("#needs", VirtualTable)
        (self.table if needs_you.has_focus else needs_you).focus()

    def back(self) -> bool:
        """Drop the filter; go from the needs to the actions."""
        if self.table.has_focus_within:
            return self.table.clear_filter()
        self.table.focus()
        return True

    def copyable(self) -> str:
        """The name of the chosen action, or the text of the chosen need."""
        if self.session.need is not None:
            return self.session.need.text
        return self.session.action.name if self.session.action else ""

    def show_packed(self) -> None:
        """Pack the jobs of this action."""
        self.pack_action()

    def command_open(self) -> None:
        """Show the groups of the chosen action, or take the next step of the chosen need."""
        if self.session.need is not None:
            self.take_step(self.session.need)
            return
        action = self.session.action
        if action is not None:
            word = "eligible" if action.eligible else "all"
            self.session.filter = next(one for one in FILTERS if one.word == word)
        self.dashboard.go("groups")

    def command_failed(self) -> None:
        """Show the failed directories of this action; all of them if none failed."""
        action = self.session.action
        word = "failed" if action is not None and action.failed else "all"
        self.session.filter = next(one for one in FILTERS if one.word == word)
        self.dashboard.go("groups")

    def command_why(self) -> None:
        """Show where the jobs of this action go."""
        self.dashboard.go("explain")

    def command_submit(self) -> None:
        """Plan all eligible groups of the chosen action."""
        if self.session.action is not None:
            self.dashboard.verbs.prepare(self.session.action.index, None)

    def command_submit_all(self) -> None:
        """Plan all eligible groups of all actions."""
        self.dashboard.verbs.prepare(None, None)


def _key(action: ActionSummary) -> tuple[str, int]:
    """Return the key of an action; the index is in it, because several actions may share a name."""
    return (action.name, action.index)
