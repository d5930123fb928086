"""The end of a job from all that is known of it, and its meaning for each of its directories. Pure.

`outcome_of` takes `Evidence` and returns a `JobResult`; the first row of its table that fits
decides, so that the order in which evidence arrived does not matter. `conclude.py` is its only
caller.
`directory_ends` gives the end of each directory: if a job processed its directories one by one, the
directory at which the job ended failed (or was cancelled by the user), and those after it were not
reached. A directory before it failed only if the action has products and these are missing there;
`records.without_mended` removes that reason for actions without products.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState
from rowtui.core.state.model import MISSING_PRODUCTS, LastEnd, LastOutcome
from rowtui.core.submission.plan.dependencies import NEEDS_MISSING
from rowtui.core.submission.plan.model import JobStep, PlannedJob
from rowtui.core.submission.plan.outcome import (
    CANCELLED,
    DID_NOT_START,
    LOST,
    NOT_BEGUN,
    NOT_REACHED,
    NOT_REPORTED,
    NOT_SENT,
    OUT_OF_MEMORY,
    SCHEDULER_ENDS,
    TIME_LIMIT,
    UNFINISHED,
    WITHOUT_A_WORD,
    JobOutcome,
    JobResult,
    end_by_code,
    end_by_scheduler,
    ended_by,
    killed_by,
    signal_of,
)
from rowtui.core.submission.sending.fence import Ended

# The causes that end a request of a bundle while the bundle continues; after another cause the
# request may run again with the bundle. The bundle's driver has the same rule
# (`rowtui_over_before`).
OVER = frozenset({"exit", TIME_LIMIT, OUT_OF_MEMORY})

STOPPED = frozenset({*SCHEDULER_ENDS, JobState.CANCELLED})
"""The scheduler's states that state why it ended a job, and not only that the job failed."""

_OF_WORDS = {word: outcome for outcome, word in SCHEDULER_ENDS.values()}


class Evidence(NamedTuple):
    """All that is known of a job that is over.

    `size`: the number of its directories; `incomplete`: the indices of those that are not complete;
    `has_products`: whether that can be seen. `member`: a request of a bundle; `waited`: for other
    jobs. `step`, `note`: REJECTED or ABANDONED, if the submission itself states that, and why;
    `reached`: a scheduler was asked. `job_id`: 0 for none. `began`: a fence of the job itself, or
    an end marker; `marker`: that marker. `known`: the scheduler's record of the job, or of its
    bundle; None: there is no record. `log_word`: the cause in Slurm's line in the log, "" for none.
    `cancel_asked`: the user cancelled it through rowtui. `upstream_failed`: a job that it needed
    did not end well. `log`: the path of its log, as the script names it.
    `disk_full`: the log says that a disk was full.
    """

    size: int = 1
    has_products: bool = True
    incomplete: tuple[int, ...] = ()
    member: bool = False
    waited: bool = False
    step: JobStep = JobStep.ACCEPTED
    note: str = ""
    reached: bool = True
    job_id: int = 0
    began: bool = False
    marker: Ended | None = None
    known: Job | None = None
    log_word: str = ""
    cancel_asked: bool = False
    upstream_failed: bool = False
    log: str = ""
    disk_full: bool = False

    @property
    def died(self) -> bool:
        """Whether the job was stopped, so that the directory that it was at may be half done."""
        marker = self.marker
        if marker is not None and marker.cause == "exit" and not signal_of(marker.code):
            return self.known is not None and self.known.state in STOPPED and not self.alone_ended
        if marker is not None:
            return True
        known = self.known
        if known is None or self.member or known.state in STOPPED or known.exit_signal:
            return True
        by_itself = known.exit_code and not signal_of(known.exit_code)
        return known.state is not JobState.COMPLETED and not by_itself

    @property
    def alone_ended(self) -> bool:
        """Whether a request of a bundle ended by itself, whatever became of the bundle."""
        marker = self.marker
        if marker is None or self.ended_well:
            return marker is not None
        cancelled = self.known is not None and self.known.state is JobState.CANCELLED
        return self.member and marker.cause in OVER and not (cancelled and marker.died)

    @property
    def ended_well(self) -> bool:
        """Whether the script, or else the scheduler, reports exit code 0."""
        if self.marker is not None:
            return self.marker.cause == "exit" and not self.marker.exit_code
        known = self.known
        return bool(known and known.state is JobState.COMPLETED and not known.exit_code) and (
            not self.member
        )

    @property
    def at_directory(self) -> int | None:
        """The index of the directory at which the job ended; None: not known."""
        index = self.marker.index if self.marker is not None else None
        return index if index is not None and 0 <= index < self.size else None

    @property
    def looked_at(self) -> list[int]:
        """The directories that the job processed, whose products show whether they are complete.

        Not the one in which a job was stopped: its products may be half written. If that directory
        is unknown, none; nor if no command ran.
        """
        at, marker = self.at_directory, self.marker
        idle = marker is not None and marker.command_code is None and marker.exit_code not in (0, 3)
        if not self.began or (at is None and (self.died or idle)):
            return []
        return list(range(self.size if at is None else at if self.died else at + 1))


