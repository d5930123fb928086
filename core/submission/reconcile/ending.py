"""The end of a job, and its meaning for each of the job's directories.

The input is the job, the report of its script (if there is one) and the scheduler's report. The
result is the entry for the journal and the `ReservationRelease` for the records.

A job counts as failed only on evidence: an exit code, a signal, the scheduler's report. If a job
processed its directories one by one, the directory at which the job ended failed (or was cancelled
by the user), and the directories after it were not reached. A directory before it failed only if
the action has products and these are missing there. `records.without_mended` removes that reason
for actions without products. `remove_traces` deletes the reports that are no longer needed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy
from rowtui.core.state.model import MISSING_PRODUCTS, LastEnd, LastOutcome
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.model import JobRecord, JobStep, JournalEntry, PlannedJob
from rowtui.core.submission.sending.fence import (
    NOT_REPORTED,
    Ended,
    ended_path,
    exit_words,
    fence_path,
    killed_by,
    signal_name,
)
from rowtui.core.submission.sending.journal import Journal, end_detail
from rowtui.core.submission.sending.reservations import ReservationRelease

WITHOUT_A_WORD = "ended without a word"
LOST = "lost"  # the scheduler no longer lists the job, and the job never began
TIME_LIMIT = "time limit"
CANCELLED = "cancelled"
OUT_OF_MEMORY = "out of memory"
NODE_FAILED = "the node failed"
NOT_BEGUN = "not begun"  # a request of a bundle that ended before the request started
# The causes that end a request of a bundle while the bundle continues; after another cause the
# request may run again with the bundle. The bundle's driver has the same rule
# (`rowtui_over_before`).
OVER = frozenset({"exit", TIME_LIMIT, OUT_OF_MEMORY})
NOT_SENT = "not sent: "  # prefix of the reason why a cluster could not be reached
NOT_REACHED = "not reached: "  # prefix of the job's reason, at a directory after the failed one

_STATES = {
    JobState.TIMEOUT: TIME_LIMIT,
    JobState.CANCELLED: CANCELLED,
    JobState.OUT_OF_MEMORY: OUT_OF_MEMORY,
    JobState.NODE_FAIL: NODE_FAILED,
}
_CAUSES = _STATES.keys() - {JobState.CANCELLED}


def is_cause(word: str) -> bool:
    """Whether a scheduler's word states why a job ended, and not only that it failed."""
    return word in _STATES.values()


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a job. `reason` is "" if the job ended well.

    `exit_code`: that of the command, or of the script if no command failed; None: unknown.
    `measured`: what the job used, by its own report; `ended_at`: when that was written, in epoch
    seconds, 0 if there is no report.
    """

    exit_code: int | None
    reason: str
    release: ReservationRelease
    measured: Measured | None = None
    ended_at: float = 0.0

    @property
    def detail(self) -> str:
        """Return the detail for the journal."""
        return end_detail(self.exit_code, self.reason)


class FinishedJob(NamedTuple):
    """A job that ran and is over. `reason`: "" if it ended well; times in epoch seconds.

    `job_id`: 0 for a job that no scheduler had. `user`: who sent it; `submitted_at`: when.
    """

    job: PlannedJob
    job_id: int
    ended_at: float
    exit_code: int | None
    reason: str
    measured: tuple[Measured, ...]
    user: str = ""
    submitted_at: float = 0.0


def ended_job(
    job: PlannedJob, key: JobKey, ending: Ending, now: float, known: Job | None = None
) -> FinishedJob:
    """Return a job that is over. `known`: what its scheduler reports of it, or of its bundle."""
    measured = [] if ending.measured is None else [ending.measured]
    if known is not None:
        wall = None if job.bundle is not None or known.elapsed is None else float(known.elapsed)
        measured.append(Measured(MeasuredBy.SCHEDULER, wall, node=known.nodes))
    ended_at = ending.ended_at or now
    return FinishedJob(job, key.id, ended_at, ending.exit_code, ending.reason, tuple(measured))


def ending_of(
    job: PlannedJob, marker: Ended | None, exit_code: int | None, word: str, job_id: int
) -> Ending:
    """Return the ending from the script's own report, else from the scheduler's `word`."""
    reason = of_directory = word
    index = None
    if marker is not None:
        exit_code = marker.command_code if marker.command_failed else marker.exit_code
        # "time limit" and "cancelled" describe the end better than the signal that was used. A job
        # that ended well by itself was not stopped, even if a scheduler that crashed reports so.
        well = marker.cause == "exit" and not marker.exit_code
        # The scheduler's report concerns the whole bundle, not a request in it that ended by
        # itself. A request that died of a signal while the bundle was cancelled was cancelled, too.
        died = word == CANCELLED and marker.died
        own = job.bundle is not None and marker.cause in OVER and not died
        if marker.index is not None and 0 <= marker.index < len(job.directories):
            index = marker.index
        if word not in _STATES.values() or well or own:
            of_directory = marker.reason()
            reason = marker.reason("" if index is None else job.directories[index])
    elif job.bundle is not None:
        exit_code = None
        reason = of_directory = word if word in _STATES.values() else WITHOUT_A_WORD

    def end(at: int) -> LastEnd:
        """Return the end at one directory, for the case that it is not complete."""
        why, outcome = of_directory or MISSING_PRODUCTS, LastOutcome.FAILED
        if index is not None and at < index:
            why = MISSING_PRODUCTS if marker is None or marker.exit_code != 3 else NOT_REPORTED
        elif reason == CANCELLED:
            outcome = LastOutcome.CANCELLED
        elif index is not None and at > index:
            why, outcome = f"{NOT_REACHED}{reason}", LastOutcome.NOT_REACHED
        return LastEnd(job.destination.cluster, job_id, job.token, why, outcome)

    ends = {name: end(at) for at, name in enumerate(job.directories)}
    release = ReservationRelease(job.token, job.action, ends)
    if marker is None:
        return Ending(exit_code, reason, release)
    return Ending(exit_code, reason, release, marker.measured, marker.at)


def cancelled(job: PlannedJob, job_id: int) -> ReservationRelease:
    """Return the release of a job that the user cancelled before it began."""
    why = f"{NOT_BEGUN}: {CANCELLED}"
    end = LastEnd(job.destination.cluster, job_id, job.token, why, LastOutcome.CANCELLED)
    return ReservationRelease(job.token, job.action, dict.fromkeys(job.directories, end))


def state_of(record: JobRecord, seen: JobState | None = None) -> JobState:
    """Return the state of a project's job, as all commands and views show it.

    `seen`: the state of its scheduler job in the last poll of the queue; None if it is not there. A
    failed job is FAILED for every cause; the reason names the cause.
    """
    reason = record.end_reason
    if record.step is JobStep.ENDED:
        if not reason:
            return JobState.COMPLETED
        return JobState.CANCELLED if reason == CANCELLED else JobState.FAILED
    if record.step is JobStep.REJECTED:
        return JobState.NEVER_SENT if reason.startswith(NOT_SENT) else JobState.REFUSED
    if record.step is JobStep.ABANDONED:
        return _never_ran(record)
    if record.step is JobStep.PLANNED:
        return JobState.RESERVED
    if seen is None or seen is JobState.LOST:
        return JobState.UNKNOWN
    if seen is JobState.RUNNING and record.member is not None and not record.begun:
        return JobState.PENDING  # its bundle runs, and the request has not started
    return JobState.FAILED if seen in _CAUSES else seen


def _never_ran(record: JobRecord) -> JobState:
    reason = record.end_reason
    if not record.job_id:
        return JobState.NEVER_SENT
    if CANCELLED not in reason and reason.startswith((NOT_BEGUN, NOT_REACHED)):
        return JobState.NOT_REACHED
    return JobState.CANCELLED


def scheduler_word(job: Job) -> tuple[int | None, str]:
    """Return the exit code and reason of a job's end from the scheduler; "" for success."""
    if job.state is JobState.COMPLETED:
        return job.exit_code or 0, ""
    if job.state is JobState.LOST:
        return None, LOST
    if job.state in _STATES:
        return job.exit_code, _STATES[job.state]
    if job.exit_signal:
        name = signal_name(job.exit_signal) or str(job.exit_signal)
        return job.exit_code, killed_by(name)
    if job.exit_code:
        return job.exit_code, exit_words(job.exit_code)
    return job.exit_code, job.reason or job.state.value


