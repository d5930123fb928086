"""`rowtui show directories`: names, or an action's groups with status, job and values.

Source: Row A8.3. A value that a directory does not have is an error, as in Row; a directory
whose value file is bad is set aside: it is named with the reason, and in no group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rowtui.cli.project import action_not_found, chosen_positions, open_project
from rowtui.cli.table import Cell, Column, Row, table_lines
from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import Status

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.grouping.model import ActionStatus, Group
    from rowtui.core.project.project import Project

STYLES = {
    Status.COMPLETED: "green italic",
    Status.SUBMITTED: "yellow italic",
    Status.FAILED: "red italic",
    Status.ELIGIBLE: "blue italic",
    Status.WAITING: "cyan dim italic",
}
NEEDS_ACTION = (
    "completed",
    "submitted",
    "eligible",
    "waiting",
    "failed",
    "short",
    "no_header",
    "no_separate_groups",
    "value",
    "n_groups",
)


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the list, a table, or JSON."""
    if args.action is None:
        used = [name for name in NEEDS_ACTION if getattr(args, name) not in (False, None, [])]
        if used:
            option = "--" + used[0].replace("_", "-")
            return _usage(f"{option} needs --action <ACTION>")
    project = open_project(args, out)
    if args.action is None:
        return _print_names(args, project, out)
    if not project.workflow.named(args.action):
        raise action_not_found(args.action)
    statuses = [status for status in Status if getattr(args, status.value)] or list(Status)
    among = chosen_positions(project, args.directories, out)
    elements = [
        project.groups(action, statuses, among) for action in project.workflow.named(args.action)
    ]
    whole = [len(groups) for groups in elements]
    if args.n_groups is not None:
        elements = [groups[: args.n_groups] for groups in elements]
    if args.json:
        _print_json(args, project, elements, out)
    elif not any(elements):
        out.print("No matches.")
    elif args.short:
        directories = project.state.directories
        out.names(
            directories.name(position)
            for groups in elements
            for group in groups
            for position in group.indices
        )
    else:
        with_jobs = bool({Status.COMPLETED, Status.SUBMITTED} & set(statuses))
        out.lines(_table(args, project, list(zip(elements, whole, strict=True)), with_jobs, out))
    return 0


def _usage(message: str) -> int:
    import sys

    sys.stderr.write(f"error: {message}\n\nFor more, try 'rowtui show directories --help'.\n")
    return 2


def _print_names(args: argparse.Namespace, project: Project, out: Output) -> int:
    directories = project.state.directories
    among = chosen_positions(project, args.directories, out)
    names: Any = (
        directories.names()
        if among is None
        else (directories.name(position) for position in sorted(among))
    )
    if args.json:
        import json

        bad = {directories.name(position): why for position, why in directories.bad.items()}
        out.print(json.dumps({"directories": list(names), "bad": bad}, indent=2))
    else:
        out.names(names)
    return 0


def _table(
    args: argparse.Namespace,
    project: Project,
    elements: list[tuple[tuple[Group, ...], int]],
    with_jobs: bool,
    out: Output,
) -> list[str]:
    """The table of each element's groups and of how many it has, also those not to be shown."""
    columns = [Column("Directory", style="bold"), Column("Status")]
    if with_jobs:
        columns.append(Column("Job ID"))
    columns += [Column(pointer, right=True, right_header=False) for pointer in args.value]
    rows: list[Row] = []
    # An empty line after each group but an element's last, and after each element: as in Row
    # also behind the last group of a list that -n shortened. None ends the table.
    for groups, count in elements:
        for index, group in enumerate(groups):
            rows.extend(_rows(args.value, project, group, with_jobs=with_jobs))
            if index < count - 1 and not args.no_separate_groups:
                rows.append(None)
        rows.append(None)
    if rows[-1] is None:
        rows.pop()
    return table_lines(columns, rows, out, header=not args.no_header)


def _rows(pointers: list[str], project: Project, group: Group, *, with_jobs: bool) -> Iterator[Row]:
    row = project.status_row(group.action, group.indices)
    submitted = project.state.submitted.get(group.action.name, {})
    directories = project.state.directories
    for position in group.indices:
        status = row.status_of(position)
        assert status is not None
        cells: list[str | Cell] = [directories.name(position), Cell(status.value, STYLES[status])]
        if with_jobs:
            job = submitted.get(position)
            cells.append(f"{job.cluster}/{job.job_id}" if job and job.job_id else "")
        cells += _values(pointers, project, position)
        yield cells


def _values(pointers: list[str], project: Project, position: int) -> list[str]:
    if not pointers:
        return []
    from rowtui.core.values import MISSING, compact, resolve

    value = project.state.directories.value(position)
    texts = []
    for pointer in pointers:
        found = resolve(value, pointer)
        if found is MISSING:
            name = project.state.directories.name(position)
            raise RowtuiError(
                f"the value of directory '{name}' does not contain the JSON pointer '{pointer}'",
                "pointers start with / and name keys of value files, as in /temperature",
            )
        texts.append(compact(found))
    return texts


def _print_json(
    args: argparse.Namespace,
    project: Project,
    elements: list[tuple[Group, ...]],
    out: Output,
) -> None:
    import json

    def entry(row: ActionStatus, position: int) -> dict[str, Any]:
        status = row.status_of(position)
        job = project.state.submitted.get(args.action, {}).get(position)
        failure = project.state.failed.get(args.action, {}).get(position)
        return {
            "name": project.state.directories.name(position),
            "status": status.value if status else None,
            "job": f"{job.cluster}/{job.job_id}" if job and job.job_id else None,
            "failure": failure.reason if failure and status is Status.FAILED else None,
            "value": project.state.directories.value(position),
        }

    rows = [
        (group, project.status_row(group.action, group.indices))
        for groups in elements
        for group in groups
    ]
    groups = [[entry(row, position) for position in group.indices] for group, row in rows]
    out.print(json.dumps({"action": args.action, "groups": groups}, indent=2))
