"""A simulated network as JSON: run times, machines, what each order comes to, a chart of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.cli.network.shared.simulation_text import HEIGHT, SimulationReport, job_counts
from rowtui.core.base.document import Flat, TextOrNull
from rowtui.core.base.text import Cost, CostJson
from rowtui.core.network.simulation.gantt import NOTHING, By, Gantt, gantt
from rowtui.core.network.simulation.simulate import Simulated, SimulatedMachines
from rowtui.core.runs.limits.run_times import UNKNOWN_MB, RunTimeSource
from rowtui.core.runs.limits.simulation import Comparison, PlugInResult

JSON_CELLS = 100


class SimulatedNodeJson(NamedTuple):
    """What one job of a node asks for, and how long it runs. `basis`: where that is from."""

    name: str
    jobs: int
    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: float
    basis: RunTimeSource
    measured_jobs: int
    refused: TextOrNull


class SimulatedMachineJson(NamedTuple):
    """Machines of one kind. `number`: null for as many as wanted."""

    name: str
    cpus: int
    memory_mb: int | None
    gpus: int
    price_per_hour: float | None
    number: int | None
    boot_seconds: float
    whole: bool


class UnplacedJson(NamedTuple):
    """Jobs of a node that fit on no machine."""

    node: str
    jobs: int


class OrderJson(NamedTuple):
    """What an order comes to. `held_up`: jobs that need one that fits on no machine."""

    makespan_seconds: float
    cost: CostJson
    idle_cpu_hours: float
    utilisation: float
    jobs: int
    ended: int
    reruns: int
    machines_used: int
    unplaced: Sequence[UnplacedJson]
    held_up: int


class OrderResultJson(NamedTuple):
    """What one scheduling plug-in comes to; without an `error` all fields are there.

    `held_up`: jobs that need one that fits on no machine.
    """

    plugin: str
    summary: str
    error: TextOrNull
    order: Flat[OrderJson | None]


class GanttRowJson(NamedTuple):
    """A row of a chart. Each cell: the node (null: none), and the share of the time."""

    label: str
    cells: Sequence[Sequence[Any]]


class GanttJson(NamedTuple):
    """A chart of one order. `cell_seconds`: of one cell."""

    plugin: str
    by: str
    cell_seconds: float
    rows: Sequence[GanttRowJson]


class NetworkSimulationJson(NamedTuple):
    """`network run --simulate`. No order takes less than `least_seconds`."""

    network: str
    jobs: int
    completed: int
    assumed_lists: int
    assumed_entries: int
    failures: float
    seed: int
    nodes: Sequence[SimulatedNodeJson]
    machines: Sequence[SimulatedMachineJson]
    notices: Sequence[str]
    critical_path_seconds: float
    least_seconds: float
    plugins: Sequence[OrderResultJson]
    left_out: Sequence[str]
    gantt: GanttJson | None


def simulation_document(
    report: SimulationReport, chosen: PlugInResult | None, by: By
) -> NetworkSimulationJson:
    """Return the whole simulation for programs."""
    found = report.found
    nodes = [
        SimulatedNodeJson(
            it.name,
            jobs,
            it.cpus,
            it.memory_mb or None,
            it.gpus,
            it.seconds,
            report.times[it.name].basis,
            report.times[it.name].jobs,
            it.refused,
        )
        for it, jobs in job_counts(found)
        if it.name in report.times
    ]
    drawn = None
    if chosen is not None and chosen.run is not None:
        machines = found.machines.machines
        drawn = gantt(found.work, machines, chosen.run, by=by, height=HEIGHT, width=JSON_CELLS)
    return NetworkSimulationJson(
        report.network,
        int(found.work.left().sum()),
        report.done,
        report.assumed,
        report.entries,
        found.work.failures,
        found.work.seed,
        nodes,
        [_machine(it) for it in found.machines.machines],
        found.machines.notices,
        found.critical_path,
        found.least,
        [_result(it, found) for it in found.outcomes],
        found.left_out,
        None if chosen is None or drawn is None else _chart(chosen.plugin, drawn),
    )


def _chart(plugin: str, drawn: Gantt) -> GanttJson:
    def node(number: int) -> str | None:
        return None if number == NOTHING else drawn.nodes[number]

    rows = [
        GanttRowJson(row.label, [(node(cell.node), cell.share) for cell in row.cells])
        for row in drawn.rows
    ]
    return GanttJson(plugin, drawn.by, drawn.seconds, rows)


def _machine(machine: SimulatedMachines) -> SimulatedMachineJson:
    unknown = not machine.memory_mb or machine.memory_mb >= UNKNOWN_MB
    shown = machine._replace(memory_mb=0) if unknown else machine
    return SimulatedMachineJson(shown.name, shown.cpus, shown.memory_mb or None, *shown[3:])


def _gpu_hours(found: Comparison, run: Simulated) -> float:
    gpus = found.work.of_nodes([float(it.gpus) for it in found.work.nodes])[run.spans.job]
    return float((gpus * (run.spans.end - run.spans.start)).sum()) / 3600


def _result(result: PlugInResult, found: Comparison) -> OrderResultJson:
    run, order = result.run, None
    if run is not None:
        hours = Cost(run.cpu_hours, _gpu_hours(found, run))
        order = OrderJson(
            run.makespan,
            hours.priced(run.cost, found.machines.unit),
            run.idle_cpu_hours,
            run.utilisation,
            run.jobs,
            run.ended,
            run.reruns,
            len(run.opened),
            [UnplacedJson(found.work.nodes[it.node].name, it.jobs) for it in run.unplaced],
            run.held_up,
        )
    return OrderResultJson(result.plugin, result.summary, result.error, order)
