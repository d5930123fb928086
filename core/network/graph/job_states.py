"""The states of a graph's jobs, and how changes spread to dependents.

This is the arithmetic of `JobGraph`, without its lock. For each job it counts the dependencies that
the job waits for, the lost ones and the skipped ones; a job's state follows from these counts and
from the job's own events. When a job changes its kind (open, good, lost, gone; see `job_model`),
the counts of its dependents change, and so on. The changes of an event are reported by comparing
states before and after the event, because jobs may pass through other states in between.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.graph.job_edges import NO_SLOT, JobEdges, NewJobs, outlook
from rowtui.core.network.graph.job_model import (
    GONE,
    GOOD,
    KIND,
    LOST,
    OPEN,
    STATES,
    STRENGTH,
    GraphChange,
    GraphJobState,
    nothing,
)
from rowtui.core.network.graph.ready_queue import ReadyQueue

# Find why jobs are lost, and what was lost with a job, along the dependencies of a job graph.
#
# Only deciding dependencies are followed: a lost strict dependency, and lost members of a slot that
# can no longer have enough members. A lost member of a slot with enough others explains nothing.


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
    """Return the jobs that are blocked by this lost job, without the job itself."""
    if KIND[jobs.states[job]] != LOST:
        return set()
    lost: set[int] = set()
    todo = [job]
    broken = jobs.edges.slots.broken
    while todo:
        for other, slot in jobs.edges.forward(todo.pop()):
            decides = slot == NO_SLOT or broken(slot) == LOST
            if decides and jobs.states[other] == BLOCKED and other not in lost:
                lost.add(other)
                todo.append(other)
    return lost


# Plain numbers: members of an enumeration are slower in the loops below.
WAITING = int(GraphJobState.WAITING)
ELIGIBLE = int(GraphJobState.ELIGIBLE)
SUBMITTED = int(GraphJobState.SUBMITTED)
COMPLETED = int(GraphJobState.COMPLETED)
FAILED = int(GraphJobState.FAILED)
CANCELLED = int(GraphJobState.CANCELLED)
SKIPPED = int(GraphJobState.SKIPPED)
BLOCKED = int(GraphJobState.BLOCKED)
_OVER = (CANCELLED, BLOCKED, SKIPPED)

Was = dict[int, int]  # the jobs that one event changed, with their states before the event
_Todo = list[tuple[int, int, int]]  # a job, its former kind, its present kind


class JobStates:
    """States and counts of all jobs. `own` is the state from a job's own events; WAITING: none."""

    def __init__(self) -> None:
        self.generation = 0
        self.states = bytearray()
        self.own = bytearray()
        self.node = array("i")
        self.unmet = array("i")  # dependencies that the job waits for
        self.counts: list[list[int]] = []  # by node and state
        self.edges = JobEdges()
        self.queue = ReadyQueue(self.states)
        self._lost = array("i")  # dependencies and slots that are lost
        self._gone = array("i")  # dependencies and slots that are skipped
        edges = self.edges
        self._columns = (  # the columns that are read most: they grow, but are never replaced
            self.unmet,
            self.states,
            edges.head,
            edges.segment_next,
            edges.segment_start,
            edges.segment_end,
            edges.targets,
            edges.slots.job,
        )

    def append(self, node: int, jobs: NewJobs, was: Was) -> list[int]:
        """Add new jobs of one node; return the ones ready at once, which are not put in `was`."""
        first = jobs.first
        seen = outlook(jobs, np.frombuffer(self.states, np.uint8))
        states = np.where(seen.unmet == 0, np.uint8(ELIGIBLE), np.uint8(WAITING))
        states[seen.gone > 0] = SKIPPED
        states[seen.lost > 0] = BLOCKED
        self.edges.append(jobs, seen.slots)
        self.generation += 1
        self.states += states.tobytes()
        self.own += bytes(jobs.count)
        self.node.frombytes(np.full(jobs.count, node, np.int32).tobytes())
        self.unmet.frombytes(seen.unmet.tobytes())
        self._lost.frombytes(seen.lost.tobytes())
        self._gone.frombytes(seen.gone.tobytes())
        self.queue.grow(jobs.count, _parents(jobs))
        while len(self.counts) <= node:
            self.counts.append([0] * STATES)
        for state, number in enumerate(np.bincount(states, minlength=STATES).tolist()):
            self.counts[node][state] += number
        ready = np.flatnonzero(states == ELIGIBLE).astype(np.int32) + np.int32(first)
        self.queue.add_many(ready)
        todo: _Todo = []
        for state in (BLOCKED, SKIPPED):
            lost = (np.flatnonzero(states == state) + first).tolist()
            was.update(dict.fromkeys(lost, WAITING))
            todo.extend((job, OPEN, KIND[state]) for job in lost)
        self._spread(todo, was)
        at_once: list[int] = ready.tolist()
        return at_once

    def add(
        self,
        job: int,
        others: Sequence[int],
        places: Sequence[int],
        least: Mapping[int, int],
        was: Was,
    ) -> None:
        """Add dependencies to a job: each at a position among its slots, or NO_SLOT."""
        table = self.edges.slots
        self.generation += 1
        mine = table.of(job)
        before = [table.broken(slot) for slot in mine]
        for place in sorted(least):
            if place == len(mine):
                mine.append(table.add(job, least[place]))
            table.least[mine[place]] = least[place]
        for other, place in zip(others, places, strict=True):
            slot = NO_SLOT if place == NO_SLOT else mine[place]
            self.edges.add(job, other, slot)
            self.unmet[job] += 1  # count it as open first, then by its kind
            kind = KIND[self.states[other]]
            if kind != OPEN:
                self._count(job, slot, OPEN, kind)
        after = [table.broken(slot) for slot in mine]
        self._lost[job] += after.count(LOST) - before.count(LOST)
        self._gone[job] += after.count(GONE) - before.count(GONE)
        todo: _Todo = []
        self._settle(job, todo, was)
        self._spread(todo, was)

    def have_inputs(self, jobs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each of these jobs whether no dependency is open, lost or missing."""
        met: NDArray[np.bool_] = np.ones(len(jobs), np.bool_)
        for column in (self.unmet, self._lost, self._gone):
            # a copy: a growing array must not be shared
            met &= np.array(column, np.int32)[jobs] == 0
        return met

    def activate(self, job: int) -> bool:
        """Make a waiting or ready job active; return whether its state changed."""
        state = self.states[job]
        if state > ELIGIBLE:
            return False
        self.own[job] = SUBMITTED
        self._put(job, state, SUBMITTED)
        return True

    def finish(self, job: int) -> list[int]:
        """Complete a waiting, eligible or submitted job; return the jobs that become eligible."""
        self.own[job] = COMPLETED
        self._put(job, self.states[job], COMPLETED)
        return self._met(job)

    def say(self, jobs: Iterable[int], word: int, was: Was) -> list[int]:
        """Apply an event to jobs; return the jobs without an event of at least its strength."""
        todo: _Todo = []
        heard: list[int] = []
        own, strength = self.own, STRENGTH[word]
        for job in jobs:
            if strength > STRENGTH[own[job]]:
                own[job] = word
                heard.append(job)
                self._settle(job, todo, was)
        self.generation += bool(heard)
        self._spread(todo, was)
        return heard

    def take_back(self, jobs: Iterable[int], was: Was) -> None:
        """Undo the own events of jobs."""
        todo: _Todo = []
        for job in jobs:
            self.generation += 1
            self.own[job] = WAITING
            self._settle(job, todo, was)
        self._spread(todo, was)

    def changed(self, was: Was) -> GraphChange:
        """Return the changes of the jobs that an event touched."""
        change = nothing()
        states = self.states
        for job, old in was.items():
            new = states[job]
            if new == old:
                continue
            if new == ELIGIBLE:
                change.ready.append(job)
            elif new in (CANCELLED, BLOCKED):
                change.cancelled.append(job)
            elif new == SKIPPED:
                change.skipped.append(job)
            if old == SUBMITTED and new in _OVER:
                change.stopped.append(job)
            elif old in _OVER and new <= SUBMITTED:
                change.back.append(job)
        return change

    def _put(self, job: int, old: int, new: int) -> None:
        """Change the state of a job; all changes of states go through this method."""
        self.generation += 1
        self.states[job] = new
        counts = self.counts[self.node[job]]
        counts[old] -= 1
        counts[new] += 1

    def _settle(self, job: int, todo: _Todo, was: Was) -> None:
        """Give a job the state that follows from its counts, and queue a change of its kind."""
        old, new = self.states[job], self.own[job]
        if new in (WAITING, SUBMITTED):
            if self._lost[job] or self._gone[job]:
                self.own[job] = WAITING  # if the job comes back, it is not submitted
                new = BLOCKED if self._lost[job] else SKIPPED
            elif new == WAITING and not self.unmet[job]:
                new = ELIGIBLE
        elif new == SKIPPED and self._lost[job]:
            new = BLOCKED
        if new == old:
            return
        self._put(job, old, new)
        was.setdefault(job, old)
        if new == ELIGIBLE:
            self.queue.add(job)
        if KIND[old] != KIND[new]:
            todo.append((job, KIND[old], KIND[new]))

    def _spread(self, todo: _Todo, was: Was) -> None:
        """Spread changes of kinds to dependents, in order, because counts add up."""
        for job, old, new in todo:
            if old == OPEN and new == GOOD:
                for one in self._met(job):
                    was.setdefault(one, WAITING)
                continue
            for one, slot in self.edges.forward(job):
                self._weigh(one, slot, old, new)
                self._settle(one, todo, was)

    def _met(self, job: int) -> list[int]:
        """Update the dependents of an open job that is complete now; return the ready ones."""
        unmet, states, head, following, starts, ends, targets, slot_jobs = self._columns
        ready: list[int] = []
        segment = head[job]
        while segment >= 0:
            for target in targets[starts[segment] : ends[segment]]:
                one = target if target >= 0 else slot_jobs[~target]
                left = unmet[one] - 1
                unmet[one] = left
                if not left and states[one] == WAITING:
                    self._put(one, WAITING, ELIGIBLE)
                    self.queue.add(one)
                    ready.append(one)
            segment = following[segment]
        return ready

    def _weigh(self, job: int, slot: int, old: int, new: int) -> None:
        """Count a dependency's change of kind, and its effect on the slot."""
        if slot == NO_SLOT:
            self._count(job, slot, old, new)
            return
        table = self.edges.slots
        before = table.broken(slot)
        self._count(job, slot, old, new)
        after = table.broken(slot)
        self._lost[job] += (after == LOST) - (before == LOST)
        self._gone[job] += (after == GONE) - (before == GONE)

    def _count(self, job: int, slot: int, old: int, new: int) -> None:
        """Count a dependency's change of kind, without the effect on the slot."""
        if slot == NO_SLOT:
            lost, gone, at = self._lost, self._gone, job
            self.unmet[job] += (old == GOOD) - (new == GOOD)
        else:
            lost, gone, at = self.edges.slots.lost, self.edges.slots.gone, slot
            self.unmet[job] += (new == OPEN) - (old == OPEN)
        lost[at] += (new == LOST) - (old == LOST)
        gone[at] += (new == GONE) - (old == GONE)


def _parents(jobs: NewJobs) -> NDArray[np.int32]:
    """Return for each new job its first dependency; -1 without one, or if that is also new."""
    parents = np.full(jobs.count, -1, np.int32)
    has = np.diff(jobs.starts) > 0
    parents[has] = jobs.needs[jobs.starts[:-1][has]]
    parents[parents >= jobs.first] = -1
    return parents
