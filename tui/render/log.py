"""A line of a job's log as it is safe to show."""

from __future__ import annotations

import re

from rowtui.tui.render.cells import Line, line

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BAD = re.compile(r"\b(error|exception|traceback|fatal|failed|killed)\b", re.IGNORECASE)
_WARNING = re.compile(r"\bwarn(ing)?\b", re.IGNORECASE)

MOST_COLUMNS = 2000
"""A line is cut there: nobody reads on, and a line may be as long as the file."""


def log_line(text: str) -> Line:
    """One line: colour codes dropped, the last state of a progress bar, control signs visible."""
    text = text.rstrip("\r\n")
    if "\r" in text:  # a progress bar that was drawn over and over: what remained visible
        text = text.rpartition("\r")[2]
    shown = _COLOURS.sub("", text).expandtabs(8)
    if len(shown) > MOST_COLUMNS:
        shown = shown[:MOST_COLUMNS] + "…"
    if _BAD.search(shown):
        return line((shown, "failed"))
    if _WARNING.search(shown):
        return line((shown, "warning"))
    return line(shown)
