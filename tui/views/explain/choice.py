"""The lower part of the Explain view: the destinations, and below them reasons, changes and pages.

The input is an explanation. The widget itself stores the position of the cursor, whether refusals
are hidden, and the page.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

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
    on_cluster,
)
from rowtui.tui.views.explain.match_trace import comparison_lines, story_lines
from rowtui.tui.widgets.cells import FirstThatFits, line, wrapped
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import ago
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.rows import ListRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

if TYPE_CHECKING:
    from rowtui.core.mapping.model.decision import Decision, LiftingChange
    from rowtui.core.project.views.views import PlacementExplanation
    from rowtui.tui.shell.session import Session
    from rowtui.tui.widgets.cells import Cell
    from textual.widget import Widget


STORY = "Where the values come from"

PAGES = ("reasons", "story", "comparison")
"""The pages beside the destinations: the one under the cursor, the job's values, all of them."""


class ChangeRow(NamedTuple):
    """A change with which a destination would accept the job."""

    key: tuple[str, int]
    where: str
    change: LiftingChange

    @property
    def cells(self) -> dict[str, Cell]:
        """The cells of the row; in a narrow list without the amounts that are replaced."""
        after = "then the job goes there" if self.change.would_be_first else "others come first"
        words = self.change.words
        short = re.sub(r" instead of [^,]*", "", words)
        forms = (line((words, "title"), (f"  {after}", "dim")), line((words, "title")))
        return {
            "where": line(self.where),
            "change": FirstThatFits((*forms, line((short, "title")))),
        }


