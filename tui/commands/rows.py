"""The commands of long lists, for the views with such lists (`LISTED` in `command.py`)."""

from __future__ import annotations

from rowtui.tui.commands.command import Command

COMMANDS: tuple[Command, ...] = (
    Command("rows.filter", "slash", "filter", "show the rows that fit what you type", "rows", 4),
    Command("rows.sort", "o", "sort", "sort by the next column", "rows", 6),
    Command("rows.reverse", "O", "reverse", "turn the order round", "rows"),
    Command("rows.fields", "f", "columns", "choose the columns, and their order", "rows", 22),
    Command("rows.range", "v", "range", "mark from here to where v is pressed again", "rows", 23),
    Command("rows.mark-matching", "A", "all matching", "mark all rows that the filter leaves",
            "rows", 24),
    Command("rows.export", "E", "export", "write the rows to a CSV or JSON file", "rows"),
    Command("rows.left", "left", "left", "scroll long texts back", "rows"),
    Command("rows.right", "right", "right", "scroll long texts to their ends", "rows"),
)  # fmt: skip
