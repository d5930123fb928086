"""The job graph of a run: numbered jobs, their states, and the ready ones.

The graph takes blocks of new jobs and events of jobs (active, complete, failed, ...), and returns
the consequences. It grows while it runs, and numbers never change. Several threads may read, extend
and update it at the same time: each method is atomic; hold `lock` around several calls that belong
together. When a job that makes a list ends, the order is: extend the graph by the list's jobs
(which need that job), add these to the dependencies of the jobs that collect them, then `complete`
the job, so that no collector becomes ready in between. Source: Fastr's documentation, Job DAG
(thread-safe, extended while read, forward and backward links; on finished: newly ready jobs, or
cancelled ones taken away).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.graph import job_states as job_causes
from rowtui.core.network.graph.job_edges import NO_SLOT, new_jobs, refuse_circle, refuse_places
from rowtui.core.network.graph.job_model import (
    GONE,
    KIND,
    LOST,
    MOST,
    DependencyColumns,
    Extended,
    GraphChange,
    GraphJobState,
    GraphSnapshot,
    JobBlock,
    JobGraphError,
    LostMember,
)
from rowtui.core.network.graph.job_states import (
    CANCELLED,
    COMPLETED,
    ELIGIBLE,
    FAILED,
    SKIPPED,
    SUBMITTED,
    WAITING,
    JobStates,
    Was,
)

_Jobs = int | Iterable[int]


class JobGraph:
    """Jobs and their dependencies (see the module docstring)."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._jobs = JobStates()
        self._reasons: dict[int, str] = {}

    # -- growing -----------------------------------------------------------------------------------

    def extend(self, *blocks: JobBlock) -> Extended:
        """Add new jobs: all blocks, or none if one is refused.

        New jobs do not wait for complete jobs; a lost dependency cancels them at once. New jobs
        have the rank of their first dependency, until ranks that include them are set. Raises:
        JobGraphError for invalid numbers, or jobs that would need later jobs.
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
    ) -> GraphChange:
        """Add dependencies to a job that still waits.

        `slots`: for each dependency -1, or the position of one of the job's slots, counted from 0.
        `least` sets the minimum number of members of the slots named in it, and creates the new
        ones among them. A failed, cancelled or skipped job may also get more dependencies: they
        apply when the job is retried, and a job that is lost because of its dependencies comes back
        if the change suffices. Raises: JobGraphError (the job is eligible, submitted or completed;
        a cycle; an unknown slot).
        """
        with self.lock:
            self._check([job, *others])
            state = self._jobs.states[job]
            if state in (ELIGIBLE, SUBMITTED, COMPLETED):
                raise JobGraphError(
                    f"job {job} is {_name(state)}: its dependencies cannot change",
                    "add dependencies of a job before its present dependencies are complete",
                )
            places = slots if len(slots) else [NO_SLOT] * len(others)
            refuse_places(self._jobs.edges, job, others, places, least or {})
            refuse_circle(self._jobs.edges, job, others)
            was: Was = {}
            self._jobs.add(job, others, places, least or {}, was)
            return self._jobs.changed(was)

    # -- events of jobs ----------------------------------------------------------------------------

    def activate(self, jobs: _Jobs) -> list[int]:
        """Mark jobs as submitted: ready ones, or waiting ones in a chain that the scheduler keeps.

        Returns the jobs that changed, without jobs that were active already or are over. Only the
        caller that gets a job's number here submits that job.
        """
        with self.lock:
            return [job for job in self._check(jobs) if self._jobs.activate(job)]

    def complete(self, jobs: _Jobs) -> GraphChange:
        """Mark jobs as complete from any state, because the user may run them outside the run."""
        with self.lock:
            numbers = self._check(jobs)
            states, finish = self._jobs.states, self._jobs.finish
            ready: list[int] = []
            over: list[int] = []
            for job in numbers:
                if states[job] <= SUBMITTED:  # nearly all jobs: the fastest path
                    ready += finish(job)
                else:
                    over.append(job)
            if len(numbers) == 1 and not over:
                return GraphChange(ready, [], [], [], [])
            change = self._say(over, COMPLETED)
            change.ready.extend(job for job in ready if states[job] == ELIGIBLE)
            return change

    def fail(self, jobs: _Jobs, reason: str = "") -> GraphChange:
        """Mark jobs as failed, except those complete or cancelled by the user."""
        return self._say(jobs, FAILED, reason)

    def cancel(self, jobs: _Jobs, reason: str = "") -> GraphChange:
        """Cancel jobs for the user, with their dependents. A complete job keeps its state."""
        return self._say(jobs, CANCELLED, reason)

    def skip(self, jobs: _Jobs) -> GraphChange:
        """Mark jobs whose data is known to be absent."""
        return self._say(jobs, SKIPPED)

    def _say(self, jobs: _Jobs, word: int, reason: str = "") -> GraphChange:
        with self.lock:
            was: Was = {}
            heard = self._jobs.say(self._check(jobs), word, was)
            if reason:
                self._reasons.update(dict.fromkeys(heard, reason))
            elif self._reasons:
                self._forget(heard)
            return self._jobs.changed(was)

    def retry(self, jobs: _Jobs) -> GraphChange:
        """Retry jobs that failed, were cancelled or are skipped by themselves.

        Jobs that were blocked or missing only because of them come back as well. Raises:
        JobGraphError for a job that is not over, is complete, or was lost only because of others.
        """
        with self.lock:
            numbers = self._check(jobs)
            for job in numbers:
                if self._jobs.own[job] not in (FAILED, CANCELLED, SKIPPED):
                    causes = ", ".join(map(str, self.root_causes(job)[:5]))
                    raise JobGraphError(
                        f"job {job} is {_name(self._jobs.states[job])}: it did not fail by itself",
                        f"retry the failed jobs that it depends on: {causes}" if causes else "",
                    )
            return self._take_back(numbers)

    def release(self, jobs: _Jobs) -> GraphChange:
        """Undo the submission of active jobs; other jobs keep their states."""
        with self.lock:
            return self._take_back([job for job in self._check(jobs) if self._is(job, SUBMITTED)])

    def reopen(self, jobs: _Jobs) -> GraphChange:
        """Mark complete jobs as incomplete because their products no longer exist.

        Other jobs in `jobs` keep their states. Ready dependents wait again; dependents that are
        active or over keep their states.
        """
        with self.lock:
            return self._take_back([job for job in self._check(jobs) if self._is(job, COMPLETED)])

    def _is(self, job: int, state: int) -> bool:
        return self._jobs.states[job] == state

    def _take_back(self, jobs: Sequence[int]) -> GraphChange:
        was: Was = {}
        self._jobs.take_back(jobs, was)
        self._forget(jobs)
        return self._jobs.changed(was)

    def _forget(self, jobs: Iterable[int]) -> None:
        for job in jobs:
            self._reasons.pop(job, None)

    # -- what is known -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._jobs.states)

    @property
    def generation(self) -> int:
        """Return a number that increases with every change."""
        return self._jobs.generation

    def state(self, job: int) -> GraphJobState:
        """Return the state of a job."""
        with self.lock:
            self._check(job)
            return GraphJobState(self._jobs.states[job])

    def node(self, job: int) -> int:
        """Return the node of a job."""
        with self.lock:
            self._check(job)
            return self._jobs.node[job]

    def reason(self, job: int) -> str:
        """Return the reason of a failure or of a cancellation by the user; "" for other jobs."""
        return self._reasons.get(job, "")

    def snapshot(self) -> GraphSnapshot:
        """Return all states and counts at one moment."""
        with self.lock:
            return GraphSnapshot(self.generation, bytes(self._jobs.states), self.counts())

    def counts(self) -> tuple[tuple[int, ...], ...]:
        """Return how many jobs of each node are in each state: `counts()[node][state]`."""
        with self.lock:
            return tuple(tuple(counts) for counts in self._jobs.counts)

    @property
    def left(self) -> int:
        """Return how many jobs are waiting, eligible or submitted."""
        return sum(
            counts[WAITING] + counts[ELIGIBLE] + counts[SUBMITTED] for counts in self.counts()
        )

    @property
    def is_over(self) -> bool:
        """Whether no job is left."""
        return not self.left

    def dependencies(self, job: int) -> list[int]:
        """Return the dependencies of a job, each once, in order."""
        with self.lock:
            self._check(job)
            return sorted({needed for needed, _ in self._jobs.edges.backward(job)})

    def slotted(self, job: int) -> list[tuple[int, int]]:
        """Return the dependencies of a job, each with the position of its slot from 0, or -1."""
        with self.lock:
            self._check(job)
            place = self._jobs.edges.slots.place
            return [
                (needed, slot if slot == NO_SLOT else place[slot])
                for needed, slot in self._jobs.edges.backward(job)
            ]

    def dependents(self, job: int) -> list[int]:
        """Return the dependents of a job, each once, in order."""
        with self.lock:
            self._check(job)
            return sorted({other for other, _ in self._jobs.edges.forward(job)})

    def followers(self, job: int) -> list[tuple[int, int]]:
        """Return waiting jobs that strictly need this job, with the number of their open
        dependencies.

        A job that needs this one several times occurs as often.
        """
        with self.lock:
            self._check(job)
            states, unmet = self._jobs.states, self._jobs.unmet
            return [
                (other, unmet[other])
                for other, slot in self._jobs.edges.forward(job)
                if slot == NO_SLOT and states[other] == WAITING
            ]

    def left_out(self, job: int) -> list[LostMember]:
        """Return the lost or missing members of a job's slots."""
        with self.lock:
            self._check(job)
            states, place = self._jobs.states, self._jobs.edges.slots.place
            return sorted(
                LostMember(needed, place[slot], GraphJobState(states[needed]))
                for needed, slot in self._jobs.edges.backward(job)
                if slot != NO_SLOT and KIND[states[needed]] in (LOST, GONE)
            )

    def root_causes(self, job: int) -> list[int]:
        """Return the jobs that caused a job to be lost or skipped.

        The causes are jobs that failed, that the user cancelled, or (for a skipped job) whose data
        is absent. The result is the job itself if it was lost by itself.
        """
        with self.lock:
            self._check(job)
            return job_causes.root_causes(self._jobs, job)

    def lost_by(self, job: int) -> int:
        """Return how many jobs are blocked because this one failed or was cancelled."""
        with self.lock:
            self._check(job)
            return len(job_causes.lost_by(self._jobs, job))

    def edges(self) -> DependencyColumns:
        """Return all dependencies, for algorithms on the whole graph."""
        with self.lock:
            return self._jobs.edges.columns()

    def have_inputs(self, jobs: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return for each job whether all its dependencies are complete or left out, in
        any state.
        """
        with self.lock:
            return self._jobs.have_inputs(np.asarray(jobs, np.int64))

    def nodes(self) -> NDArray[np.int32]:
        """Return the node of each job."""
        with self.lock:
            return np.array(self._jobs.node, np.int32)

    # -- the order of ready jobs -------------------------------------------------------------------

    def set_priorities(self, ranks: Sequence[int] | NDArray[np.integer]) -> None:
        """Set the ranks of all jobs, or of the first ones; jobs with lower ranks are first.

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
        """Return the ready jobs, or the first `limit` of them: by rank, then by number."""
        with self.lock:
            return self._jobs.queue.first(limit)

    def _check(self, jobs: int | Iterable[int]) -> Sequence[int]:
        """Return the numbers, after a check that all jobs exist."""
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
    return GraphJobState(state).name.lower()
