"""What screens and commands show of jobs: small immutable values."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.errors import Problem
from rowtui.core.mapping.decision import Decision
from rowtui.core.mapping.request import WhatIf
from rowtui.core.submission.model import JobRecord


class JobView(NamedTuple):
    """One row of the jobs screen: our record and what the scheduler last said."""

    record: JobRecord
    state: JobState
    reason: str = ""
    elapsed: int | None = None
    limit: int | None = None
    nodes: str = ""
    start_estimate: int | None = None


class ClusterView(NamedTuple):
    """One cluster: how it is reached, and what is known of its queue. Times: epoch seconds.

    `where`: "here" or `me@host`; `connected`: None where nobody has to log in; `login`: why a
    person is needed, "" if none is; `login_command`: what that person can type. `as_of`: of
    `jobs`, None if nothing is known yet; `next_at`: of the next look. `error`: why the last look
    failed, else "". `jobs`: all of this user's there, also those that are not of this project.
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


class JobsView(NamedTuple):
    """The jobs of this project, newest first. `error`: why `state` may be out of date."""

    generation: int
    at: float
    jobs: tuple[JobView, ...]
    error: str = ""
    clusters: tuple[ClusterView, ...] = ()


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

    `files`: the mapping files that count (none: the cluster's partitions alone); `loads_at`: epoch
    seconds of what is known of the queues, 0 for nothing.
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
