"""JSON objects of networks and their runs."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from rowtui.core.base.json import ProblemJson
from rowtui.core.base.json.directories import CostJson, FailureJson
from rowtui.core.base.json.jobs import JobJson


class ChargesJson(TypedDict):
    """What the submitted jobs of a run ask for (`charged`; `prices` by currency), and failures."""

    charged: CostJson
    prices: dict[str, float]
    jobs_in_queue: int
    failures: int
    failures_in_a_row: int


class EventFailureJson(TypedDict):
    """A sample whose job failed just now."""

    node: str
    directory: str
    failed: FailureJson


class RunEventJson(TypedDict):
    """One line of `network run`. The first, `run`, has the `id`; the others have what applies.

    `jobs`: those that are sent. `blocked`: samples that cannot run for those in `failed`. `states`:
    samples of the network by state.
    """

    event: str
    id: NotRequired[str]
    at: NotRequired[str]
    sentence: NotRequired[str]
    success: NotRequired[bool]
    plan: NotRequired[str]
    jobs: NotRequired[list[JobJson]]
    completed: NotRequired[int]
    blocked: NotRequired[int]
    new: NotRequired[int]
    published: NotRequired[int]
    failed: NotRequired[list[EventFailureJson]]
    states: NotRequired[dict[str, int]]
    charged: NotRequired[CostJson]
    prices: NotRequired[dict[str, float]]
    jobs_in_queue: NotRequired[int]
    failures: NotRequired[int]
    failures_in_a_row: NotRequired[int]


class SimulatedNodeJson(TypedDict):
    """What one job of a node asks for, and how long it runs. `basis`: where that is from."""

    name: str
    jobs: int
    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: float
    basis: str
    measured_jobs: int
    refused: str | None


class SimulatedMachineJson(TypedDict):
    """Machines of one kind. `number`: null for as many as wanted."""

    name: str
    cpus: int
    memory_mb: int | None
    gpus: int
    price_per_hour: float | None
    number: int | None
    boot_seconds: float
    whole: bool


class UnplacedJson(TypedDict):
    """Jobs of a node that fit on no machine."""

    node: str
    jobs: int


class OrderResultJson(TypedDict):
    """What one scheduling plug-in comes to; without an `error` all fields are there.

    `held_up`: jobs that need one that fits on no machine.
    """

    plugin: str
    summary: str
    error: str | None
    makespan_seconds: NotRequired[float]
    cost: NotRequired[CostJson]
    idle_cpu_hours: NotRequired[float]
    utilisation: NotRequired[float]
    jobs: NotRequired[int]
    ended: NotRequired[int]
    reruns: NotRequired[int]
    machines_used: NotRequired[int]
    unplaced: NotRequired[list[UnplacedJson]]
    held_up: NotRequired[int]


class GanttRowJson(TypedDict):
    """A row of a chart. Each cell: the node (null: none), and the share of the time."""

    label: str
    cells: list[list[Any]]


class GanttJson(TypedDict):
    """A chart of one order. `cell_seconds`: of one cell."""

    plugin: str
    by: str
    cell_seconds: float
    rows: list[GanttRowJson]


class NetworkSimulationJson(TypedDict):
    """`network run --simulate`. No order takes less than `least_seconds`."""

    version: int
    network: str
    jobs: int
    completed: int
    assumed_lists: int
    assumed_entries: int
    failures: float
    seed: int
    nodes: list[SimulatedNodeJson]
    machines: list[SimulatedMachineJson]
    notices: list[str]
    critical_path_seconds: float
    least_seconds: float
    plugins: list[OrderResultJson]
    left_out: list[str]
    gantt: GanttJson | None


class NodeHomeJson(TypedDict):
    """Whose directories a node uses, and why."""

    node: str
    home: str
    why: str


class NetworkCheckJson(TypedDict):
    """`network check`. `jobs`: null where they cannot be counted."""

    version: int
    ok: bool
    problems: list[ProblemJson]
    notices: list[str]
    jobs: int | None
    directories: list[NodeHomeJson]


class RetiredJson(TypedDict):
    """`network retire`: directories of samples that no source has; `needed`: by which run.

    `trash`: where those that were `moved` are.
    """

    version: int
    retired: list[str]
    needed: dict[str, str]
    moved: list[str]
    trash: str | None
