"""The line after `:` with the list of candidates above it, and the lines of before.

`tui/line/parse.py` parses and completes the line; this widget shows it and handles the keys: Tab
and → complete, ↑ and ↓ go through the history, Enter runs the line, Esc leaves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.clusters.command_log import without_secrets
from rowtui.tui.line.parse import Completion, common_start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.widgets.cells import Line, as_content, cut, fit, line, width_of
from rowtui.tui.widgets.fields import InputField
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static

MOST_LINES = 200
"""The number of stored lines: more than a user goes back through."""

LONGEST_LINE = 500
"""Characters; a longer line is not stored."""

_LARGEST_FILE = 4 * MOST_LINES * LONGEST_LINE


class LineHistory:
    """The lines, oldest first. `path` is the file; None keeps the lines in memory only."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read = False
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that were typed, oldest first."""
        if not self._read:
            self._read = True
            self._lines = self._kept() + self._lines
        return tuple(self._lines)

    def add(self, line: str) -> None:
        """Add a typed line, unless it looks like a secret or is too long."""
        line = " ".join(line.split())
        if not line or len(line) > LONGEST_LINE or without_secrets(line) != line:
            return
        # Another dashboard may have written the file since the last read; its lines are kept.
        lines = [one for one in (self._kept() or list(self.lines)) if one != line]
        self._write([*lines, line][-MOST_LINES:])

    def replace(self, lines: Sequence[str]) -> None:
        """Store these lines alone, without those that look like a secret or are too long."""
        good = (one for one in lines if len(one) <= LONGEST_LINE and without_secrets(one) == one)
        self._write(list(good)[-MOST_LINES:])

    def _write(self, lines: list[str]) -> None:
        self._lines = lines
        self._read = True
        if self._path is not None:
            # Without the file, the lines are still kept in memory.
            with contextlib.suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                data = "".join(f"{one}\n" for one in self._lines)
                replace_file(self._path, data.encode("utf-8", "replace"))

    def _kept(self) -> list[str]:
        if self._path is None:
            return []
        try:
            text = read_bounded(self._path, _LARGEST_FILE).decode("utf-8", "replace")
        except Exception:
            return []
        lines = (line.strip() for line in text.splitlines())
        return [line for line in lines if line and line.isprintable()][-MOST_LINES:]


MOST_ALIASES = 100


class Aliases:
    """Names of the user for lines: `name line` in each line of a file; None keeps no file."""

    def __init__(self, path: Path | None) -> None:
        self._stored = LineHistory(path)

    def all(self) -> dict[str, str]:
        """Return the lines, by name."""
        pairs = (one.partition(" ") for one in self._stored.lines)
        return {name: text for name, _, text in pairs if name and text}

    def set(self, name: str, text: str) -> str:
        """Store a name for this line, or remove the name if the line is empty; return "" or why
        the name was not stored.
        """
        aliases = self.all() | {name: text}
        if not text:
            del aliases[name]
        if len(aliases) > MOST_ALIASES:
            return f"there are {MOST_ALIASES} names already: remove one with `:unalias`"
        self._stored.replace([f"{name} {text}" for name, text in aliases.items()])
        return "" if self.all() == aliases else "this line is too long, or looks like a secret"


class Recall:
    """Navigation back through a history; the unfinished line is kept."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self._at = len(lines)
        self._typed = ""

    def older(self, now: str) -> str:
        """Return the line before; at the oldest line, return the oldest."""
        if self._at == len(self._lines):
            self._typed = now
        self._at = max(0, self._at - 1) if self._lines else self._at
        return self._lines[self._at] if self._lines else now

    def newer(self, now: str) -> str:
        """Return the next line; after the last line, return the unfinished one."""
        if self._at >= len(self._lines):
            return now
        self._at += 1
        return self._typed if self._at == len(self._lines) else self._lines[self._at]


class LineScreen(Dialog[None]):
    """A command line; `run` carries out the text and returns "" or the reason for a refusal."""

    takes_enter = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "leave", id="line.leave", tooltip="leave the command line"),
    ]

    def __init__(
        self,
        complete: Callable[[str], Sequence[Completion]],
        run: Callable[[str], str],
        lines: tuple[str, ...],
        start: str = "",
        sign: str = ":",
    ) -> None:
        super().__init__()
        self._complete = complete
        self._run = run
        self._lines = lines
        self._start = start
        self._sign = sign

    def compose(self) -> ComposeResult:
        """Compose the line."""
        yield CommandLine(self._complete, self._lines, self._start, self._sign)

    def on_command_line_done(self, event: CommandLine.Done) -> None:
        """Carry out the line; after a refusal, the line stays so that the user can change it."""
        event.stop()
        if why := self._run(event.text):
            self.query_one(CommandLine).refuse(why)
            return
        if self.is_current:
            self.dismiss()


KEYS = (("Enter", "do it"), ("Tab", "complete"), ("↑", "typed before"))

WIDEST_USAGE = 34
"""Columns of the list for the commands; the rest is for their descriptions."""


