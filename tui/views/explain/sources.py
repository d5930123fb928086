"""A page with all sources of a decision: values, tags, rules and checks; Enter opens the file.

The sources of the destination under the cursor are first. A value from no file (for example a
partition that the cluster reports) has the name of its source in place of a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import Decision, Refusal
from rowtui.core.mapping.model.origin import Origin
from rowtui.tui.shell.external_program import open_in_editor
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.explain.destination import origin_text
from rowtui.tui.views.explain.explain import DestinationRow
from rowtui.tui.views.explain.match_trace import value_text
from rowtui.tui.widgets.cells import Cell, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.links import linked
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from rowtui.core.mapping.model.origin import FilePosition
    from rowtui.tui.views.view import Dashboard


class SourceRow(NamedTuple):
    """One value that was written by the user or reported by a cluster. `number` counts from 0 and
    is the key.
    """

    number: int
    what: str
    says: str
    origin: Origin

    @property
    def place(self) -> str:
        """`mapping.yml:12`, or the name of the source."""
        at = self.origin.place
        return visible(str(at)) if at.file else origin_text(self.origin)


def source_rows(row: DestinationRow | None, decision: Decision) -> list[SourceRow]:
    """Return each source once: those of the destination, then those of the job, in order."""
    found = dict.fromkeys(_sources(row, decision))
    return [SourceRow(number, *one) for number, one in enumerate(found)]


def _sources(row: DestinationRow | None, decision: Decision) -> Iterator[tuple[str, str, Origin]]:
    if row is not None:
        yield "destination", visible(row.name), row.of.origin
        failed = row.of.failed if isinstance(row.of, Refusal) else ()
        for check in (*failed, *(one for one in row.of.checks if one.passed)):
            if check.origin is not None:
                mark = "✓" if check.passed else "✗"
                yield f"{mark} {visible(check.constraint)}", visible(check.offered), check.origin
    for rule in decision.rules:
        mark = "✓" if rule.matched else "·"
        name = visible(rule.origin.rule or rule.origin.id)
        yield f"{mark} rule {name}", value_text(rule.condition), rule.origin
    for value in decision.contributions:
        yield visible(value.field), value_text(value.value), value.origin
        for other, origin in value.replaced:
            yield visible(value.field), f"{value_text(other)} (not used)", origin
    for strength, tag, origin in decision.tags:
        yield f"{strength} {visible(tag)}", "a tag of the job", origin
    for matched in decision.matched:
        yield "matched", visible(matched.pattern or matched.subject), matched.origin


def source_columns() -> tuple[TableColumn, ...]:
    """Return the columns of the sources."""
    return (
        TableColumn("what", "What", 14, 26),
        TableColumn("says", "Says", 12, 30, priority=1, grow=2),
        TableColumn("place", "Written in", 16, 30, grow=1),
        TableColumn("by", "By", 12, 34, priority=2, grow=1),
    )


def source_cells(row: SourceRow) -> dict[str, Cell]:
    """Return one row of the sources."""
    mark = row.what[:1]
    style = {"✓": "completed", "✗": "failed"}.get(mark, "")
    it = row.origin
    by = f"{it.kind} {visible(it.id)}".strip()
    if it.rule:
        by = f"rule {visible(it.rule)} of {by}"
    return {
        "what": line((row.what, style)),
        "says": line(row.says),
        "place": line(linked(row.place, it.place.file, "key" if it.place.file else "dim")),
        "by": line((by + (" (not trusted)" if it.sealed else ""), "dim")),
    }


class SourcesScreen(Dialog[None]):
    """A list of sources under a title. `root` is the folder to which their paths are relative."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,O", "open", "open", id="sources.open", tooltip="open the file at its line"),
        Binding("y", "copy", "copy", id="sources.copy", tooltip="copy the place"),
        Binding("escape,q", "leave", "close", id="sources.close", tooltip="close this page"),
    ]

    def __init__(self, title: str, rows: Sequence[SourceRow], root: str) -> None:
        super().__init__()
        self._title = title
        self._rows = rows
        self._root = root

    def compose(self) -> ComposeResult:
        """Compose the list."""
        yield ListTable(name="sources")

    @property
    def table(self) -> ListTable:
        """The list."""
        return self.query_one(ListTable)

    def on_mount(self) -> None:
        """Show the list from its first row."""
        rows = MemoryRows(self._rows, lambda row: row.number, lambda _, row: source_cells(row))
        self.table.say_if_empty(line(("No source set a value that was used.", "dim")))
        self.table.show(rows, source_columns())
        self._titles()
        self.table.focus()

    def on_list_table_rearranged(self) -> None:
        """Update the frame after another filter."""
        self._titles()

    def _titles(self) -> None:
        many = self.table.tally or plural(len(self._rows), "source")
        below = f"{many} · Enter opens in $EDITOR · y copy · Esc close"
        set_titles(self.table, self._title + self.table.filter_named, below)

    async def on_virtual_table_row_pressed(self) -> None:
        """Open the file with a second click."""
        self.action_open()

    @property
    def _row(self) -> SourceRow | None:
        key = self.table.cursor_key
        return next((row for row in self._rows if row.number == key), None)

    def action_copy(self) -> None:
        """Copy the place."""
        if self._row is not None:
            self.app.copy_to_clipboard(self._row.place)
            self.app.notify(f"Copied {self._row.place}", markup=False)

    def action_leave(self) -> None:
        """Drop the filter, or close the page if there is none."""
        if not self.table.clear_filter():
            self.dismiss()

    def action_open(self) -> None:
        """Open the file at its line; report a source that is not a file on this machine."""
        row = self._row
        if row is None:
            return
        place = row.origin.place
        if row.origin.kind == "request" and not place.file:
            place = place._replace(file="workflow.toml")
        path = path_of(place.file, self._root)
        if path is None:
            text = f"{row.place} is not a file here, so it cannot be opened"
            self.app.notify(visible(text), severity="warning", markup=False)
            return
        start(self, partial(self._open, path, place), "editor", exclusive=True)

    async def _open(self, path: Path, at: FilePosition) -> None:
        app = cast("Dashboard", self.app)
        await open_in_editor(app, path, app.session.read_only, line=at.line, column=at.column)


def path_of(file: str, root: str) -> Path | None:
    """Return the path of a source's file; None for a source without a local file, such as an
    address.

    Names are in their visible form, so a name with control characters is not found.
    """
    if not file or "://" in file:
        return None
    path = Path(root) / Path(file).expanduser()
    return path if path.is_file() else None
