"""Estimate when a run will be done, and which path through its graph is the longest.

Takes a run that is driven; gives an `Estimate`. For a run on this machine alone, up to
`MOST_SIMULATED` remaining jobs are simulated. What a cluster will provide cannot be predicted, so
the estimate is otherwise the longer of two times: the critical path, and the work divided by the
run's cores (the maximum observed in use, otherwise all cores of the configured machines). Future
queue time is not included.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import NDArray, np
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.network.graph.job_model import DependencyColumns, GraphJobState
from rowtui.core.network.graph.scheduling import remaining_seconds
from rowtui.core.project.sizing.measured import one_by_one
from rowtui.core.runs.limits.run_times import (
    RunTime,
    RunTimeSource,
    SimulatedMachines,
    machines_of,
    measured_times,
    run_times,
)
from rowtui.core.runs.limits.simulation import SimulatedWork, simulate, work_of
from rowtui.core.runs.views import BasisOfAll, Estimate, PathStep
from rowtui.core.submission.sending.fence import begun_at

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun

MOST_SIMULATED = 20_000  # remaining jobs: about 0.3 s
MOST_LOOKED_AT = 1_000  # active jobs whose start time is looked up
# An answer is valid for this many times the duration of its computation, so that a screen that
# refreshes all the time uses at most a twentieth of a core.
REST = 20.0
MEASURE_SECONDS = 1.0  # the minimum between two readings of the jobs' journals


class _Begun(NamedTuple):
    """A running scheduler job: its start time, and the jobs of the graph in it."""

    action: str
    since: float | None
    jobs: list[int]


class Estimator:
    """Repeated estimates of one run, with cached measurements.

    The methods block on the disk: call them in a thread if the event loop must continue.
    """

    def __init__(self, running: OpenRun) -> None:
        """Create an estimator."""
        self._running = running
        self._measured: dict[str, RunTime] = {}
        self._measured_at = 0.0
        self._measure_again = 0.0  # seconds after `_measured_at`
        self._most_cores = 0
        self._machines: tuple[SimulatedMachines, ...] | None = None
        self._last: Estimate | None = None
        # when the last estimate was computed, and for how many seconds it is valid
        self._found_at = self._good_for = 0.0

    def at(self, now: float) -> Estimate:
        """Return the estimate at this moment (epoch seconds). Raises: RowtuiError.

        For a large graph, the result may be an estimate of some seconds ago, minus the time since
        then.
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
        asked = running.asked.now()
        with growth.graph.lock:
            work = work_of(asked, growth, times)
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
        return run_times(self._running.project, network, self._measured)

    def _active(self) -> list[int]:
        """Return the first jobs that are submitted."""
        states = self._running.graph.snapshot().states
        found: list[int] = []
        at = states.find(GraphJobState.SUBMITTED)
        while at >= 0 and len(found) < MOST_LOOKED_AT:
            found.append(at)
            at = states.find(GraphJobState.SUBMITTED, at + 1)
        return found

    def _begun(self, active: list[int]) -> list[_Begun]:
        """Return the running scheduler jobs whose start times can be read here."""
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

    def _advanced(self, work: SimulatedWork, begun: list[_Begun], now: float) -> SimulatedWork:
        """Return the work minus what running jobs have done since they began.

        Jobs that share a scheduler job wait for each other if that job runs them one after another.
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
        edges = DependencyColumns(
            np.concatenate([waits.needs, more[:, 0]]), np.concatenate([waits.jobs, more[:, 1]])
        )
        return SimulatedWork(work.nodes, work.node, edges, seconds, work.over)

    def _left(self, work: SimulatedWork, path: float, jobs: int, begun: list[int]) -> float:
        machines = self._known_machines()
        if jobs <= MOST_SIMULATED and self._is_ours():
            run = simulate(work, machines)
            if run is not None:
                return run.makespan
        cpus = work.of_nodes([float(it.cpus) for it in work.nodes])
        in_use = int(cpus[begun].sum())
        self._most_cores = max(self._most_cores, in_use)
        cores = self._most_cores or _cores(machines)
        return max(path, float((cpus * work.each_seconds()).sum()) / cores if cores else 0.0)

    def _known_machines(self) -> tuple[SimulatedMachines, ...]:
        if self._machines is None:
            try:
                self._machines = machines_of(self._running.project)
            except RowtuiError:
                self._machines = ()
        return self._machines

    def _is_ours(self) -> bool:
        """Return whether jobs run on this machine without a cluster in between."""
        cluster = self._running.project.here()
        return cluster is not None and kind_of(cluster).runs_here and cluster.remote is None


def _cores(machines: tuple[SimulatedMachines, ...]) -> int:
    """Return the number of cores in all; 0 if there is no limit."""
    numbers = [it.number for it in machines]
    if None in numbers:
        return 0
    return sum((it.number or 0) * it.cpus for it in machines)


def _critical_path(work: SimulatedWork, remaining: NDArray[np.float64]) -> tuple[PathStep, ...]:
    """Return the steps from the job with the longest remaining path along its longest
    dependents.
    """
    if not len(remaining) or not remaining.max() > 0:
        return ()
    seconds = work.each_seconds()
    order = np.argsort(work.edges.needs, kind="stable")
    needs, dependents = work.edges.needs[order], work.edges.jobs[order]
    steps: list[PathStep] = []
    job: int | None = int(remaining.argmax())
    while job is not None:
        name = work.nodes[int(work.node[job])].name
        mine = float(seconds[job])
        if steps and steps[-1].node == name:
            last = steps[-1]
            steps[-1] = PathStep(name, last.seconds + mine, last.jobs + 1)
        else:
            steps.append(PathStep(name, mine))
        first, end = np.searchsorted(needs, (job, job + 1))
        those = dependents[first:end]
        those = those[remaining[those] > 0] if end > first else those
        job = int(those[remaining[those].argmax()]) if len(those) else None
    return tuple(steps)


def _basis(work: SimulatedWork, times: Mapping[str, RunTime]) -> BasisOfAll:
    there = np.unique(np.asarray(work.node)[work.left()])
    kinds = {times[work.nodes[at].name].basis for at in there if work.nodes[at].name in times}
    if RunTimeSource.LIMIT in kinds:
        return "walltime limits" if len(kinds) == 1 else "mixed"
    return "measured"
