"""What is simulated, on what, and what comes of it: the values of `simulate.py`.

Jobs, edges and spans are columns: a million of them are not a million objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.job_model import Edges

HOUR = 3600.0
Column = NDArray[Any]  # a number for each job


class Machine(NamedTuple):
    """Machines of one kind, in the order in which they are to be used.

    `number`: how many there are, None for as many as wanted. `price_per_hour`: None where only
    what jobs take is counted. `boot_seconds`: until one that is opened begins its first job.
    `whole`: a job has all of it, whatever it needs.
    """

    name: str
    cpus: int
    memory_mb: int = 0
    gpus: int = 0
    price_per_hour: float | None = None
    number: int | None = 1
    boot_seconds: float = 0.0
    whole: bool = False


class Needs(NamedTuple):
    """What one job of a node takes, and for how many seconds."""

    name: str
    cpus: int = 1
    memory_mb: int = 0
    gpus: int = 0
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to do. Columns are by the number of the job.

    `node` are positions in `nodes`; `seconds`, where given, of each job instead of its node's;
    `over`: jobs that nothing waits for and that do not run (complete, or given up).
    `failures`: the share of attempts that fail, from 0 to below 1; such a job begins anew.
    """

    nodes: tuple[Needs, ...]
    node: Column
    edges: Edges
    seconds: Column | None = None
    over: Column | None = None
    failures: float = 0.0
    seed: int = 1

    def left(self) -> NDArray[np.bool_]:
        """Which jobs are to run."""
        if self.over is None:
            return np.ones(len(self.node), bool)
        return ~np.asarray(self.over, bool)

    def each_seconds(self) -> NDArray[np.float64]:
        """How long each job runs; 0 for those that are over."""
        if self.seconds is not None:
            every = np.array(self.seconds, np.float64)
        else:
            every = self.of_nodes([it.seconds for it in self.nodes])
        every[~self.left()] = 0.0
        return every

    def waits(self) -> Edges:
        """Who waits for whom, among the jobs that are to run."""
        left = self.left()
        counts = left[self.edges.needs] & left[self.edges.jobs]
        return Edges(self.edges.needs[counts], self.edges.jobs[counts])

    def of_nodes(self, values: Sequence[float]) -> NDArray[np.float64]:
        """What is known of nodes, for each job."""
        return np.array([*values, 0.0], np.float64)[self.node]

    def attempts(self) -> NDArray[np.int64]:
        """How often each job is tried."""
        count = len(self.node)
        if not self.failures:
            return np.ones(count, np.int64)
        return np.random.default_rng(self.seed).geometric(1.0 - self.failures, count)


class Spans(NamedTuple):
    """Who ran where and when, in the order of their beginnings; as often as a job was tried.

    `machine` counts the opened machines from 0; times in seconds from the beginning.
    """

    job: NDArray[np.int32]
    machine: NDArray[np.int32]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


class Opened(NamedTuple):
    """One machine that was used. `kind`: its position in the list of machines."""

    kind: int
    since: float
    until: float


class Unplaced(NamedTuple):
    """Jobs of a node that fit on no machine."""

    node: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it. Times in seconds, `cost` in the unit of the prices (None: not all have one).

    `core_hours` are those that jobs have, `idle_core_hours` those of open machines that none had;
    `utilisation` is the share of the first. `jobs`: to run, of which `ended` did; `held_up` need
    (also at a distance) one that fits on no machine. `reruns`: attempts that failed.
    """

    makespan: float
    cost: float | None
    core_hours: float
    idle_core_hours: float
    utilisation: float
    jobs: int
    ended: int
    reruns: int
    spans: Spans
    opened: tuple[Opened, ...]
    unplaced: tuple[Unplaced, ...]
    held_up: int
