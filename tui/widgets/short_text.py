"""Durations, ages, costs and states as short text and marks for the user."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import hours as hours_text
from rowtui.core.base.text import in_words, si
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.groups.model import Status
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.model import RunStatus
from rowtui.core.workflow.duration import format_duration
from rowtui.tui.widgets.cells import line

if TYPE_CHECKING:
    from rowtui.core.base.text import Cost
    from rowtui.tui.widgets.cells import Line


class Mark(NamedTuple):
    """The glyph, word and style name of a state, in this order of importance."""

    glyph: str
    word: str
    style: str

    @property
    def spans(self) -> Line:
        """The spans of `✓ completed`."""
        return line((f"{self.glyph} {self.word}", self.style))


STATUS_MARKS = {
    Status.COMPLETED: Mark("✓", "completed", "completed"),
    Status.SUBMITTED: Mark("▶", "submitted", "submitted"),
    Status.FAILED: Mark("✗", "failed", "failed"),
    Status.NOT_REACHED: Mark("◌", "not reached", "warning"),
    Status.CANCELLED: Mark("⊘", "cancelled", "warning"),
    Status.ELIGIBLE: Mark("○", "eligible", "eligible"),
    Status.WAITING: Mark("·", "waiting", "waiting"),
}

JOB_MARKS = {
    JobState.HELD: Mark("·", "held", "waiting"),
    JobState.PENDING: Mark("·", "pending", "waiting"),
    JobState.RUNNING: Mark("▶", "running", "submitted"),
    JobState.SUSPENDED: Mark("▲", "suspended", "warning"),
    JobState.COMPLETING: Mark("▶", "completing", "submitted"),
    JobState.COMPLETED: Mark("✓", "completed", "completed"),
    JobState.FAILED: Mark("✗", "failed", "failed"),
    JobState.TIMEOUT: Mark("✗", "timeout", "failed"),
    JobState.CANCELLED: Mark("⊘", "cancelled", "warning"),
    JobState.OUT_OF_MEMORY: Mark("✗", "out of memory", "failed"),
    JobState.NODE_FAIL: Mark("✗", "node failed", "failed"),
    JobState.PREEMPTED: Mark("✗", "preempted", "failed"),
    JobState.LOST: Mark("✗", "lost", "failed"),
    JobState.REFUSED: Mark("✗", "refused", "failed"),
    JobState.NOT_REACHED: Mark("◌", "not reached", "warning"),
    JobState.NEVER_SENT: Mark("○", "never sent", "warning"),
    JobState.RESERVED: Mark("·", "reserved", "waiting"),
    JobState.UNKNOWN: Mark("▲", "unknown", "warning"),
}

GRAPH_MARKS = {
    GraphJobState.COMPLETED: Mark("✓", "completed", "completed"),
    GraphJobState.SUBMITTED: Mark("▶", "submitted", "submitted"),
    GraphJobState.ELIGIBLE: Mark("○", "eligible", "eligible"),
    GraphJobState.WAITING: Mark("·", "waiting", "waiting"),
    GraphJobState.FAILED: Mark("✗", "failed", "failed"),
    GraphJobState.CANCELLED: Mark("⊘", "cancelled", "warning"),
    GraphJobState.BLOCKED: Mark("╳", "blocked", "warning"),
    GraphJobState.SKIPPED: Mark("◌", "skipped", "dim"),
}
"""The states of the jobs of a network."""

RUN_MARKS = {
    RunStatus.NEW: Mark("○", "new", "eligible"),
    RunStatus.RUNNING: Mark("▶", "running", "submitted"),
    RunStatus.PAUSED: Mark("▲", "paused", "warning"),
    RunStatus.FINISHED: Mark("✓", "finished", "completed"),
    RunStatus.FAILED: Mark("✗", "failed", "failed"),
    RunStatus.STOPPED: Mark("○", "stopped", "waiting"),
}
"""The states of a run of a network."""

HERE = Mark("●", "here", "completed")
CONNECTED = Mark("●", "connected", "completed")
APART = Mark("○", "not connected", "waiting")
CONNECTING = Mark("◐", "logging in", "submitted")
NEEDS_LOGIN = Mark("▲", "needs login", "warning")
SILENT = Mark("▲", "no answer", "warning")
UNREACHABLE = Mark("✗", "unreachable", "failed")
SLOW = Mark("◐", "slow", "warning")
"""Polled less often than configured, because the answers take long."""

WELL = (HERE, CONNECTED, SLOW)
"""The marks of clusters that answer."""

CLUSTER_MARKS = (HERE, CONNECTED, SLOW, APART, CONNECTING, NEEDS_LOGIN, SILENT, UNREACHABLE)
AWAY = Mark("·", "elsewhere", "waiting")

WARNING = Mark("▲", "warning", "warning")


def duration(seconds: float | None) -> str:
    """Return `0:12:05`, `2-03:04:00`: a time that counts; empty for None."""
    text = "" if seconds is None else format_duration(max(0, seconds))
    return text[1:] if text.startswith("0") else text


def limit(seconds: float) -> str:
    """Return `45 s`, `4 h`, `1 h 30 min`: a time that is not counted, such as a limit."""
    return f"{seconds:.0f} s" if seconds < 60 else in_words(seconds / 3600)


def age(seconds: float) -> str:
    """Return `now`, `15 s`, `3 min`, `2 h`, `5 d`: coarse, so that the text seldom changes."""
    whole = int(seconds)
    if whole < 5:
        return "now"
    if whole < 60:
        return f"{whole - whole % 5} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 48 * 3600:
        return f"{whole // 3600} h"
    return f"{whole // 86400} d"


def ago(at: float | None, now: float) -> str:
    """Return `now`, `15 s ago`; `–` if the time is unknown."""
    if at is None:
        return "–"
    old = age(max(0.0, now - at))
    return old if old == "now" else f"{old} ago"


def minutes_left(seconds: int) -> str:
    """Return `45 s`, `12 min`."""
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"


def hours_minutes_seconds(seconds: int) -> str:
    """Return `27:04:00`, without days."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def moment(at: float, now: float) -> str:
    """Return a time ahead: `about 15:20`, `about 08:30 tomorrow`, `about 23 November`."""
    then, today = time.localtime(at), time.localtime(now)
    days = (date(*then[:3]) - date(*today[:3])).days
    if days > 1:
        year = f" {then.tm_year}" if then.tm_year != today.tm_year else ""
        return f"about {then.tm_mday} {time.strftime('%B', then)}{year}"
    clock = time.strftime("%H:%M", then)
    return f"about {clock} tomorrow" if days else f"about {clock}"


