"""What the list of all jobs is made of: jobs, whosever they are, and arrays and bundles of them.

Takes what the scheduler says of a job, or the project's own view of it; gives its columns by name.
Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.project.queue_views import QueueRow, RowKey
from rowtui.core.project.views import JobView


class Foreign(NamedTuple):
    """A job of somebody else on a cluster."""

    cluster: str
    user: str
    job: Job


class Entry:
    """One job of the list. `whose`: 0 this project's, 1 this person's, 2 somebody else's."""

    __slots__ = ("_words", "cluster", "job", "key", "seen", "state", "user", "view", "whose")

    def __init__(
        self,
        key: RowKey,
        whose: int,
        *,
        job: Job | None = None,
        view: JobView | None = None,
        user: str = "",
    ) -> None:
        self.key = key
        self.cluster = key.cluster
        self.whose = whose
        self.job = job
        self.view = view
        self.user = user
        seen = view if view is not None else job
        assert seen is not None
        self.seen: Job | JobView = seen  # what says state, reason, times, nodes
        self.state = seen.state
        self._words = ""

    @property
    def word(self) -> str:
        """The word for it."""
        return self.state.value

    @property
    def id(self) -> int:
        """The scheduler's number."""
        return self.view.record.job_id if self.view is not None else self.key.id

    @property
    def number(self) -> int:
        """Of the task, or in the bundle; 0 for others."""
        return self.key.task or 0

    @property
    def label(self) -> str:
        """`4711`, `4711_3`, `4711.3`, `–` as long as it has none."""
        if self.view is not None:
            return self.view.record.label if self.view.record.job_id else "–"
        assert self.job is not None
        return str(self.job.key)

    @property
    def name(self) -> str:
        """The action, of other jobs the name."""
        if self.view is not None:
            return self.view.record.action
        assert self.job is not None
        return self.job.name

    @property
    def partition(self) -> str:
        """Where it is."""
        if self.view is not None:
            return self.view.record.partition
        assert self.job is not None
        return self.job.partition

    @property
    def nodes(self) -> str:
        """On which nodes it runs."""
        return self.seen.nodes

    @property
    def reason(self) -> str:
        """Why it waits, or how it ended."""
        if self.view is not None and self.view.record.end_reason:
            return self.view.record.end_reason
        return self.seen.reason

    @property
    def first(self) -> str:
        """Its first directory."""
        names = self.view.record.directories if self.view is not None else ()
        return names[0] if names else ""

    @property
    def size(self) -> int:
        """How many directories it has."""
        return self.view.size if self.view is not None else 0

    @property
    def elapsed(self) -> int:
        """For how long it runs, or ran."""
        return self.seen.elapsed or 0

    @property
    def limit(self) -> int:
        """How long it may run; 0 if nobody says."""
        return self.seen.limit or 0

    @property
    def left(self) -> int:
        """Seconds to its limit while it runs; a great number for others."""
        seen = self.seen
        if seen.state is not JobState.RUNNING or seen.limit is None:
            return 1 << 40
        return seen.limit - (seen.elapsed or 0)

    @property
    def words(self) -> str:
        """Everything that is shown of it, in lower case; put together when it is first wanted."""
        if not self._words:
            job, word = self.job, self.state.value
            if self.view is None and job is not None:  # most of a long queue
                number = job.id if job.task is None else f"{job.id}_{job.task}"
                said = f"{job.name}\n{job.partition}\n{job.nodes}\n{job.reason}\n{self.user}"
                self._words = f"{self.cluster}\n{number}\n{word}\n{said}".lower()
            else:
                said = f"{self.name}\n{self.first}\n{self.partition}\n{self.nodes}\n{self.reason}"
                self._words = f"{self.cluster}\n{self.label}\n{word}\n{said}".lower()
        return self._words


class Fold:
    """An array or a bundle as one row: those of its jobs that are listed.

    `row`: as it is shown, once somebody has looked at it.
    """

    __slots__ = ("entries", "key", "row")

    def __init__(self, key: RowKey, entries: list[Entry]) -> None:
        self.key = key
        self.entries = entries
        self.row: QueueRow | None = None

    @property
    def whose(self) -> int:
        """As its jobs."""
        return self.entries[0].whose


Listed = Entry | Fold
"""What a row is."""
