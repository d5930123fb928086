"""Simulate the remaining jobs of a network's graph on machines, to find when they will be done.

Takes the amounts and run times of jobs, and machines; gives the start, end and machine of each job.
Ready jobs start in the order of their numbers, each on the first machine with room; smaller jobs
pass a job that has no room. A machine is opened when no open one has room. Each job of the graph is
simulated as a scheduler job of its own: groups, bundles and other users' jobs are not simulated.

Jobs and edges are columns, not objects, because there may be a million of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import DependencyColumns, GraphJobState
from rowtui.core.runs.limits.asked import NONE, AskedOfGraph, JobKind
from rowtui.core.runs.limits.run_times import RunTime, SimulatedMachines

Column = NDArray[Any]  # a number for each job

OVER = (
    GraphJobState.COMPLETED,
    GraphJobState.FAILED,
    GraphJobState.CANCELLED,
    GraphJobState.SKIPPED,
    GraphJobState.BLOCKED,
)
_OPEN = 1 << 62  # an unlimited number of machines


class SimulatedNeeds(NamedTuple):
    """What one job of a node takes, and for how many seconds. `refused`: why it cannot run."""

    name: str
    cpus: int = 1
    memory_mb: int = 0
    gpus: int = 0
    seconds: float = 1.0
    refused: str = ""

    def fit(self, machine: SimulatedMachines) -> bool:
        """Return whether the job can run on one of these machines."""
        return (
            machine.number != 0
            and not self.refused
            and self.cpus <= machine.cpus
            and self.memory_mb <= machine.memory_mb
            and self.gpus <= machine.gpus
        )


@dataclass(frozen=True, slots=True)
class SimulatedWork:
    """The work to simulate. Columns are by the number of the job.

    `node` are positions in `nodes`; a node whose jobs take different amounts has several entries
    with its name. `seconds`, where given, are those of each job instead of its node's; `over`: jobs
    that do not run and that no job waits for (complete, or given up).
    """

    nodes: tuple[SimulatedNeeds, ...]
    node: Column
    edges: DependencyColumns
    seconds: Column | None = None
    over: Column | None = None

    def left(self) -> NDArray[np.bool_]:
        """Return which jobs are to run."""
        if self.over is None:
            return np.ones(len(self.node), bool)
        return ~np.asarray(self.over, bool)

    def each_seconds(self) -> NDArray[np.float64]:
        """Return how long each job runs; 0 for jobs that are over."""
        if self.seconds is not None:
            every = np.array(self.seconds, np.float64)
        else:
            every = self.of_nodes([it.seconds for it in self.nodes])
        every[~self.left()] = 0.0
        return every

    def waits(self) -> DependencyColumns:
        """Return the dependencies among the jobs that are to run."""
        left = self.left()
        counts = left[self.edges.needs] & left[self.edges.jobs]
        return DependencyColumns(self.edges.needs[counts], self.edges.jobs[counts])

    def of_nodes(self, values: Sequence[float]) -> NDArray[np.float64]:
        """Return a fact about nodes, for each job."""
        return np.array([*values, 0.0], np.float64)[self.node]


def work_of(asked: AskedOfGraph, growth: Growth, times: Mapping[str, RunTime]) -> SimulatedWork:
    """Return the remaining work of a graph whose jobs ask for these amounts.

    A measured time applies to all jobs of a node; otherwise each kind of jobs has its walltime.
    """
    graph = growth.graph
    names = growth.flow.names
    needs = [_needs_of(kind, times) for kind in asked.kinds]
    without = len(needs)  # jobs whose action is not in workflow.toml, by node
    needs += [
        SimulatedNeeds(name, seconds=times[name].seconds if name in times else 0.0)
        for name in names
    ]
    with graph.lock:
        states = np.frombuffer(graph.snapshot().states, np.uint8)
        node_of, edges = graph.nodes(), graph.edges()
    over = np.isin(states, [int(state) for state in OVER])
    kind_of = np.full(len(node_of), NONE, np.int32)
    known = min(len(kind_of), len(asked.kind_of))  # lists may have added jobs since
    kind_of[:known] = asked.kind_of[:known]
    which = np.where(kind_of == NONE, without + node_of, kind_of)
    return _without_unused(SimulatedWork(tuple(needs), which, edges, None, over))


def _needs_of(kind: JobKind, times: Mapping[str, RunTime]) -> SimulatedNeeds:
    """Return what one job takes in one directory. Memory that is not stated counts as none."""
    alone, time = kind.alone, times.get(kind.node)
    measured = time is not None and time.measured
    seconds = time.seconds if time is not None and measured else float(alone.walltime_seconds)
    return SimulatedNeeds(
        kind.node, alone.cpus, alone.memory_mb or 0, alone.gpus, seconds, alone.refused
    )


def _without_unused(work: SimulatedWork) -> SimulatedWork:
    """Return the same work without kinds that no job has."""
    used = np.bincount(work.node, minlength=len(work.nodes)) > 0
    numbers = np.cumsum(used) - 1
    nodes = tuple(it for it, is_used in zip(work.nodes, used, strict=True) if is_used)
    return replace(work, nodes=nodes, node=numbers[work.node])


class JobSpan(NamedTuple):
    """When a job runs, in seconds from the beginning. `machine` counts the opened machines."""

    job: int
    machine: int
    start: float
    end: float


class Simulated(NamedTuple):
    """The jobs in the order of their starts, and the kind of each opened machine."""

    spans: list[JobSpan]
    opened: list[int]

    @property
    def makespan(self) -> float:
        """Return the seconds until the last job ends."""
        return max((span.end for span in self.spans), default=0.0)


def simulate(work: SimulatedWork, machines: Sequence[SimulatedMachines]) -> Simulated | None:
    """Run every job; None if one of them fits on no machine."""
    for number in np.unique(np.asarray(work.node)[work.left()]).tolist():
        if not any(work.nodes[number].fit(machine) for machine in machines):
            return None
    course = _Course(work, machines)
    course.run()
    return Simulated(course.spans, course.kind)


class _Course:
    """A running simulation.

    Jobs with the same needs are of one class; each class has its ready jobs and the machines that
    may have room for one of them, both as heaps, so that no job is examined twice without need.
    """

    def __init__(self, work: SimulatedWork, machines: Sequence[SimulatedMachines]) -> None:
        self.work, self.machines = work, machines
        classes: dict[tuple[int, int, int], int] = {}
        of_node = [
            classes.setdefault((it.cpus, it.memory_mb, it.gpus), len(classes)) for it in work.nodes
        ]
        self.needs = list(classes)
        self.class_of = np.array([*of_node, 0], np.int32)[work.node].data
        self.seconds = work.each_seconds().data
        count = len(work.node)
        waits = work.waits()
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(waits.needs, minlength=count), out=starts[1:])
        self.starts = starts.data
        self.dependents = waits.jobs[np.argsort(waits.needs, kind="stable")].data
        self.unmet = np.bincount(waits.jobs, minlength=count).data
        # By class. `blocked`: no machine has room for a job of the class.
        self.ready: list[list[int]] = [[] for _ in self.needs]
        self.free: list[list[int]] = [[] for _ in self.needs]
        self.listed = [bytearray() for _ in self.needs]  # by machine: whether it is in `free`
        self.blocked = [False] * len(self.needs)
        # By machine.
        self.kind: list[int] = []
        self.cpus: list[int] = []
        self.memory: list[int] = []
        self.gpus: list[int] = []
        self.begins: list[float] = []  # when it has booted
        self.rest = [_OPEN if it.number is None else it.number for it in self.machines]
        # (first ready job of a class) * classes + class; some are out of date
        self.front: list[int] = []
        self.ends: list[tuple[float, int, int]] = []
        self.spans: list[JobSpan] = []

    def run(self) -> None:
        """Run from the beginning until no job runs any more."""
        begin = (np.asarray(self.unmet) == 0) & self.work.left()
        classes = np.asarray(self.class_of)
        for number in range(len(self.needs)):
            self.ready[number] = np.flatnonzero(begin & (classes == number)).tolist()
            if self.ready[number]:
                self.front.append(self.ready[number][0] * len(self.needs) + number)
        heapify(self.front)
        ends = self.ends
        self._begin_ready(0.0)
        while ends:
            now = ends[0][0]
            while ends and ends[0][0] == now:
                _, job, machine = heappop(ends)
                self._give_back(job, machine)
                for other in self.dependents[self.starts[job] : self.starts[job + 1]]:
                    self.unmet[other] -= 1
                    if not self.unmet[other]:
                        self._is_ready(other)
            self._begin_ready(now)

    def _is_ready(self, job: int) -> None:
        number = self.class_of[job]
        ready = self.ready[number]
        heappush(ready, job)
        if ready[0] == job and not self.blocked[number]:
            heappush(self.front, job * len(self.needs) + number)

    def _begin_ready(self, now: float) -> None:
        """Start ready jobs that have room, in order."""
        front, classes = self.front, len(self.needs)
        while front:
            job, number = divmod(heappop(front), classes)
            ready = self.ready[number]
            if self.blocked[number] or not ready or ready[0] != job:
                continue  # out of date
            machine = self._with_room(number, now)
            if machine is None:
                self.blocked[number] = True
                continue
            heappop(ready)
            if ready:
                heappush(front, ready[0] * classes + number)
            self._begin(job, number, machine, now)

    def _with_room(self, number: int, now: float) -> int | None:
        """Return the first open machine with room for a job of a class, or a new one, or None."""
        free, listed = self.free[number], self.listed[number]
        while free:
            machine = free[0]
            if self._has_room(machine, number):
                return machine
            heappop(free)
            listed[machine] = 0
        cpus, memory, gpus = self.needs[number]
        for kind, it in enumerate(self.machines):
            if (
                self.rest[kind] > 0
                and it.cpus >= cpus
                and it.memory_mb >= memory
                and it.gpus >= gpus
            ):
                return self._open(kind, now)
        return None

    def _has_room(self, machine: int, number: int) -> bool:
        cpus, memory, gpus = self.needs[number]
        return (
            self.cpus[machine] >= cpus
            and self.memory[machine] >= memory
            and self.gpus[machine] >= gpus
        )

    def _open(self, kind: int, now: float) -> int:
        it = self.machines[kind]
        machine = len(self.kind)
        self.rest[kind] -= 1
        self.kind.append(kind)
        self.cpus.append(it.cpus)
        self.memory.append(it.memory_mb)
        self.gpus.append(it.gpus)
        self.begins.append(now + it.boot_seconds)
        for listed in self.listed:
            listed.append(0)
        self._list(machine)
        return machine

    def _begin(self, job: int, number: int, machine: int, now: float) -> None:
        if self.machines[self.kind[machine]].whole:
            self.cpus[machine] = -1  # no room, not even for a job that needs no CPU
        else:
            cpus, memory, gpus = self.needs[number]
            self.cpus[machine] -= cpus
            self.memory[machine] -= memory
            self.gpus[machine] -= gpus
        begin = max(now, self.begins[machine])
        end = begin + self.seconds[job]
        heappush(self.ends, (end, job, machine))
        self.spans.append(JobSpan(job, machine, begin, end))

    def _give_back(self, job: int, machine: int) -> None:
        it = self.machines[self.kind[machine]]
        if it.whole:
            self.cpus[machine] = it.cpus
        else:
            cpus, memory, gpus = self.needs[self.class_of[job]]
            self.cpus[machine] += cpus
            self.memory[machine] += memory
            self.gpus[machine] += gpus
        self._list(machine)

    def _list(self, machine: int) -> None:
        """List a machine for every class that it has room for."""
        for number in range(len(self.needs)):
            if not self.listed[number][machine] and self._has_room(machine, number):
                self.listed[number][machine] = 1
                heappush(self.free[number], machine)
                if self.blocked[number]:
                    self.blocked[number] = False
                    if self.ready[number]:
                        heappush(self.front, self.ready[number][0] * len(self.needs) + number)
