"""The samples of the chosen node: their list from the engine, and the pane that shows it.

A sample is identified by the number of its job; a sample of a source, by its directory. Its mark
stores the last known state of the job, because the possible operations depend on this state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.base.values import compact
from rowtui.core.engine.engine import Engine
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.views.views import ListRequest
from rowtui.core.runs.views import SampleView
from rowtui.tui.shell.work import start
from rowtui.tui.views.groups.groups import Wiring
from rowtui.tui.views.network.state import STATE_FILTERS, StateFilter
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import OneLine, choices, set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import GRAPH_MARKS
from rowtui.tui.widgets.table.engine_rows import EngineRows, RowPage
from rowtui.tui.widgets.table.list_table import MOST_MARKED, ListTable
from rowtui.tui.widgets.table.rows import Marks

if TYPE_CHECKING:
    from rowtui.core.project.views.files import FileContent
    from rowtui.core.runs.views import NetworkView, NodeView
    from rowtui.tui.views.view import ScreenView
    from rowtui.tui.widgets.cells import Cell


STATE_MARKS = {name.lower(): GRAPH_MARKS[it] for name, it in GraphJobState.__members__.items()}


def sample_columns(node: NodeView | None, samples: Sequence[SampleView]) -> tuple[TableColumn, ...]:
    """Return the columns: state, dimensions or directory, and reason."""
    dimensions = [one.name for one in node.dimensions] if node else []
    columns = []
    if not samples or any(one.state for one in samples):
        columns.append(TableColumn("state", "State", 3, 11))
    for number, name in enumerate(dimensions):
        values = [one.values.get(name) for one in samples]
        widest = max((len(value_text(it)) for it in values), default=4)
        ideal = min(16, max(len(name), widest))
        align = "right" if all(isinstance(it, int | float) for it in values) else "left"
        columns.append(TableColumn(f"={name}", name, 4, ideal, align, priority=4 + number))
    longest = max((len(one.directory) for one in samples), default=12)
    if any(one.reason for one in samples):
        columns.append(TableColumn("why", "Why", 16, 34, grow=2, priority=1))
    if not dimensions:  # Otherwise the columns of the dimensions tell the samples apart.
        ideal = min(44, max(12, longest))
        columns.append(TableColumn("directory", "Directory", 12, ideal, priority=2, grow=1))
    return tuple(columns)


def sample_cells(sample: SampleView) -> dict[str, Cell]:
    """Return one row of the samples."""
    mark = STATE_MARKS.get(sample.state)
    cells: dict[str, Cell] = {
        "state": mark.spans if mark else (),
        "directory": line(sample.directory),
        "why": line((sample.reason, "failed" if sample.state == "failed" else "dim")),
    }
    for name, value in sample.values.items():
        cells[f"={name}"] = line(value_text(value))
    return cells


def state_mark(state: str) -> str:
    """Return `✗ failed`, for a page of text."""
    mark = STATE_MARKS.get(state)
    return f"{mark.glyph} {mark.word}" if mark else state


def value_text(value: object) -> str:
    """Return a value of a dimension, short."""
    return value if isinstance(value, str) else compact(value)


class Of(NamedTuple):
    """The node and the states of the samples. `frozen`: of the run, not of network.toml."""

    node: str
    filter: StateFilter
    frozen: bool


def rows_of_samples(engine: Engine, of: Of, wiring: Wiring) -> EngineRows[SampleView]:
    """Return the samples, page by page."""

    async def ask(asked: ListRequest, first: int, length: int, find: str) -> RowPage[SampleView]:
        page = await engine.network.samples(
            of.node, of.filter.states, first, length, frozen=of.frozen, asked=asked, find=find
        )
        return RowPage(page.total, page.samples, page.of, page.found)

    return EngineRows(
        ask,
        sample_key,
        sample_cells,
        _values,
        weight_of=_weight,
        spawn=wiring.spawn,
        arrived=wiring.arrived,
        failed=wiring.failed,
    )


def sample_key(sample: SampleView) -> str:
    """Return the key of a row."""
    return str(sample.job) if sample.job >= 0 else sample.directory


def _values(sample: SampleView) -> dict[str, Any]:
    row = {"state": sample.state, "why": sample.reason, "directory": sample.directory}
    return row | {f"={name}": value for name, value in sample.values.items()}


def _weight(sample: SampleView) -> tuple[float, ...]:
    return (float(GraphJobState[sample.state.upper()]),) if sample.state else ()


def changed_samples(
    old: dict[str, SampleView], new: dict[str, SampleView]
) -> list[tuple[str, str]]:
    """Return the cells (row, column) whose content has changed."""
    found = []
    for key, sample in new.items():
        was = old.get(key)
        if was is not None and was.state != sample.state:
            found.append((key, "state"))
        if was is not None and was.reason != sample.reason:
            found.append((key, "why"))
    return found


def marked_jobs(marks: Marks, seen: dict[str, SampleView]) -> dict[int, str]:
    """Return the marked jobs, each with its current or last known state."""
    found = {}
    for key in marks.keys:
        word = ""
        if str(key) in seen:
            word = seen[str(key)].state
        elif weight := marks.weights.get(key):
            word = GraphJobState(int(weight[0])).name.lower()
        if str(key).isdecimal():
            found[int(str(key))] = word
    return found


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
    """The pane of one Network view. `arrived` is called after a page of samples has arrived."""

    def __init__(self, view: ScreenView, arrived: Callable[[], None]) -> None:
        self._view = view
        self._look = view.session.network
        self._page_arrived = arrived
        self.rows: EngineRows[SampleView] | None = None
        self._of: Of | None = None
        self._generation: tuple[int, str] | None = None
        self._seen: dict[str, SampleView] = {}  # The samples as they were last shown.
        self._product_of = ("", "", "")  # Action and directory of the product, and its name.
        self._product: FileContent | None = None

    @property
    def table(self) -> SampleTable:
        """The list."""
        return self._view.query_one("#samples", SampleTable)

    @property
    def sample(self) -> SampleView | None:
        """The sample under the cursor, if its page is loaded."""
        rows = self.rows
        return rows.item(self.table.cursor) if rows is not None and rows.row_count else None

    def product(self, chosen: NodeView | None) -> FileContent | None:
        """Return the product of the sample under the cursor, once it was read.

        `chosen`: the node under the cursor of the graph; a sink takes one of the products.
        """
        node, sample = self.node, self.sample
        of = ("", "", "")
        if node is not None and sample is not None and sample.state == "completed":
            of = (node.action, sample.directory, chosen.output if chosen is not None else "")
        if of != self._product_of:
            self._product_of, self._product = of, None
            if of[1]:
                start(self._view, self._read_product, "product", exclusive=True)
        return self._product

    async def _read_product(self) -> None:
        of = self._product_of
        try:
            found = await self._view.session.engine.network.product(*of)
        except Exception:  # damaged records, or an engine that was lost
            return
        if of == self._product_of and self._view.ready:
            self._product = found
            self._page_arrived()

    @property
    def node(self) -> NodeView | None:
        """The node whose samples are listed."""
        look = self._look
        nodes = look.view.nodes if look.view else ()
        named = (one for one in nodes if one.name == look.samples_of and one.kind != "sink")
        return next(named, None)

    def show(self, view: NetworkView | None) -> None:
        """Load the samples of the chosen node, if they are missing or outdated."""
        look, table = self._look, self.table
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
            table.start_over(of[::2])
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
        rows, view = self.rows, self._view
        if rows is None or not view.ready:
            return
        table = self.table
        if not rows.loaded:
            text = "Reading samples…"
        elif table.filtered:
            text = "No sample fits the filter; Esc shows all."
        elif self._look.filter.states:
            text = f"No sample is {self._look.filter.word}; f shows others."
        else:
            text = "There are no samples yet."
        table.say_if_empty(line((text, "dim")))
        stale = self._look.error is not None or view.session.stale
        loaded = rows.loaded_items()
        table.show(rows, sample_columns(self.node, loaded), stale=stale)
        seen = {sample_key(sample): sample for sample in loaded}
        if changed := changed_samples(self._seen, seen):
            table.flash(changed)
        self._seen = seen
        if table.marks.keys:
            self.remember_marks()
        self.show_titles()
        self._page_arrived()

    def show_titles(self) -> None:
        """Show the number of samples, and of marked ones."""
        look, rows, table = self._look, self.rows, self.table
        below = plural(rows.of if rows and rows.loaded else 0, "sample")
        if table.filtered:
            below = table.tally + " samples"
        if look.marked:
            shown = f"{table.tally} shown · " if table.filtered else ""
            every = plural(rows.of if rows else 0, "sample")
            below = f"{shown}{len(look.marked):,} of {every} marked"
        set_titles(table, f"Samples of {look.samples_of}{table.filter_named}", below)
        self._show_states()

    def _show_states(self) -> None:
        """Show the states of the node's jobs with their numbers; the listed one is chosen."""
        node, chosen = self.node, self._look.filter
        counts = node.counts if node is not None else ()
        parts = []
        for one in STATE_FILTERS:
            number = sum(counts[state] for state in one.states or GraphJobState) if counts else 0
            if number or one is chosen:
                style = GRAPH_MARKS[one.states[0]].style if one.states else ""
                parts.append((one.word, f"{one.word} {number:,}", style))
        self._view.query_one("#states", OneLine).show(*choices(parts, chosen.word))

    def remember_marks(self) -> None:
        """Store the marked jobs, for the commands."""
        marks = self.table.marks
        if not marks.keys and not self._look.marked:
            return
        self._look.marked = marked_jobs(marks, self._seen)
        self.show_titles()
        self._view.show_bottom()

    def forget_marks(self) -> None:
        """Remove the marks after the marked jobs were retried, or cancelled."""
        self.table.marks.set_all(False)
        self.table.repaint_different()
        self._look.marked = {}
        self.show_titles()
        self._view.show_bottom()

    def filter(self, text: str) -> None:
        """Show the samples that match."""
        self.table.ask(self.table.asked._replace(filter=text))
