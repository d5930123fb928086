"""View 1: all actions, the chosen one in detail, and the items that need the user."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rowtui.core.base.text import plural
from rowtui.core.groups.model import Status
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.session import FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.queue.jobs import jobs_in_brief
from rowtui.tui.views.status.needs import COLUMNS as NEEDS_COLUMNS
from rowtui.tui.views.status.needs import distinct, need_cells, need_detail, needs, nothing_needed
from rowtui.tui.views.status.status import (
    action_cells,
    action_columns,
    action_detail,
    job_counts,
    pace_lines,
    used_words,
)
from rowtui.tui.views.status.steps import NeedSteps
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import Panel, set_titles
from rowtui.tui.widgets.short_text import clock_time
from rowtui.tui.widgets.table.rows import ListRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from textual.app import ComposeResult
from textual.containers import Vertical

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import ActionSummary
    from rowtui.core.usage.table import UsageRow
    from rowtui.tui.views.status.needs import NeedItem


AGAIN_SECONDS = 20.0
"""Seconds between two requests for what the jobs of each action used."""


class StatusView(NeedSteps):
    """The first view: it shows what needs the user."""

    MODE = "status"
    BINDINGS = bindings_for("status")
    AUTO_FOCUS: ClassVar[str | None] = "#actions"

    def __init__(self) -> None:
        super().__init__()
        self._needs: list[NeedItem] = []
        self._used: dict[str, UsageRow] = {}
        self._used_at = -AGAIN_SECONDS  # when the used amounts were asked for

    def body(self) -> ComposeResult:
        """Compose actions and detail on the left, and the needs on the right (or below)."""
        with Vertical(id="left"):
            yield VirtualTable(name="actions")
            yield Panel("Action", name="detail")
            yield Panel("Activity", name="activity")
        with Vertical(id="right"):
            yield VirtualTable(name="needs")
            yield Panel("Completed in an hour", name="pace")
            yield Panel("Jobs", name="jobs")

    def show_body(self) -> None:
        """Show everything from the latest snapshot."""
        session = self.session
        snapshot = session.snapshot
        actions = snapshot.actions if snapshot else ()
        table = self.query_one("#actions", VirtualTable)
        if snapshot is not None:
            table.empty = line(("workflow.toml has no action yet.", "dim"))
        elif session.broken is not None:
            table.empty = line(("The project could not be read: see below.", "failed"))
        else:
            table.empty = line(("Reading the project…", "dim"))
        table.show(
            ListRows(actions, _key, lambda _, it: action_cells(it, self._used.get(it.name))),
            action_columns(actions, self._used),
            stale=session.stale,
        )
        if session.action is not None:
            table.choose(_key(session.action))
        if session.changed:
            by_index = {action.index: _key(action) for action in actions}
            table.flash((by_index[index], count) for index, count in session.changed)
            session.changed = frozenset()
        found = [plural(len(actions), "action")] if snapshot else []
        if (network := session.network.view) is not None and network.waiting:
            found.append(
                plural(network.waiting, "job of the network waits", "jobs of the network wait")
                + " for inputs"
            )
        set_titles(table, "Workflow", ", ".join(found))
        self._show_detail()
        self._show_needs()
        self._ask_used()
        self._show_pace()
        self._show_jobs()
        activity = self.query_one("#activity", Panel)
        room = max(1, activity.size.height)
        latest = list(session.activity)[-room:][::-1]
        activity.show(
            line(
                (clock_time(entry.at) + "  ", "dim"),
                (f"{entry.source:<8} ", "dim"),
                (entry.text, entry.style),
            )
            for entry in latest
        )
        set_titles(activity, "Activity", "@ all of it")

    def _ask_used(self) -> None:
        """Ask, not often, what the jobs of each action used."""
        now = monotonic()
        if self.session.snapshot is not None and now - self._used_at >= AGAIN_SECONDS:
            self._used_at = now
            start(self, self._read_used, "used", exclusive=True)

    async def _read_used(self) -> None:
        try:
            rows = await self.session.engine.past.used()
        except Exception:  # damaged records, or an engine that was lost
            return
        used = {row.name: row for row in rows if used_words(row)}
        if used != self._used:
            self._used = used
            if self.ready:
                self.show_body()

    def _show_detail(self) -> None:
        action, need = self.session.action, self.session.need
        detail = self.query_one("#detail", Panel)
        if need is not None:
            detail.show(need_detail(need, detail.size.width), stale=self.session.stale)
            set_titles(detail, "What needs you")
            return
        if action is None:
            detail.show([])
            set_titles(detail, "Action")
            return
        shown = action_detail(action, self._used.get(action.name))
        detail.show(shown, stale=self.session.stale)
        set_titles(detail, action.name, "Enter groups")

    def _show_pace(self) -> None:
        action = self.session.action
        panel = self.query_one("#pace", Panel)
        panel.show(pace_lines(self.session.jobs, action), stale=self.session.stale)
        set_titles(panel, f"{action.name} completed in an hour" if action else "Pace")

    def _show_jobs(self) -> None:
        """Show the number of jobs in each state and, as far as there is room, the jobs."""
        view = self.session.jobs
        panel = self.query_one("#jobs", Panel)
        lines = job_counts(view)
        room = panel.size.height - len(lines) - 1
        if view is not None and view.jobs and room > 0:
            lines += [(), *jobs_in_brief(view.jobs, panel.size.width, room)]
        panel.show(lines, stale=self.session.stale)
        set_titles(panel, "Jobs", "6 queue")

    def _show_needs(self) -> None:
        session = self.session
        found = distinct(
            needs(
                session.snapshot, session.broken, session.jobs, session.network.view,
                session.sending,
            )
        )  # fmt: skip
        self._needs = found
        table = self.query_one("#needs", VirtualTable)
        calm = nothing_needed(session.snapshot) if session.snapshot is not None else ()
        table.say_if_empty(calm)
        table.show(
            ListRows(found, lambda need: need.key, lambda _, need: need_cells(need)), NEEDS_COLUMNS
        )
        # The user is not in this list, so the worst item is shown.
        if found and not table.has_focus:
            table.move_to_key(found[0].key)
        self._choose_need()
        set_titles(table, "Needs you", "Enter: next step" if found else "")

    def _choose_need(self) -> None:
        table = self.query_one("#needs", VirtualTable)
        chosen = table.has_focus and table.cursor < len(self._needs)
        need = self._needs[table.cursor] if chosen else None
        if need != self.session.need:
            self.session.need = need
            self._show_detail()
            self.show_bottom()

    def on_descendant_focus(self) -> None:
        """Choose the item of the list that has the focus, because the keys apply to it."""
        if self.ready:
            self._choose_need()

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Choose the action, or need, under the cursor."""
        if event.table.id == "needs":
            self._choose_need()
            return
        snapshot, table = self.session.snapshot, self.query_one("#actions", VirtualTable)
        # The cursor may have moved on since the message.
        if snapshot is not None and table.cursor < len(snapshot.actions):
            action = snapshot.actions[table.cursor]
            self.session.action_index = action.index
            table.choose(_key(action))
            self._show_detail()
            self._show_pace()
            self.show_bottom()

    async def on_virtual_table_row_pressed(self) -> None:
        """Open the row with a second click."""
        await self.dashboard.action_command("status.open")

    def command_pane(self) -> None:
        """Move to the other list."""
        needs_you = self.query_one("#needs", VirtualTable)
        (self.query_one("#actions", VirtualTable) if needs_you.has_focus else needs_you).focus()

    def back(self) -> bool:
        """Go from the needs to the actions."""
        actions = self.query_one("#actions", VirtualTable)
        if actions.has_focus:
            return False
        actions.focus()
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
        """Show the failed directories of this action, or of the first action that has any."""
        snapshot, action = self.session.snapshot, self.session.action
        if snapshot and action and not action.failed:
            action = next((one for one in snapshot.actions if one.failed), action)
        if action is not None:
            self.session.action_index = action.index
        self.session.filter = next(one for one in FILTERS if one.statuses == (Status.FAILED,))
        self.dashboard.go("groups")

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
