"""The commands of the view Submit."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.views.submit.reasons import (
    may_confirm,
    may_stop,
    may_switch,
    may_write_plan,
    with_plan,
)

COMMANDS: tuple[Command, ...] = (
    Command("submit.confirm", "s,enter", "confirm…", "type the yes for this plan", "submit", 1,
            asks=True, enabled=may_confirm, twin="submit"),
    Command("submit.toggle", "space", "on/off", "leave this job out, or take it in again",
            "submit", 3, enabled=may_switch),
    Command("submit.toggle-all", "a", "all", "all jobs that are shown on, or off", "submit",
            enabled=may_switch),
    Command("submit.stop", "x", "stop", "send no more jobs after the current one", "submit", 2,
            enabled=may_stop),
    Command("submit.diff", "d", "diff/full", "what differs from the last script, or all of it",
            "submit", 4, enabled=with_plan, twin="plan --diff"),
    Command("submit.fold", "z", "fold", "show or hide lines that are unchanged", "submit",
            enabled=with_plan),
    Command("submit.next", "n", "next script", "script of the next job", "submit", 5),
    Command("submit.previous", "N", "previous script", "script of the previous job", "submit"),
    Command("submit.explain", "w", "why", "where this job goes, and why, in Explain", "submit", 6,
            enabled=with_plan, twin="explain"),
    Command("submit.open", "e", "open", "this script in your pager, to read it", "submit",
            enabled=with_plan),
    Command("submit.export", "D", "to files…", "write all scripts and plan.json to a folder",
            "submit", asks=True, enabled=may_write_plan),
    Command("submit.pane", "tab", "pane", "between jobs, script and checks", "submit", 7),
)  # fmt: skip
