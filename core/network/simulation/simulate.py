"""Simulate a run of a job graph on machines, for a given order of jobs.

Takes the work (jobs in columns, dependencies), machines and ranks; gives the start, end and machine
of each job, the makespan and the cost. Ready jobs start by rank, each on the first machine with
room; smaller jobs pass a job that has no room. A machine is opened when no open one has room, and
is paid until the last end on it. Only failures are random, and they depend only on their seed, so
every order has the same failures. The rule for machines is the packer's online rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.simulation.simulate_model import (
    HOUR,
    Column,
    Simulated,
    SimulatedMachines,
    SimulatedNeeds,
    SimulatedWork,
    Spans,
    UnplacedJobs,
    UsedMachine,
)

__all__ = [
    "HOUR",
    "Simulated",
    "SimulatedMachines",
    "SimulatedNeeds",
    "SimulatedWork",
    "Spans",
    "UnplacedJobs",
    "UsedMachine",
    "simulate",
]

_OPEN = 1 << 62  # an unlimited number of machines


def simulate(
    work: SimulatedWork, machines: Sequence[SimulatedMachines], ranks: Column
) -> Simulated:
    """Run every job that can run. `ranks`: one per job; lower ranks first, then by number.

    Raises: RowtuiError (invalid times or shares of failures, columns of different lengths).
    """
    _refuse_nonsense(work, ranks)
    course = _Course(work, machines, ranks)
    course.run()
    return course.result()


def _refuse_nonsense(work: SimulatedWork, ranks: Column) -> None:
    count = len(work.node)
    columns = (ranks, work.seconds, work.over)
    if any(len(column) != count for column in columns if column is not None):
        raise RowtuiError(f"there must be a number for each of {count:,} jobs")
    seconds = work.each_seconds()
    if not np.isfinite(seconds).all() or (seconds < 0).any():
        raise RowtuiError("jobs must take a number of seconds from 0 on")
    if not 0 <= work.failures < 1:
        raise RowtuiError("the share of attempts that fail must be from 0 to below 1")


class _Course:
    """A running simulation. Jobs are numbered by their place in the order of ranks.

    Jobs with the same needs are of one class; each class has its ready jobs and the machines that
    may have room for one of them, both as heaps, so that no job is examined twice without need.
    """

    def __init__(
        self, work: SimulatedWork, machines: Sequence[SimulatedMachines], ranks: Column
    ) -> None:
        self.work, self.machines = work, tuple(machines)
        count = len(work.node)
        self.order = np.argsort(np.asarray(ranks), kind="stable")
        self.left = work.left()
        kinds: dict[tuple[int, int, int], int] = {}
        of_node = [kinds.setdefault(_amounts(it), len(kinds)) for it in work.nodes]
        self.needs = list(kinds)
        class_of = np.array([*of_node, 0], np.int64)[work.node][self.order]
        self.class_of = class_of.astype(np.int32).data
        self.seconds = work.each_seconds()[self.order].data
        self.attempts = work.attempts()[self.order].data
        self.unmet, self.starts, self.dependents = self._edges(count)
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
        self.since: list[float] = []
        self.begins: list[float] = []  # when it has booted
        self.until: list[float] = []
        self.rest = [_OPEN if it.number is None else it.number for it in self.machines]
        # (first ready job of a class) * classes + class; some are out of date
        self.front: list[int] = []
        self.ends: list[tuple[float, int, int]] = []
        self.jobs: list[int] = []
        self.where: list[int] = []
        self.start: list[float] = []
        self.end: list[float] = []
        self.ended = self.reruns = 0

    def _edges(self, count: int) -> tuple[memoryview, memoryview, memoryview]:
        """Return the number of dependencies of each job, and its dependents, all by places."""
        place = np.empty(count, np.int64)
        place[self.order] = np.arange(count)
        needs, jobs = (place[column] for column in self.work.waits())
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(needs, minlength=count), out=starts[1:])
        unmet = np.bincount(jobs, minlength=count)
        return unmet.data, starts.data, jobs[np.argsort(needs, kind="stable")].data

    def run(self) -> None:
        """Run from the beginning until no job runs any more."""
        unmet = np.asarray(self.unmet)
        classes = np.asarray(self.class_of)
        begin = (unmet == 0) & self.left[self.order]
        for number in range(len(self.needs)):
            self.ready[number] = np.flatnonzero(begin & (classes == number)).tolist()
            if self.ready[number]:
                self.front.append(self.ready[number][0] * len(self.needs) + number)
        heapify(self.front)
        now = 0.0
        ends = self.ends
        self._begin_ready(now)
        while ends:
            now = ends[0][0]
            while ends and ends[0][0] == now:
                _, job, machine = heappop(ends)
                self._give_back(job, machine, now)
                if self.attempts[job] > 1:
                    self.attempts[job] -= 1
                    self.reruns += 1
                    self._is_ready(job)
                else:
                    self._complete(job)
            self._begin_ready(now)

    def _complete(self, job: int) -> None:
        self.ended += 1
        unmet = self.unmet
        for other in self.dependents[self.starts[job] : self.starts[job + 1]]:
            unmet[other] -= 1
            if not unmet[other]:
                self._is_ready(other)

    def _is_ready(self, job: int) -> None:
        number = self.class_of[job]
        ready = self.ready[number]
        heappush(ready, job)
        if ready[0] == job and not self.blocked[number]:
            heappush(self.front, job * len(self.needs) + number)

    def _begin_ready(self, now: float) -> None:
        """Start ready jobs that have room, by rank."""
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
        cpus, memory, gpus = self.needs[number]
        free, listed = self.free[number], self.listed[number]
        while free:
            machine = free[0]
            if (
                self.cpus[machine] >= cpus
                and self.memory[machine] >= memory
                and self.gpus[machine] >= gpus
            ):
                return machine
            heappop(free)
            listed[machine] = 0
        for kind, it in enumerate(self.machines):
            if (
                self.rest[kind] > 0
                and it.cpus >= cpus
                and it.memory_mb >= memory
                and it.gpus >= gpus
            ):
                return self._open(kind, now)
        return None

    def _open(self, kind: int, now: float) -> int:
        it = self.machines[kind]
        machine = len(self.kind)
        self.rest[kind] -= 1
        self.kind.append(kind)
        self.cpus.append(it.cpus)
        self.memory.append(it.memory_mb)
        self.gpus.append(it.gpus)
        self.since.append(now)
        self.begins.append(now + it.boot_seconds)
        self.until.append(now)
        for listed in self.listed:
            listed.append(0)
        self._list(machine)
        return machine

    def _begin(self, job: int, number: int, machine: int, now: float) -> None:
        cpus, memory, gpus = self.needs[number]
        if self.machines[self.kind[machine]].whole:
            self.cpus[machine] = -1  # no room, not even for a job that needs no CPU
        else:
            self.cpus[machine] -= cpus
            self.memory[machine] -= memory
            self.gpus[machine] -= gpus
        begin = max(now, self.begins[machine])
        end = begin + self.seconds[job]
        heappush(self.ends, (end, job, machine))
        self.jobs.append(job)
        self.where.append(machine)
        self.start.append(begin)
        self.end.append(end)

    def _give_back(self, job: int, machine: int, now: float) -> None:
        it = self.machines[self.kind[machine]]
        if it.whole:
            self.cpus[machine] = it.cpus
        else:
            cpus, memory, gpus = self.needs[self.class_of[job]]
            self.cpus[machine] += cpus
            self.memory[machine] += memory
            self.gpus[machine] += gpus
        self.until[machine] = now
        self._list(machine)

    def _list(self, machine: int) -> None:
        """List a machine for every class that it has room for."""
        cpus, memory, gpus = self.cpus[machine], self.memory[machine], self.gpus[machine]
        for number, (its_cpus, its_memory, its_gpus) in enumerate(self.needs):
            if (
                cpus >= its_cpus
                and memory >= its_memory
                and gpus >= its_gpus
                and not self.listed[number][machine]
            ):
                self.listed[number][machine] = 1
                heappush(self.free[number], machine)
                if self.blocked[number]:
                    self.blocked[number] = False
                    if self.ready[number]:
                        heappush(self.front, self.ready[number][0] * len(self.needs) + number)

    # -- the result
    # ----------------------------------------------------------------------------------

    def result(self) -> Simulated:
        """Return the result of the simulation."""
        work = self.work
        jobs = self.order[np.array(self.jobs, np.int64)]
        where = np.array(self.where, np.int32)
        start, end = np.array(self.start), np.array(self.end)
        spans = Spans(jobs.astype(np.int32), where, start, end)
        opened = tuple(
            UsedMachine(*it) for it in zip(self.kind, self.since, self.until, strict=True)
        )
        cpus = np.array([*(it.cpus for it in work.nodes), 0])[work.node[jobs]]
        if opened:
            kinds = np.array(self.kind)[where]
            whole = np.array([it.whole for it in self.machines])[kinds]
            cpus = np.where(whole, np.array([it.cpus for it in self.machines])[kinds], cpus)
        used = float((cpus * (end - start)).sum()) / HOUR
        there = sum(self.machines[it.kind].cpus * (it.until - it.since) for it in opened) / HOUR
        wanted = int(self.left.sum())
        unplaced = self._unplaced()
        return Simulated(
            makespan=float(end.max()) if len(end) else 0.0,
            cost=_cost(self.machines, opened),
            cpu_hours=used,
            idle_cpu_hours=max(0.0, there - used),
            utilisation=min(1.0, used / there) if there else 0.0,
            jobs=wanted,
            ended=self.ended,
            reruns=self.reruns,
            spans=spans,
            opened=opened,
            unplaced=unplaced,
            held_up=wanted - self.ended - sum(it.jobs for it in unplaced),
        )

    def _unplaced(self) -> tuple[UnplacedJobs, ...]:
        """Return by node the jobs that fit on no machine, whether or not their inputs would be
        complete.
        """
        every = np.bincount(np.asarray(self.work.node)[self.left], minlength=len(self.work.nodes))
        return tuple(
            UnplacedJobs(number, int(every[number]))
            for number, it in enumerate(self.work.nodes)
            if every[number] and not any(_fits(it, machine) for machine in self.machines)
        )


def _amounts(needs: SimulatedNeeds) -> tuple[int, int, int]:
    """Return what a job takes of a machine; more than any machine has if the job is refused."""
    if needs.refused:
        return _OPEN, 0, 0
    return needs.cpus, needs.memory_mb, needs.gpus


def _fits(needs: SimulatedNeeds, machine: SimulatedMachines) -> bool:
    return (
        machine.number != 0
        and not needs.refused
        and needs.cpus <= machine.cpus
        and needs.memory_mb <= machine.memory_mb
        and needs.gpus <= machine.gpus
    )


def _cost(machines: Sequence[SimulatedMachines], opened: Sequence[UsedMachine]) -> float | None:
    """Return what the open machines cost; None where one of them has no price."""
    used = {it.kind for it in opened} or range(len(machines))
    if any(machines[kind].price_per_hour is None for kind in used):
        return None
    return sum(
        (machines[it.kind].price_per_hour or 0.0) * (it.until - it.since) / HOUR for it in opened
    )
