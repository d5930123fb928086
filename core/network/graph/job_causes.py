"""Find why jobs are lost, and what was lost with a job, along the dependencies of a job graph.

Only deciding dependencies are followed: a lost strict dependency, and lost members of a slot that
can no longer have enough members. A lost member of a slot with enough others explains nothing.
"""

from __future__ import annotations

from rowtui.core.network.graph.job_edges import NO_SLOT
from rowtui.core.network.graph.job_model import GONE, KIND, LOST
from rowtui.core.network.graph.job_states import CANCELLED, JobStates


def root_causes(jobs: JobStates, job: int) -> list[int]:
    """Return the jobs that were lost by themselves and caused the loss of this job, in order."""
    kind = KIND[jobs.states[job]]
    if kind not in (LOST, GONE):
        return []
    found: list[int] = []
    seen, todo = {job}, [job]
    broken = jobs.edges.slots.broken
    while todo:
        one = todo.pop()
        if jobs.own[one] == jobs.states[one]:
            found.append(one)
            continue
        for needed, slot in jobs.edges.backward(one):
            decides = slot == NO_SLOT or broken(slot) == kind
            if decides and needed not in seen and KIND[jobs.states[needed]] == kind:
                seen.add(needed)
                todo.append(needed)
    return sorted(found)


def lost_by(jobs: JobStates, job: int) -> set[int]:
    """Return the jobs that are cancelled because of this lost job, without the job itself."""
    if KIND[jobs.states[job]] != LOST:
        return set()
    lost: set[int] = set()
    todo = [job]
    broken = jobs.edges.slots.broken
    while todo:
        for other, slot in jobs.edges.forward(todo.pop()):
            decides = slot == NO_SLOT or broken(slot) == LOST
            follows = jobs.states[other] == CANCELLED != jobs.own[other]
            if decides and follows and other not in lost:
                lost.add(other)
                todo.append(other)
    return lost
