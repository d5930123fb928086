"""What screens and commands show of jobs: small immutable values."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.submission.model import JobRecord


class JobView(NamedTuple):
    """One row of the jobs screen: our record and what the scheduler last said."""

    record: JobRecord
    state: JobState
    reason: str = ""
    elapsed: int | None = None
    limit: int | None = None
    nodes: str = ""


class JobsView(NamedTuple):
    """The jobs of this project, newest first. `error`: why `state` may be out of date."""

    generation: int
    at: float
    jobs: tuple[JobView, ...]
    error: str = ""


class LogTail(NamedTuple):
    """The end of a job's log. `path` as people would type it; `error` when it can't be read."""

    path: str
    size: int
    lines: tuple[str, ...]
    error: str = ""
