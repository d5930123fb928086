"""Rows of the queue: one job each, or an array or a bundle of jobs. Pure functions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.queue.rows import QueueRow
from rowtui.core.project.queue.views import KINDS, QueuePage, QueueRequest
from rowtui.tui.widgets.cells import (
    Cell,
    FirstThatFits,
    Line,
    Number,
    Span,
    bar,
    dimmed,
    line,
    width_of,
)
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.short_text import JOB_MARKS, age, duration, limit, minutes_left

ROOMY = 100
"""Columns of a screen from which limits and reasons are shown in full."""

BAR = 10
"""Cells of the bar for the share of the limit that has passed; some fewer on a narrow screen."""

LONGEST_WAIT = 365 * 86_400
"""Seconds; a scheduler that expects a later start does not know the start."""


KIND_STYLES = {"active": "submitted", "failed": "failed", "ended": "completed"}


def kinds_of(page: QueuePage, only: str) -> Iterator[tuple[str, str, str]]:
    """Yield each kind of jobs that there are: name, text and style. `only`: the chosen one."""
    for kind in (*KINDS, ""):
        number = page.kinds.get(kind, 0)
        if number or kind in (only, ""):
            yield kind, f"{kind or 'all'} {number:,}", KIND_STYLES.get(kind, "dim")


def nothing_words(page: QueuePage | None, asked: QueueRequest, *, filtered: bool) -> str:
    """Return the text in the place of rows."""
    if page is None:
        return "Asking…"
    if asked.only and not filtered:
        return f"No job is {asked.only}: f lists the others."
    if page.all_jobs:
        return f"None of {plural(page.all_jobs, 'job')} fits the filter: Esc drops it."
    if asked.clusters:
        return f"No jobs on {asked.clusters[0]}: ] goes on to the next."
    return "No jobs yet: mark groups in 2 and submit them."


def listed_words(page: QueuePage, marked: int) -> str:
    """Return how many jobs are listed and marked, and what is missing of them."""
    text = plural(page.jobs, "job")
    if page.jobs < page.all_jobs:
        text = f"{page.jobs:,} of {plural(page.all_jobs, 'job')}"
    if page.total != page.jobs:
        text += f" in {plural(page.total, 'row')}"
    if marked:
        text = f"{marked:,} of {text} marked"
    if page.hidden:
        text += f" · m {plural(page.hidden, 'other')}"
    return f"▲ {page.notice} · {text}" if page.notice else text


def queue_columns(
    rows: Sequence[QueueRow], now: float, width: int, *, clusters: int, everybody: bool
) -> tuple[TableColumn, ...]:
    """Return the columns for the loaded rows. `clusters` is the number of clusters."""
    roomy = width >= ROOMY
    words = [len(JOB_MARKS[row.state].word) + 2 for row in rows]
    ids = [width_of(_label(row, unfolded=False)) for row in rows]
    plain_ids = [len(row.label) + 2 * row.inside for row in rows]
    names = max((len(row.name) for row in rows), default=6)
    columns = [
        TableColumn("state", "State", 11, max([11, *words])),
        TableColumn("id", "Job", min(max([6, *(ids if roomy else plain_ids)]), 24)),
        TableColumn("action", "Action", min(max(names, 6), 12), min(max(names, 6), 24)),
    ]
    if everybody:
        users = max((len(row.user) for row in rows), default=0)
        columns.append(TableColumn("user", "User", min(max(4, users), 8), min(max(4, users), 12)))
    if clusters > 1:
        wide = min(max([7, *(len(row.cluster) for row in rows)]), 16)
        columns.insert(1, TableColumn("cluster", "Cluster", min(wide, 8), wide, priority=1))
    first = max((len(row.first) for row in rows), default=0)
    elapsed = max((len(_elapsed(row)) for row in rows), default=0)
    limits = max((len(_limit(row)) for row in rows), default=0)
    columns += [
        TableColumn("size", "Dirs", 4, 6, "right", 3),
        TableColumn("elapsed", "Elapsed", max(7, elapsed), align="right", priority=1),
    ]
    if any(_runs(row) for row in rows):
        columns.append(TableColumn("share", "", 6, BAR if roomy else 6, priority=4))
    columns.append(TableColumn("limit", "Limit", max(5, limits), align="right", priority=4))
    if widest := max((len(row.partition) for row in rows), default=0):
        wide = min(max(widest, 5), 12)
        columns.append(TableColumn("partition", "Partition", wide, wide, priority=6, short="Part."))
    if widest := max((len(row.nodes) for row in rows), default=0):
        columns.append(TableColumn("nodes", "Node", min(max(widest, 5), 12), priority=5))
    if first:
        columns.append(
            TableColumn("first", "First directory", min(max(first, 5), 16), min(first, 24),
                        priority=7, short="First")
        )  # fmt: skip
    reasons = [[width_of(form) for form in _reason(row, now)] for row in rows]
    longest = max((forms[0] for forms in reasons), default=0)
    least = max((forms[0 if roomy else -1] for forms in reasons), default=0)
    columns.append(
        TableColumn("reason", "Why", max(6, min(least, 26 if roomy else 14)),
                    min(max(longest, 12), 50), priority=2, grow=2)
    )  # fmt: skip
    return tuple(columns)


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
        "elapsed": line((_elapsed(row), "warning" if row.left is not None else "")),
        "share": LimitBar(row.elapsed or 0, row.limit or 0, row.left is not None)
        if _runs(row)
        else (),
        "limit": line((_limit(row), "dim")),
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


def _runs(row: QueueRow) -> bool:
    return row.state is JobState.RUNNING and bool(row.limit)


def _elapsed(row: QueueRow) -> str:
    return "–" if row.state.waits else duration(row.elapsed)


def _limit(row: QueueRow) -> str:
    return limit(row.limit) if row.limit and row.state.active else ""


@dataclass(frozen=True, slots=True)
class LimitBar:
    """The share of the limit that has passed. `near`: the limit is soon reached."""

    elapsed: int
    limit: int
    near: bool

    def at(self, width: int) -> Line:
        """Return the bar; the part that is left is dim."""
        passed = min(self.elapsed, self.limit)
        parts = [(passed, "█", "warning" if self.near else "submitted")]
        shown = bar(parts, self.limit, width)
        blank = len(shown[-1].text)
        return (*shown[:-1], Span("░" * blank, "faint"))


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
    begins = f"starts {start}"
    both = "; ".join(filter(None, (row.reason, begins)))
    return line((both, style)), line((begins, style))


def _of_several(row: QueueRow) -> tuple[Line, ...]:
    parts: list[tuple[str, str]] = []
    for state, number in row.counts:
        if parts:
            parts.append((" · ", "dim"))
        parts.append((f"{number:,} {state.value}", "failed" if state.bad else "dim"))
    if len(row.counts) == 1 and row.reason:
        return line(*parts, (f" · {row.reason}", "dim")), line(*parts)
    return (line(*parts),)


def start_text(start: int | None, now: float) -> str:
    """Return `05:40` for today, `Tue 05:40` within six days, `30 Nov`; "" if unknown."""
    if start is None or not 0 < start - now < LONGEST_WAIT:
        return ""
    at, today = time.localtime(start), time.localtime(now)
    if (at.tm_year, at.tm_yday) == (today.tm_year, today.tm_yday):
        return time.strftime("%H:%M", at)
    # After more than six days, the name of a day could mean two days.
    near = start - now < 6 * 86_400
    return time.strftime("%a %H:%M" if near else "%d %b", at)
