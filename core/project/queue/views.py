"""Requests of the queue view, and the bounded values that it receives.

The engine holds thousands of jobs. A screen receives pages of rows, with an array or a bundle as
one row, and keys that identify rows across polls and foldings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobAnswer, JobState
from rowtui.core.clusters.schedulers.kind import CommandOutput
from rowtui.core.project.queue.rows import QueueRow, RowKey
from rowtui.core.project.views.views import FailedJob

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
"""Orders of the queue.

The first lists running, then waiting, then ended jobs, each newest first.
"""

PROJECT, MINE, EVERYBODY = "project", "mine", "everybody"
"""Whose jobs are listed; each value includes the values before it."""

MOST_MARKED = 5_000
"""Most rows that can be marked at a time; an array is one row."""

MOST_SHOWN = 50
"""Most chosen jobs, or refusals, that an answer lists."""

MOST_AGAIN = 2_000
"""Most failed jobs that are planned again at a time."""


class QueueRequest(NamedTuple):
    """The requested rows and their order.

    `whose`: one of PROJECT, MINE, EVERYBODY; `clusters`: () for all. `unfolded`: the arrays and
    bundles in which each job has its own row; if `folding` is False, the exceptions that stay
    folded. `follow`: a row whose index is requested. `only`: one of `KINDS`, or "" for all jobs.
    """

    text: str = ""
    sort: str = SORTS[0]
    descending: bool = False
    whose: str = PROJECT
    clusters: tuple[str, ...] = ()
    folding: bool = True
    unfolded: frozenset[RowKey] = frozenset()
    follow: RowKey | None = None
    only: str = ""


KINDS: Mapping[str, Callable[[JobState], bool]] = {
    "active": lambda state: state.active,
    "failed": lambda state: state.bad,
    "ended": lambda state: not (state.active or state.bad),
}
"""The kinds of jobs that are listed or marked together."""


class QueuePage(NamedTuple):
    """The rows from `start` on, of `total` rows, which stand for `jobs` jobs.

    `all_jobs`: number of jobs without the filter. `hidden`: number of the user's other jobs, if
    they are not listed. `followed`: the index of the row of `QueueRequest.follow`. `notice`: the
    missing facts, and why. `problem`: why the filter cannot be parsed; no filter is applied then.
    `kinds`: the number of jobs of each of `KINDS`, and with "" of all, without the filter.
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
    kinds: Mapping[str, int] = {}


class ChosenJob(NamedTuple):
    """A job to which a verb would be applied, or the sums of all of them.

    `cpu_hours`: those of the CPUs that it asked for, while it has run.
    """

    label: str
    title: str
    directories: int
    state: str
    cpu_hours: float


class ChosenJobs(NamedTuple):
    """The jobs to which a verb would be applied: `jobs` of `total`, the first ones, and their sums.

    `failed`: the jobs to be retried, at most MOST_AGAIN.
    """

    total: int
    jobs: int
    first: tuple[ChosenJob, ...]
    sums: ChosenJob
    failed: tuple[FailedJob, ...] = ()


class PresentTerms(NamedTuple):
    """What a change of waiting jobs begins with: `jobs` of `total` can be changed.

    `values`: by the name of a term, its present values, each with its number of jobs, the most
    frequent first. `problem`: why the other jobs that wait cannot be changed.
    """

    total: int
    jobs: int
    values: Mapping[str, tuple[tuple[int | str | None, int], ...]] = {}
    problem: str = ""


class Acted(NamedTuple):
    """The result of a verb: the number of successes, and the errors of the first failures."""

    done: int
    refused: int = 0
    answers: tuple[JobAnswer, ...] = ()


class ShellBeside(NamedTuple):
    """The command that opens a shell beside a running job, and where; no words: there is none."""

    argv: tuple[str, ...] = ()
    where: str = ""


class JobDetail(NamedTuple):
    """All details that its scheduler reports of a job. `at`: epoch seconds of the answers.

    `priority`: the sum first, then its parts. `start`: estimated start in epoch seconds, `on`: the
    estimated nodes. `ahead`: how many of the `waiting` jobs in the job's partition come before it.
    None: not requested, or unknown. `estimated`: whether these last three values were requested.
    """

    key: RowKey
    at: float
    parts: tuple[CommandOutput, ...] = ()
    priority: tuple[tuple[str, int], ...] = ()
    start: int | None = None
    on: str = ""
    ahead: int | None = None
    waiting: int | None = None
    estimated: bool = False
    problem: str = ""
