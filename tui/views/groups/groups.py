"""Groups, and the directories in one of them, as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowtui.core.base.text import Cost, plural
from rowtui.core.engine.api.engine import DirectoryRow, GroupSummary
from rowtui.tui.widgets.cells import Cell, Choice, Line, Number, line, wrapped
from rowtui.tui.widgets.columns import Column
from rowtui.tui.widgets.marks import STATUS_MARKS
from rowtui.tui.widgets.numbers import cost_forms, duration


def group_columns(groups: Sequence[GroupSummary], total: int) -> tuple[Column, ...]:
    """Return the columns for these groups; columns that would be empty for all of them are left
    out.
    """
    first = max((len(group.first) for group in groups), default=9)
    columns = [
        Column("number", "#", max(2, len(f"{total:,}")), align="right"),
        Column("size", "Dirs", 5, 7, "right"),
    ]
    if any(group.sort_key for group in groups):
        longest = max(len(group.sort_key) for group in groups)
        columns.append(Column("sort_key", "Sort key", 8, min(longest, 30), priority=2, grow=1))
    columns += [
        Column(
            "first",
            "First directory",
            min(first, 16),
            min(max(first, 15), 40),
            grow=2,
            short="First",
        ),
        Column("cpus", "CPUs", 4, 6, "right", 3),
    ]
    if any(group.gpus for group in groups):
        columns.append(Column("gpus", "GPUs", 4, 6, "right", 4))
    columns += [
        Column("walltime", "Walltime", 8, 9, "right", 4),
        Column("cost", "Cost", 10, 11, "right", 1),
    ]
    if any(group.problem or group.warning for group in groups):
        columns.append(Column("problem", "Problem", 12, 24, priority=0, grow=2))
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
        "walltime": line(duration(group.walltime_seconds)),
        "cost": Choice(tuple(line(form) for form in cost_forms(group.cost))),
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
    """Return directories, CPU-hours and GPU-hours: the values that are summed over marked
    groups.
    """
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
        line(("x", "key"), f"  why {what}, and what would change that"),
        line(("4", "key"), "  pack its job with others"),
    ]


def directory_values(row: DirectoryRow, pointers: Sequence[str]) -> dict[str, Any]:
    """Return the row for a file."""
    fields = dict(zip(pointers, row.fields, strict=False))
    about = {"name": row.name, "status": row.status.value, "job": row.job, "detail": row.detail}
    return about | fields | {"value": row.value}


def directory_columns(
    rows: Sequence[DirectoryRow], pointers: Sequence[str] = ()
) -> tuple[Column, ...]:
    """Return the columns for these directories; one for each of the pointers into their values."""
    longest = max((len(row.name) for row in rows), default=9)
    columns = [
        Column("name", "Directory", 9, min(max(longest, 9), 40)),
        Column("status", "Status", 11),
    ]
    if any(row.job for row in rows):
        columns.append(Column("job", "Job", 8, 14, priority=2))
    if any(row.detail for row in rows):
        longest = max(len(row.detail) for row in rows)
        columns.append(Column("detail", "Why", 8, min(longest, 30), priority=1))
    for at, pointer in enumerate(pointers):
        longest = max((len(row.fields[at]) for row in rows if at < len(row.fields)), default=4)
        wish = min(max(longest, len(pointer), 4), 24)
        columns.append(Column(pointer, pointer, min(wish, 10), wish, priority=2))
    columns.append(Column("value", "Value", 10, 20, priority=3, grow=1))
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