class LineInput(InputField):
    """The field for the command."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "complete", show=False, id="line.complete",
                tooltip="complete the word; again: the next candidate", priority=True),
        Binding("shift+tab", "complete(-1)", "complete back", show=False,
                id="line.complete-back", tooltip="the candidate before", priority=True),
        Binding("right", "right", "complete", show=False, id="line.right",
                tooltip="to the right; at the end of the line: complete"),
        Binding("up", "older", "older", show=False, id="line.older",
                tooltip="the earlier line"),
        Binding("down", "newer", "newer", show=False, id="line.newer",
                tooltip="the later line"),
    ]  # fmt: skip

    class Wanted(Message):
        """A request for another text in the line: a step through candidates or history."""

        def __init__(self, what: str, step: int = 1) -> None:
            super().__init__()
            self.what = what
            self.step = step

    def action_complete(self, step: int = 1) -> None:
        """Complete the line."""
        self.post_message(self.Wanted("complete", step))

    def action_right(self) -> None:
        """Move right, or complete at the end of the line."""
        if self.cursor_position >= len(self.value):
            self.action_complete()
        else:
            self.action_cursor_right()

    def action_older(self) -> None:
        """Show the previous line of the history."""
        self.post_message(self.Wanted("older"))

    def action_newer(self) -> None:
        """Show the next line of the history."""
        self.post_message(self.Wanted("newer"))


class CommandLine(Vertical):
    """`:` and a line, with candidates above. `complete` returns the candidates for a text."""

    DEFAULT_CSS = """
    CommandLine { height: auto; width: 100%; }
    CommandLine #line-candidates { height: auto; width: 100%; }
    CommandLine #line-row { height: 1; width: 100%; }
    CommandLine #line-sign { width: 2; }
    CommandLine LineInput { width: 1fr; border: none; height: 1; padding: 0; }
    """

    class Done(Message):
        """Posted on Enter: the line is to be run."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(
        self,
        complete: Callable[[str], Sequence[Completion]],
        lines: tuple[str, ...],
        start: str,
        sign: str = ":",
    ) -> None:
        super().__init__(id="command-line")
        self._complete = complete
        self._recall = Recall(lines)
        self._start = start
        self._sign = sign
        self._candidates: Sequence[Completion] = ()
        self._at = -1  # The index of the candidate that is in the line.
        self._ours = ""  # The text that was put there by a completion, not typed.
        self.wrong = ""

    def compose(self) -> ComposeResult:
        """Compose the list, and the line."""
        yield Static("", id="line-candidates", markup=False)
        with Horizontal(id="line-row"):
            yield Static(f" {self._sign}", id="line-sign", markup=False)
            yield LineInput(self._start, keys=KEYS, id="line-text", select_on_focus=False)

    def on_mount(self) -> None:
        """Focus the line."""
        self.text.focus()
        self.text.cursor_position = len(self._start)
        self._look()

    @property
    def text(self) -> LineInput:
        """The field for the line."""
        return self.query_one("#line-text", LineInput)

    def refuse(self, why: str) -> None:
        """Show why a line cannot be run; the line stays so that the user can change it."""
        self.wrong = why
        self._draw()

    def on_resize(self) -> None:
        """Cut the list at the new width."""
        self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Update the candidates, if the user typed the text."""
        event.stop()
        if event.value != self._ours or self._at < 0:
            self._look()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Post the line."""
        event.stop()
        self.post_message(self.Done(event.value))

    def on_line_input_wanted(self, event: LineInput.Wanted) -> None:
        """Take a step through candidates or history."""
        event.stop()
        now = self.text.value
        if event.what == "complete":
            self._step(event.step)
        else:
            step = self._recall.older if event.what == "older" else self._recall.newer
            self._put(step(now))
            self._look()

    def _step(self, step: int) -> None:
        if not self._candidates:
            return
        now = self.text.value
        longer = common_start(now, self._candidates)
        if self._at < 0 and longer != now:
            self._put(longer)
            self._look()
            return
        self._at = (self._at + step) % len(self._candidates)
        self._put(self._candidates[self._at].text)
        if len(self._candidates) == 1:
            self._look()
        self._draw()

    def _put(self, text: str) -> None:
        self._ours = text
        self.text.value = text
        self.text.cursor_position = len(text)

    def _look(self) -> None:
        self._at = -1
        self.wrong = ""
        self._candidates = self._complete(self.text.value)
        self._draw()

    def _draw(self) -> None:
        width = self.size.width or self.app.size.width
        lines = candidate_lines(self._candidates, self._at, width)
        if self.wrong:
            lines = [cut(line((f" {self.wrong}", "warning")), width)]
        shown = self.query_one("#line-candidates", Static)
        shown.display = bool(lines)
        shown.update(as_content(lines))


def candidate_lines(candidates: Sequence[Completion], at: int, width: int) -> list[Line]:
    """Return a line for each candidate: usage, and description or refusal. `at`: the chosen one."""
    usages = [line((one.shown, "dim" if one.reason else "key")) for one in candidates]
    room = min(WIDEST_USAGE, max((width_of(one) for one in usages), default=0), width)
    lines = []
    for number, (one, usage) in enumerate(zip(candidates, usages, strict=True)):
        sign = line(("›" if number == at else " ", "key"), " ")
        text = (f"not now: {one.reason}", "warning") if one.reason else (one.about, "dim")
        lines.append(cut((*sign, *fit(usage, room), *line("  ", text)), width))
    return lines
