"""How a job ended, and what that means for each of its directories.

Takes the job, what its script wrote down (if it did) and the scheduler's word; gives the entry
for the journal and the `Release` for the records.

A job failed on evidence: an exit code, a signal, the scheduler's word. Where a job went through its
directories one by one, the directory at which it ended failed (or was cancelled by the user), those
after it were not reached, and one before it failed only if the action has products and they are
missing there. `records.without_mended` takes that reason away from actions without products.
"""

from __future__ import annotations

from dataclasses import dataclass

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.state.model import MISSING_PRODUCTS, LastEnd, Outcome
from rowtui.core.submission.fence import NOT_REPORTED, Ended, exit_words, signal_name
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
NOT_REACHED = "not reached: "  # before the job's reason, at a directory after the one that failed

_STATES = {
    JobState.TIMEOUT: TIME_LIMIT,
    JobState.CANCELLED: CANCELLED,
    JobState.OUT_OF_MEMORY: OUT_OF_MEMORY,
    JobState.NODE_FAIL: NODE_FAILED,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended. `reason` is "" if it went well.

    `exit_code`: that of the command, or of the script if no command failed; None: not known.
    """

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
    """The ending by the script's own words if there are any, else by the scheduler's `word`."""
    reason = of_directory = word
    index = None
    if marker is not None:
        exit_code = marker.command_code if marker.command_failed else marker.exit_code
        # "time limit" and "cancelled" are better words than the signal that was used; but what
        # ended well by itself was not stopped, whatever a scheduler that crashed makes of it.
        well = marker.cause == "exit" and not marker.exit_code
        # The scheduler's word is on the whole bundle, not on a request in it that ended by itself;
        # but what died of a signal while the bundle was cancelled did so for that.
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
        """The end at one directory, for the case that it is not complete."""
        why, outcome = of_directory or MISSING_PRODUCTS, Outcome.FAILED
        if index is not None and at < index:
            why = MISSING_PRODUCTS if marker is None or marker.exit_code != 3 else NOT_REPORTED
        elif reason == CANCELLED:
            outcome = Outcome.CANCELLED
        elif index is not None and at > index:
            why, outcome = f"{NOT_REACHED}{reason}", Outcome.NOT_REACHED
        return LastEnd(job.destination.cluster, job_id, job.token, why, outcome)

    ends = {name: end(at) for at, name in enumerate(job.directories)}
    return Ending(exit_code, reason, Release(job.token, job.action, ends))


def cancelled(job: PlannedJob, job_id: int) -> Release:
    """What the user cancelled before it began."""
    why = f"{NOT_BEGUN}: {CANCELLED}"
    end = LastEnd(job.destination.cluster, job_id, job.token, why, Outcome.CANCELLED)
    return Release(job.token, job.action, dict.fromkeys(job.directories, end))


def scheduler_word(job: Job) -> tuple[int | None, str]:
    """The exit code and the reason that a scheduler gives for a job's end; "" if it went well."""
    if job.state is JobState.COMPLETED:
        return job.exit_code or 0, ""
    if job.state is JobState.LOST:
        return None, LOST
    if job.state in _STATES:
        return job.exit_code, _STATES[job.state]
    if job.exit_signal:
        name = signal_name(job.exit_signal) or str(job.exit_signal)
        return job.exit_code, f"killed (signal {name})"
    if job.exit_code:
        return job.exit_code, exit_words(job.exit_code)
    return job.exit_code, job.reason or job.state.value
