"""What screens and commands show of jobs: small immutable values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.mapping.request import WhatIf

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import Job, JobState
    from rowtui.core.errors import Problem
    from rowtui.core.mapping.decision import Decision
    from rowtui.core.mapping.decision_json import Loads
    from rowtui.core.project.pace import Pace
    from rowtui.core.project.queue_needs import QueueNeed
    from rowtui.core.submission.model import JobRecord


class JobView(NamedTuple):
    """One row of the jobs screen: our record and what the scheduler last said.

    `directories`: how many the job has, where the record only has the first of them.
    """

    record: JobRecord
    state: JobState
    reason: str = ""
    elapsed: int | None = None
    limit: int | None = None
    nodes: str = ""
    start_estimate: int | None = None
    directories: int = -1

    @property
    def size(self) -> int:
        """How many directories the job has."""
        return len(self.record.directories) if self.directories < 0 else self.directories


class ClusterView(NamedTuple):
    """One cluster: how it is reached, and what is known of its queue. Times: epoch seconds.

    `where`: "here" or `me@host`; `connected`: None where nobody has to log in; `login`: why a
    person is needed, "" if none is; `login_command`: what that person can type. `as_of`: of
    `jobs`, None if nothing is known yet; `next_at`: of the next look. `error`: why the last look
    failed, else "". `jobs`: all of this user's there, also those that are not of this project;
    empty in what a screen gets. `counts`: how many of them are in which state.
    `slow`: its answers take so long that it is asked more seldom than it was set.
    """

    name: str
    scheduler: str
    where: str = "here"
    connected: bool | None = None
    login: str = ""
    login_command: str = ""
    as_of: float | None = None
    next_at: float = 0.0
    error: str = ""
    jobs: tuple[Job, ...] = ()
    counts: tuple[tuple[JobState, int], ...] = ()
    slow: bool = False


class FailedJob(NamedTuple):
    """A job at which directories failed that may be tried again.

    `name`: what its scheduler called it, "" if that is not known; `directories`: how many of them.
    """

    token: str
    name: str
    action: str
    cause: str
    directories: int


class TransferView(NamedTuple):
    """What a plan would copy to one cluster before its jobs are sent. `size`: bytes.

    `first`: the first paths; `unchanged`: files that are there already; `conflicts`: files that
    changed on both sides, which stop the submission; `back`: what is fetched when jobs have ended.
    """

    cluster: str
    place: str
    files: int
    size: int
    first: tuple[str, ...] = ()
    unchanged: int = 0
    conflicts: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


class EndedJob(NamedTuple):
    """A job that has ended since the last look."""

    token: str
    label: str
    action: str
    state: JobState
    reason: str = ""


class JobsView(NamedTuple):
    """The jobs of this project, newest first. `error`: why `state` may be out of date.

    A screen gets the newest of the jobs only, and what it needs of all of them: `counts`, those
    that `ended` since its last look (the first of `ended_in_all`), what `needs` a person, and how
    fast actions complete (`paces`).
    """

    generation: int
    at: float
    jobs: tuple[JobView, ...]
    error: str = ""
    clusters: tuple[ClusterView, ...] = ()
    counts: tuple[tuple[JobState, int], ...] = ()
    ended: tuple[EndedJob, ...] = ()
    ended_in_all: int = 0
    needs: tuple[QueueNeed, ...] = ()
    paces: tuple[Pace, ...] = ()

    @property
    def total(self) -> int:
        """How many jobs of this project there are."""
        return sum(number for _, number in self.counts) if self.counts else len(self.jobs)

    @property
    def states(self) -> dict[JobState, int]:
        """How many of them are in which state."""
        return dict(self.counts) or dict(Counter(job.state for job in self.jobs))


class LogTail(NamedTuple):
    """The end of a job's log. `path` as people would type it; `error` when it can't be read."""

    path: str
    size: int
    lines: tuple[str, ...]
    error: str = ""


class WhatIfAsked(NamedTuple):
    """What someone wonders about a job: other amounts and tags, or another user."""

    change: WhatIf = WhatIf()
    user: str | None = None
    roles: tuple[str, ...] | None = None


class Explanation(NamedTuple):
    """Where one group's job would go and why. `decision` is None where `problem` says why not.

    `files`: the mapping files that count (none: the cluster's partitions alone), and `trusted`
    whether each is, and because of what; `loads_at`: epoch seconds of what is known of the queues,
    0 for nothing; `loads`: how busy the decision's destinations are, by cluster and partition.
    """

    generation: int
    action_index: int
    group: int  # from 1
    groups: int
    directories: int
    first: str
    decision: Decision | None
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    loads_at: float = 0.0
    problem: str = ""
    trusted: tuple[tuple[bool, str], ...] = ()
    loads: Loads = {}
