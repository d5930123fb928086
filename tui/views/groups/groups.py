"""The rows of the view Groups: groups of an action, directories of a group, or all directories.

Each is a list of the engine that can be filtered and sorted; its pages are loaded when they are
shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from rowtui.core.base.text import Cost, plural
from rowtui.core.base.values import compact
from rowtui.core.engine.api.groups import DirectoriesPage, DirectoryRow, GroupsPage, GroupSummary
from rowtui.core.engine.engine import Engine
from rowtui.core.groups.model import Status
from rowtui.core.project.views.views import ListRequest
from rowtui.tui.widgets.cells import (
    Cell,
    Line,
    Number,
    line,
    wrapped,
)
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import STATUS_MARKS, amount_of_hours, cost_forms, limit
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
    sort_by: tuple[str, ...] = ()

    async def ask(asked: ListRequest, start: int, length: int, find: str) -> RowPage[GroupSummary]:
        page = await about.engine.groups.page(
            about.action, about.statuses, start, length, asked=asked, find=find
        )
        nonlocal sort_by
        sort_by = page.sort_by
        took(page)
        return RowPage(page.total, page.groups, page.of, page.found)

    return EngineRows(
        ask,
        lambda group: group.first,
        lambda group: group_cells(group, sort_by),
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


def key_name(pointer: str) -> str:
    """Return a pointer into a value as a heading: `T`, `options/seed`."""
    return pointer.removeprefix("/").replace("~1", "/").replace("~0", "~") or "value"


def _value_column(pointer: str, values: Sequence[str]) -> TableColumn:
    """Return the column of one key of the values; numbers are aligned at the right."""
    name = key_name(pointer)
    wish = min(max((len(value) for value in (*values, name)), default=4), 24)
    align = "right" if all(_is_number(value) for value in values) else "left"
    return TableColumn(pointer, name, min(wish, 10), wish, align, priority=2)


def _is_number(text: str) -> bool:
    return not text or text[0] in "-0123456789"


def _keys_of(group: GroupSummary) -> list[str]:
    """Return the values of the keys by which the group is formed, as they are shown."""
    return [_shown(compact(value)) for value in json.loads(group.sort_key or "[]")]


def _shown(value: str) -> str:
    """Return a JSON text without its quotes."""
    return value[1:-1] if value[:1] == value[-1:] == '"' and "\\" not in value else value


def group_columns(
    groups: Sequence[GroupSummary], total: int, sort_by: Sequence[str] = ()
) -> tuple[TableColumn, ...]:
    """Return the columns for these groups, without columns that are empty for all.

    `sort_by`: the pointers of the keys by which groups are formed.
    """
    first = max((len(group.first) for group in groups), default=9)
    columns = [
        TableColumn("number", "#", max(2, len(f"{total:,}")), align="right"),
        TableColumn("size", "Dirs", 5, 7, "right"),
    ]
    keys = list(zip(*(_keys_of(group) for group in groups), strict=True))
    columns += [
        _value_column(pointer, values) for pointer, values in zip(sort_by, keys, strict=False)
    ]
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
        TableColumn("walltime", "Limit", 5, 9, "right", 4),
        TableColumn("cost", "CPU-h", 6, 8, "right", 1),
    ]
    if any(group.cost.gpu_hours for group in groups):
        columns.append(TableColumn("gpu_cost", "GPU-h", 6, 8, "right", 1))
    if any(group.problem or group.warning for group in groups):
        columns.append(TableColumn("problem", "Problem", 12, 24, priority=0, grow=2))
    return tuple(columns)


def group_cells(group: GroupSummary, sort_by: Sequence[str] = ()) -> dict[str, Cell]:
    """Return one row of the groups table."""
    style = "warning" if group.problem else ""
    trouble = group.problem or group.warning
    keys: dict[str, Cell] = dict(zip(sort_by, map(line, _keys_of(group)), strict=False))
    return keys | {
        "number": line((f"{group.number:,}", style or "dim")),
        "size": Number(group.size, style),
        "first": line((group.first, style)),
        "cpus": Number(group.cpus),
        "gpus": Number(group.gpus),
        "walltime": line(limit(group.walltime_seconds)),
        "cost": line(amount_of_hours(group.cost.cpu_hours)),
        "gpu_cost": line(amount_of_hours(group.cost.gpu_hours)),
        "problem": line(("▲ " + trouble, "warning")) if trouble else line(""),
    }


def sums_of(page: GroupsPage) -> dict[str, Cell]:
    """Return the row below the groups: the sums over all that the filter leaves."""
    cost = page.cost
    return {
        "size": Number(page.directories),
        "first": line(f"all {plural(page.total, 'group')}"),
        "cost": line(amount_of_hours(cost.cpu_hours)),
        "gpu_cost": line(amount_of_hours(cost.gpu_hours)),
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


def group_title(group: GroupSummary) -> str:
    """Return the title of the pane about a group."""
    number = f"{group.number:,}"
    if group.problem:
        return f"▲ Group {number} cannot be submitted"
    return f"▲ Group {number}: a warning" if group.warning else f"Group {number}"


def why_lines(group: GroupSummary, width: int) -> list[Line]:
    """Return the problem of a group or what its job asks for, and the keys that help."""
    many = plural(group.size, "directory", "directories")
    cpus, gpus = plural(group.cpus, "CPU"), plural(group.gpus, "GPU")
    asks = [cpus, *([gpus] if group.gpus else []), limit(group.walltime_seconds)]
    about = f"{many} in one job of {', '.join(asks)}: {group.cost} at most."
    trouble = group.problem or group.warning
    lines = [*wrapped(line((trouble, "warning")), width), ()] if trouble else []
    lines += wrapped(line(about), width)
    if not group.whole:
        return [*lines, (), line(("f", "key"), "  groups of directories in other states")]
    return [
        *lines,
        (),
        line(("w", "key"), "  why it goes there, and what changes that"),
        line(("4", "key"), "  packs its job with others on one node"),
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
        TableColumn("status", "State", 11),
    ]
    columns += [
        _value_column(pointer, [row.fields[at] for row in rows if at < len(row.fields)])
        for at, pointer in enumerate(pointers)
    ]
    if any(row.job for row in rows):
        columns.append(TableColumn("job", "Job", 8, 14, priority=2))
    if any(row.detail for row in rows):
        longest = max(len(row.detail) for row in rows)
        columns.append(TableColumn("detail", "Why", 8, min(longest, 30), priority=1))
    if not pointers:
        columns.append(TableColumn("value", "Value", 10, 20, priority=3, grow=1))
    return tuple(columns)


def directory_cells(row: DirectoryRow, pointers: Sequence[str] = ()) -> dict[str, Cell]:
    """Return one row of the directories table."""
    mark = STATUS_MARKS[row.status]
    fields: dict[str, Cell] = {
        name: line(_shown(text)) for name, text in zip(pointers, row.fields, strict=False)
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


def listed_directories(marked: int, total: int, tally: str) -> str:
    """Return how many directories are listed and marked. `tally`: how many a filter leaves."""
    noun = plural(total, "directory", "directories")
    if not marked:
        return tally or noun
    return (f"{tally} shown · " if tally else "") + f"{marked:,} of {noun} marked"


def nothing_listed(word: str, filtered: bool) -> Line:
    """Return why a list of the directories in this state, or of their groups, has no rows."""
    if filtered:
        return line(("No row fits the filter; Esc shows all.", "dim"))
    text = "Nothing here." if word == "all" else f"No directory is {word}; f shows others."
    return line((text, "dim"))
