"""The job graph of a run: jobs numbered as they come, their states, and which are ready.

It takes blocks of new jobs and what is said of jobs (with a scheduler, complete, failed, ...), and
gives what followed. It grows while it runs, and numbers never change. It may be read, extended and
told things by several threads at the same time: each method is one step for all others; hold `lock`
around several that belong together. A job that makes a list ends in this order: extend the graph by
the list's jobs (which need it), add them to the dependencies of whoever collects them, then
`complete` it, so that no collector becomes ready in between. Source: Fastr's documentation, Job DAG
(thread-safe, extended while read, forward and backward links; on finished: newly ready jobs, or
cancelled ones taken away).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network import job_causes
from rowtui.core.network.job_block import new_jobs
from rowtui.core.network.job_edges import NO_SLOT
from rowtui.core.network.job_model import (
    GONE,
    KIND,
    LOST,
    MOST,
    Block,
    Change,
    Edges,
    Extended,
    JobGraphError,
    JobState,
    LeftOut,
    Snapshot,
)
from rowtui.core.network.job_states import (
    ACTIVE,
    CANCELLED,
    COMPLETE,
    FAILED,
    MISSING,
    READY,
    WAITING,
    JobStates,
    Was,
)

_Jobs = int | Iterable[int]


class JobGraph:
    """Jobs that need others. See the module."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._jobs = JobStates()
        self._reasons: dict[int, str] = {}

    # -- growing -----------------------------------------------------------------------------------

    def extend(self, *blocks: Block) -> Extended:
        """Add new jobs: all blocks, or none if one is refused.

        What is complete already need not be waited for; what is lost cancels at once. New jobs
        have the rank of the first that they need, until ranks are set that include them.
        Raises: JobGraphError (numbers that cannot be, jobs that would need later ones).
        """
        with self.lock:
            first = len(self._jobs.states)
            checked = []
            for block in blocks:
                checked.append((block.node, new_jobs(block, first)))
                first += block.count
            edges = self._jobs.edges.number + sum(len(jobs.needs) for _, jobs in checked)
            if first > MOST or edges > MOST:
                raise JobGraphError(f"a job graph has at most {MOST:,} jobs and dependencies")
            was: Was = {}
            ready = [job for node, jobs in checked for job in self._jobs.append(node, jobs, was)]
            ranges = tuple(range(jobs.first, jobs.first + jobs.count) for _, jobs in checked)
            change = self._jobs.changed(was)
            change.ready.extend(ready)
            return Extended(ranges, change)

    def add_dependencies(
        self,
        job: int,
        others: Sequence[int],
        slots: Sequence[int] = (),
        least: Mapping[int, int] | None = None,
    ) -> Change:
        """A job that still waits comes to need others as well.

        `slots`: for each of them -1, or which of the job's slots it is in, counted from 0; `least`
        gives the slots named in it a new least number of members, and makes those that are new.
        One that failed or was given up, is cancelled or is missing may get more, too: it needs
        that when it is tried again, and one that is lost because of what it needs comes back if
        that is enough.
        Raises: JobGraphError (the job is ready, active or complete; a circle; no such slot).
        """
        with self.lock:
            self._check([job, *others])
            state = self._jobs.states[job]
            if state in (READY, ACTIVE, COMPLETE):
                raise JobGraphError(
                    f"job {job} is {_name(state)}: what it needs cannot change",
                    "add to what a job needs before all that it needs by then is complete",
                )
            places = slots if len(slots) else [NO_SLOT] * len(others)
            self._refuse_places(job, others, places, least or {})
            self._refuse_circle(job, others)
            was: Was = {}
            self._jobs.add(job, others, places, least or {}, was)
            return self._jobs.changed(was)

    def _refuse_places(
        self, job: int, others: Sequence[int], places: Sequence[int], least: Mapping[int, int]
    ) -> None:
        """Raise unless the slots are there, or are new and follow those that are."""
        if len(places) != len(others):
            raise JobGraphError(f"{len(places)} slots for {len(others)} dependencies")
        number = len(self._jobs.edges.slots.of(job))
        named = sorted(least)
        new = [place for place in named if place >= number]
        after = number + len(new)
        if (
            new != list(range(number, after))
            or any(place < 0 or least[place] < 0 for place in named)
            or any(not NO_SLOT <= place < after for place in places)
        ):
            raise JobGraphError(
                f"job {job} has {number} slots: these cannot all be its: "
                + ", ".join(map(str, sorted({*places, *least}))),
                "slots count from 0, and a new one needs its least number of members",
            )

    def _refuse_circle(self, job: int, others: Sequence[int]) -> None:
        needed = set(others)
        seen, todo = {job}, [job]
        while todo:
            one = todo.pop()
            if one in needed:
                raise JobGraphError(f"job {job} cannot need {one}, which needs it")
            for other, _ in self._jobs.edges.forward(one):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)

    # -- what is said of jobs ----------------------------------------------------------------------

    def activate(self, jobs: _Jobs) -> list[int]:
        """Jobs go to a scheduler, ready ones or (in a chain that it holds) waiting ones.

        Gives those that do: not those that are with one already, nor those that are over. Whoever
        gets a job's number here, and nobody else, submits it.
        """
        with self.lock:
            return [job for job in self._check(jobs) if self._jobs.activate(job)]

    def complete(self, jobs: _Jobs) -> Change:
        """Jobs are complete, wherever they were (people may run them by hand)."""
        with self.lock:
            numbers = self._check(jobs)
            states, finish = self._jobs.states, self._jobs.finish
            ready: list[int] = []
            over: list[int] = []
            for job in numbers:
                if states[job] <= ACTIVE:  # nearly all: the shortest way
                    ready += finish(job)
                else:
                    over.append(job)
            if len(numbers) == 1 and not over:
                return Change(ready, [], [], [], [])
            change = self._say(over, COMPLETE)
            change.ready.extend(job for job in ready if states[job] == READY)
            return change

    def fail(self, jobs: _Jobs, reason: str = "") -> Change:
        """Jobs failed by themselves. One that is complete, or given up by a person, stays so."""
        return self._say(jobs, FAILED, reason)

    def cancel(self, jobs: _Jobs, reason: str = "") -> Change:
        """A person gives jobs up, with what depends on them. A complete one stays so."""
        return self._say(jobs, CANCELLED, reason)

    def missing(self, jobs: _Jobs) -> Change:
        """The data of jobs is known to be absent."""
        return self._say(jobs, MISSING)

    def _say(self, jobs: _Jobs, word: int, reason: str = "") -> Change:
        with self.lock:
            was: Was = {}
            heard = self._jobs.say(self._check(jobs), word, was)
            if reason:
                self._reasons.update(dict.fromkeys(heard, reason))
            elif self._reasons:
                self._forget(heard)
            return self._jobs.changed(was)

    def retry(self, jobs: _Jobs) -> Change:
        """Jobs that failed, were cancelled or are missing by themselves are wanted again, and so
        is all that was cancelled or missing only because of them.

        Raises: JobGraphError (a job that is not over, is complete, or was only lost with others).
        """
        with self.lock:
            numbers = self._check(jobs)
            for job in numbers:
                if self._jobs.own[job] not in (FAILED, CANCELLED, MISSING):
                    causes = ", ".join(map(str, self.root_causes(job)[:5]))
                    raise JobGraphError(
                        f"job {job} is {_name(self._jobs.states[job])}: it did not fail by itself",
                        f"retry what it was lost with: {causes}" if causes else "",
                    )
            return self._take_back(numbers)

    def release(self, jobs: _Jobs) -> Change:
        """Submissions of active jobs were taken back; others stay as they are."""
        with self.lock:
            return self._take_back([job for job in self._check(jobs) if self._is(job, ACTIVE)])

    def reopen(self, jobs: _Jobs) -> Change:
        """Products of complete jobs are no longer there; others stay as they are.

        Ready jobs that need them wait again; what is active or over by now stays so.
        """
        with self.lock:
            return self._take_back([job for job in self._check(jobs) if self._is(job, COMPLETE)])

    def _is(self, job: int, state: int) -> bool:
        return self._jobs.states[job] == state

    def _take_back(self, jobs: Sequence[int]) -> Change:
        was: Was = {}
        self._jobs.take_back(jobs, was)
        self._forget(jobs)
        return self._jobs.changed(was)

    def _forget(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            self._reasons.pop(job, None)

    # -- what is known -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many jobs there are."""
        return len(self._jobs.states)

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        return self._jobs.generation

    def state(self, job: int) -> JobState:
        """The state of a job."""
        with self.lock:
            self._check(job)
            return JobState(self._jobs.states[job])

    def node(self, job: int) -> int:
        """The node of a job."""
        with self.lock:
            self._check(job)
            return self._jobs.node[job]

    def reason(self, job: int) -> str:
        """What was said when a job failed or a person cancelled it; "" for others."""
        return self._reasons.get(job, "")

    def snapshot(self) -> Snapshot:
        """All states and counts at one moment."""
        with self.lock:
            return Snapshot(self.generation, bytes(self._jobs.states), self.counts())

    def counts(self) -> tuple[tuple[int, ...], ...]:
        """How many jobs of each node are in each state: `counts()[node][state]`."""
        with self.lock:
            return tuple(tuple(counts) for counts in self._jobs.counts)

    @property
    def left(self) -> int:
        """How many jobs are waiting, ready or active."""
        return sum(counts[WAITING] + counts[READY] + counts[ACTIVE] for counts in self.counts())

    @property
    def is_over(self) -> bool:
        """Whether no job is left."""
        return not self.left

    def dependencies(self, job: int) -> list[int]:
        """What a job needs, each once, in order."""
        with self.lock:
            self._check(job)
            return sorted({needed for needed, _ in self._jobs.edges.backward(job)})

    def slotted(self, job: int) -> list[tuple[int, int]]:
        """What a job needs, each with which of the job's slots it is in, counted from 0, or -1."""
        with self.lock:
            self._check(job)
            place = self._jobs.edges.slots.place
            return [
                (needed, slot if slot == NO_SLOT else place[slot])
                for needed, slot in self._jobs.edges.backward(job)
            ]

    def dependents(self, job: int) -> list[int]:
        """Who needs a job, each once, in order."""
        with self.lock:
            self._check(job)
            return sorted({other for other, _ in self._jobs.edges.forward(job)})

    def followers(self, job: int) -> list[tuple[int, int]]:
        """Waiting jobs that need this one complete: number, and for how many they still wait.

        One that needs it more than once is there as often.
        """
        with self.lock:
            self._check(job)
            states, unmet = self._jobs.states, self._jobs.unmet
            return [
                (other, unmet[other])
                for other, slot in self._jobs.edges.forward(job)
                if slot == NO_SLOT and states[other] == WAITING
            ]

    def left_out(self, job: int) -> list[LeftOut]:
        """The members of a job's slots that it goes without."""
        with self.lock:
            self._check(job)
            states, place = self._jobs.states, self._jobs.edges.slots.place
            return sorted(
                LeftOut(needed, place[slot], JobState(states[needed]))
                for needed, slot in self._jobs.edges.backward(job)
                if slot != NO_SLOT and KIND[states[needed]] in (LOST, GONE)
            )

    def root_causes(self, job: int) -> list[int]:
        """Why a job is cancelled (or missing): those that failed, that a person cancelled, or
        (for a missing one) whose data is absent. Of a job that did so itself: that job.
        """
        with self.lock:
            self._check(job)
            return job_causes.root_causes(self._jobs, job)

    def lost_by(self, job: int) -> int:
        """How many jobs are cancelled because this one failed or was cancelled."""
        with self.lock:
            self._check(job)
            return len(job_causes.lost_by(self._jobs, job))

    def edges(self) -> Edges:
        """All dependencies, for what looks at the graph as a whole."""
        with self.lock:
            return self._jobs.edges.columns()

    def nodes(self) -> NDArray[np.int32]:
        """The node of each job."""
        with self.lock:
            return np.array(self._jobs.node, np.int32)

    # -- the order of ready jobs -------------------------------------------------------------------

    def set_priorities(self, ranks: Sequence[int] | NDArray[np.integer]) -> None:
        """Ranks of all jobs, or of as many as there were when they were worked out: lower first.

        Raises: JobGraphError (more ranks than jobs; ranks that do not fit 32 bits).
        """
        given = np.asarray(ranks)
        if given.size and (
            given.dtype.kind not in "iu" or given.max() > MOST or given.min() < -MOST
        ):
            raise JobGraphError("ranks are whole numbers of 32 bits")
        with self.lock:
            if len(given) > len(self):
                raise JobGraphError(f"{len(given):,} ranks for {len(self):,} jobs")
            self._jobs.queue.set_ranks(given.astype(np.int32))

    def ready(self, limit: int | None = None) -> list[int]:
        """The ready jobs, or the first of them: by rank, then by number."""
        with self.lock:
            return self._jobs.queue.first(limit)

    def _check(self, jobs: int | Iterable[int]) -> Sequence[int]:
        """Their numbers, all of jobs that are there."""
        size = len(self._jobs.states)
        if isinstance(jobs, int):
            if 0 <= jobs < size:
                return (jobs,)
            numbers = [jobs]
        else:
            numbers = list(jobs)
        for job in numbers:
            if not 0 <= job < size:
                raise JobGraphError(f"there is no job {job}: there are {size:,}")
        return numbers


def _name(state: int) -> str:
    return JobState(state).name.lower()
