"""The commands of the view Explain."""

from __future__ import annotations

from rowtui.tui.commands.command import CHANGE_KEYS, Command
from rowtui.tui.shell.reasons import (
    may_make_change,
    may_reset,
    may_undo_write,
    may_write,
    with_action,
    with_decision,
    with_groups,
)

COMMANDS: tuple[Command, ...] = (
    Command("explain.what-if", "e", "what if", "try other amounts, tags, user or roles",
            "explain", 1, enabled=with_decision, twin="explain --cpus"),
    Command("explain.reset", "u", "undo what-if", "forget the what-if: the job as it is",
            "explain", 2, enabled=may_reset),
    *(
        Command(f"explain.change-{letter}", letter, "try change",
                f"try change {letter} that admits the job there", "explain",
                3 if not number else 0, enabled=may_make_change(number))
        for number, letter in enumerate(CHANGE_KEYS)
    ),
    Command("explain.next-group", "n,right_square_bracket", "next group",
            "the job of the next group", "explain", 4, enabled=with_groups),
    Command("explain.previous-group", "N,left_square_bracket", "previous group",
            "the job of the previous group", "explain", enabled=with_groups),
    Command("explain.sources", "enter", "sources",
            "where what decided is written: opens the file at its line", "explain", 5,
            enabled=with_decision),
    Command("explain.page", "i", "job's story", "the destination's reasons or the story",
            "explain", 5, enabled=with_decision),
    Command("explain.fold", "z", "fold", "leave the destinations that refuse the job out, or not",
            "explain", 7, enabled=with_decision),
    Command("explain.filter", "t", "status", "next status: eligible, all, failed, ...", "explain",
            enabled=with_action),
    Command("explain.write", "W", "write…",
            "write the what-if to workflow.toml, after a look at what changes", "explain",
            asks=True, enabled=may_write, twin="explain --write"),
    Command("explain.undo-write", "U", "undo write…",
            "take the last write to workflow.toml back", "explain", asks=True,
            enabled=may_undo_write, twin="explain --undo"),
    Command("explain.lines", "w", "lines to add",
            "what to write so that the what-if becomes so, to copy", "explain",
            enabled=may_reset),
    Command("explain.json", "J", "copy JSON", "copy it as `rowtui explain --json` writes it",
            "explain", enabled=with_decision, twin="explain --json"),
    Command("explain.pane", "tab", "pane", "between destinations and reasons", "explain", 6),
)  # fmt: skip
