"""What can be done in the view Log."""

from __future__ import annotations

from rowtui.tui.command import Command
from rowtui.tui.reasons import with_job

COMMANDS: tuple[Command, ...] = (
    Command("log.follow", "F", "follow", "follow the end of the log, or stop", "log", 1,
            enabled=with_job),
    Command("log.next", "n", "older job", "log of the next job in the list", "log", 2,
            enabled=with_job),
    Command("log.previous", "N", "newer job", "log of the previous job in the list", "log", 3,
            enabled=with_job),
)  # fmt: skip
