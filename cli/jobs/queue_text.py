"""The queue of each cluster as text.

A queue is a line for the cluster, its jobs as a table, and explanations of reasons. On a terminal
the last column is cut to the width, because the sentences below repeat it in full.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rowtui.cli.clusters.parser import in_words
from rowtui.cli.jobs.job_text import clock, state_cell
from rowtui.cli.output.output import Output, Row, TableCell, TextColumn, display_width, table_lines
from rowtui.core.base.text import count, visible
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.reasons import explain, how_long
from rowtui.core.clusters.schedulers.slurm.parse import write_tasks
from rowtui.core.project.queue.queue_list import ClusterRow, together
from rowtui.core.project.views.views import ClusterView
from rowtui.core.submission.plan.record import JobRecord, shown_job

LONGEST_NAME = 24  # columns for a job's name; likewise for the other fields
LONGEST_ID = 24
LONGEST_PARTITION = 16
LEAST_REASON = 12  # minimum for any terminal width
_FAR = 366 * 86_400  # a scheduler without an estimate may report a start in a year


def queue_lines(
    clusters: Sequence[ClusterView],
    rows: Mapping[str, Sequence[ClusterRow]],
    now: float,
    out: Output,
    *,
    in_project: bool,
    width: int | None,
) -> Iterator[str]:
    """Yield the lines of all clusters, separated by an empty line.

    `root`: of the project, None outside of one. `width`: of the terminal, if there is one.
    """
    for number, cluster in enumerate(clusters):
        if number:
            yield ""
        its = rows[cluster.name]
        yield heading(cluster, its, now, out)
        if its:
            yield from _table(its, now, width, out, in_project)
            yield from _notes(its, now, width)


def heading(cluster: ClusterView, rows: Sequence[ClusterRow], now: float, out: Output) -> str:
    """Return `alpha  me@alpha  12 running, 30 pending  14 s ago, next in 46 s`."""
    where = "this machine" if cluster.where == "here" else cluster.where
    parts = [out.style(visible(cluster.name), "bold")]
    if where != cluster.name:
        parts.append(visible(where))
    if cluster.as_of is not None:
        parts.append(_counts(rows))
    when = _when(cluster, now)
    if when:
        parts.append(when)
    return "  ".join(parts)


def _when(cluster: ClusterView, now: float) -> str:
    """Return the age of the data, why there is nothing newer, and when the next poll is."""
    again = cluster.next_at - now
    ahead = in_words(again) if again >= 1 else ""
    old = "" if cluster.as_of is None else _ago(now - cluster.as_of)
    if cluster.login:
        why = visible(cluster.login)
        if cluster.login_command:
            why += f"; log in with '{cluster.login_command}'"
    elif cluster.error:
        why = f"no answer now: {visible(cluster.error)}" + (f"; again in {ahead}" if ahead else "")
    else:
        # A queue that is polled for each command is always up to date.
        return f"{old}, next in {ahead}" if ahead else ""
    return f"{old}; {why}" if old else why


def _ago(seconds: float) -> str:
    return f"{in_words(seconds)} ago" if seconds >= 1 else "just now"


def _counts(rows: Sequence[ClusterRow]) -> str:
    """Return `12 running, 30 pending`."""
    # in the order of the rows; a bundle counts as the requests that it stands for
    counts = Counter(it.state for row in rows for it in row.ours or (row.record,))
    return ", ".join(f"{count(many)} {it.value}" for it, many in counts.items()) or "no jobs"


def _table(
    rows: Sequence[ClusterRow], now: float, width: int | None, out: Output, in_project: bool
) -> list[str]:
    partitions = any(row.record.partition for row in rows)
    columns = [
        TextColumn("ID"),
        TextColumn("State"),
        TextColumn("Action" if in_project else "Name"),
    ]
    if in_project:
        columns.append(TextColumn("Dirs", right=True))
    if partitions:
        columns.append(TextColumn("Partition"))
    columns += [TextColumn("Elapsed", right=True), TextColumn("Limit", right=True)]
    columns.append(TextColumn("Nodes or reason"))
    cells: list[list[str | TableCell]] = []
    for group in together(rows):
        job = group[0].record
        one: list[str | TableCell] = [_id(group), state_cell(job.state)]
        one.append(_cut(visible(group[0].name), LONGEST_NAME))
        if in_project:
            ours = [it for row in group for it in row.ours]
            one.append(count(sum(it.size for it in ours)) if ours else "")
        if partitions:
            one.append(_cut(visible(job.partition), LONGEST_PARTITION))
        elapsed = None if job.state.waits else job.seconds
        one += [clock(elapsed), clock(job.limit), _last(job, now)]
        cells.append(one)
    if width is not None:
        _fit(columns, cells, width)
    table: list[Row] = list(cells)
    return table_lines(columns, table, out)


def _id(group: Sequence[ClusterRow]) -> str:
    """Return `12`, `12_3` or `12_[0-9]`; `–` as long as the job has no id."""
    job = group[0].record
    if len(group) == 1 or not job.job_id:
        return job.label
    tasks = write_tasks(row.record.task for row in group if row.record.task is not None)
    return _cut(f"{job.job_id}_[{tasks}]", LONGEST_ID)


def _last(job: JobRecord, now: float) -> str:
    """Return the nodes, or the scheduler's reason for waiting and the estimated start."""
    if job.state in (JobState.RUNNING, JobState.COMPLETING) or not job.why:
        return visible(job.nodes)
    ahead = 0 if job.start_estimate is None else job.start_estimate - int(now)
    starts = job.state is JobState.PENDING and 0 < ahead < _FAR
    return visible(job.why) + (f", in {how_long(ahead)}" if starts else "")


def _notes(rows: Sequence[ClusterRow], now: float, width: int | None) -> Iterator[str]:
    """Yield the meaning of each reason, and what the user can do, once."""
    said = set()
    for row in rows:
        job = shown_job(row.record)
        if job.state in (JobState.RUNNING, JobState.COMPLETING, JobState.COMPLETED):
            continue
        ran = 1 if job.state is JobState.CANCELLED and job.elapsed else None
        told = explain(job._replace(start_estimate=None, elapsed=ran), now)
        label = visible(job.reason) or job.state.value
        note = f"{told.sentence} {told.hint}".rstrip()
        if label.lower() not in note.lower():
            note = f"{label}: {note}"
        if note in said:
            continue
        said.add(note)
        if width is None:
            yield f"  {note}"
        else:
            yield from textwrap.wrap(
                note, max(width, 20), initial_indent="  ", subsequent_indent="    "
            )


def _fit(columns: Sequence[TextColumn], cells: Sequence[list[str | TableCell]], width: int) -> None:
    """Cut the last column, so that no line is longer than the terminal is wide."""
    taken = 0
    for at, column in enumerate(columns[:-1]):
        texts = (row[at] for row in cells)
        shown = (text.text if isinstance(text, TableCell) else text for text in texts)
        taken += max([display_width(column.header), *map(display_width, shown)]) + 1
    room = max(LEAST_REASON, width - taken)
    for row in cells:
        row[-1] = _cut(str(row[-1]), room)


def _cut(text: str, most: int) -> str:
    """Return at most this many columns of the text."""
    if display_width(text) <= most:
        return text
    while display_width(text) >= most:
        text = text[: most - 1] if len(text) >= most else text[:-1]
    return f"{text}…"


def terminal_width() -> int | None:
    """Return the terminal's width; None if the output is no terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None
