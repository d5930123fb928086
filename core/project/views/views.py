"""Small immutable values that screens and commands show of jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rowtui.core.mapping.model.request import WhatIf

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.schedulers.base import Job, JobState
    from rowtui.core.groups.model import Status
    from rowtui.core.mapping.files.places import FileTrust
    from rowtui.core.mapping.model.decision import Decision
    from rowtui.core.project.queue.needs import QueueNeed
    from rowtui.core.project.queue.throughput import ActionThroughput
    from rowtui.core.submission.plan.record import JobRecord


# Extra controls of a dashboard that does not show real clusters: a demo.
#
# An engine may be accompanied by a `Played`. Its badge is shown in the header, its clock may run
# faster or slower, and it can inject faults. `Engine` does not depend on `Played`.


FASTER, SLOWER, INJECT = "faster", "slower", "inject"
"""The words of `Played.control`; INJECT takes a fault as its argument."""


class PlayedState(NamedTuple):
    """The header's badge, the faults that can be injected with their effects, and the last result.

    `about`: the view that the demo is about, to which the first steps lead; "" for submitting by
    hand. `try_next`: what a user can try after this demo.
    """

    badge: str
    faults: tuple[tuple[str, str], ...] = ()
    said: str = ""
    about: str = ""
    try_next: tuple[str, ...] = ()


class Played(Protocol):
    """A simulated world with its own clock."""

    @property
    def state(self) -> PlayedState:
        """Return the last known state without waiting."""
        ...

    def results(self) -> Sequence[str]:
        """Return the results of the study as lines, once it is complete."""
        ...

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Change the clock, or inject a fault. Raises: RowtuiError."""
        ...


# Values that a screen shows of a log: some of its rows, and its known state.


ROW = 2048
"""Bytes of a row; a longer line continues in the next row."""


class LogRow(NamedTuple):
    """One row. `offset`: its start in the file; `goes_on`: the line began in a row above."""

    offset: int
    text: str
    goes_on: bool = False


class LogState(NamedTuple):
    """The known state of a log. `size`: bytes; `first`: start of the first known row.

    `generation` changes when rows get other numbers, because of another file or of rows before the
    first. `added`: how many rows the latest step backwards put before the others. `trouble`: for
    each of up to `BUCKETS` equal parts of the known part, the number of lines that look like
    errors. `error`: why the log cannot be read, or that it does not exist yet. `far`: the log is
    read over a connection.
    """

    path: str
    size: int = 0
    rows: int = 0
    first: int = 0
    generation: int = 0
    added: int = 0
    trouble: tuple[int, ...] = ()
    error: str = ""
    far: bool = False


class LogPage(NamedTuple):
    """The rows from `start` on, of this generation."""

    generation: int
    start: int
    rows: tuple[LogRow, ...]


class LogHit(NamedTuple):
    """The result of a search. `row`: None without a match; `wrapped`: past the last row."""

    generation: int
    row: int | None
    wrapped: bool = False


# The rows of a long list that a screen requests, their order, and pages of them.
#
# All are small immutable values. `rowtui.core.base.filter` defines the language of filters.


class ListRequest(NamedTuple):
    """A filter, and the column (or JSON pointer) to sort by. Empty fields change nothing."""

    filter: str = ""
    sort: str = ""
    descending: bool = False


AS_IS = ListRequest()

GROUP_FIELDS = {
    "number": "number", "#": "number", "size": "size", "dirs": "size", "sort_key": "sort_key",
    "key": "sort_key", "first": "first", "name": "first", "cpus": "cpus", "gpus": "gpus",
    "walltime": "walltime", "time": "walltime", "cost": "cost", "problem": "problem",
    "processes": "processes",
}  # fmt: skip
"""Names that the user may use for the columns of a list of groups."""

DIRECTORY_FIELDS = {
    "name": "name", "directory": "name", "status": "status", "job": "job", "detail": "detail",
    "why": "detail",
}  # fmt: skip
"""Names that the user may use for the columns of a list of directories."""


# The request of a screen to write a what-if to workflow.toml, and the answer.


