"""What a job waits for: one path from the job to the cause, and the number of other dependencies.

Takes the job graph; gives a bounded path. Of several dependencies, the path takes the one nearest
to the cause: a lost job first, then a submitted, an eligible, and a waiting one. The path of a lost
job leads to the job that failed or was cancelled itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import JobState
from rowtui.core.runs.views import Waits, WaitStep

MOST_STEPS: Final = 50
_NAMED: Final = 3  # inputs named in a sentence
MOST_LOOKED_AT: Final = 100_000  # dependencies of one job that are examined
_NEAREST: Final = (
    JobState.FAILED,
    JobState.CANCELLED,
    JobState.SKIPPED,
    JobState.SUBMITTED,
    JobState.ELIGIBLE,
    JobState.WAITING,
)


def waits_of(growth: Growth, job: int) -> Waits:
    """Return what this job waits for. Raises: RowtuiError for an unknown job."""
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


def missing_inputs(growth: Growth, job: int) -> str:
    """Return `waits for 2 of 3 inputs: DIRECTORY (simulate, eligible), ...`, or why it is lost."""
    graph = growth.graph
    state = graph.state(job)
    missing = _open(growth, job)
    names = [
        f"{visible(growth.directory(it))} ({visible(growth.where(it).node)}, {_word(growth, it)})"
        for it in missing[:_NAMED]
    ]
    if len(missing) > _NAMED:
        names.append(f"{len(missing) - _NAMED:,} more")
    shown = ", ".join(names)
    if state is JobState.WAITING:
        total = len(graph.dependencies(job))
        return f"waits for {len(missing):,} of {plural(total, 'input')}: {shown}"
    if missing:
        return f"cannot run, as inputs are lost: {shown}"
    if state is JobState.ELIGIBLE:
        return "is eligible: 'rowtui network make' or 'rowtui network run' makes its directory"
    why = graph.reason(job)
    return f"is {_word(growth, job)}" + (f": {visible(why)}" if why else "")


def _open(growth: Growth, job: int) -> list[int]:
    """Return the jobs that keep a job from running; none if it runs, may run, or ended itself."""
    graph = growth.graph
    state = graph.state(job)
    if state in (JobState.CANCELLED, JobState.SKIPPED):
        return [it for it in graph.root_causes(job) if it != job][:MOST_LOOKED_AT]
    if state is not JobState.WAITING:
        return []
    needed = graph.dependencies(job)[:MOST_LOOKED_AT]
    return [it for it in needed if graph.state(it) is not JobState.COMPLETED]


def _step(growth: Growth, job: int, open_: int) -> WaitStep:
    graph = growth.graph
    return WaitStep(
        job, growth.where(job).node, growth.directory(job), _word(growth, job), graph.reason(job),
        open_,
    )  # fmt: skip


def _word(growth: Growth, job: int) -> str:
    return growth.graph.state(job).name.lower()
