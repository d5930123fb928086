"""The values that `simulate.py` takes and gives: work, machines, results.

Jobs, edges and spans are columns, not objects, because there may be a million of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.graph.job_model import DependencyColumns

HOUR = 3600.0
Column = NDArray[Any]  # a number for each job


class SimulatedMachines(NamedTuple):
    """Machines of one kind, in the order in which they are used.

    `number`: how many there are, None for no limit. `price_per_hour`: None without a price; costs
    are then not computed. `boot_seconds`: from opening a machine until its first job begins.
    `whole`: each job has a whole machine, independent of its needs.
    """

    name: str
    cpus: int
    memory_mb: int = 0
    gpus: int = 0
    price_per_hour: float | None = None
    number: int | None = 1
    boot_seconds: float = 0.0
    whole: bool = False


class SimulatedNeeds(NamedTuple):
    """What one job of a node takes, and for how many seconds. `refused`: why it cannot run."""

    name: str
    cpus: int = 1
    memory_mb: int = 0
    gpus: int = 0
    seconds: float = 1.0
    refused: str = ""


@dataclass(frozen=True, slots=True)
class SimulatedWork:
    """The work to simulate. Columns are by the number of the job.

    `node` are positions in `nodes`; a node whose jobs take different amounts has several entries
    with its name. `seconds`, where given, are those of each job instead of its node's; `over`: jobs
    that do not run and that no job waits for (complete, or given up). `failures`: the share of
    attempts that fail, from 0 to below 1; a failed job begins again.
    """

    nodes: tuple[SimulatedNeeds, ...]
    node: Column
    edges: DependencyColumns
    seconds: Column | None = None
    over: Column | None = None
    failures: float = 0.0
    seed: int = 1

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

    def attempts(self) -> NDArray[np.int64]:
        """Return how often each job is tried."""
        count = len(self.node)
        if not self.failures:
            return np.ones(count, np.int64)
        return np.random.default_rng(self.seed).geometric(1.0 - self.failures, count)


class Spans(NamedTuple):
    """The attempts of jobs in the order of their starts, with machine and times.

    `machine` counts the opened machines from 0; times are in seconds from the beginning.
    """

    job: NDArray[np.int32]
    machine: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


class UsedMachine(NamedTuple):
    """One machine that was used. `kind`: its position in the list of machines."""

    kind: int
    since: float
    until: float


class UnplacedJobs(NamedTuple):
    """Jobs of a node that cannot run: they are refused, or fit on no machine."""

    node: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result. Times are in seconds, `cost` is in the unit of the prices (None: some are
    unknown).

    `cpu_hours` are the CPU-hours of jobs, `idle_cpu_hours` the unused ones of open machines;
    `utilisation` is the share of the former in the sum. `jobs`: the number to run, and `ended`: the
    number that ran; `held_up` need (also indirectly) a job that fits on no machine. `reruns`:
    attempts that failed.
    """

    makespan: float
    cost: float | None
    cpu_hours: float
    idle_cpu_hours: float
    utilisation: float
    jobs: int
    ended: int
    reruns: int
    spans: Spans
    opened: tuple[UsedMachine, ...]
    unplaced: tuple[UnplacedJobs, ...]
    held_up: int
