"""A line of a job's log in a form that is safe to show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from rowtui.core.project.views.views import LogRow
from rowtui.tui.widgets.cells import Line, Span, bars, line

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BAD = re.compile(
    r"\b(error|exception|traceback|fatal|failed|killed|segmentation fault)\b", re.IGNORECASE
)
_WARNING = re.compile(r"\bwarn(ing)?\b", re.IGNORECASE)

MOST_COLUMNS = 2000
"""Columns after which a line is cut: a line may be as long as the file."""


def _readable(text: str) -> str:
    text = text.rstrip("\r\n")
    if "\r" in text:  # A progress bar redraws its line: keep the part that remained visible.
        text = text.rpartition("\r")[2]
    shown = _COLOURS.sub("", text).expandtabs(8)
    return shown[:MOST_COLUMNS] + "…" if len(shown) > MOST_COLUMNS else shown


def _style(shown: str) -> str:
    if _BAD.search(shown):
        return "failed"
    return "warning" if _WARNING.search(shown) else ""


def row_line(row: LogRow, number: int | None, rows: int, found: str, hit: bool) -> Line:
    """Return a row with its number in front; matches stand out, and the latest match most.

    `number` is None if the number is unknown. `found` is a text, or an argument of
    `Engine.log_find`.
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
    """Return the positions of the matches in a row; empty for patterns, which only the
    engine runs.
    """
    if not found or found == "!" or found.startswith("~"):
        return []
    folds = found == found.lower()
    where, wanted = (text.lower(), found) if folds else (text, found)
    if len(where) != len(text):  # The lower-case form of some letter is longer than the letter.
        where = text
    places: list[tuple[int, int]] = []
    at = where.find(wanted)
    while at >= 0 and len(places) < 50:
        places.append((at, at + len(wanted)))
        at = where.find(wanted, at + len(wanted))
    return places


def trouble_line(counts: Sequence[int], width: int) -> Line:
    """Return the distribution of lines that look like errors: `▁▁▂█▁▁  14 lines look like
    errors`.
    """
    total = sum(counts)
    text = f"  {total:,} line{'s' if total != 1 else ''} like an error  "
    room = max(4, width - len(text) - 11)
    shares = _resampled(counts, min(room, len(counts)))
    return line((bars(shares), "failed"), text, ("e", "key"), " next one")


def _resampled(counts: Sequence[int], width: int) -> list[int]:
    if not counts or width <= 0:
        return []
    edges = [at * len(counts) // width for at in range(width + 1)]
    return [sum(counts[start:end]) for start, end in itertools.pairwise(edges)]
