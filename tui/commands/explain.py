"""What can be done in the view Explain."""

from __future__ import annotations

from rowtui.tui.command import CHANGE_KEYS, Command
from rowtui.tui.reasons import may_make_change, may_reset, with_action, with_decision, with_groups

COMMANDS: tuple[Command, ...] = (
    Command("explain.what-if", "e", "what if", "try other amounts, tags, user or roles",
            "explain", 1, enabled=with_decision),
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
    Command("explain.page", "v", "job's story", "the destination's reasons or the story",
            "explain", 5, enabled=with_decision),
    Command("explain.filter", "f", "filter", "next status: eligible, all, failed, ...", "explain",
            enabled=with_action),
    Command("explain.pane", "tab", "pane", "between destinations and reasons", "explain", 6),
)  # fmt: skip
