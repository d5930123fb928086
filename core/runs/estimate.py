"""When a run will be done, as far as that can be told, and which way through it is the longest.

Takes a run that is driven; gives an `Estimate`. On this machine alone, what is left of up to
`MOST_SIMULATED` jobs is simulated. Otherwise nobody knows what a cluster will give: it is the
longer of the critical path and of the work divided by the cores that the run has (the most that it
was seen to have, else all that are known). Time in queues to come is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.errors import RowtuiError
from rowtui.core.network.critical_path import remaining_seconds
from rowtui.core.network.job_model import Edges, JobState
from rowtui.core.network.simulate import Work, simulate
from rowtui.core.runs.machines import Machines, machines_of
from rowtui.core.runs.run_times import (
    Basis,
    RunTime,
    begun_at,
    measured_times,
    one_by_one,
    run_times,
)
from rowtui.core.runs.simulation import work_of
from rowtui.core.runs.views import BasisOfAll, Estimate, Step

if TYPE_CHECKING:
    from rowtui.core.runs.running import Running

MOST_SIMULATED = 20_000  # jobs left: about 0.3 s
MOST_LOOKED_AT = 1_000  # active jobs whose beginning is looked up
# How long an answer is good: so many times what it took to find, so that a screen that asks again
# and again costs a twentieth of a core at most.
REST = 20.0
MEASURE_SECONDS = 1.0  # between two readings of the journals of jobs, at least


class _Begun(NamedTuple):
    """A job of a scheduler that runs: since when, and which jobs of the graph are in it."""

    action: str
    since: float | None
    jobs: list[int]


def estimate(running: Running, now: float) -> Estimate:
    """What is left of a run. Whoever asks again and again keeps an `Estimator`."""
    return Estimator(running).at(now)


class Estimator:
    """Estimates of one run, time after time: measures now and then, and knows what was seen.

    It waits for the disk: call it in a thread where something else must go on.
    """

    def __init__(self, running: Running, given: Mapping[str, float] | None = None) -> None:
        """`given`: seconds by the name of a node or action, instead of what is measured."""
        self._running = running
        self._given = dict(given or {})
        self._measured: dict[str, RunTime] = {}
        self._measured_at = 0.0
        self._measure_again = 0.0  # seconds after that
        self._most_cores = 0
        self._machines: Machines | None = None
        self._last: Estimate | None = None
        self._found_at = self._good_for = 0.0  # when it was found; seconds

    def at(self, now: float) -> Estimate:
        """The estimate at this moment (epoch seconds). Raises: RowtuiError.

        Of a large graph it may be the one of some seconds ago, with what has passed since taken
        off.
        """
        last, left = self._last, self._running.graph.left
        if left and last is not None and 0 <= now - self._found_at < self._good_for:
            return last._replace(seconds_left=max(0.0, last.done_at - now), jobs=left)
        began = time.perf_counter()
        self._last = found = self._find(now)
        self._found_at, self._good_for = now, REST * (time.perf_counter() - began)
        return found

    def _find(self, now: float) -> Estimate:
        running = self._running
        growth = running.growth
        times = self._times(now)
        with growth.graph.lock:
            work = work_of(running.project, growth, times)
            active = self._active()
        begun = self._begun(active)
        work = self._advanced(work, begun, now)
        remaining = remaining_seconds(work.edges, work.each_seconds())
        path = float(remaining.max()) if len(remaining) else 0.0
        jobs = int(work.left().sum())
        left = (
            self._left(work, path, jobs, [job for it in begun for job in it.jobs]) if jobs else 0.0
        )
        return Estimate(
            seconds_left=left,
            done_at=now + left,
            critical_path=_critical_path(work, remaining),
            basis=_basis(work, times),
            jobs=jobs,
            growing=any(run.opens.number for run in growth.flow.runs.values()),
        )

    def _times(self, now: float) -> dict[str, RunTime]:
        if not 0 <= now - self._measured_at < self._measure_again:
            began = time.perf_counter()
            self._measured = measured_times(self._running.project)
            took = time.perf_counter() - began
            self._measured_at = now
            self._measure_again = max(MEASURE_SECONDS, REST * took)
        network = self._running.growth.flow.network
        return run_times(self._running.project, network, self._given, self._measured)

    def _active(self) -> list[int]:
        """The first jobs that are with a scheduler."""
        states = self._running.graph.snapshot().states
        found: list[int] = []
        at = states.find(JobState.ACTIVE)
        while at >= 0 and len(found) < MOST_LOOKED_AT:
            found.append(at)
            at = states.find(JobState.ACTIVE, at + 1)
        return found

    def _begun(self, active: list[int]) -> list[_Begun]:
        """The scheduler's jobs that run, as far as that can be seen here."""
        project, growth = self._running.project, self._running.growth
        directories, submitted = project.state.directories, project.state.submitted
        found: dict[str, _Begun] = {}
        for job in active:
            node = growth.flow.network.node(growth.where(job).node)
            position = directories.position(growth.directory(job))
            if node is None or position is None:
                continue
            sent = submitted.get(node.action, {}).get(position)
            if sent is None:
                continue
            if sent.token not in found:
                since = begun_at(project.root, sent.token)
                found[sent.token] = _Begun(node.action, since, [])
            found[sent.token].jobs.append(job)
        return [it for it in found.values() if it.since is not None]

    def _advanced(self, work: Work, begun: list[_Begun], now: float) -> Work:
        """The work without what has been done since jobs began.

        Those that share a scheduler's job wait for each other where it takes one after another.
        """
        seconds = work.each_seconds()
        waits = work.waits()
        chains: list[tuple[int, int]] = []
        for it in begun:
            done = max(0.0, now - (it.since or now))
            actions = self._running.project.workflow.named(it.action)
            in_turn = bool(actions) and one_by_one(actions[0], len(it.jobs)) > 1
            if in_turn:
                chains += pairwise(it.jobs)
            for job in it.jobs:
                taken = min(done, float(seconds[job]))
                seconds[job] -= taken
                done -= taken if in_turn else 0.0
        more = np.array(chains, np.int64).reshape(-1, 2)
        edges = Edges(
            np.concatenate([waits.needs, more[:, 0]]), np.concatenate([waits.jobs, more[:, 1]])
        )
        return Work(work.nodes, work.node, edges, seconds, work.over)

    def _left(self, work: Work, path: float, jobs: int, begun: list[int]) -> float:
        machines = self._known_machines()
        if jobs <= MOST_SIMULATED and self._is_ours():
            run = simulate(work, machines.machines, np.arange(len(work.node)))
            if not run.unplaced:
                return run.makespan
        cpus = work.of_nodes([float(it.cpus) for it in work.nodes])
        in_use = int(cpus[begun].sum())
        self._most_cores = max(self._most_cores, in_use)
        cores = self._most_cores or machines.cores or 0
        return max(path, float((cpus * work.each_seconds()).sum()) / cores if cores else 0.0)

    def _known_machines(self) -> Machines:
        if self._machines is None:
            try:
                self._machines = machines_of(self._running.project)
            except RowtuiError:
                self._machines = Machines(())
        return self._machines

    def _is_ours(self) -> bool:
        """Whether jobs have this machine to themselves, as far as anybody can say that."""
        cluster = self._running.project.here()
        return (
            cluster is not None
            and cluster.scheduler in ("local", "bash")
            and cluster.remote is None
        )


