"""What can be done in the view Submit."""

from __future__ import annotations

from rowtui.tui.command import Command
from rowtui.tui.reasons import may_confirm, may_stop

COMMANDS: tuple[Command, ...] = (
    Command("submit.confirm", "s,enter", "confirm…", "type the yes for this plan", "submit", 1,
            asks=True, enabled=may_confirm),
    Command("submit.stop", "x", "stop", "send no more jobs after the current one", "submit", 2,
            enabled=may_stop),
    Command("submit.next", "n", "next script", "script of the next job", "submit", 3),
    Command("submit.previous", "N", "previous script", "script of the previous job", "submit"),
    Command("submit.pane", "tab", "pane", "between jobs and script", "submit", 4),
)  # fmt: skip