def amount_of_hours(hours: float) -> str:
    """Return `7,680`, `1.8`, `0.02`: hours of CPUs or GPUs in a column."""
    return hours_text(hours) if hours < 9.95 else f"{hours:,.0f}"


def short_cost(cost: Cost) -> str:
    """Return `461K CPU-h`, `12 GPU-h`, both with `+`; `–` for a cost of zero."""
    parts = []
    if cost.cpu_hours > 0:
        parts.append(f"{hours_text(cost.cpu_hours)} CPU-h")
    if cost.gpu_hours > 0:
        parts.append(f"{hours_text(cost.gpu_hours)} GPU-h")
    return " + ".join(parts) or "–"


def cost_forms(cost: Cost) -> tuple[str, ...]:
    """Return the cost from wide to narrow, with its unit: `512 CPU-h + 12 GPU-h`, `512+12 GPU-h`.

    The unit is never a bare `h`, which would read as a duration.
    """
    full = short_cost(cost)
    if cost.gpu_hours <= 0 or cost.cpu_hours <= 0:
        return (full,)
    return (full, f"{hours_text(cost.cpu_hours)}+{hours_text(cost.gpu_hours)} GPU-h")


def file_size(size: int) -> str:
    """Return `22 B`, `4 kB`."""
    text = si(size)
    return f"{text} B" if text[-1].isdigit() else f"{text[:-1]} {text[-1]}B"


def clock_time(at: float) -> str:
    """Return the local time of day, `04:51:12`."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def day(at: float) -> str:
    """Return the local date, `2026-11-19`."""
    return time.strftime("%Y-%m-%d", time.localtime(at))
