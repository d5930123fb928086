"""What can be done to jobs: the words for it, for which states it makes sense, and why not else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.engine import JobView


class JobVerb(NamedTuple):
    """One of them. `none`: why it is nothing for several jobs."""

    word: str
    done: str
    may: Callable[[JobState], bool]
    none: str

    def why_not(self, jobs: Sequence[JobView]) -> str:
        """Why it can't be done to any of these jobs, or ""."""
        if not jobs or any(self.may(job.state) for job in jobs):
            return ""
        if len(jobs) > 1:
            return self.none
        state = jobs[0].state
        if state is JobState.UNKNOWN:
            return "the state of the job is not known"
        if self is RESUBMIT:
            return "the job has not ended" if state.active else "the job did not fail"
        if not state.active:
            return "the job has ended"
        if state is JobState.HELD:
            return "the job is held already"
        if self is RELEASE:
            return "the job is not held"
        return "only a job that waits can be held"


CANCEL = JobVerb("cancel", "cancelled", lambda state: state.active, "the marked jobs have ended")
HOLD = JobVerb("hold", "held", lambda state: state is JobState.PENDING, "no marked job waits")
RELEASE = JobVerb(
    "release", "released", lambda state: state is JobState.HELD, "no marked job is held"
)
RESUBMIT = JobVerb("resubmit", "resubmitted", lambda state: state.bad, "no marked job failed")