class EditRequest(NamedTuple):
    """A what-if about one group (from 0) of an action, to be written to workflow.toml.

    `undo`: the token of a write that is to be reverted instead. `confirmed`: the token of exactly
    the change that the user saw and confirmed; with "", the change is only shown and not written.
    """

    action_index: int = 0
    statuses: tuple[Status, ...] = ()
    group: int = 0
    what_if: WhatIfRequest | None = None
    undo: str = ""
    confirmed: str = ""


class Edit(NamedTuple):
    """A change of workflow.toml. `diff`: its lines as in `diff -u`; `notes`: explanations.

    `refused`: why there is no change. `fields`: the fields of the what-if (cores, mem, gpus,
    walltime) that the change contains; workflow.toml does not hold the others. `token` identifies
    exactly this change of this file.
    """

    diff: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    token: str = ""
    written: bool = False
    refused: str = ""


class ClusterView(NamedTuple):
    """One cluster: its connection and the known state of its queue. Times: epoch seconds.

    `where`: "here" or `me@host`; `connected`: None where no login is needed; `login`: why the user
    has to log in, "" if no login is needed; `login_command`: the command for it. `as_of`: time of
    `jobs`, None if nothing is known yet; `next_at`: time of the next poll. `error`: why the last
    poll failed, else "". `jobs`: all of this user's jobs there, including those of other projects;
    empty in the copy for a screen. `counts`: the number of jobs in each state. `slow`: answers take
    so long that the cluster is polled less often than configured.
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
    """A job in which directories failed that may be retried.

    `name`: the scheduler's id, "" if unknown; `directories`: the number of these directories.
    """

    token: str
    name: str
    action: str
    cause: str
    directories: int


class TransferView(NamedTuple):
    """The files that a plan would copy to one cluster before its jobs are sent. `size`: bytes.

    `first`: the first paths; `unchanged`: number of files that are there already; `conflicts`:
    files that changed on both sides, which stop the submission; `back`: the files that are fetched
    when jobs have ended.
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
    """The jobs of this project, newest first. `error`: why `state` may be out of date.

    A screen receives only the newest jobs, with a summary of all: `counts`, the jobs that `ended`
    since its last poll (the first of `ended_in_all`), the jobs that need the user (`needs`), and
    the completion rates of actions (`paces`).
    """

    generation: int
    at: float
    jobs: tuple[JobRecord, ...]
    error: str = ""
    clusters: tuple[ClusterView, ...] = ()
    counts: tuple[tuple[JobState, int], ...] = ()
    ended: tuple[JobRecord, ...] = ()
    ended_in_all: int = 0
    needs: tuple[QueueNeed, ...] = ()
    paces: tuple[ActionThroughput, ...] = ()

    @property
    def total(self) -> int:
        """Return the number of this project's jobs."""
        return sum(number for _, number in self.counts) if self.counts else len(self.jobs)

    @property
    def states(self) -> dict[JobState, int]:
        """Return the number of jobs in each state."""
        return dict(self.counts) or dict(Counter(job.state for job in self.jobs))


class LogTail(NamedTuple):
    """The end of a job's log. `path`: as the user would type it; `error`: why it cannot be read."""

    path: str
    size: int
    lines: tuple[str, ...]
    error: str = ""


class WhatIfRequest(NamedTuple):
    """The user's what-if about a job: other amounts and tags, or another user."""

    change: WhatIf = WhatIf()
    user: str | None = None
    roles: tuple[str, ...] | None = None


class PlacementExplanation(NamedTuple):
    """Where one group's job would go, and why. `decision` is None if `problem` states why not.

    `files`: the mapping files in effect (none: the cluster's partitions alone). `loads_at`: epoch
    seconds of the known queue loads, 0 for none. `measured`: what the action's measured jobs would
    request, None if they are fewer than 5 or request it already; `measured_jobs`: how many there
    are.
    """

    generation: int
    action_index: int
    group: int  # numbered from 1
    groups: int
    directories: int
    first: str
    decision: Decision | None
    files: tuple[FileTrust, ...] = ()
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    loads_at: float = 0.0
    problem: str = ""
    measured: WhatIf | None = None
    measured_jobs: int = 0
