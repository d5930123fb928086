"""`rowtui history`: what ran when: throughput, waits, and nodes whose failures stand out."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TextIO

from rowtui.cli.environment import run as run_async
from rowtui.cli.jobs.choice import known_clusters
from rowtui.cli.output.output import Output, Row, TableCell, TextColumn, table_lines
from rowtui.cli.project.open import open_project
from rowtui.core.base.document import document
from rowtui.core.base.text import count, hours, plural, visible
from rowtui.core.usage.past import PartitionWait, PastRequest, PastView, past_view
from rowtui.core.usage.past_intervals import DAY, MOST_INTERVALS, WEEK, PastInterval
from rowtui.core.usage.past_nodes import standing_out
from rowtui.core.workflow.duration import format_duration

_BAR = 30  # columns of the longest bar
_LINES = 24  # intervals of a table whose length is not chosen
_NODES = 5  # nodes in the table of failures, if none stands out


def history(args: argparse.Namespace, out: Output) -> int:
    """Print what ran when."""
    project = open_project(args, out)
    columns = run_async(project.usage.complete())
    if columns.damaged:
        out.warn(
            f"{plural(columns.damaged, 'record')} of what jobs used cannot be read; the others "
            "are shown"
        )
    asked = PastRequest(
        args.since or 0.0,
        (args.action,) if args.action else (),
        tuple(known_clusters(args, project, columns.clusters())),
        args.by,
        _LINES if args.by == "auto" else MOST_INTERVALS,
    )
    past = past_view(columns, asked, datetime.now(UTC).timestamp())
    if args.json:
        out.json(past)
    elif args.csv:
        write_intervals(past, sys.stdout)
    elif not past.job_count:
        out.print("No job matches." if past.all_jobs else "No job has ended yet.")
    else:
        out.lines(_lines(past, out))
    return 0


def write_intervals(past: PastView, file: TextIO) -> None:
    """Write a row for each interval, with the names of the JSON form."""
    rows = document(past.intervals)
    names = list(rows[0]) if rows else ["start"]
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _lines(past: PastView, out: Output) -> Iterator[str]:
    yield from _throughput(past, out)
    if past.waits:
        yield ""
        yield from _waits(past, out)
    yield ""
    yield from _nodes(past, out)


# Throughput


def _throughput(past: PastView, out: Output) -> Iterator[str]:
    shown = _without_empty_ends(past.intervals)
    most = max((each.jobs for each in shown), default=0)
    headings = [TextColumn("Ended in", style="bold")]
    headings += [TextColumn(name, right=True) for name in ("Jobs", "Failed", "CPU-hours", "CPUs")]
    headings.append(TextColumn("# well, x failed or cancelled, . a few"))
    rows: list[Row] = [
        [
            interval_name(each.start, past.seconds_each),
            count(each.jobs),
            TableCell(count(each.failed), "red bold" if each.failed else ""),
            hours(each.cpu_hours),
            count(round(each.cpus_in_use)),
            _bar(each, most),
        ]
        for each in shown
    ]
    yield from table_lines(headings, rows, out)
    yield ""
    left_out = (
        " Older intervals are left out: --since and --by choose."
        if (past.older_intervals_left_out)
        else ""
    )
    yield (
        f"{plural(past.job_count, 'job')} ended. CPUs: the mean in use, of jobs that have ended."
        + left_out
    )


def _without_empty_ends(intervals: Sequence[PastInterval]) -> Sequence[PastInterval]:
    places = [at for at, each in enumerate(intervals) if each.jobs or each.cpus_in_use]
    return intervals[places[0] : places[-1] + 1] if places else ()


def _bar(each: PastInterval, most: int) -> str:
    """Return `####xx`; a dot for jobs that are less than half a character."""
    size = round(each.jobs / most * _BAR) if most else 0
    bad = each.failed + each.cancelled
    failed = min(size, round(bad / most * _BAR)) if bad else 0
    few = (each.jobs and not size) or (bad and not failed)
    return "#" * (size - failed) + "x" * failed + "." * bool(few)


def interval_name(start: float, seconds: int) -> str:
    """Return the local time at which an interval begins, as exact as its length requires."""
    local = datetime.fromtimestamp(start, UTC).astimezone()
    if seconds >= WEEK:
        return f"week of {local:%Y-%m-%d}"
    return f"{local:%a %Y-%m-%d}" if seconds == DAY else f"{local:%Y-%m-%d %H:%M}"


# Waits


def _waits(past: PastView, out: Output) -> Iterator[str]:
    headings = [TextColumn("Queue", style="bold")]
    headings += [TextColumn(name, right=True) for name in ("Jobs", "Median wait", "90%", "Longest")]
    yield from table_lines(headings, [_wait_cells(row) for row in past.waits], out)
    if past.partitions_left_out:
        yield f"{plural(past.partitions_left_out, 'partition')} with fewer jobs left out."


def _wait_cells(row: PartitionWait) -> Row:
    times = (row.median_seconds, row.most_of_seconds, row.longest_seconds)
    return [row.partition, count(row.jobs), *(format_duration(at) for at in times)]


# Nodes


def _nodes(past: PastView, out: Output) -> Iterator[str]:
    for text in standing_out(past.nodes):
        yield out.style(visible(text), "red bold")
    bad = [row for row in past.nodes if row.failed]
    if not past.nodes:
        yield "The nodes of these jobs are not known."
        return
    if not any(row.stands_out for row in bad):
        nodes = len(past.nodes) + past.nodes_left_out
        yield (
            f"No node stands out among {plural(nodes, 'node')}."
            if nodes > 1
            else "All jobs ran on one node, so that nodes cannot be compared."
        )
        return
    yield ""
    headings = [TextColumn("Node", style="bold")]
    headings += [TextColumn(name, right=True) for name in ("Jobs", "Failed", "Usual")]
    yield from table_lines(
        headings,
        [
            [
                row.node,
                count(row.jobs),
                TableCell(count(row.failed), "red bold" if row.stands_out else ""),
                f"{row.expected:.1f}",
            ]
            for row in bad[: _NODES + sum(row.stands_out for row in bad)]
        ],
        out,
    )
    yield "Usual: the failures that these jobs would have on the average node."