class OverJob(NamedTuple):
    """A job that is over. `fence_at`: when it made its fence, epoch seconds, 0 if unknown."""

    job: PlannedJob
    key: JobKey
    evidence: Evidence
    fence_at: float = 0.0
    user: str = ""
    plan_id: str = ""
    submitted_at: float = 0.0


def outcome_of(it: Evidence) -> JobResult:
    """Return how a job that is over ended. The first row that fits decides.

    *Began*: a marker, or a fence of the job's own. *Died*: exit code 137 or 143, or a signal. Of a
    request of a bundle that ended by itself, the scheduler's record of the bundle says nothing.

    == =================================================================== =====================
     0 the scheduler lists it, or it may run unlisted                      open (`settle`)
     1 rejected; no scheduler was reached                                  never sent
     2 rejected                                                            refused
     3 began; the action has products, and every directory is complete     completed
     4 never began; cancel asked, or scheduler: cancelled, upstream well   cancelled
     5 given up, and no scheduler had it                                   never sent
     6 never began; upstream failed, its bundle ended, given up, or it
       waited for other jobs and the scheduler has no record               not reached
     7 never began; the scheduler has no record                            lost
     8 never began; scheduler: time limit, memory, node failed, preempted  that
     9 never began; scheduler: ended                                       not started
    10 marker: inputs missing                                              not reached
    11 marker: exit 0, or no marker and scheduler: completed;
       without products                                                    completed
    12 the same; directories lack products                                 no product
    13 scheduler: time limit, out of memory, node failed, preempted        that
    14 marker: time limit, out of memory                                   that
    15 Slurm's line in the log                                             that
    16 cancel asked, or scheduler or marker: cancelled; no marker, or died cancelled
    17 marker: signal                                                      signal
    18 marker: unfinished                                                  signal (unknown)
    19 marker: code 3, and the command did not fail                        not reported
    20 marker: the command's code                                          exit code, or signal
    21 marker: another code, no command                                    setup failed
    22 scheduler: signal, exit code                                        signal, exit code
    23 began, nothing else                                                 no report
    == =================================================================== =====================
    """
    return (_before_begin(it) if not it.began else _after_begin(it))._replace(
        incomplete=len(it.incomplete)
    )


def _before_begin(it: Evidence) -> JobResult:
    known = it.known
    if it.step is JobStep.REJECTED:
        if not it.reached:
            return ended_by(JobOutcome.NEVER_SENT, f"{NOT_SENT}{it.note}")
        return ended_by(JobOutcome.REFUSED, it.note)
    by_user = known is not None and known.state is JobState.CANCELLED and not it.upstream_failed
    if it.cancel_asked or by_user:
        return ended_by(JobOutcome.CANCELLED, it.note or CANCELLED)
    if it.step is JobStep.ABANDONED and not it.job_id:
        return ended_by(JobOutcome.NEVER_SENT, it.note)
    if it.upstream_failed or it.member or it.step is JobStep.ABANDONED:
        return ended_by(JobOutcome.NOT_REACHED, it.note or NOT_BEGUN)
    if known is None or known.state is JobState.LOST:
        if it.waited:
            return ended_by(JobOutcome.NOT_REACHED, it.note or NOT_BEGUN)
        return ended_by(JobOutcome.LOST, LOST)
    if known.state in SCHEDULER_ENDS:
        return ended_by(*SCHEDULER_ENDS[known.state])
    why = f"{DID_NOT_START}{_words_of(known, it.log)}"
    return ended_by(JobOutcome.NOT_STARTED, why, known.exit_code)


