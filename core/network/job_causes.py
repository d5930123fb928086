"""Why jobs are lost, and what was lost with a job: walks over the dependencies of a job graph.

Only what decides is followed: a strict dependency that is lost, and lost members of a slot that can
no longer have enough. A member that a slot can do without explains nothing.
"""

from __future__ import annotations

from rowtui.core.network.job_edges import NO_SLOT
from rowtui.core.network.job_model import GONE, KIND, LOST
from rowtui.core.network.job_states import CANCELLED, JobStates


def root_causes(jobs: JobStates, job: int) -> list[int]:
    """The jobs that are lost by themselves because of which this one is; in order."""
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
    """The jobs that are cancelled because of this one, which is lost; without itself."""
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
