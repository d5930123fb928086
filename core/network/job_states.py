"""What follows from what: the states of a graph's jobs, and how they carry over to others.

The arithmetic of `JobGraph`, without its lock. For each job it counts the dependencies that it
waits for, those that are lost and those that are missing; a job's state follows from these counts
and from what was said of the job itself. When a job becomes another kind (open, good, lost, gone;
see `job_model`), the counts of those that need it change, and so on. What an event changed is
told by where jobs were before and after it: on the way they may be elsewhere for a moment.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.job_block import NewJobs, outlook
from rowtui.core.network.job_edges import NO_SLOT, JobEdges
from rowtui.core.network.job_model import (
    GONE,
    GOOD,
    KIND,
    LOST,
    OPEN,
    STATES,
    STRENGTH,
    Change,
    JobState,
    nothing,
)
from rowtui.core.network.ready_queue import ReadyQueue

# As plain numbers: members of an enumeration cost more in the loops below.
WAITING = int(JobState.WAITING)
READY = int(JobState.READY)
ACTIVE = int(JobState.ACTIVE)
COMPLETE = int(JobState.COMPLETE)
FAILED = int(JobState.FAILED)
CANCELLED = int(JobState.CANCELLED)
MISSING = int(JobState.MISSING)

Was = dict[int, int]  # the jobs that one event changed, with their states before it
_Todo = list[tuple[int, int, int]]  # a job, what it was to those that need it, what it is now


class JobStates:
    """States and counts of all jobs. `own` is what was said of a job itself; WAITING: nothing."""

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
        self._gone = array("i")  # dependencies and slots that are missing
        edges = self.edges
        self._columns = (  # that are looked into most: they grow, but are never others
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
        """New jobs of one node; gives those that are ready at once, which are not put in `was`."""
        first = jobs.first
        seen = outlook(jobs, np.frombuffer(self.states, np.uint8))
        states = np.where(seen.unmet == 0, np.uint8(READY), np.uint8(WAITING))
        states[seen.gone > 0] = MISSING
        states[seen.lost > 0] = CANCELLED
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
        ready = np.flatnonzero(states == READY).astype(np.int32) + np.int32(first)
        self.queue.add_many(ready)
        todo: _Todo = []
        for state in (CANCELLED, MISSING):
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
        """More dependencies of a job: each in a place among its slots, or NO_SLOT."""
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
            self.unmet[job] += 1  # as if it were open; then what it is
            kind = KIND[self.states[other]]
            if kind != OPEN:
                self._count(job, slot, OPEN, kind)
        after = [table.broken(slot) for slot in mine]
        self._lost[job] += after.count(LOST) - before.count(LOST)
        self._gone[job] += after.count(GONE) - before.count(GONE)
        todo: _Todo = []
        self._settle(job, todo, was)
        self._spread(todo, was)

    def activate(self, job: int) -> bool:
        """A job goes to a scheduler, if it is waiting or ready."""
        state = self.states[job]
        if state > READY:
            return False
        self.own[job] = ACTIVE
        self._put(job, state, ACTIVE)
        return True

    def finish(self, job: int) -> list[int]:
        """A waiting, ready or active job is complete; gives what is ready by that."""
        self.own[job] = COMPLETE
        self._put(job, self.states[job], COMPLETE)
        return self._met(job)

    def say(self, jobs: Iterable[int], word: int, was: Was) -> list[int]:
        """Something is said of jobs; gives those of which nothing as strong was said before."""
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
        """What was said of jobs holds no longer."""
        todo: _Todo = []
        for job in jobs:
            self.generation += 1
            self.own[job] = WAITING
            self._settle(job, todo, was)
        self._spread(todo, was)

    def changed(self, was: Was) -> Change:
        """What became of the jobs that an event changed."""
        change = nothing()
        states = self.states
        for job, old in was.items():
            new = states[job]
            if new == old:
                continue
            if new == READY:
                change.ready.append(job)
            elif new == CANCELLED:
                change.cancelled.append(job)
            elif new == MISSING:
                change.missing.append(job)
            if old == ACTIVE and new in (CANCELLED, MISSING):
                change.stopped.append(job)
            elif old in (CANCELLED, MISSING) and new <= ACTIVE:
                change.back.append(job)
        return change

    def _put(self, job: int, old: int, new: int) -> None:
        """The one place where the state of a job changes."""
        self.generation += 1
        self.states[job] = new
        counts = self.counts[self.node[job]]
        counts[old] -= 1
        counts[new] += 1

    def _settle(self, job: int, todo: _Todo, was: Was) -> None:
        """Give a job the state that follows, and note what that means to others."""
        old, new = self.states[job], self.own[job]
        if new in (WAITING, ACTIVE):
            if self._lost[job] or self._gone[job]:
                self.own[job] = WAITING  # should it come back, it is with no scheduler
                new = CANCELLED if self._lost[job] else MISSING
            elif new == WAITING and not self.unmet[job]:
                new = READY
        elif new == MISSING and self._lost[job]:
            new = CANCELLED
        if new == old:
            return
        self._put(job, old, new)
        was.setdefault(job, old)
        if new == READY:
            self.queue.add(job)
        if KIND[old] != KIND[new]:
            todo.append((job, KIND[old], KIND[new]))

    def _spread(self, todo: _Todo, was: Was) -> None:
        """Carry what jobs became to those that need them, and so on. In order: counts add up."""
        for job, old, new in todo:
            if old == OPEN and new == GOOD:
                for one in self._met(job):
                    was.setdefault(one, WAITING)
                continue
            for one, slot in self.edges.forward(job):
                self._weigh(one, slot, old, new)
                self._settle(one, todo, was)

    def _met(self, job: int) -> list[int]:
        """A job is complete that was open: nothing is to be weighed. Gives what is ready now."""
        unmet, states, head, following, starts, ends, targets, slot_jobs = self._columns
        ready: list[int] = []
        segment = head[job]
        while segment >= 0:
            for target in targets[starts[segment] : ends[segment]]:
                one = target if target >= 0 else slot_jobs[~target]
                left = unmet[one] - 1
                unmet[one] = left
                if not left and states[one] == WAITING:
                    self._put(one, WAITING, READY)
                    self.queue.add(one)
                    ready.append(one)
            segment = following[segment]
        return ready

    def _weigh(self, job: int, slot: int, old: int, new: int) -> None:
        """Something that a job needs was one kind and is another: count that, with its slot."""
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
        """The same, without what it means to a slot as a whole."""
        if slot == NO_SLOT:
            lost, gone, at = self._lost, self._gone, job
            self.unmet[job] += (old == GOOD) - (new == GOOD)
        else:
            lost, gone, at = self.edges.slots.lost, self.edges.slots.gone, slot
            self.unmet[job] += (new == OPEN) - (old == OPEN)
        lost[at] += (new == LOST) - (old == LOST)
        gone[at] += (new == GONE) - (old == GONE)


def _parents(jobs: NewJobs) -> NDArray[np.int32]:
    """For each new job the first that it needs; -1 without any, or where that is new as well."""
    parents = np.full(jobs.count, -1, np.int32)
    has = np.diff(jobs.starts) > 0
    parents[has] = jobs.needs[jobs.starts[:-1][has]]
    parents[parents >= jobs.first] = -1
    return parents
