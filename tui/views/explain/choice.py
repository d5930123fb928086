"""The lower part of the Explain view: the destinations, and beside them reasons and story.

The input is an explanation. The widget itself stores the position of the cursor, whether refusals
are hidden, and the page on the right.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.tui.views.explain.destination import destination_lines
from rowtui.tui.views.explain.explain import (
    REFUSED,
    DestinationRow,
    changed_cells,
    destination_cells,
    destination_columns,
    destination_rows,
    destination_values,
    job_lines,
)
from rowtui.tui.views.explain.match_trace import story_lines
from rowtui.tui.widgets.cells import line, wrapped
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.short_text import age
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

if TYPE_CHECKING:
    from rowtui.core.project.views.views import PlacementExplanation
    from rowtui.tui.shell.session import Session


PAGES = ("reasons", "story")
"""The pages on the right: about the destination under the cursor, and about the job."""


class DestinationChoice(Horizontal):
    """The possible destinations of a job, in the order in which they are tried, and the reasons."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="choice")
        self.rows: list[DestinationRow] = []
        self._session = session
        self._found: PlacementExplanation | None = None
        self._why_empty = ""
        self._page = PAGES[0]
        self._folded = False

    def compose(self) -> ComposeResult:
        """Compose the destinations on the left, and reasons and story on the right."""
        yield ListTable(name="destinations")
        with Vertical(id="why"):
            for page in PAGES:
                yield LaidOut(name=page)

    @property
    def table(self) -> ListTable:
        """The destinations."""
        return self.query_one("#destinations", ListTable)

    @property
    def row(self) -> DestinationRow | None:
        """The destination under the cursor."""
        key = self.table.cursor_key
        return next((row for row in self.rows if row.name == key), None)

    def show(
        self, found: PlacementExplanation | None, why_empty: str, *, begins: bool = False
    ) -> None:
        """Show an explanation. `begins`: its group was not on the screen before."""
        decision = found.decision if found else None
        rows = destination_rows(decision)
        changed = [] if begins else changed_cells(self.rows, rows)
        self.rows, self._found, self._why_empty = rows, found, why_empty
        self.table.say_if_empty(line((why_empty, "dim")))
        self._show_destinations()
        self.table.flash(changed)
        if begins and rows:
            chosen = decision.chosen.destination if decision else ""
            self.table.move_to_key(chosen or rows[0].name)
        self._show_reasons()

    def show_ages(self) -> None:
        """Update the ages, which change with time."""
        if self.rows:
            self._title_destinations()

    def _show_destinations(self) -> None:
        """Show the destinations that take the job, and the others unless they are hidden."""
        shown = [row for row in self.rows if row.rank or row.mark is not REFUSED]
        if not self._folded or not shown:
            shown = self.rows
        self.table.show(
            MemoryRows(
                shown, lambda row: row.name, lambda _, row: destination_cells(row),
                destination_values,
            ),
            destination_columns(self.rows),
            stale=self._session.stale,
        )  # fmt: skip

    def _show_reasons(self) -> None:
        found, row = self._found, self.row
        self._session.destination = row.name if row else ""
        reasons = self.query_one("#reasons", LaidOut)
        story = self.query_one("#story", LaidOut)
        if found is None:
            reasons.show_made(lambda _: ())
            story.show_made(lambda _: ())
            set_titles(reasons, "Reasons")
            set_titles(story, "The job's story")
            return
        decision = found.decision
        if row is None or decision is None:
            # Here is more room than in the list, so the reason is shown in full.
            why = line((self._why_empty, "dim"))
            reasons.show_made(lambda width: [*job_lines(found, width), (), *wrapped(why, width)])
        else:
            reasons.show_made(partial(destination_lines, row, decision))
        self._title_destinations()
        set_titles(reasons, row.name if row else "Reasons", "")
        story.show_made(partial(story_lines, found))
        wrong = sum(1 for problem in found.problems if problem.severity != "warning")
        below = f"✗ {plural(wrong, 'error')} in the mapping files" if wrong else ""
        set_titles(story, "The job's story", below)

    def _title_destinations(self) -> None:
        many = sum(1 for one in self.rows if one.rank)
        set_titles(self.table, f"Destinations{self.table.filter_named}", self._count(many))

    def _count(self, many: int) -> str:
        if not self.rows:
            return ""
        found, refused = self._found, len(self.rows) - many
        text = plural(many, "candidate") + (f", {refused:,} refused" if refused else "")
        if refused and self._folded and many:
            text += ", folded: z"
        if self.table.filtered:
            text = f"{self.table.tally} · {text}"
        if found is None or not found.loads_at:
            return text
        old = age(max(0.0, self._session.clock() - found.loads_at))
        seen = " · queues seen now" if old == "now" else f" · queues seen {old} ago"
        return text + seen if len(text + seen) + 4 <= self.table.size.width else text

    # User actions

    def on_list_table_rearranged(self) -> None:
        """Show the reasons again: another filter or order may change the destination."""
        self._show_reasons()

    def on_virtual_table_cursor_moved(self) -> None:
        """Show the reasons of the destination under the cursor."""
        self._show_reasons()
        self.query_one("#reasons", LaidOut).action_first()

    def fold(self) -> None:
        """Hide the destinations that refuse the job, or show them again."""
        self._folded = not self._folded
        self._show_destinations()
        self._show_reasons()

    def turn_page(self) -> None:
        """Show the other page on the right, and move the focus to it."""
        self._page = PAGES[1 - PAGES.index(self._page)]
        self.screen.set_class(self._page == "story", "-story")
        self._read(True)

    def other_pane(self) -> None:
        """Move between the destinations and the page on the right."""
        self._read(self.table.has_focus)

    def back(self) -> bool:
        """Drop the filter, or go back to the destinations; False if there is nothing to do."""
        if self.table.has_focus_within and self.table.clear_filter():
            return True
        if not self.table.has_focus:
            self._read(False)
            return True
        return False

    @property
    def reading(self) -> bool:
        """Whether the reasons have the focus."""
        return self.query_one("#reasons").has_focus

    def _read(self, right: bool) -> None:
        """Move the focus to the right or the left side; if only one side fits, show that one."""
        self.screen.set_class(right, "-reading")
        target = self.query_one(f"#{self._page}", LaidOut) if right else self.table
        self.call_after_refresh(target.focus)  # The target may have been hidden until now.
