"""The pane with the samples of the chosen node: its table, highlights and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.runs.views import SampleView
from rowtui.tui.shell.work import start
from rowtui.tui.views.groups.groups import Wiring
from rowtui.tui.views.network.samples import (
    Of,
    changed_samples,
    marked_jobs,
    rows_of_samples,
    sample_columns,
    sample_key,
)
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.table.engine_rows import EngineRows
from rowtui.tui.widgets.table.list_table import MOST_MARKED, ListTable

if TYPE_CHECKING:
    from rowtui.core.runs.views import NetworkView, NodeView
    from rowtui.tui.views.network.view import NetworkScreen


class SampleTable(ListTable):
    """A list of samples: marks are of single jobs, never of all present and future samples."""

    def action_mark_matching(self) -> None:
        """Mark every sample that the list has now."""
        if why := self._why_no_marks():
            self.notify(f"mark: {why}", severity="warning", markup=False)
        elif self.source.row_count > MOST_MARKED:
            text = f"More than {MOST_MARKED:,} samples: choose some with t or /."
            self.notify(text, severity="warning", markup=False)
        else:
            self.mark_rows_from(0, self.source.row_count)


class SamplePane:
    """The pane of one Network view."""

    def __init__(self, view: NetworkScreen) -> None:
        self._view = view
        self.rows: EngineRows[SampleView] | None = None
        self._of: Of | None = None
        self._generation: tuple[int, str] | None = None
        self._seen: dict[str, SampleView] = {}  # The samples as they were last shown.

    @property
    def table(self) -> SampleTable:
        """The list."""
        return self._view.samples

    @property
    def sample(self) -> SampleView | None:
        """The sample under the cursor, if its page is loaded."""
        rows = self.rows
        return rows.item(self.table.cursor) if rows is not None and rows.row_count else None

    @property
    def node(self) -> NodeView | None:
        """The node whose samples are listed."""
        look = self._view.look
        nodes = look.view.nodes if look.view else ()
        named = (one for one in nodes if one.name == look.samples_of and one.kind != "sink")
        return next(named, None)

    def show(self, view: NetworkView | None) -> None:
        """Load the samples of the chosen node, if they are missing or outdated."""
        look, table = self._view.look, self.table
        if view is None or not look.samples_of:
            table.show_nothing()
            return
        of = Of(look.samples_of, look.filter, look.frozen)
        generation = (view.generation, view.run.id if view.run else "")
        if of != self._of:
            kept = self._of is not None and self._of[::2] == of[::2]
            asked = table.asked if kept else table.asked._replace(filter="", sort="")
            self._of, self._generation, self._seen = of, generation, {}
            self.rows = rows_of_samples(self._view.session.engine, of, self._wiring())
            table.start_over()
            table.asked = asked
            self.remember_marks()
        elif self._generation != generation and self.rows is not None:
            self._generation = generation
            self.rows.reload_near(table.cursor_key)
        self._arrived()

    def _wiring(self) -> Wiring:
        view = self._view
        return Wiring(
            lambda work: start(view, work, "samples"),
            self._arrived,
            lambda error: view.dashboard.report("samples cannot be listed", error),
        )

    def _arrived(self) -> None:
        rows, view, table = self.rows, self._view, self.table
        if rows is None or not view.ready:
            return
        if not rows.loaded:
            text = "Reading samples…"
        elif table.filtered:
            text = "No sample fits the filter; Esc shows all."
        elif view.look.filter.states:
            text = f"No sample is {view.look.filter.word}; t shows others."
        else:
            text = "There are no samples yet."
        table.say_if_empty(line((text, "dim")))
        stale = view.look.error is not None or view.session.stale
        loaded = rows.loaded_items()
        table.show(rows, sample_columns(self.node, loaded), stale=stale)
        seen = {sample_key(sample): sample for sample in loaded}
        if changed := changed_samples(self._seen, seen):
            table.flash(changed)
        self._seen = seen
        if table.marks.keys:
            self.remember_marks()
        self.show_titles()
        view.samples_arrived()

    def show_titles(self) -> None:
        """Show the number of samples, and of marked ones."""
        look, rows, table = self._view.look, self.rows, self.table
        below = plural(rows.of if rows and rows.loaded else 0, "sample")
        if table.filtered:
            below = table.tally + " samples"
        if look.marked:
            shown = f"{table.tally} shown · " if table.filtered else ""
            every = plural(rows.of if rows else 0, "sample")
            below = f"{shown}{len(look.marked):,} of {every} marked"
        title = f"{look.samples_of} · {look.filter.word}{table.filter_named}"
        set_titles(table, title, below)

    def remember_marks(self) -> None:
        """Store the marked jobs, for the commands."""
        marks = self.table.marks
        if not marks.keys and not self._view.look.marked:
            return
        self._view.look.marked = marked_jobs(marks, self._seen)
        self.show_titles()
        self._view.show_bottom()

    def forget_marks(self) -> None:
        """Remove the marks after the marked jobs were retried, or cancelled."""
        self.table.marks.set_all(False)
        self.table.marks_changed()
        self._view.look.marked = {}
        self.show_titles()
        self._view.show_bottom()

    def filter(self, text: str) -> None:
        """Show the samples that match."""
        self.table.ask(self.table.asked._replace(filter=text))