class DestinationRows(ListTable):
    """The destinations; the cursor moves by two lines where each has its reason below it."""

    lines_each = 1

    def move_by(self, lines: int) -> None:
        """Move the cursor by this number of destinations."""
        super().move_by(lines * self.lines_each)

    def _move(self, index: int) -> None:
        super()._move(min(index, self.source.row_count - 1) // self.lines_each * self.lines_each)


class DestinationChoice(Vertical):
    """The possible destinations of a job, in the order in which they are tried, and the reasons."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="choice")
        self.rows: list[DestinationRow] = []
        self._session = session
        self._found: PlacementExplanation | None = None
        self._why_empty = ""
        self._page = PAGES[0]
        self._folded = False
        self._changes: list[ChangeRow] = []

    def compose(self) -> ComposeResult:
        """Compose the destinations, and below them the reasons, the changes and the pages."""
        yield DestinationRows(name="destinations")
        with Horizontal(id="why"):
            with Vertical(id="about-it"):
                yield LaidOut(name="reasons")
                yield VirtualTable(name="changes", headed=False)
            for page in PAGES[1:]:
                yield LaidOut(name=page)

    @property
    def table(self) -> DestinationRows:
        """The destinations."""
        return self.query_one("#destinations", DestinationRows)

    @property
    def row(self) -> DestinationRow | None:
        """The destination under the cursor."""
        key = self.table.cursor_key
        return next((row for row in self.rows if row.name == key), None)

    @property
    def change(self) -> LiftingChange | None:
        """The change under the cursor, if the changes have the focus."""
        table = self.query_one("#changes", VirtualTable)
        found = table.has_focus and table.cursor < len(self._changes)
        return self._changes[table.cursor].change if found else None

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
        two = self.screen.has_class("-tiny")
        self.table.lines_each = 2 if two else 1
        if two:
            shown = [one for row in shown for one in (row, row._replace(second=True))]
        self.table.show(
            MemoryRows(
                shown, lambda row: row.key, lambda _, row: destination_cells(row, two=two),
                destination_values,
            ),
            destination_columns(self.rows, two=two),
            stale=self._session.stale,
        )  # fmt: skip

    def _show_reasons(self) -> None:
        found, row = self._found, self.row
        self._session.destination = row.name if row else ""
        reasons, story, comparison = (self.query_one(f"#{page}", LaidOut) for page in PAGES)
        decision = found.decision if found else None
        self._title_destinations()
        self._show_changes(row, decision)
        comparison.show_made(
            partial(comparison_lines, self.rows, decision) if decision else lambda _: ()
        )
        set_titles(comparison, "All destinations side by side")
        set_titles(reasons, "Reasons")
        set_titles(story, STORY)
        if found is None:
            reasons.show_made(lambda _: ())
            story.show_made(lambda _: ())
            return
        if row is None or decision is None:
            # Here is more room than in the list, so the reason is shown in full.
            why = line((self._why_empty, "dim"))
            reasons.show_made(lambda width: [*job_lines(found, width), (), *wrapped(why, width)])
        else:
            reasons.show_made(partial(destination_lines, row, decision))
            place = row.of.origin.place
            page = f"page {PAGES.index(self._page) + 1} of {len(PAGES)}: i"
            written = str(place) if place.file else "reported by the cluster"
            set_titles(reasons, f"{row.place}: {row.mark.word}", f"{written} · {page}")
        story.show_made(partial(story_lines, found))
        wrong = sum(1 for problem in found.problems if problem.severity != "warning")
        below = f"✗ {plural(wrong, 'error')} in the mapping files" if wrong else ""
        set_titles(story, STORY, below or "Enter: the file at its line")

    def _show_changes(self, row: DestinationRow | None, decision: Decision | None) -> None:
        """Show the changes that lead to the refusal under the cursor, otherwise to any other."""
        refusals = decision.refusals if decision else ()
        here = [one for one in refusals if row is not None and one is row.of]
        self._changes = [
            ChangeRow(
                (one.destination_id, number), on_cluster(one.destination_id, one.cluster), change
            )
            for one in here or refusals
            for number, change in enumerate(one.changes)
        ]
        table = self.query_one("#changes", VirtualTable)
        table.display = bool(self._changes)
        longest = max((len(one.where) for one in self._changes), default=0)
        columns = (
            TableColumn("where", "Destination", longest),
            TableColumn("change", "Change", 20, grow=1),
        )
        table.show(
            ListRows(self._changes, lambda one: one.key, lambda _, one: one.cells),
            columns[1:] if here else columns,
        )
        title = f"What it takes to go {'there' if here else 'elsewhere'}"
        set_titles(table, title, "Tab, then Enter tries it; nothing is written")

    def _title_destinations(self) -> None:
        many = sum(1 for one in self.rows if one.rank)
        set_titles(self.table, f"Where it could go{self.table.filter_named}", self._count(many))

    def _count(self, many: int) -> str:
        if not self.rows:
            return ""
        found, refused = self._found, len(self.rows) - many
        text = f"{many:,} accept{'s' if many == 1 else ''} it"
        if refused:
            text += f", {refused:,} refuse{'s' if refused == 1 else ''} it"
        if refused and self._folded and many:
            text += " (hidden: z)"
        if self.table.filtered:
            text = f"{self.table.tally} · {text}"
        if found is None or not found.loads_at:
            return text
        seen = f" · queues as of {ago(found.loads_at, self._session.clock())}"
        return text + seen if len(text + seen) + 26 <= self.table.size.width else text

    # User actions

    def on_list_table_rearranged(self) -> None:
        """Show the reasons again: another filter or order may change the destination."""
        self._show_reasons()

    def on_virtual_table_cursor_moved(self, event: VirtualTable.CursorMoved) -> None:
        """Show the reasons of the destination under the cursor."""
        if event.table is self.table:
            self._show_reasons()
            self.query_one("#reasons", LaidOut).action_first()

    def fold(self) -> None:
        """Hide the destinations that refuse the job, or show them again."""
        self._folded = not self._folded
        self._show_destinations()
        self._show_reasons()

    def turn_page(self) -> None:
        """Show the next page, and move the focus to it."""
        self._page = PAGES[(PAGES.index(self._page) + 1) % len(PAGES)]
        for page in PAGES:
            self.screen.set_class(self._page == page, f"-{page}")
        self._show_reasons()
        self._read(self.query_one(f"#{self._page}"))

    def other_pane(self) -> None:
        """Move to the next of the destinations, the changes and the pages."""
        panes = [self.table, self.query_one("#changes"), self.query_one(f"#{self._page}")]
        if self._page != PAGES[0] or not self._changes:
            panes.pop(1)
        at = next((at for at, pane in enumerate(panes) if pane.has_focus), -1)
        self._read(panes[(at + 1) % len(panes)])

    def back(self) -> bool:
        """Drop the filter, or go back to the destinations; False if there is nothing to do."""
        if self.table.has_focus_within and self.table.clear_filter():
            return True
        if not self.table.has_focus:
            self._read(self.table)
            return True
        return False

    def _read(self, pane: Widget) -> None:
        """Move the focus to a pane; if only one side fits on the screen, show the pane's side."""
        self.screen.set_class(pane is not self.table, "-reading")
        self.call_after_refresh(pane.focus)  # The pane may have been hidden until now.
