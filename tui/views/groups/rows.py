"""The rows of the view Groups: groups of an action, directories of a group, or all directories.

Each is a list of the engine that can be filtered and sorted; its pages are loaded when they are
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from rowtui.core.engine.api.engine import (
    DirectoriesPage,
    DirectoryRow,
    Engine,
    GroupsPage,
    GroupSummary,
)
from rowtui.core.engine.api.engine import ListAsked as Asked
from rowtui.core.groups.model import Status
from rowtui.tui.views.groups.groups import (
    directory_cells,
    directory_columns,
    directory_values,
    group_cells,
    group_values,
    group_weight,
)
from rowtui.tui.widgets.columns import Column
from rowtui.tui.widgets.table.asked_rows import Answer, AskedRows


class About(NamedTuple):
    """The engine, the action and the statuses of the rows."""

    engine: Engine
    action: int
    statuses: tuple[Status, ...]


class Wiring(NamedTuple):
    """The callbacks of rows to their view: see `PagedRows`."""

    spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
    arrived: Callable[[], None]
    failed: Callable[[Exception], None]


def rows_of_groups(
    about: About, took: Callable[[GroupsPage], None], wiring: Wiring
) -> AskedRows[GroupSummary]:
    """Return the groups; `took` is called with every page."""

    async def ask(asked: Asked, start: int, length: int, find: str) -> Answer[GroupSummary]:
        page = await about.engine.groups(
            about.action, about.statuses, start, length, asked=asked, find=find
        )
        took(page)
        return Answer(page.total, page.groups, page.of, page.found)

    return AskedRows(
        ask,
        lambda group: group.first,
        group_cells,
        group_values,
        weight_of=group_weight,
        spawn=wiring.spawn,
        arrived=wiring.arrived,
        failed=wiring.failed,
    )


class DirectoryRows(AskedRows[DirectoryRow]):
    """The directories of group `group` (from 0), or all directories of the action."""

    def __init__(self, about: About, group: int | None, wiring: Wiring) -> None:
        self._about = about
        self._group = group
        self.pointers: tuple[str, ...] = ()  # The columns of values in the newest page.
        super().__init__(
            self._ask_engine,
            lambda row: row.name,
            lambda row: directory_cells(row, self.pointers),
            lambda row: directory_values(row, self.pointers),
            spawn=wiring.spawn,
            arrived=wiring.arrived,
            failed=wiring.failed,
        )

    async def _ask_engine(
        self, asked: Asked, start: int, length: int, find: str
    ) -> Answer[DirectoryRow]:
        page = await self._page(asked, start, length, find)
        self.pointers = page.pointers
        return Answer(page.total, page.rows, page.of, page.found)

    async def _page(self, asked: Asked, start: int, length: int, find: str) -> DirectoriesPage:
        engine, action, statuses = self._about
        if self._group is None:
            return await engine.directories(action, statuses, start, length, asked=asked, find=find)
        return await engine.group_directories(
            action, statuses, self._group, start, length, asked=asked
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns for the loaded rows."""
        return directory_columns(self.loaded_items(), self.pointers)
