"""`?`: all commands of the current view, generated from the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import LISTED, NO_KEY, Command, shown_keys
from rowtui.tui.commands.registry import COMMANDS
from rowtui.tui.line.commands import LINE_COMMANDS
from rowtui.tui.shell.session import Session
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.explain.explain import MARKS as EXPLAIN_MARKS
from rowtui.tui.widgets.cells import Line, as_content, line, plain, wrapped
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.short_text import STATUS_MARKS, WARNING
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from rowtui.tui.shell.own_commands import OwnCommand


def help_sections(
    session: Session, view: str, title: str, own_commands: Sequence[OwnCommand]
) -> list[tuple[str, list[Line]]]:
    """Return titled sections: view, movement, global, unavailable with reasons, marks."""

    def entries(scope: str) -> list[Line]:
        keyed = (command for command in COMMANDS if command.keys != NO_KEY)
        return [_entry(command, session) for command in keyed if command.scope == scope]

    refused = [
        (command, reason)
        for command in COMMANDS
        if command.scope in (view, "app")
        and command.keys != NO_KEY
        and (reason := command.enabled(session))
    ]
    sections = [(f"Here: {title}", entries(view)), ("Moving", entries("list") + entries("text"))]
    if view in LISTED:
        sections.insert(1, ("In its lists", entries("rows")))
    if refused:
        sections.append(
            (
                "Not now, and why",
                [
                    line(
                        (f"{command.keys_of(session.keys):>9}  ", "faint"),
                        f"{command.label}: ",
                        (reason, "warning"),
                    )
                    for command, reason in refused
                ],
            )
        )
    own = [one for one in own_commands if view in one.views]
    if own:
        lines = [line((f"{shown_keys(one.key):>9}  ", "key"), visible(one.name)) for one in own]
        sections.insert(1, ("Your commands", lines))
    here = EXPLAIN_MARKS if view == "explain" else (*STATUS_MARKS.values(), WARNING)
    marks = [mark.spans for mark in here]
    sections += [("Everywhere", entries("app")), ("Typed after :", _typed()), ("Marks", marks)]
    return sections


def _typed() -> list[Line]:
    """Return the commands that can be typed, with their arguments."""
    return [line((f"{one.usage:>18}  ", "key"), one.description) for one in LINE_COMMANDS]


def _entry(command: Command, session: Session) -> Line:
    """Return the line of a command; `…` marks a command that asks first, as in its label."""
    tail = "…" if command.asks else ""
    return line((f"{command.keys_of(session.keys):>9}  ", "key"), command.description + tail)


RIGHT = ("Everywhere", "Typed after :", "Marks")
"""Sections of the right column."""


class HelpScreen(Dialog[None]):
    """The keys of the view below the page. `/` keeps the lines that contain a word."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "close", "close", id="help.close",
                tooltip="close this page; first the search, if there is one"),
        Binding("slash", "search", "search", id="help.search", tooltip="search this page"),
    ]  # fmt: skip

    def __init__(
        self, session: Session, view: str, title: str, own_commands: Sequence[OwnCommand]
    ) -> None:
        super().__init__()
        self._sections = help_sections(session, view, title, own_commands)

    def compose(self) -> ComposeResult:
        """Compose two columns, if there is room."""
        with VerticalScroll(id="help") as page:
            set_titles(page, "Help", "/ search · Esc close")
            search = InputField(
                id="help-search", keys=(("Enter", "scroll what fits"),), placeholder="search"
            )
            search.display = False
            yield search
            with Horizontal(id="help-columns"):
                for name in ("help-left", "help-right"):
                    with Vertical():
                        yield Static(id=name, markup=False)

    def on_mount(self) -> None:
        """Show the whole page."""
        self._show("")
        self.query_one("#help").focus()

    def on_resize(self) -> None:
        """Break the lines at the new width."""
        self.call_after_refresh(lambda: self._show(self.query_one("#help-search", Input).value))

    def _show(self, wanted: str) -> None:
        found = matching(self._sections, wanted)
        half = [section for section in found if section[0] not in RIGHT]
        rest = [section for section in found if section[0] in RIGHT]
        if not found:
            half = [("Nothing here has that", [])]
        for name, sections in (("#help-left", half), ("#help-right", rest)):
            column = self.query_one(name, Static)
            column.update(as_content(_flat(sections, column.container_size.width)))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the lines that match the search."""
        event.stop()
        self._show(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Move the focus to the found lines, to scroll them."""
        event.stop()
        self.query_one("#help").focus()

    def action_search(self) -> None:
        """Open the search field."""
        search = self.query_one("#help-search", Input)
        search.display = True
        search.focus()

    def action_close(self) -> None:
        """Close the search, or the page."""
        search = self.query_one("#help-search", Input)
        if search.display:
            search.value = ""
            search.display = False
            self._show("")
            self.query_one("#help").focus()
        else:
            self.dismiss()


def matching(sections: list[tuple[str, list[Line]]], wanted: str) -> list[tuple[str, list[Line]]]:
    """Return the lines that contain all these words, and the sections that still have a line."""
    words = wanted.casefold().split()
    found = []
    for title, entries in sections:
        kept = [one for one in entries if all(word in plain(one).casefold() for word in words)]
        if kept:
            found.append((title, kept))
    return found


def _flat(sections: list[tuple[str, list[Line]]], width: int) -> list[Line]:
    """Return all lines in one list; a long line continues below its own text."""
    lines: list[Line] = []
    for title, entries in sections:
        if lines:
            lines.append(())
        lines.append(line((title, "heading")))
        for one in entries:
            lines += wrapped(one, width, min(len(one[0].text), width // 3))
    return lines
