"""A line of a job's log as it is safe to show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from rowtui.core.project.log_views import LogRow
from rowtui.tui.render.cells import Line, Span, line

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BAD = re.compile(
    r"\b(error|exception|traceback|fatal|failed|killed|segmentation fault)\b", re.IGNORECASE
)
_WARNING = re.compile(r"\bwarn(ing)?\b", re.IGNORECASE)

MOST_COLUMNS = 2000
"""A line is cut there: nobody reads on, and a line may be as long as the file."""

HEIGHTS = "▁▂▃▄▅▆▇█"


def _readable(text: str) -> str:
    text = text.rstrip("\r\n")
    if "\r" in text:  # a progress bar that was drawn over and over: what remained visible
        text = text.rpartition("\r")[2]
    shown = _COLOURS.sub("", text).expandtabs(8)
    return shown[:MOST_COLUMNS] + "…" if len(shown) > MOST_COLUMNS else shown


def _style(shown: str) -> str:
    if _BAD.search(shown):
        return "failed"
    return "warning" if _WARNING.search(shown) else ""


def row_line(row: LogRow, number: int | None, rows: int, found: str, hit: bool) -> Line:
    """A row with its number in front; what was looked for stands out, the latest hit most.

    `number`: None where it is not known. `found`: a text, or what `Engine.log_find` takes.
    """
    shown = _readable(row.text)
    style = _style(shown)
    before = ""
    if number is not None:
        before = f"{number:>{len(f'{rows:,}')},} " if not row.goes_on else ""
        before = f"{before:>{len(f'{rows:,}') + 1}}"
    mark = "↪" if row.goes_on else " "
    head = line((f"{'›' if hit else ' '}{before}{mark}", "key" if hit else "faint"))
    spans: list[Span] = []
    at = 0
    for start, end in _places(shown, found):
        spans += line((shown[at:start], style), (shown[start:end], "found"))
        at = end
    return (*head, *spans, *line((shown[at:], style)))


def _places(text: str, found: str) -> list[tuple[int, int]]:
    """Where what was looked for stands in a row; not for patterns, which only the engine runs."""
    if not found or found == "!" or found.startswith("~"):
        return []
    folds = found == found.lower()
    where, wanted = (text.lower(), found) if folds else (text, found)
    if len(where) != len(text):  # a letter whose small form is longer
        where = text
    places: list[tuple[int, int]] = []
    at = where.find(wanted)
    while at >= 0 and len(places) < 50:
        places.append((at, at + len(wanted)))
        at = where.find(wanted, at + len(wanted))
    return places


def trouble_line(counts: Sequence[int], width: int) -> Line:
    """Where in the log the lines are that look like errors: `▁▁▂█▁▁  14 lines look like errors`."""
    total = sum(counts)
    text = f"  {total:,} line{'s' if total != 1 else ''} like an error  "
    room = max(4, width - len(text) - 11)
    shares = _resampled(counts, min(room, len(counts)))
    most = max(shares, default=0)
    bars = "".join(
        HEIGHTS[0] if not share else HEIGHTS[max(1, round(share / most * 7))] for share in shares
    )
    return line((bars, "failed"), text, ("e", "key"), " next one")


def _resampled(counts: Sequence[int], width: int) -> list[int]:
    if not counts or width <= 0:
        return []
    edges = [at * len(counts) // width for at in range(width + 1)]
    return [sum(counts[start:end]) for start, end in itertools.pairwise(edges)]
