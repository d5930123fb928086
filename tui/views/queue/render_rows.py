"""Rows of the queue: one job each, or an array or a bundle of jobs. Pure functions."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.queue.rows import QueueRow
from rowtui.tui.widgets.cells import (
    Cell,
    FirstThatFits,
    Line,
    Number,
    dimmed,
    line,
    portion,
    width_of,
)
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import JOB_MARKS, age, duration, minutes_left

ROOMY = 100
"""Columns of a screen from which limits and reasons are shown in full."""

BAR = 9
"""Blocks of the bar for the share of the limit that has passed."""

LONGEST_WAIT = 365 * 86_400
"""Seconds; a scheduler that expects a later start does not know the start."""

LETTERS = {
    JobState.RUNNING: "R",
    JobState.COMPLETING: "CG",
    JobState.SUSPENDED: "S",
    JobState.PENDING: "PD",
    JobState.HELD: "H",
    JobState.UNKNOWN: "?",
    JobState.FAILED: "F",
    JobState.TIMEOUT: "TO",
    JobState.OUT_OF_MEMORY: "OOM",
    JobState.NODE_FAIL: "NF",
    JobState.PREEMPTED: "PR",
    JobState.LOST: "lost",
    JobState.CANCELLED: "CA",
    JobState.COMPLETED: "CD",
    JobState.RESERVED: "RV",
    JobState.REFUSED: "RF",
    JobState.NOT_REACHED: "NR",
    JobState.NEVER_SENT: "NS",
}
"""Slurm's letters for states, used if there is no room for words."""


def queue_columns(
    rows: Sequence[QueueRow], now: float, width: int, *, clusters: int, everybody: bool
) -> tuple[TableColumn, ...]:
    """Return the columns for the loaded rows. `clusters` is the number of clusters."""
    form = -1 if width < ROOMY else 1
    words = [len(JOB_MARKS[row.state].word) + 2 for row in rows]
    ids = [width_of(_label(row, unfolded=False)) for row in rows]
    plain_ids = [len(row.label) + 2 * row.inside for row in rows]
    names = max((len(row.name) for row in rows), default=6)
    columns = [
        TableColumn("state", "State", 11, max([11, *words])),
        TableColumn("id", "Job", max([6, *plain_ids]), min(max([6, *ids]), 24)),
        TableColumn("action", "Action", min(max(names, 6), 12), min(max(names, 6), 24)),
    ]
    if everybody:
        users = max((len(row.user) for row in rows), default=0)
        columns.append(TableColumn("user", "User", min(max(4, users), 8), min(max(4, users), 12)))
    if clusters > 1:
        wide = min(max([7, *(len(row.cluster) for row in rows)]), 16)
        columns.insert(1, TableColumn("cluster", "Cluster", min(wide, 8), wide, priority=1))
    first = max((len(row.first) for row in rows), default=0)
    columns += [
        TableColumn("size", "Dirs", 4, 6, "right", 3),
        _elapsed_column(rows, form),
    ]  # fmt: skip
    if widest := max((len(row.partition) for row in rows), default=0):
        wide = min(max(widest, 5), 12)
        columns.append(TableColumn("partition", "Partition", wide, wide, priority=4, short="Part."))
    if widest := max((len(row.nodes) for row in rows), default=0):
        columns.append(TableColumn("nodes", "Nodes", min(max(widest, 5), 12), priority=5))
    if first:
        columns.append(
            TableColumn("first", "First directory", min(max(first, 5), 16), min(first, 24),
            priority=7,
                   short="First")
        )  # fmt: skip
    reasons = [[width_of(form) for form in _reason(row, now)] for row in rows]
    longest = max((forms[0] for forms in reasons), default=0)
    least = longest if form > 0 else max((forms[-1] for forms in reasons), default=0)
    columns.append(
        TableColumn("reason", "Reason · est. start", max(6, min(least, 14 if form < 0 else 26)),
               min(max(longest, 12), 50), priority=2, grow=2, short="Reason")
    )  # fmt: skip
    return tuple(columns)


def _elapsed_column(rows: Sequence[QueueRow], form: int) -> TableColumn:
    times = [_times(row) for row in rows]
    short = max((width_of(forms[min(form, len(forms) - 1)]) for forms in times), default=0)
    full = max((width_of(forms[0]) for forms in times), default=0)
    return TableColumn(
        "elapsed", "Elapsed / limit", max(7, short), full, "right", 1, short="Elapsed"
    )


