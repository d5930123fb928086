"""`?`: everything that can be done here, generated from the registry."""

from __future__ import annotations

from rowtui.tui.actions import COMMANDS, Command
from rowtui.tui.command import LISTED
from rowtui.tui.render.cells import Line, line
from rowtui.tui.render.explain import MARKS as EXPLAIN_MARKS
from rowtui.tui.render.marks import STATUS_MARKS, WARNING
from rowtui.tui.screens.view import set_titles
from rowtui.tui.session import Session
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static


def help_sections(session: Session, view: str, title: str) -> list[tuple[str, list[Line]]]:
    """The page as titled sections: here, moving, everywhere, not now and why, marks."""

    def entries(scope: str) -> list[Line]:
        return [_entry(command) for command in COMMANDS if command.scope == scope]

    refused = [
        (command, reason)
        for command in COMMANDS
        if command.scope in (view, "app") and (reason := command.enabled(session))
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
                        (f"{command.shown_keys:>9}  ", "faint"),
                        f"{command.label}: ",
                        (reason, "warning"),
                    )
                    for command, reason in refused
                ],
            )
        )
    here = EXPLAIN_MARKS if view == "explain" else (*STATUS_MARKS.values(), WARNING)
    marks = [mark.spans for mark in here]
    sections += [("Everywhere", entries("app")), ("Marks", marks)]
    return sections


def _entry(command: Command) -> Line:
    """What changes something asks first: `…`, as in its label."""
    tail = [("…", "dim")] if command.asks else []
    return line((f"{command.shown_keys:>9}  ", "key"), command.description, *tail)


class HelpScreen(ModalScreen[None]):
    """The keys of the view below it."""

    BINDINGS = [
        Binding("escape,question_mark,q", "dismiss", "close", id="help.close",
                tooltip="close this page"),
    ]  # fmt: skip

    def __init__(self, session: Session, view: str, title: str) -> None:
        super().__init__()
        self._sections = help_sections(session, view, title)

    def compose(self) -> ComposeResult:
        """Two columns where there is room."""
        half = [section for section in self._sections if section[0] not in ("Everywhere", "Marks")]
        rest = [section for section in self._sections if section[0] in ("Everywhere", "Marks")]
        with VerticalScroll(id="help") as page:
            set_titles(page, "Help", "Esc close")
            with Horizontal(id="help-columns"):
                for sections in (half, rest):
                    with Vertical():
                        yield Static(as_content(_flat(sections)), markup=False)


def _flat(sections: list[tuple[str, list[Line]]]) -> list[Line]:
    lines: list[Line] = []
    for title, entries in sections:
        if lines:
            lines.append(())
        lines.append(line((title, "heading")))
        lines += entries
    return lines