def _critical_path(work: Work, remaining: NDArray[np.float64]) -> tuple[Step, ...]:
    """From the job with the longest way to go, to whichever of its dependents has the longest."""
    if not len(remaining) or not remaining.max() > 0:
        return ()
    seconds = work.each_seconds()
    order = np.argsort(work.edges.needs, kind="stable")
    needs, dependents = work.edges.needs[order], work.edges.jobs[order]
    steps: list[Step] = []
    job: int | None = int(remaining.argmax())
    while job is not None:
        name = work.nodes[int(work.node[job])].name
        mine = float(seconds[job])
        if steps and steps[-1].node == name:
            last = steps[-1]
            steps[-1] = Step(name, last.seconds + mine, last.jobs + 1)
        else:
            steps.append(Step(name, mine))
        first, end = np.searchsorted(needs, (job, job + 1))
        those = dependents[first:end]
        those = those[remaining[those] > 0] if end > first else those
        job = int(those[remaining[those].argmax()]) if len(those) else None
    return tuple(steps)


def _basis(work: Work, times: Mapping[str, RunTime]) -> BasisOfAll:
    there = np.unique(np.asarray(work.node)[work.left()])
    kinds = {times[work.nodes[at].name].basis for at in there if work.nodes[at].name in times}
    if Basis.LIMIT in kinds:
        return "walltime limits" if len(kinds) == 1 else "mixed"
    return "given" if kinds == {Basis.GIVEN} else "measured"
