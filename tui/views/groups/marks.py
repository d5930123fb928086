"""The groups or directories that the marks of the view Groups refer to now.

Marks are stored by name, independent of the filter at that time. The engine is asked for the
positions of the marked groups when the user submits them, because a refresh may have moved them.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.engine.api.engine import Engine
from rowtui.core.groups.model import Status
from rowtui.tui.widgets.table.list_table import MOST_MARKED
from rowtui.tui.widgets.table.rows import Marks

LOOK_UP = 1000
"""The number of rows in one request for the marked rows."""


class MarkedGroups(NamedTuple):
    """Group numbers from 0, their first directories, and the number of marks whose groups
    are gone.
    """

    numbers: list[int]
    firsts: set[str]
    gone: int


async def marked_groups(
    engine: Engine, marks: Marks, action: int, statuses: tuple[Status, ...]
) -> MarkedGroups:
    """Return the current positions of the marked groups. Raises: every error of the engine."""
    numbers: list[int] = []
    firsts: set[str] = set()
    start = 0
    while True:
        page = await engine.groups(action, statuses, start, LOOK_UP)
        for group in page.groups:
            if group.first in marks:
                numbers.append(group.number - 1)
                firsts.add(group.first)
        start += LOOK_UP
        enough = not marks.everything and len(numbers) >= len(marks.keys)
        if start >= page.total or enough:
            break
    return MarkedGroups(numbers, firsts, 0 if marks.everything else len(marks.keys) - len(numbers))


async def marked_directories(
    engine: Engine, marks: Marks, action: int, statuses: tuple[Status, ...]
) -> list[str] | None:
    """Return the names of the marked directories; None if there are too many to name."""
    if not marks.everything:
        return sorted(str(key) for key in marks.keys)
    names: list[str] = []
    start = 0
    while True:
        page = await engine.directories(action, statuses, start, LOOK_UP)
        if page.total > MOST_MARKED:
            return None
        names += [row.name for row in page.rows if row.name in marks]
        start += LOOK_UP
        if start >= page.total:
            return names
