"""What the marks of the view Groups mean now: numbers of groups, or names of directories.

Marks are kept by name, whatever filter was on when they were made; where the marked ones are is
asked of the engine when somebody submits them, because a refresh may have moved them.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.engine import Engine
from rowtui.core.grouping.model import Status
from rowtui.tui.widgets.list_table import MOST_MARKED
from rowtui.tui.widgets.rows import Marks

LOOK_UP = 1000
"""Rows asked for at a time when marked ones are looked for."""


class MarkedGroups(NamedTuple):
    """Groups from 0, their first directories, and how many marks are of groups that are gone."""

    numbers: list[int]
    firsts: set[str]
    gone: int


async def marked_groups(
    engine: Engine, marks: Marks, action: int, statuses: tuple[Status, ...]
) -> MarkedGroups:
    """Where the marked groups are now. Raises: whatever the engine raises."""
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
    """The names of the marked directories; None for more than can be named."""
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
