"""The one record of a job, from its plan to its end; all lists, sums and messages read it.

`sending/job_records.py` makes the records of a project's jobs from plans and journals, and adds
what the schedulers reported at the last poll. Jobs of other projects and users have only that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import (
    NO_ID,
    Job,
    JobKey,
    JobState,
    is_in_bundle,
)
from rowtui.core.clusters.schedulers.measured import Measured
from rowtui.core.submission.plan.model import OPEN, JobStep, PlannedJob
from rowtui.core.submission.plan.outcome import SCHEDULER_ENDS, JobResult, scheduler_cause

IN_LANE = "its bundle runs: it waits for its turn"
SENT_SINCE = "sent since the queue was last asked"
DRIVER_MARK = "driver-"  # begins the token of a job that drives a run

RANKS = {state: rank for rank, state in enumerate(JobState)}
"""The order of states in all lists: the most active first, and failures before good ends."""


def log_of(job: PlannedJob, key: JobKey) -> str:
    """Return the path of a job's log, relative to the project, with the scheduler's job id.

    A job of an array that was sent again on its own is no longer a task (`%A_%a` becomes one id).
    """
    if not key.id:
        return job.log_path
    return job.log_path.replace("%A_%a", str(key)).replace("%j", str(key.id))


class JobRecord(NamedTuple):
    """A job. A part that is not known yet is None or empty.

    `key`: the scheduler's id, 0 as long as there is none. `user`: who sent the job; "" for a job of
    another project of this user. `planned`: what was planned, without the script; None for a job of
    another project. `step`: how far the submission came; `submitted_at`: when the job was accepted,
    or sent if that is unknown, in epoch seconds; `note`: why the step is uncertain; `begun`: known
    for requests of bundles only, whether the request started.

    `queued`: what the scheduler reported of the job at the poll of `as_of` (epoch seconds, None:
    its queue was not polled). `end`: how the job ended; None while it may run. `measured`: what it
    used, as far as that was reported with its end. `size`: the number of its directories, of which
    a copy for a screen names only the first.
    """

    token: str
    cluster: str
    key: JobKey = JobKey(0)
    user: str = ""
    plan_id: str = ""
    planned: PlannedJob | None = None
    step: JobStep = JobStep.ACCEPTED
    submitted_at: float = 0.0
    note: str = ""
    begun: bool = False
    queued: Job | None = None
    as_of: float | None = None
    end: JobResult | None = None
    measured: tuple[Measured, ...] = ()
    size: int = 0

    @property
    def ours(self) -> bool:
        """Whether it is a job of this project."""
        return self.planned is not None

    @property
    def drives(self) -> bool:
        """Whether it is a job that drives a run of this project, and has not ended."""
        return self.token.startswith(DRIVER_MARK) and self.step in OPEN

    @property
    def job_id(self) -> int:
        """Return the scheduler's job id; 0 as long as there is none."""
        return self.key.id

    @property
    def task(self) -> int | None:
        """Return the number in an array; None for other jobs."""
        return self.key.task

    @property
    def member(self) -> int | None:
        """Return the number of a request in its bundle, from 0; None outside bundles."""
        number = self.token.rpartition("~")[2] if is_in_bundle(self.token) else ""
        return int(number) if number.isdecimal() else None

    @property
    def label(self) -> str:
        """Return the job's label, as in its log: `12`, a task `12_3`, a bundled request `12.3`.

        A job without an id has the label `–`.
        """
        if not self.key.id:
            return NO_ID
        member = self.member
        return str(self.key) if member is None else f"{self.key.id}.{member}"

    @property
    def name_at(self) -> str:
        """Return the cluster and the label, as in messages about one job."""
        return f"{self.cluster}/{self.label}"

    @property
    def action(self) -> str:
        """Return the action; "" for a job of another project."""
        return self.planned.action if self.planned is not None else ""

    @property
    def name(self) -> str:
        """Return the name with which the job was submitted."""
        if self.planned is not None:
            return self.planned.name
        return self.queued.name if self.queued is not None else ""

    @property
    def title(self) -> str:
        """Return the action; for a job of another project, its name."""
        return self.planned.action if self.planned is not None else self.name

    @property
    def directories(self) -> tuple[str, ...]:
        """Return the names of the directories, in the order in which they are processed."""
        return self.planned.directories if self.planned is not None else ()

    @property
    def partition(self) -> str:
        """Return the partition; "" if it is unknown, or the scheduler has none."""
        partition = self.queued.partition if self.queued is not None else ""
        planned = self.planned.destination.partition if self.planned is not None else ""
        return partition or planned

    @property
    def attempt(self) -> int:
        """Return the number of the attempt, from 1."""
        return self.planned.attempt if self.planned is not None else 1

    @property
    def log_path(self) -> str:
        """Return the path of the log, relative to the project; "" if it has none."""
        return log_of(self.planned, self.key) if self.planned is not None else ""

    @property
    def state(self) -> JobState:
        """Return the state that all commands and views show.

        A failed job of this project is FAILED for every cause; `reason` names the cause.
        """
        if self.end is not None:
            return self.end.outcome.state
        if self.step is JobStep.PLANNED:
            return JobState.RESERVED
        if self.queued is None or (self.ours and self.queued.state is JobState.LOST):
            return JobState.PENDING if self._sent_since else JobState.UNKNOWN
        state = self.queued.state
        return JobState.FAILED if self.ours and state in SCHEDULER_ENDS else state

    @property
    def _sent_since(self) -> bool:
        return self.queued is None and self.as_of is not None and self.as_of < self.submitted_at

    @property
    def reason(self) -> str:
        """Return why the job waits, or how it ended; "" if its state is sufficient."""
        return self.end_reason or self._scheduler_reason

    @property
    def why(self) -> str:
        """As `reason`, for a place beside the state, which is not repeated."""
        return self.reason.removeprefix(f"{self.state.value}: ")

    @property
    def cause(self) -> str:
        """As `why`, for all jobs that ended alike: without the directory in which one failed."""
        cause = self.end.cause if self.end is not None else self.note or self._scheduler_reason
        return cause.removeprefix(f"{self.state.value}: ")

    @property
    def end_reason(self) -> str:
        """Return why the job did not do its work, for the user; "" if it did, or while it runs."""
        return self.end.sentence if self.end is not None else self.note

    @property
    def _scheduler_reason(self) -> str:
        if self.end is not None:
            return ""
        if self.queued is None:
            return SENT_SINCE if self._sent_since else ""
        return scheduler_cause(self.queued) if self.ours and self.state.bad else self.queued.reason

    @property
    def seconds(self) -> float | None:
        """Return for how many seconds the job has run; None if that is unknown."""
        if self.end is not None and self.end.seconds is not None:
            return self.end.seconds
        return self.queued.elapsed if self.queued is not None else None

    @property
    def elapsed(self) -> int | None:
        """Return the whole seconds for which the job has run, rounded as in text."""
        return None if self.seconds is None else math.ceil(self.seconds)

    @property
    def limit(self) -> int | None:
        """Return the job's time limit in seconds, as its scheduler reports it."""
        return self.queued.limit if self.queued is not None else None

    @property
    def nodes(self) -> str:
        """Return where the job runs or ran; "" if that is unknown."""
        nodes = self.queued.nodes if self.queued is not None else ""
        return nodes or (self.end.node if self.end is not None else "")

    @property
    def start_estimate(self) -> int | None:
        """Return when the scheduler expects the job to start, in epoch seconds."""
        return self.queued.start_estimate if self.queued is not None and self.end is None else None

    @property
    def exit_code(self) -> int | None:
        """Return the command's exit code; None if it is unknown, or a signal ended the command."""
        return self.end.exit_code if self.end is not None else None

    @property
    def ended_at(self) -> float:
        """Return when the job ended, in epoch seconds; 0 if it runs or never ran."""
        return self.end.ended_at if self.end is not None else 0.0

    @property
    def ended_well(self) -> bool:
        """Whether the job did its work."""
        return self.end is not None and self.end.outcome.good

    def in_brief(self, most: int) -> JobRecord:
        """Return a copy for a screen, which names at most this many directories."""
        if self.planned is None:
            return self
        names = self.planned.directories[:most]
        brief = self.planned._replace(directories=names, reasons=(), basis="", requires=())
        return self._replace(planned=brief)


def shown_job(record: JobRecord) -> Job:
    """Return the job as its scheduler would report it, for an explanation of its state."""
    reported = record.queued or Job(record.job_id, record.state)
    state, end = record.state, record.end
    if end is None and state is reported.state:
        return reported
    return reported._replace(
        state=state, reason=record.why, exit_code=record.exit_code, exit_signal=None
    )
