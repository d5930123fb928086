"""What the queue view asks for, and the bounded values that it gets back.

Thousands of jobs stay with the engine: a screen gets pages of rows, an array or a bundle as one
row, and keys by which it can name rows again whatever was polled or folded meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobAnswer, JobState
from rowtui.core.project.views import FailedJob, JobView

SORTS = (
    "active",
    "state",
    "id",
    "action",
    "elapsed",
    "left",
    "cluster",
    "partition",
    "size",
    "reason",
    "nodes",
    "first",
    "user",
)
"""Orders of the queue. The first: what runs, what waits, what ended; each newest first."""

PROJECT, MINE, EVERYBODY = "project", "mine", "everybody"
"""Whose jobs are listed; each includes the ones before it."""

MOST_MARKED = 5_000
"""Rows that can be marked at a time; an array is one row."""

MOST_SHOWN = 50
"""Jobs that a question or an answer names one by one."""

NEAR_SECONDS = 15 * 60
"""A job has this long to its limit, or a quarter of it: time to look whether it will do."""

MOST_AGAIN = 2_000
"""Failed jobs that are planned again at a time."""


class RowKey(NamedTuple):
    """What a row is, whatever its index: our token, else cluster and id; and the task.

    `folded`: the row stands for all jobs of an array or a bundle; `task` is None then.
    """

    cluster: str
    id: int
    task: int | None = None
    token: str = ""
    folded: bool = False

    @property
    def parent(self) -> RowKey | None:
        """The key of the array or bundle that this is one of, None for any other job."""
        if self.task is None:
            return None
        token = self.token.partition("~")[0].removesuffix(f".{self.task}") if self.token else ""
        return RowKey(self.cluster, self.id, None, token, folded=True)


class QueueAsked(NamedTuple):
    """Which rows, in which order.

    `whose`: one of PROJECT, MINE, EVERYBODY; `clusters`: () for all. `unfolded`: arrays and bundles
    of which every job has a row; with `folding` False it is those that have not. `follow`: a row
    whose index is wanted.
    """

    text: str = ""
    sort: str = SORTS[0]
    descending: bool = False
    whose: str = PROJECT
    clusters: tuple[str, ...] = ()
    folding: bool = True
    unfolded: frozenset[RowKey] = frozenset()
    follow: RowKey | None = None


class MarkedRow(NamedTuple):
    """A row that is marked, and how many of its jobs are in which state."""

    key: RowKey
    counts: tuple[tuple[JobState, int], ...]


class QueueRow(NamedTuple):
    """One job, or an array or bundle of them.

    Times in seconds, `start_estimate` and `as_of` (how old this knowledge is) as epoch seconds.
    `counts`: how many of its jobs are in which state. `tasks`: of a folded row, `1-64`. `view`: of
    a job of this project (of a folded row its first), with some of its directories. `open`: how
    many of its directories are not complete, -1 if that was not looked for. `inside`: it is a job
    of the array or bundle above. `silent`: its cluster did not answer when it was asked last,
    and it has not ended.
    """

    key: RowKey
    cluster: str
    label: str
    state: JobState
    name: str
    counts: tuple[tuple[JobState, int], ...] = ()
    tasks: str = ""
    size: int = 0
    first: str = ""
    partition: str = ""
    nodes: str = ""
    elapsed: int | None = None
    limit: int | None = None
    reason: str = ""
    start_estimate: int | None = None
    as_of: float | None = None
    silent: bool = False
    user: str = ""
    view: JobView | None = None
    open: int = -1
    inside: bool = False

    @property
    def jobs(self) -> int:
        """How many jobs it stands for."""
        return sum(number for _, number in self.counts)

    @property
    def marked(self) -> MarkedRow:
        """Its key and the states of its jobs."""
        return MarkedRow(self.key, self.counts)

    @property
    def ours(self) -> bool:
        """Of this project."""
        return self.view is not None

    @property
    def left(self) -> int | None:
        """Seconds to its limit, where that is near."""
        if self.state is not JobState.RUNNING or self.elapsed is None or not self.limit:
            return None
        left = self.limit - self.elapsed
        return max(0, left) if left <= min(NEAR_SECONDS, self.limit // 4) else None


class QueuePage(NamedTuple):
    """Rows `start`.. of `total`, which stand for `jobs` jobs.

    `all_jobs`: without the filter; `hidden`: the person's other jobs, where they are not listed.
    `followed`: where the row of `QueueAsked.follow` is now. `notice`: what is missing, and why.
    `problem`: why the filter cannot be read; nothing is filtered then.
    """

    total: int
    start: int
    rows: tuple[QueueRow, ...]
    jobs: int = 0
    all_jobs: int = 0
    hidden: int = 0
    followed: int | None = None
    notice: str = ""
    problem: str = ""


class ChosenJobs(NamedTuple):
    """What a verb would be done to: `jobs` of `total`; the first of them by name.

    `failed`: of those to be tried again, at most MOST_AGAIN.
    """

    total: int
    jobs: int
    lines: tuple[str, ...] = ()
    failed: tuple[FailedJob, ...] = ()


class Acted(NamedTuple):
    """What became of it: how many took it, and what was said of the first ones that did not."""

    done: int
    refused: int = 0
    answers: tuple[JobAnswer, ...] = ()


class DetailPart(NamedTuple):
    """One thing that a scheduler was asked about a job: `scontrol show job 12`.

    `fields`: name and value as the scheduler writes them. `problem`: why there is no answer.
    """

    asked: str
    fields: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class JobDetail(NamedTuple):
    """Everything that its scheduler says of a job. `at`: epoch seconds of the answers.

    `priority`: its parts, the sum first. `start`: epoch seconds of an estimate, `on`: where.
    `ahead`: how many of the `waiting` jobs in its partition go before it. None: not asked, or not
    known. `estimated`: the last three were asked for.
    """

    key: RowKey
    at: float
    parts: tuple[DetailPart, ...] = ()
    priority: tuple[tuple[str, int], ...] = ()
    start: int | None = None
    on: str = ""
    ahead: int | None = None
    waiting: int | None = None
    estimated: bool = False
    problem: str = ""
