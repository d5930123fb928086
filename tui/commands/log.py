"""The commands of the view Log."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.shell.reasons import with_job

COMMANDS: tuple[Command, ...] = (
    Command("log.follow", "F", "follow", "follow the end of the log, or stop", "log", 1,
            enabled=with_job, twin="logs --follow"),
    Command("log.find", "slash", "find", "find a text, or ~pattern", "log", 2, enabled=with_job),
    Command("log.next-match", "n", "next", "the next place with what was looked for", "log", 3,
            enabled=with_job),
    Command("log.previous-match", "N", "previous", "the place before", "log", enabled=with_job),
    Command("log.trouble", "e", "next error", "the next line that looks like an error", "log", 4,
            enabled=with_job),
    Command("log.previous-trouble", "E", "error before",
            "the line before that looks like an error", "log", enabled=with_job),
    Command("log.wrap", "w", "wrap", "break long lines at the width of the screen, or not", "log",
            5, enabled=with_job),
    Command("log.pager", "O", "pager", "all of it in $PAGER", "log", 6, enabled=with_job),
    Command("log.next", "right_square_bracket", "older job", "log of the next job in the list",
            "log", 7, enabled=with_job),
    Command("log.previous", "left_square_bracket", "newer job",
            "log of the previous job in the list", "log", enabled=with_job),
)  # fmt: skip