def queue_cells(row: QueueRow, now: float, *, unfolded: bool = False) -> dict[str, Cell]:
    """Return the cells of a row; dim for a job outside the project or a silent cluster."""
    mark = JOB_MARKS[row.state]
    first = row.first if not row.key.folded else ""
    cells: dict[str, Cell] = {
        "state": mark.spans,
        "cluster": line((row.cluster, "dim")),
        "id": FirstThatFits(_labels(row, unfolded)),
        "action": line(row.name),
        "user": line(row.user),
        "size": Number(row.size) if row.ours else (),
        "first": line((first, "dim")),
        "elapsed": FirstThatFits(_times(row)),
        "partition": line((row.partition, "dim")),
        "nodes": line((row.nodes, "dim")),
        "reason": FirstThatFits(_reason(row, now)),
    }
    return cells if row.ours and not row.silent else dimmed(cells)


def _labels(row: QueueRow, unfolded: bool) -> tuple[Line, ...]:
    if not row.key.folded:
        return (_label(row, unfolded),)
    return (_label(row, unfolded), line(("▾" if unfolded else "▸", "key"), row.label))


def _label(row: QueueRow, unfolded: bool) -> Line:
    """Return `4711_3`, `▸4711[1-64]`, `▸4711 ×12`; a job of the array above is indented."""
    if row.key.folded:
        tasks = row.tasks if row.tasks.startswith("[") else f" {row.tasks}"
        return line(("▾" if unfolded else "▸", "key"), row.label, (tasks, "dim"))
    return line(f"  {row.label}" if row.inside else row.label)


def _times(row: QueueRow) -> tuple[Line, ...]:
    """Return the elapsed time in forms from wide to narrow; with the limit of active jobs."""
    passed, limit = duration(None if row.state.waits else row.elapsed), duration(row.limit)
    if not limit or not row.state.active:
        return (line(passed),)
    style = "warning" if row.left is not None else ""
    short = line((passed or "–", style))
    plain = (*short, *line((f" / {limit}", "dim")))
    if row.state is not JobState.RUNNING or row.elapsed is None or not row.limit:
        return plain, short
    full = portion(min(row.elapsed, row.limit), row.limit, BAR)
    bar = line(("▓" * full, style or "submitted"), ("░" * (BAR - full), "faint"))
    return (*short, *line(" "), *bar, *line((f" {limit}", "dim"))), plain, short


def _reason(row: QueueRow, now: float) -> tuple[Line, ...]:
    """Return the most important remark about a row, in forms from wide to narrow."""
    if row.silent:
        old = age(max(0.0, now - row.as_of)) if row.as_of else ""
        return (line((f"stale: {old} old" if old else "stale", "warning")),)
    if row.key.folded:
        return _of_several(row)
    if (left := row.left) is not None:
        text = f"▲ {minutes_left(left)} left"
        if row.open > 0:
            dirs = "dir" if row.open == 1 else "dirs"
            return line((f"{text}, {row.open:,} {dirs} open", "warning")), line((text, "warning"))
        return (line((text, "warning")),)
    style = "failed" if row.state.bad else "dim"
    start = start_text(row.start_estimate, now) if row.state is JobState.PENDING else ""
    if not start:
        return (line((row.reason, style)),)
    both = " · ".join(filter(None, (row.reason, start)))
    return line((both, style)), line((row.reason or start, style))


def _of_several(row: QueueRow) -> tuple[Line, ...]:
    if len(row.counts) == 1:
        [(state, number)] = row.counts
        why = f" · {row.reason}" if row.reason else ""
        style = "failed" if state.bad else "dim"
        short = line((f"{number:,} {LETTERS[state]}", style))
        return line((f"{number:,} {state.value}{why}", style)), short
    forms: list[Line] = []
    for words in (True, False):
        parts: list[tuple[str, str]] = []
        for state, number in row.counts:
            if parts:
                parts.append((" · ", "dim"))
            word = state.value if words else LETTERS[state]
            parts.append((f"{number:,} {word}", "failed" if state.bad else "dim"))
        forms.append(line(*parts))
    return tuple(forms)


def start_text(start: int | None, now: float) -> str:
    """Return `~05:40` for today, `~Tue 05:40` within six days, `~30 Nov`; "" if unknown."""
    if start is None or not 0 < start - now < LONGEST_WAIT:
        return ""
    at, today = time.localtime(start), time.localtime(now)
    if (at.tm_year, at.tm_yday) == (today.tm_year, today.tm_yday):
        return time.strftime("~%H:%M", at)
    # After more than six days, the name of a day could mean two days.
    near = start - now < 6 * 86_400
    return time.strftime("~%a %H:%M" if near else "~%d %b", at)
