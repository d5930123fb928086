"""How a job ended, and what that means for each of its directories.

Takes the job, what its script wrote down (if it did) and the scheduler's word; gives the entry
for the journal and the `Release` for the records.
"""

from __future__ import annotations

from dataclasses import dataclass

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.state.model import Failure
from rowtui.core.submission.fence import Ended
from rowtui.core.submission.journal import end_detail
from rowtui.core.submission.model import PlannedJob
from rowtui.core.submission.reservations import Release

WITHOUT_A_WORD = "ended without a word"
LOST = "lost"  # the scheduler knows nothing of it any more, and it never began
TIME_LIMIT = "time limit"
CANCELLED = "cancelled"
OUT_OF_MEMORY = "out of memory"
NODE_FAILED = "the node failed"
NOT_BEGUN = "not begun"  # a request of a bundle that ended before its turn came
# The causes by which a request of a bundle is over while the bundle goes on; what was stopped for
# another cause may run again with the bundle. Its driver says the same (`rowtui_over_before`).
OVER = frozenset({"exit", TIME_LIMIT, OUT_OF_MEMORY})
NOT_REACHED = "not reached: "  # before the reason: of a directory after the one that failed

_STATES = {
    JobState.TIMEOUT: TIME_LIMIT,
    JobState.CANCELLED: CANCELLED,
    JobState.OUT_OF_MEMORY: OUT_OF_MEMORY,
    JobState.NODE_FAIL: NODE_FAILED,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended. `reason` is "" if it went well; `exit_code` None: not known."""

    exit_code: int | None
    reason: str
    release: Release

    @property
    def detail(self) -> str:
        """For the journal."""
        return end_detail(self.exit_code, self.reason)


def ending_of(
    job: PlannedJob, marker: Ended | None, exit_code: int | None, word: str, job_id: int
) -> Ending:
    """The ending by the script's own words if there are any, else by the scheduler's `word`.

    Of a job that went through its directories one by one, those after the one that failed were
    not reached; all that are not complete have failed.
    """
    reason = word
    if marker is not None:
        exit_code = marker.exit_code
        # "time limit" and "cancelled" are better words than the signal that was used; but what
        # ended well by itself was not stopped, whatever a scheduler that crashed makes of it.
        well = marker.cause == "exit" and not marker.exit_code
        # The scheduler's word is on the whole bundle, not on a request in it that ended by itself;
        # but what died of a signal while the bundle was cancelled did so for that.
        died = word == CANCELLED and marker.died
        own = job.bundle is not None and marker.cause in OVER and not died
        reason = word if word in _STATES.values() and not (well or own) else marker.reason
    elif job.bundle is not None:
        exit_code = None
        reason = word if word in _STATES.values() else WITHOUT_A_WORD
    failures = {}
    failed_at = marker.index if marker is not None else None
    for at, name in enumerate(job.directories):
        why = reason or "it ended well, but products are missing"
        if failed_at is not None and at > failed_at:
            why = f"{NOT_REACHED}{why}"
        failures[name] = Failure(job.destination.cluster, job_id, job.token, why)
    return Ending(exit_code, reason, Release(job.token, job.action, failures))


def scheduler_word(job: Job) -> tuple[int | None, str]:
    """The exit code and the reason that a scheduler gives for a job's end; "" if it went well."""
    if job.state is JobState.COMPLETED:
        return job.exit_code or 0, ""
    if job.state is JobState.LOST:
        return None, LOST
    if job.state in _STATES:
        return job.exit_code, _STATES[job.state]
    if job.exit_signal:
        return job.exit_code, f"killed by signal {job.exit_signal}"
    if job.exit_code:
        return job.exit_code, f"exit code {job.exit_code}"
    return job.exit_code, job.reason or job.state.value
