"""`:`: the page with the command line alone, above the keys of the view below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rowtui.tui.line.field import CommandLine
from rowtui.tui.line.parse import Candidate
from rowtui.tui.views.dialog import Dialog
from textual.app import ComposeResult
from textual.binding import Binding, BindingType


class LineScreen(Dialog[None]):
    """A command line; `run` carries out the text and returns "" or the reason for a refusal."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "leave", id="line.leave", tooltip="leave the command line"),
    ]

    def __init__(
        self,
        complete: Callable[[str], Sequence[Candidate]],
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