def remove_traces(root: Path) -> int:
    """Remove fences and end markers of plans that are done; return the number of removed files.

    Only plans whose journal was archived are considered, because all of their jobs have ended. One
    kind of fence stays: that of a job that may have reached a scheduler and was given up. If this
    job still appears, the fence keeps it from running.

    Files of a plan whose journal cannot be read, and files that cannot be removed, stay.
    """
    journal = Journal(root)
    fences = _names(fence_path(root, "-").parent)
    endings = _names(ended_path(root, "-").parent)
    removed = 0
    for plan_id in journal.done_plan_ids() if fences or endings else ():
        try:
            entries = journal.entries(plan_id)
        except RowtuiError:
            continue
        kept = _maybe_out_there(entries)
        for token in {entry.token for entry in entries}:
            if token in fences and token not in kept:
                removed += _remove(fence_path(root, token))
            if token in endings:
                removed += _remove(ended_path(root, token))
            if is_pilot(token):
                removed += _remove_folder(root / ".row" / "rowtui" / "pilot" / token)
    return removed


def _maybe_out_there(entries: Iterable[JournalEntry]) -> set[str]:
    """Return the jobs that were given up after they were sent."""
    steps: dict[str, list[JobStep]] = {}
    for entry in entries:
        steps.setdefault(entry.token, []).append(entry.step)
    return {
        token
        for token, taken in steps.items()
        if taken[-1] is JobStep.ABANDONED and JobStep.SENDING in taken
    }


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _remove_folder(path: Path) -> int:
    removed = sum(_remove(path / name) for name in _names(path))
    with contextlib.suppress(OSError):
        os.rmdir(path)
    return removed


def _remove(path: Path) -> int:
    with contextlib.suppress(OSError):
        os.unlink(path)
        return 1
    return 0