def _after_begin(it: Evidence) -> JobResult:
    marker, known = it.marker, it.known
    if it.has_products and not it.incomplete:
        return _completed(it)
    if marker is not None and marker.not_ready:
        return ended_by(JobOutcome.NOT_REACHED, NEEDS_MISSING)
    if it.ended_well:
        return _ended_well(it)
    found = known.state if known is not None and not it.alone_ended else None
    if found in SCHEDULER_ENDS:
        return ended_by(*SCHEDULER_ENDS[found])
    cause = marker.cause if marker is not None else ""
    for word in (cause, it.log_word):
        if word in _OF_WORDS:
            return ended_by(_OF_WORDS[word], word)
    by_user = it.cancel_asked or CANCELLED in (cause, it.log_word) or found is JobState.CANCELLED
    if by_user and (marker is None or marker.died or cause != "exit"):
        return ended_by(JobOutcome.CANCELLED, CANCELLED)
    if marker is not None:
        return _of_marker(it, marker)
    if known is None or it.member:
        return ended_by(JobOutcome.NO_REPORT, WITHOUT_A_WORD)
    return end_by_scheduler(known)


def _completed(it: Evidence) -> JobResult:
    """Return a good end, with the exit code or signal that the job had all the same."""
    code = it.known.exit_code if it.known is not None and not it.member else None
    if it.marker is not None:
        code = it.marker.code if it.marker.cause == "exit" else None
    signal_ = signal_of(code or 0)
    return ended_by(JobOutcome.COMPLETED, "", None if signal_ else code, signal_)


def _of_marker(it: Evidence, marker: Ended) -> JobResult:
    if marker.cause == "unfinished":
        return ended_by(JobOutcome.SIGNAL, UNFINISHED)
    if marker.cause != "exit":
        name = marker.cause.removeprefix("signal ")
        return ended_by(JobOutcome.SIGNAL, killed_by(name), None, name)
    if marker.exit_code == 3 and not marker.command_code:
        return ended_by(JobOutcome.NOT_REPORTED, NOT_REPORTED, 3)
    if marker.command_code is None:
        why = f"exit code {marker.exit_code}: the setup failed"
        return ended_by(JobOutcome.SETUP_FAILED, why, marker.exit_code)
    end = end_by_code(marker.command_code)
    if it.disk_full and end.outcome is JobOutcome.EXIT:
        end = ended_by(JobOutcome.EXIT, f"{end.cause} (a disk was full)", end.exit_code)
    return end._replace(at_directory=it.at_directory)


def _words_of(known: Job, log: str) -> str:
    """Return what a scheduler reports of the end of a job that did not begin."""
    if words := known.launch_error:
        return f"{words}: {log}" if log else words
    if known.exit_signal or known.exit_code:
        return end_by_scheduler(known).cause
    return known.reason or f"the scheduler reports '{known.state.value}'"


def _ended_well(it: Evidence) -> JobResult:
    if not (it.has_products and it.incomplete):
        return ended_by(JobOutcome.COMPLETED, "", 0)
    if it.size == 1:
        return ended_by(JobOutcome.NO_PRODUCT, MISSING_PRODUCTS, 0)
    few = f"products are missing in {len(it.incomplete)} of {it.size} directories"
    end = ended_by(JobOutcome.NO_PRODUCT, MISSING_PRODUCTS, 0)
    return end._replace(sentence=f"it ended well, but {few}")


def directory_ends(
    job: PlannedJob, job_id: int, end: JobResult, evidence: Evidence
) -> dict[str, LastEnd]:
    """Return the end at each directory, for the case that it is not complete."""
    outcome, marker, index = end.outcome, evidence.marker, evidence.at_directory
    if outcome.not_run:
        return {}

    def last(at: int) -> LastEnd:
        why, of_directory = end.cause, LastOutcome.FAILED
        if outcome.good or outcome is JobOutcome.NO_PRODUCT:
            why = MISSING_PRODUCTS
        elif index is not None and at < index:
            why = MISSING_PRODUCTS if marker is None or marker.exit_code != 3 else NOT_REPORTED
        elif outcome.by_hand:
            of_directory = LastOutcome.CANCELLED
            why = (
                CANCELLED if evidence.began or not evidence.member else f"{NOT_BEGUN}: {CANCELLED}"
            )
        elif index is not None and at > index:
            why, of_directory = f"{NOT_REACHED}{end.sentence}", LastOutcome.NOT_REACHED
        return LastEnd(job.destination.cluster, job_id, job.token, why, of_directory)

    return {name: last(at) for at, name in enumerate(job.directories)}
