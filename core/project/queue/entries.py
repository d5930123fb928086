"""Elements of the list of all jobs: single jobs of any user, and folded arrays and bundles.

The input is the scheduler's or the project's own view of a job; the result has the list's columns
as attributes. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.project.queue.views import QueueRow, RowKey
from rowtui.core.project.views.views import JobView


class Foreign(NamedTuple):
    """A job of another user on a cluster."""

    cluster: str
    user: str
    job: Job


class QueueEntry:
    """One job of the list. `whose`: 0 this project's, 1 this user's, 2 another user's."""

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
        self.seen: Job | JobView = seen  # the source of state, reason, times and nodes
        self.state = seen.state
        self._words = ""

    @property
    def word(self) -> str:
        """Return the word for the job's state."""
        return self.state.value

    @property
    def id(self) -> int:
        """Return the scheduler's job id."""
        return self.view.record.job_id if self.view is not None else self.key.id

    @property
    def number(self) -> int:
        """Return the number of the array task, or in the bundle; 0 for other jobs."""
        return self.key.task or 0

    @property
    def label(self) -> str:
        """Return `4711`, `4711_3` or `4711.3`; `–` as long as the job has no id."""
        if self.view is not None:
            return self.view.record.label
        assert self.job is not None
        return str(self.job.key)

    @property
    def name(self) -> str:
        """Return the action; for jobs of other projects, the job name."""
        if self.view is not None:
            return self.view.record.action
        assert self.job is not None
        return self.job.name

    @property
    def partition(self) -> str:
        """Return the job's partition."""
        if self.view is not None:
            return self.view.record.partition
        assert self.job is not None
        return self.job.partition

    @property
    def nodes(self) -> str:
        """Return the nodes on which the job runs."""
        return self.seen.nodes

    @property
    def reason(self) -> str:
        """Return why the job waits, or how it ended."""
        return self.view.why if self.view is not None else self.seen.reason

    @property
    def first(self) -> str:
        """Return the job's first directory."""
        names = self.view.record.directories if self.view is not None else ()
        return names[0] if names else ""

    @property
    def size(self) -> int:
        """Return the job's number of directories."""
        return self.view.size if self.view is not None else 0

    @property
    def elapsed(self) -> int:
        """Return how many seconds the job has run."""
        return self.seen.elapsed or 0

    @property
    def limit(self) -> int:
        """Return the job's time limit in seconds; 0 if unknown."""
        return self.seen.limit or 0

    @property
    def left(self) -> int:
        """Return the seconds to the limit of a running job; a large number for other jobs."""
        seen = self.seen
        if seen.state is not JobState.RUNNING or seen.limit is None:
            return 1 << 40
        return seen.limit - (seen.elapsed or 0)

    @property
    def words(self) -> str:
        """Return all shown text of the job in lower case; built on first use."""
        if not self._words:
            job, word = self.job, self.state.value
            if self.view is None and job is not None:  # most jobs of a long queue
                number = job.id if job.task is None else f"{job.id}_{job.task}"
                said = f"{job.name}\n{job.partition}\n{job.nodes}\n{job.reason}\n{self.user}"
                self._words = f"{self.cluster}\n{number}\n{word}\n{said}".lower()
            else:
                said = f"{self.name}\n{self.first}\n{self.partition}\n{self.nodes}\n{self.reason}"
                self._words = f"{self.cluster}\n{self.label}\n{word}\n{said}".lower()
        return self._words


class Fold:
    """An array or a bundle as one row, with those of its jobs that are listed.

    `row`: the row for the screen, cached once it was requested.
    """

    __slots__ = ("entries", "key", "row")

    def __init__(self, key: RowKey, entries: list[QueueEntry]) -> None:
        self.key = key
        self.entries = entries
        self.row: QueueRow | None = None

    @property
    def whose(self) -> int:
        """Return whose jobs they are; see `QueueEntry`."""
        return self.entries[0].whose


Listed = QueueEntry | Fold
"""The content of one row of the list."""
