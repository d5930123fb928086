"""The operations on jobs: their words, the states in which they make sense, and the refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import JobState


class JobVerb(NamedTuple):
    """One operation on jobs. `none` is the reason why it applies to none of several jobs."""

    word: str
    done: str
    may: Callable[[JobState], bool]
    none: str

    def why_not(self, states: Mapping[JobState, int]) -> str:
        """Return why it applies to none of the jobs, or ""; `states` counts the jobs by state."""
        if not states or any(self.may(state) for state in states):
            return ""
        if sum(states.values()) > 1:
            return self.none
        [state] = states
        if state.may_change and not state.active:
            return "the state of the job is not known"
        if self is RETRY:
            return "the job has not ended" if state.active else "the job did not fail"
        if not state.active:
            return "the job has ended"
        if state is JobState.HELD:
            return "the job is held already"
        if self is RELEASE:
            return "the job is not held"
        return "only a job that waits can be held"


CANCEL = JobVerb("cancel", "cancelled", lambda state: state.active, "these jobs have ended")
HOLD = JobVerb("hold", "held", lambda state: state is JobState.PENDING, "none of these jobs waits")
RELEASE = JobVerb(
    "release", "released", lambda state: state is JobState.HELD, "none of these jobs is held"
)
RETRY = JobVerb("retry", "retried", lambda state: state.bad, "none of these jobs failed")
