"""`rowtui show status`: how many directories of each action have each status.

The columns about the ends of last jobs are rowtui's: each appears only if it has a number. Their
directories are a part of the eligible ones, and stand beside them in parentheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, Row, TableCell, TextColumn, table_lines
from rowtui.cli.project.open import (
    chosen_positions,
    no_action,
    open_project,
    say_configuration_problems,
)
from rowtui.core.base.text import count, plural
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import StatusCounts, status_counts
from rowtui.core.project.open_project import OpenProject
from rowtui.core.workflow.find import matches

if TYPE_CHECKING:
    import argparse


STATUSES = ("completed", "submitted", "eligible", "waiting")
ENDED = {"failed": "red bold", "not_reached": "yellow", "cancelled": "yellow"}


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the status table, or JSON."""
    if getattr(args, "watch", None) is not None:
        from rowtui.cli.output.watch import reported_status, watch

        return watch(args, out, run, reported_status)
    project = open_project(args, out)
    say_configuration_problems(project, out)
    among = chosen_positions(project, args.directories, out)
    table = project.status_table(among)
    counted = [(row, status_counts(row, among)) for row in table.rows]
    counted = [(row, counts) for row, counts in counted if matches(args.action, row.action.name)]
    if not counted and not args.json:
        out.warn(no_action(project, args.action))
        return 0
    for row, _ in counted:
        if row.problem:
            out.error(f"action '{row.action.name}': {row.problem}")
    wanted = [name for name in STATUSES if getattr(args, name)] or list(STATUSES)
    shown = [
        (row, counts)
        for row, counts in counted
        if args.all or row.problem or any(getattr(counts, name) for name in wanted)
    ]
    failed = any(row.problem for row, _ in counted)
    if args.json:
        from rowtui.cli.show.json import status_document

        out.json(status_document(project, shown))
        return 1 if failed else 0
    waiting = project.network.waiting() if project.network is not None else None
    if not shown:
        out.print("No matches.")
    else:
        lines = status_lines(shown, out, header=not args.no_header)
        out.lines(lines)
        if waiting is None and not failed:
            keep_for_next_time(args, project, shown, out)
    if waiting:
        jobs = plural(waiting, "job of the network waits", "jobs of the network wait")
        out.print(f"{jobs} for inputs: directories are made when the inputs are complete.")
    return 1 if failed else 0


def keep_for_next_time(
    args: argparse.Namespace,
    project: OpenProject,
    rows: Sequence[tuple[ActionStatus, StatusCounts]],
    out: Output,
) -> None:
    """Store the text; the next `rowtui show status` prints it at once if nothing changes."""
    from rowtui.cli.main import is_plain_status, text_key  # which is also run as a program

    if out.said or not is_plain_status(args):
        return
    texts = {}
    for coloured in (False, True):
        lines = status_lines(rows, Output(color="always" if coloured else "never"), header=True)
        texts[text_key(coloured=coloured)] = "".join(f"{line}\n" for line in lines)
    project.keep_texts(texts)


def status_lines(
    rows: Sequence[tuple[ActionStatus, StatusCounts]], out: Output, *, header: bool
) -> list[str]:
    """Return the lines of Row's status table."""
    ended = [name for name in ENDED if any(getattr(counts, name) for _, counts in rows)]
    columns = [
        TextColumn("Action", style="bold"),
        TextColumn("Completed", right=True, style="green bold"),
        TextColumn("Submitted", right=True, style="yellow bold"),
        TextColumn("Eligible", right=True, style="blue"),
        *(
            TextColumn(f"({name.replace('_', ' ')})", right=True, style=ENDED[name])
            for name in ended
        ),
        TextColumn("Waiting", right=True, style="cyan dim"),
        TextColumn("Remaining cost", right=True, style="italic dim"),
    ]
    lines: list[Row] = []
    for row, counts in rows:
        *done, waiting = (count(getattr(counts, name)) for name in STATUSES)
        cells: list[str | TableCell] = [row.action.name, *done]
        for name in ended:
            number = getattr(counts, name)
            cells.append(f"({count(number)})" if number else TableCell("(0)", "dim"))
        cells.append(waiting)
        if row.remaining_cost:
            cells.append(str(row.remaining_cost))
        lines.append(cells)
    return table_lines(columns, lines, out, header=header)
