"""What the queue view works out from the queues: they may be long, so once for each answer.

The engine gives the same tuple of jobs until a cluster was asked again; what was worked out from
it holds as long.
"""

from __future__ import annotations

from rowtui.core.clusters.schedulers.base import Job
from rowtui.core.engine import JobsView
from rowtui.tui.render.clusters import Counts, counted
from rowtui.tui.render.jobs import Other, other_jobs, sort_others


class QueueDigest:
    """Counts by cluster, and the jobs that are not this project's, newest first."""

    def __init__(self) -> None:
        self.counts: dict[str, Counts] = {}
        self.others: list[Other] = []
        self._queues: dict[str, tuple[Job, ...]] = {}
        self._ours: list[tuple[str, int, int | None]] = []
        self._sorted: tuple[str, bool, list[Other]] | None = None

    def look_at(self, view: JobsView | None) -> None:
        """Take in an answer."""
        queues = {one.name: one.jobs for one in view.clusters} if view else {}
        ours = [(job.record.cluster, *job.record.key) for job in view.jobs] if view else []
        old = self._queues
        same = {name for name, jobs in queues.items() if old.get(name) is jobs}
        if len(same) == len(queues) == len(old) and ours == self._ours:
            return
        self._queues, self._ours, self._sorted = queues, ours, None
        self.counts = {
            name: self.counts[name] if name in same else counted(jobs)
            for name, jobs in queues.items()
        }
        self.others = other_jobs(view) if view else []

    def sorted_others(self, by: str, reverse: bool) -> list[Other]:
        """The others in one of the orders of the list."""
        if self._sorted is None or self._sorted[:2] != (by, reverse):
            self._sorted = (by, reverse, sort_others(self.others, by, reverse))
        return self._sorted[2]
