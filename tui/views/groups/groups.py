"""The rows of the view Groups: groups of an action, directories of a group, or all directories.

Each is a list of the engine that can be filtered and sorted; its pages are loaded when they are
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import Cost, plural
from rowtui.core.engine.api.engine import Engine
from rowtui.core.engine.api.groups import DirectoriesPage, DirectoryRow, GroupsPage, GroupSummary
from rowtui.core.groups.model import Status
from rowtui.core.project.views.views import ListRequest
from rowtui.tui.widgets.cells import (
    Cell,
    FirstThatFits,
    Line,
    Number,
    line,
    wrapped,
)
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import STATUS_MARKS, cost_forms, limit
from rowtui.tui.widgets.table.engine_rows import EngineRows, RowPage


class RowContext(NamedTuple):
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
    about: RowContext, took: Callable[[GroupsPage], None], wiring: Wiring
) -> EngineRows[GroupSummary]:
    """Return the groups; `took` is called with every page."""

    async def ask(asked: ListRequest, start: int, length: int, find: str) -> RowPage[GroupSummary]:
        page = await about.engine.groups.page(
            about.action, about.statuses, start, length, asked=asked, find=find
        )
        took(page)
        return RowPage(page.total, page.groups, page.of, page.found)

    return EngineRows(
        ask,
        lambda group: group.first,
        group_cells,
        group_values,
        weight_of=group_weight,
        spawn=wiring.spawn,
        arrived=wiring.arrived,
        failed=wiring.failed,
    )


class DirectoryRows(EngineRows[DirectoryRow]):
    """The directories of group `group` (from 0), or all directories of the action."""

    def __init__(self, about: RowContext, group: int | None, wiring: Wiring) -> None:
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
        self, asked: ListRequest, start: int, length: int, find: str
    ) -> RowPage[DirectoryRow]:
        page = await self._page(asked, start, length, find)
        self.pointers = page.pointers
        return RowPage(page.total, page.rows, page.of, page.found)

    async def _page(
        self, asked: ListRequest, start: int, length: int, find: str
    ) -> DirectoriesPage:
        engine, action, statuses = self._about
        if self._group is None:
            return await engine.groups.directories(
                action, statuses, start, length, asked=asked, find=find
            )
        return await engine.groups.members(
            action, statuses, self._group, start, length, asked=asked
        )

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns for the loaded rows."""
        return directory_columns(self.loaded_items(), self.pointers)


def group_columns(groups: Sequence[GroupSummary], total: int) -> tuple[TableColumn, ...]:
    """Return the columns for these groups, without columns that are empty for all."""
    first = max((len(group.first) for group in groups), default=9)
    columns = [
        TableColumn("number", "#", max(2, len(f"{total:,}")), align="right"),
        TableColumn("size", "Dirs", 5, 7, "right"),
    ]
    if any(group.sort_key for group in groups):
        longest = max(len(group.sort_key) for group in groups)
        columns.append(TableColumn("sort_key", "Sort key", 8, min(longest, 30), priority=2, grow=1))
    columns += [
        TableColumn(
            "first",
            "First directory",
            min(first, 16),
            min(max(first, 15), 40),
            grow=2,
            short="First",
        ),
        TableColumn("cpus", "CPUs", 4, 6, "right", 3),
    ]
    if any(group.gpus for group in groups):
        columns.append(TableColumn("gpus", "GPUs", 4, 6, "right", 4))
    columns += [
        TableColumn("walltime", "Walltime", 8, 9, "right", 4),
        TableColumn("cost", "Cost", 10, 11, "right", 1),
    ]
    if any(group.problem or group.warning for group in groups):
        columns.append(TableColumn("problem", "Problem", 12, 24, priority=0, grow=2))
    return tuple(columns)


def group_cells(group: GroupSummary) -> dict[str, Cell]:
    """Return one row of the groups table."""
    style = "warning" if group.problem else ""
    trouble = group.problem or group.warning
    return {
        "number": line((f"{group.number:,}", style or "dim")),
        "size": Number(group.size, style),
        "sort_key": line(group.sort_key),
        "first": line((group.first, style)),
        "cpus": Number(group.cpus),
        "gpus": Number(group.gpus),
        "walltime": line(limit(group.walltime_seconds)),
        "cost": FirstThatFits(tuple(line(form) for form in cost_forms(group.cost))),
        "problem": line(("▲ " + trouble, "warning")) if trouble else line(""),
    }


