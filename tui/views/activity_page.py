"""What has happened: `@` lists events and the commands that were run, `U` what can be undone.

On the page of `@`, Tab changes from both to the events alone, and to the commands alone. While the
page is open, it polls for new commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.clusters.command_log import RanCommand
from rowtui.tui.commands.command import TITLES
from rowtui.tui.shell.session import Session, describe
from rowtui.tui.shell.undo import UndoStep
from rowtui.tui.shell.work import start
from rowtui.tui.views.chrome import Hint
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.short_text import clock_time
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

KINDS = ("all", "activity", "commands")
"""The kinds of entries; Tab selects the next kind."""

LOOK_SECONDS = 2.0
"""Seconds between two polls for new commands."""

_TITLES = {"all": "Activity and commands", "activity": "Activity", "commands": "Commands"}

START = 21
"""The number of columns of time and source."""


class ActivityRow(NamedTuple):
    """One line. `text` is the copied text, with time and source; `style` is the style of `rest`."""

    at: float
    start: str
    rest: str
    style: str = ""

    @property
    def text(self) -> str:
        """The line as plain text."""
        return f"{self.start}{self.rest}"


def activity_rows(entries: Iterable[tuple[float, str, str, str]]) -> list[ActivityRow]:
    """Return a row for each line of each entry."""
    rows = []
    for at, source, text, style in entries:
        for number, part in enumerate(text.splitlines() or [""]):
            start = _start(at, source) if not number else " " * START
            rows.append(ActivityRow(at, start, part, style))
    return rows


def command_rows(ran: Iterable[RanCommand]) -> list[ActivityRow]:
    """Return a row for each command, in order of their starts, and a row for its error message."""
    rows = []
    for one in ran:
        end = "?" if one.exit_status is None else f"exit {one.exit_status}"
        style = "" if one.ended_well else "failed"
        took = f"{one.seconds:.1f} s"
        rows.append(
            ActivityRow(one.at, _start(one.at, one.where), f"$ {one.what}  ({took}, {end})", style)
        )
        if one.said:
            rows.append(ActivityRow(one.at, " " * START, f"  {one.said}", "warning"))
    return rows


def row_line(row: ActivityRow) -> Line:
    """Return a row with its colours."""
    return line((row.start, "dim"), (row.rest, row.style))


def _start(at: float, source: str) -> str:
    name = source if len(source) <= 9 else f"{source[:8]}…"
    return f" {clock_time(at)}  {name:<9} "


class ActivityScreen(Dialog[None]):
    """A page to read and to copy from."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,at,q", "dismiss", "close", id="activity.close", tooltip="close this page"),
        Binding("tab", "next_kind", "what", id="activity.next", priority=True,
                tooltip="all, events, or the commands that were run"),
        Binding("y", "copy", "copy", id="activity.copy", tooltip="copy all that is listed"),
    ]  # fmt: skip

    def __init__(self, session: Session, kind: str = "all") -> None:
        super().__init__()
        self._session = session
        self._kind = kind
        self._ran: list[RanCommand] = []
        self._error = ""
        self._rows: Sequence[ActivityRow] = ()
        self._asking = False

    def compose(self) -> ComposeResult:
        """Compose the page of lines."""
        yield TextLines[Line](lambda spans: spans, name="activity-page")

    def on_mount(self) -> None:
        """Show the page, with the newest line at the end."""
        self._show()
        self._look()
        self.set_interval(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if not self._asking:
            self._asking = True
            start(self, self._ask, "commands")

    async def _ask(self) -> None:
        known = self._ran[-1].number if self._ran else 0
        try:
            new = await self._session.engine.clusters.commands_ran(known)
            error = ""
        except Exception as failure:
            new, error = (), describe(failure)[0]
        finally:
            self._asking = False
        if new or error != self._error or not known:
            self._ran += new
            self._error = error
            self._show()

    def _show(self) -> None:
        happened = activity_rows(self._session.activity) if self._kind != "commands" else []
        ran = command_rows(self._ran) if self._kind != "activity" else []
        rows = sorted([*happened, *ran], key=lambda row: row.at)
        page = self.query_one(TextLines)
        at_end = page.scroll_offset.y >= page.max_scroll_y
        if rows != self._rows or not rows:
            self._rows = rows
            page.show([row_line(row) for row in rows], follow=at_end)
        nothing = {"commands": "Nothing was run yet."}.get(self._kind, "Nothing has happened yet.")
        page.empty = line((self._error or nothing, "dim"))
        counted = plural(len(rows), "line")
        following = KINDS[(KINDS.index(self._kind) + 1) % len(KINDS)]
        below = f"{counted} · tab {_TITLES[following].lower()} · y copy · Esc close"
        set_titles(page, _TITLES[self._kind], below)

    def action_next_kind(self) -> None:
        """Show the next kind of entries."""
        self._kind = KINDS[(KINDS.index(self._kind) + 1) % len(KINDS)]
        self._rows = ()
        self._show()
        page = self.query_one(TextLines)
        page.scroll_to(y=page.max_scroll_y, animate=False)

    def action_copy(self) -> None:
        """Copy all that is listed."""
        self.app.copy_to_clipboard("\n".join(row.text for row in self._rows))
        self.app.notify(f"Copied {plural(len(self._rows), 'line')}.", markup=False)


class UndoScreen(Dialog[int | None]):
    """A list to choose from; the answer is the number of steps to undo."""

    LIST_KEYS = (Hint("↓ ↑", "choose", ""), Hint("Enter", "undo down to here", ""))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,U,q", "no", "close", id="undo.close", tooltip="close this list"),
    ]

    def __init__(self, steps: Sequence[UndoStep]) -> None:
        super().__init__()
        self._steps = steps

    def compose(self) -> ComposeResult:
        """Compose the list."""
        yield OptionList(*map(_option, self._steps), id="undo-list")

    def on_mount(self) -> None:
        """Show what Enter would do."""
        self._show()

    def on_option_list_option_highlighted(self) -> None:
        """Show how many steps Enter would undo."""
        self._show()

    def _show(self) -> None:
        found = self.query_one(OptionList)
        many = plural((found.highlighted or 0) + 1, "step")
        set_titles(found, "What can be undone, the last step first", f"Enter undoes {many}")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the number of steps down to the chosen one."""
        self.dismiss(event.option_index + 1)


def _option(step: UndoStep) -> Option:
    end = "…" if step.asks else ""
    return Option(as_content([line(
        (f"{clock_time(step.at)}  {TITLES.get(step.view, ''):<9} ", "dim"), f"{step.text}{end}",
    )]))  # fmt: skip
