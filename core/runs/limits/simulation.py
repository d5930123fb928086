"""Simulate a network before or while it runs, to compare scheduling plug-ins.

Takes a project and its samples; gives for every plug-in the makespan and the cost, and the lower
bound of the makespan for any order. Only the remaining jobs are simulated. Lists that no job has
made yet are assumed to have a given number of entries. Each job of the graph is simulated as a
scheduler job of its own: groups, bundles and other users' jobs are not simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.graph.scheduling import (
    PLUG_INS,
    Orderable,
    SchedulingError,
    find_plugin,
    ranks,
    remaining_seconds,
)
from rowtui.core.network.samples.sample_flow import ListEntry, ListKey
from rowtui.core.network.simulation.simulate import (
    HOUR,
    Simulated,
    SimulatedNeeds,
    SimulatedWork,
    simulate,
)
from rowtui.core.runs.limits.asked import NONE, AskedOfGraph, JobKind
from rowtui.core.runs.limits.run_times import Machines, RunTime
from rowtui.core.runs.model import MadeEntry
from rowtui.core.runs.observed_states import ObservedStates

if TYPE_CHECKING:
    from rowtui.core.network.definition.spec import Network
    from rowtui.core.project.open_project import OpenProject

USUAL = ("sample", "sink", "critical-path", "row", "source:+1", "source:-1")
OVER = (
    GraphJobState.COMPLETED,
    GraphJobState.FAILED,
    GraphJobState.CANCELLED,
    GraphJobState.SKIPPED,
    GraphJobState.BLOCKED,
)
DEEPEST = 16  # levels of lists of lists that are assumed


class PlugInResult(NamedTuple):
    """The result of one plug-in.

    `run` is None if it could not be used, and `error` gives the reason.
    """

    plugin: str
    summary: str
    run: Simulated | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes, best first: by makespan, then by cost. Times are in seconds.

    `least` is the lower bound for every order: `critical_path` (the longest path through the
    graph), or the work divided by all cores if that is longer. `left_out`: plug-ins for which there
    was no time.
    """

    work: SimulatedWork
    machines: Machines
    outcomes: tuple[PlugInResult, ...]
    critical_path: float
    least: float
    left_out: tuple[str, ...] = ()

    @property
    def best(self) -> PlugInResult | None:
        """Return the first outcome whose plug-in could be used."""
        return next((it for it in self.outcomes if it.run is not None), None)

    def outcome(self, plugin: str) -> PlugInResult | None:
        """Return the outcome of one plug-in."""
        return next((it for it in self.outcomes if it.plugin == plugin), None)


# -- the work --------------------------------------------------------------------------------------


def assume_entries(growth: Growth, entries: int) -> int:
    """Grow the graph by assumed lists; return how many lists were assumed.

    The caller's growth is changed permanently. Raises: DimensionError.
    """
    wanted = _expanded(growth.flow.network)
    assumed = 0
    every: Sequence[ListEntry] = [MadeEntry(f"?{at + 1}", {}, at) for at in range(entries)]
    for _ in range(DEEPEST):
        flow = growth.flow
        lists: dict[ListKey, Mapping[str, Sequence[ListEntry]]] = dict(flow.lists)
        new = 0
        for key in wanted:
            if key[0] not in flow.runs:
                continue  # no sink needs it, or it is a source, whose lists are read with it
            known = lists.get(key, {})
            missing = [name for name in flow.directories(key[0]) if name not in known]
            if missing:
                new += len(missing)
                lists[key] = {**known, **dict.fromkeys(missing, every)}
        if not new:
            break
        assumed += new
        growth.grow(lists)
    return assumed


def _expanded(network: Network) -> list[ListKey]:
    """Return the lists that links expand."""
    links = (link for node in network.nodes for link in node.links)
    keys = ((link.source, link.output, link.expand) for link in links if link.expand)
    return list(dict.fromkeys(keys))


def take_complete(project: OpenProject, growth: Growth) -> int:
    """Complete in a graph the jobs that are completed in the project's records; return the number.

    The graph must not belong to a driven run.
    """
    complete = ObservedStates(growth).news(project.state, lambda _job, _token: False).complete
    growth.graph.complete(complete)
    return len(complete)


def work_of(
    asked: AskedOfGraph,
    growth: Growth,
    times: Mapping[str, RunTime],
    *,
    failures: float = 0.0,
    seed: int = 1,
) -> SimulatedWork:
    """Return the remaining work of a graph whose jobs ask for these amounts.

    A measured or given time applies to all jobs of a node; otherwise each kind of jobs has its
    walltime.
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
    return _without_unused(SimulatedWork(tuple(needs), which, edges, None, over, failures, seed))


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


# -- the orders ------------------------------------------------------------------------------------


def plugin_names(growth: Growth, chosen: str = "") -> list[str]:
    """Return the plug-ins to compare: the built-in ones, the installed ones, and the chosen one."""
    names = list(USUAL)
    sinks = sorted(sink.name for sink in growth.flow.network.sinks)
    if len(sinks) > 1:
        names += [f"sink:{name}" for name in sinks]
    names += PLUG_INS.names()
    if chosen:
        names.append(chosen)
    return list(dict.fromkeys(names))


def compare(
    jobs: Orderable,
    work: SimulatedWork,
    machines: Machines,
    plugins: Sequence[str],
    go_on: Callable[[str], bool] = lambda _: True,
) -> Comparison:
    """Simulate the work in the order of each plug-in. `jobs`: the plug-ins' view (`orderable`).

    `go_on` is called with the name of each plug-in but the first; False skips the plug-in. Raises:
    RowtuiError if no machines are known or times are invalid.
    """
    if not machines.machines:
        raise RowtuiError(
            "no machines are defined for the simulation",
            'give some, as in --machines "16 CPUs x 4"',
        )
    # Plug-ins get the simulated times; jobs that are over take no time.
    jobs = replace(jobs, seconds=work.each_seconds())
    outcomes: list[PlugInResult] = []
    left_out = []
    for name in plugins:
        if outcomes and not go_on(name):
            left_out.append(name)
            continue
        try:
            plugin = find_plugin(name)
            order = ranks(plugin, jobs)
        except SchedulingError as error:
            outcomes.append(PlugInResult(name, "", None, error.message))
            continue
        outcomes.append(
            PlugInResult(name, plugin.summary, simulate(work, machines.machines, order))
        )
    outcomes.sort(key=_goodness)  # stable: among equals the first is kept
    path = critical_seconds(work)
    cores = machines.cores
    least = max(path, cpu_hours(work) * HOUR / cores) if cores else path
    return Comparison(work, machines, tuple(outcomes), path, least, tuple(left_out))


def critical_seconds(work: SimulatedWork) -> float:
    """Return the seconds of the longest path through the remaining work."""
    if not len(work.node):
        return 0.0
    return float(remaining_seconds(work.waits(), work.each_seconds()).max())


def cpu_hours(work: SimulatedWork) -> float:
    """Return the CPU-hours of the remaining work."""
    cpus = work.of_nodes([float(it.cpus) for it in work.nodes])
    return float((cpus * work.each_seconds()).sum()) / HOUR


def _goodness(outcome: PlugInResult) -> tuple[float, float, float]:
    run = outcome.run
    if run is None:
        return (1.0, 0.0, 0.0)
    # Differences below a thousandth of a second count as equal.
    return (0.0, round(run.makespan, 3), round(run.cost or 0.0, 6))