def group_values(group: GroupSummary) -> dict[str, Any]:
    """Return the row for a file. Cost is CPU-hours plus GPU-hours; walltime is in seconds."""
    return {
        "number": group.number,
        "size": group.size,
        "sort_key": group.sort_key,
        "first": group.first,
        "cpus": group.cpus,
        "gpus": group.gpus,
        "walltime": group.walltime_seconds,
        "cost": group.cost.cpu_hours + group.cost.gpu_hours,
        "problem": group.problem or group.warning,
    }


def group_weight(group: GroupSummary) -> tuple[float, float, float]:
    """Return directories, CPU-hours and GPU-hours: the values that marked groups sum up."""
    return group.size, group.cost.cpu_hours, group.cost.gpu_hours


def why_lines(group: GroupSummary, width: int) -> list[Line]:
    """Return the problem of a group, and the keys that help."""
    trouble = group.problem or group.warning
    lines = wrapped(line(trouble), width)
    if not group.whole:
        return [*lines, (), line(("t", "key"), "  the groups of directories with other statuses")]
    what = "it cannot go anywhere" if group.problem else "it goes there"
    return [
        *lines,
        (),
        line(("x", "key"), f"  why {what}, and changes that would help"),
        line(("4", "key"), "  pack its job with others"),
    ]


def directory_values(row: DirectoryRow, pointers: Sequence[str]) -> dict[str, Any]:
    """Return the row for a file."""
    fields = dict(zip(pointers, row.fields, strict=False))
    about = {"name": row.name, "status": row.status.value, "job": row.job, "detail": row.detail}
    return about | fields | {"value": row.value}


def directory_columns(
    rows: Sequence[DirectoryRow], pointers: Sequence[str] = ()
) -> tuple[TableColumn, ...]:
    """Return the columns for these directories; one for each of the pointers into their values."""
    longest = max((len(row.name) for row in rows), default=9)
    columns = [
        TableColumn("name", "Directory", 9, min(max(longest, 9), 40)),
        TableColumn("status", "Status", 11),
    ]
    if any(row.job for row in rows):
        columns.append(TableColumn("job", "Job", 8, 14, priority=2))
    if any(row.detail for row in rows):
        longest = max(len(row.detail) for row in rows)
        columns.append(TableColumn("detail", "Why", 8, min(longest, 30), priority=1))
    for at, pointer in enumerate(pointers):
        longest = max((len(row.fields[at]) for row in rows if at < len(row.fields)), default=4)
        wish = min(max(longest, len(pointer), 4), 24)
        columns.append(TableColumn(pointer, pointer, min(wish, 10), wish, priority=2))
    columns.append(TableColumn("value", "Value", 10, 20, priority=3, grow=1))
    return tuple(columns)


def directory_cells(row: DirectoryRow, pointers: Sequence[str] = ()) -> dict[str, Cell]:
    """Return one row of the directories table."""
    mark = STATUS_MARKS[row.status]
    fields: dict[str, Cell] = {
        name: line(text) for name, text in zip(pointers, row.fields, strict=False)
    }
    return fields | {
        "name": line(row.name),
        "status": mark.spans,
        "job": line((row.job, "dim")),
        "detail": line((row.detail, mark.style if mark.style == "failed" else "dim")),
        "value": line((row.value, "dim")),
    }


def marked_summary(
    marked: int, directories: int, total: int, sums: Sequence[float] = (), tally: str = ""
) -> str:
    """Return `3 of 187 groups marked · 384 directories, 6,144 CPU-hours`; without marks, the
    totals.

    `tally` is the number of groups that a filter leaves; `directories` then counts only theirs.
    """
    noun = plural(total, "group")
    if not marked:
        return f"{tally or noun} · {plural(directories, 'directory', 'directories')}"
    text = f"{tally} shown · " if tally else ""
    text += f"{marked:,} of {noun} marked"
    if len(sums) == 3:
        cost = cost_forms(Cost(sums[1], sums[2]))[0]
        text += f" · {plural(round(sums[0]), 'directory', 'directories')}, {cost}"
    return text
