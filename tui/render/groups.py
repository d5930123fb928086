"""Groups, and the directories in one of them, as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.engine import DirectoryRow, GroupSummary
from rowtui.core.text import plural
from rowtui.tui.render.cells import Cell, Choice, Number, line
from rowtui.tui.render.columns import Column
from rowtui.tui.render.marks import STATUS_MARKS
from rowtui.tui.render.numbers import cost_forms, duration


def group_columns(groups: Sequence[GroupSummary], total: int) -> tuple[Column, ...]:
    """The columns for these groups: those that would be empty for all of them are left out."""
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
        Column("cost", "Cost", 8, 11, "right", 1),
    ]
    if any(group.problem for group in groups):
        columns.append(Column("problem", "Problem", 12, 24, priority=0, grow=2))
    return tuple(columns)


def group_cells(group: GroupSummary) -> dict[str, Cell]:
    """One row of the groups table."""
    style = "warning" if group.problem else ""
    return {
        "number": line((f"{group.number:,}", style or "dim")),
        "size": Number(group.size, style),
        "sort_key": line(group.sort_key),
        "first": line((group.first, style)),
        "cpus": Number(group.cpus),
        "gpus": Number(group.gpus),
        "walltime": line(duration(group.walltime_seconds)),
        "cost": Choice(tuple(line(form) for form in cost_forms(group.cost))),
        "problem": line(("▲ " + group.problem, "warning")) if group.problem else line(""),
    }


def directory_columns(rows: Sequence[DirectoryRow]) -> tuple[Column, ...]:
    """The columns for these directories."""
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
    columns.append(Column("value", "Value", 10, 20, priority=3, grow=1))
    return tuple(columns)


def directory_cells(row: DirectoryRow) -> dict[str, Cell]:
    """One row of the directories table."""
    mark = STATUS_MARKS[row.status]
    return {
        "name": line(row.name),
        "status": mark.spans,
        "job": line((row.job, "dim")),
        "detail": line((row.detail, mark.style if mark.style == "failed" else "dim")),
        "value": line((row.value, "dim")),
    }


def marked_summary(marked: int, groups: int, total: int) -> str:
    """`3 of 187 groups marked · 384 directories`."""
    noun = plural(total, "group")
    return f"{marked:,} of {noun} marked" if marked else f"{noun} · {groups:,} directories"
