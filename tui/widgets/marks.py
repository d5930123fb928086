"""Every state as glyph, word and colour, in this order of importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.engine.api.engine import GraphJobState
from rowtui.core.groups.model import Status
from rowtui.tui.widgets.cells import line

if TYPE_CHECKING:
    from rowtui.tui.widgets.cells import Line


class Mark(NamedTuple):
    """The appearance of a state. `style` is the name of a style."""

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
    GraphJobState.SKIPPED: Mark("◌", "skipped", "dim"),
}
"""The states of the jobs of a network."""

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
