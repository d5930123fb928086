"""What a job waits for: one way from it to what has to happen first, and how much else there is.

Takes the job graph; gives a bounded path. Of several jobs that a job waits for, the way leads to
the one that is nearest to the cause: a lost one first, then one that is with a scheduler, one that
is ready, one that waits itself. A job that is lost leads to what was lost by itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from rowtui.core.errors import RowtuiError
from rowtui.core.network.growth import Growth
from rowtui.core.network.job_model import JobState
from rowtui.core.runs.views import Waits, WaitStep

MOST_STEPS: Final = 50
MOST_LOOKED_AT: Final = 100_000  # dependencies of one job
_NEAREST: Final = (
    JobState.FAILED,
    JobState.CANCELLED,
    JobState.MISSING,
    JobState.ACTIVE,
    JobState.READY,
    JobState.WAITING,
)


def waits_of(growth: Growth, job: int) -> Waits:
    """What this job waits for. Raises: RowtuiError for a job that is not there."""
    if not 0 <= job < len(growth.graph):
        raise RowtuiError(f"there is no job {job} in the network now", "look at its samples again")
    needs = _open(growth, job)
    counts = Counter((growth.where(it).node, _word(growth, it)) for it in needs)
    steps = [_step(growth, job, len(needs))]
    seen, here = {job}, job
    while len(steps) < MOST_STEPS:
        ahead = [it for it in _open(growth, here) if it not in seen]
        if not ahead:
            break
        here = min(ahead, key=lambda it: (_NEAREST.index(growth.graph.state(it)), it))
        seen.add(here)
        steps.append(_step(growth, here, len(_open(growth, here))))
    cut = len(steps) == MOST_STEPS and bool(_open(growth, here))
    every = tuple((node, state, many) for (node, state), many in sorted(counts.items()))
    return Waits(tuple(steps), every, cut)


def _open(growth: Growth, job: int) -> list[int]:
    """What keeps a job from running: nothing for one that runs, is ready, or is over by itself."""
    graph = growth.graph
    state = graph.state(job)
    if state in (JobState.CANCELLED, JobState.MISSING):
        return [it for it in graph.root_causes(job) if it != job][:MOST_LOOKED_AT]
    if state is not JobState.WAITING:
        return []
    needed = graph.dependencies(job)[:MOST_LOOKED_AT]
    return [it for it in needed if graph.state(it) is not JobState.COMPLETE]


def _step(growth: Growth, job: int, open_: int) -> WaitStep:
    graph = growth.graph
    return WaitStep(
        job, growth.where(job).node, growth.directory(job), _word(growth, job), graph.reason(job),
        open_,
    )  # fmt: skip


def _word(growth: Growth, job: int) -> str:
    return growth.graph.state(job).name.lower()
