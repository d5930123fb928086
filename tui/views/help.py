"""`?`: all commands of the current view, generated from the registry."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import LISTED, NO_KEY, VIEWS, Command, shown_keys
from rowtui.tui.commands.registry import BY_ID, commands_here, hints_here
from rowtui.tui.line.commands import LINE_COMMANDS
from rowtui.tui.shell.session import Session
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.explain.explain import MARKS as EXPLAIN_MARKS
from rowtui.tui.widgets.cells import Line, as_content, fit, line, plain, wrapped
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.short_text import STATUS_MARKS, WARNING
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from rowtui.tui.shell.own_commands import OwnCommand


DOES = frozenset({
    "mark", "mark-all", "toggle", "toggle-all", "range", "export", "what-if", "change", "measured",
    "reset", "node-type", "limits", "longer", "stop", "nodes",
})  # fmt: skip
"""Commands that change a choice, beside those that ask; the other ones of a view show something."""

GOING = ("go.clusters", "app.projects", "app.back")
"""Commands of all views that lead somewhere."""

MOVING = (
    ("text.left", "text.right", "to the left, to the right"),
    ("list.line-down", "list.line-up", "one line down, up"),
    ("list.first", "list.last", "first, last line"),
    ("list.page-down", "list.page-up", "one page down, up"),
    ("list.half-down", "list.half-up", "half a page down, up"),
)
"""Pairs of commands that move, with what both do; long lists have the first pair among theirs."""

KEY_WIDTH = 7
"""Columns of the keys."""

BESIDE = {"Do": "See", "Go": "Everywhere"}
"""Sections that stand beside each other where there is room."""

KEYS_OF = "Keys of this view"
"""The title of the section with the keys of the bottom line, which are drawn large."""


def help_sections(
    session: Session, view: str, own_commands: Sequence[OwnCommand]
) -> list[tuple[str, list[Line]]]:
    """Return titled sections: the keys of the bottom line, what the view does and shows, where its
    keys lead, the keys of all views, what cannot be used now and why, typed commands, and marks.
    """
    titles = (KEYS_OF, "Your commands", "Do", "See", "Go")
    found: dict[str, list[Line]] = {title: [] for title in titles}
    everywhere: list[Line] = []
    refused: list[Line] = []
    found["Everywhere"] = everywhere
    own = [one for one in own_commands if view in one.views]
    found["Your commands"] = [_entry(shown_keys(one.key), visible(one.name)) for one in own]
    found["Not now"] = refused
    six = hints_here(view)
    found[KEYS_OF] = [_entry(one.keys_of(session.keys), _text(one)) for one in six]
    first, last = (BY_ID[f"go.{name}"].keys_of(session.keys) for name in ("status", "past"))
    found["Go"].append(_entry(f"{first}–{last}", "the views"))
    before: Command | None = None  # The command of the line above, to which its reverse belongs.
    for command in commands_here(view):
        keys, reason = command.keys_of(session.keys), command.enabled(session)
        in_terminal = command.keys == NO_KEY and command.scope == "app"
        if in_terminal or (command.id.startswith("go.") and command.id not in GOING):
            continue
        going = command.id in GOING or command.id.endswith(".pane")
        does = command.asks or command.id.partition(".")[2] in DOES
        part = "Go" if going else "Do" if does else "See"
        lines = everywhere if command.scope == "app" and not going else found[part]
        if reason:
            refused.append(_entry(keys or ":", f"{command.label.rstrip('…')}: {reason}", "dim"))
        elif before is not None and keys and is_reverse(command):
            lines[-1] = _entry(
                f"{before.keys_of(session.keys)} {keys}", f"{_text(before)}; the one before"
            )
        elif command not in six:
            name = "" if keys else f"{command.label.rstrip('…')}: "
            lines.append(_entry(keys or ":", name + _text(command)))
        before = None if reason or command in six else command
    for one, other, text in MOVING[view in LISTED :]:
        pair = (BY_ID[name].keys_of(session.keys).partition(" ")[0] for name in (one, other))
        found["Go"].append(_entry(" ".join(pair), text))
    found["Typed after :"] = [
        line((f"{one.usage:>18}  ", "key"), one.description) for one in LINE_COMMANDS
    ]
    here = EXPLAIN_MARKS if view == "explain" else (*STATUS_MARKS.values(), WARNING)
    found["Marks"] = [mark.spans for mark in here]
    found["Marks"].append(line(("… behind a verb: it asks before it acts.  :keys your own", "dim")))
    return [(title, lines) for title, lines in found.items() if lines]


def is_reverse(command: Command) -> bool:
    """Whether the command is the reverse of the one before it, such as the previous group."""
    return command.id.endswith("-before") or ".previous" in command.id


def _text(command: Command) -> str:
    """Return what a command does; `…` if it asks first, as in its label."""
    return command.description + "…" * command.asks


def _entry(keys: str, text: str, style: str = "key") -> Line:
    rest = "dim" if style == "dim" else ""
    if len(keys) > KEY_WIDTH:
        return line(" " * (KEY_WIDTH + 2), (keys, style), (f"  {text}", rest))
    return line((f"{keys:>{KEY_WIDTH}}  ", style), (text, rest))


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
        self._title = f"{VIEWS[view][0]} {title}" if view in VIEWS else title
        self._sections = help_sections(session, view, own_commands)

    def compose(self) -> ComposeResult:
        """Compose the search, and all sections."""
        with VerticalScroll(id="help") as page:
            set_titles(page, f"Keys of {self._title}", "/ searches all keys · Esc closes")
            search = InputField(
                id="help-search", keys=(("Enter", "scroll what fits"),), placeholder="search"
            )
            search.display = False
            yield search
            yield Static(id="help-keys", markup=False)

    def on_mount(self) -> None:
        """Show the whole page."""
        self._show("")
        self.query_one("#help").focus()

    def on_resize(self) -> None:
        """Break the lines at the new width."""
        self.call_after_refresh(lambda: self._show(self.query_one("#help-search", Input).value))

    def _show(self, wanted: str) -> None:
        found = matching(self._sections, wanted) or [("No key or command here has that text", [])]
        keys = self.query_one("#help-keys", Static)
        keys.update(as_content(laid_out(found, keys.container_size.width)))

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


def laid_out(sections: list[tuple[str, list[Line]]], width: int) -> list[Line]:
    """Return all lines in one list, in two columns where there is room; a long line continues
    below its own text.
    """
    half = (width - 2) // 2
    left = dict(sections)
    lines: list[Line] = []
    for title, entries in sections:
        if title in BESIDE.values() and _partner(title) in left and half >= NARROWEST:
            continue
        if lines:
            lines.append(())
        if title == KEYS_OF:
            for pair in zip_longest(entries[::2], entries[1::2], fillvalue=line("")):
                left_one, right_one = (_large(one, half) for one in pair)
                lines += [*_two_columns(left_one, right_one, half), ()]
            lines.pop()
            continue
        other = BESIDE.get(title, "")
        if other in left and half >= NARROWEST:
            right = _section(other, left[other], half)
            lines += _two_columns(_section(title, entries, half), right, half)
        else:
            lines += _section(title, entries, width)
    return lines


NARROWEST = 44
"""Columns from which sections stand beside each other."""


def _partner(title: str) -> str:
    return next(one for one, other in BESIDE.items() if other == title)


def _section(title: str, entries: list[Line], width: int) -> list[Line]:
    parts = [part for one in entries for part in wrapped(one, width, len(one[0].text))]
    return [line((title, "heading")), *parts]


def _large(entry: Line, width: int) -> list[Line]:
    if not entry:
        return []
    key = entry[0].text.strip()
    return wrapped((*line(" ", (f"[{key:^7}]", "tab"), "  "), *entry[1:]), width, 12)


def _two_columns(left: list[Line], right: list[Line], width: int) -> list[Line]:
    rows = zip_longest(left, right, fillvalue=())
    return [(*fit(one, width), *line("  "), *other) for one, other in rows]
