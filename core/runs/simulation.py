"""A network simulated before (or while) it runs: what each scheduling plug-in would come to.

Takes a project and its samples; gives for every plug-in when all would be done and what it would
cost, beside the least that any order can take. Only what is left is simulated. Lists that no job
has made yet are taken to have a given number of entries. Each job of the graph is a job of its own
here: groups, bundles and queues of other people are not simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rowtui.core.errors import RowtuiError
from rowtui.core.network.critical_path import remaining_seconds
from rowtui.core.network.flow import ListEntry, ListKey
from rowtui.core.network.growth import Growth
from rowtui.core.network.job_model import JobState
from rowtui.core.network.scheduling import Orderable, SchedulingError, ranks
from rowtui.core.network.scheduling_plug_ins import PLUG_INS, find_plugin
from rowtui.core.network.simulate import HOUR, Needs, Simulated, Work, simulate
from rowtui.core.runs.facts import Facts
from rowtui.core.runs.machines import Machines
from rowtui.core.runs.model import Entry
from rowtui.core.runs.run_times import RunTime

if TYPE_CHECKING:
    from rowtui.core.network.spec import Network
    from rowtui.core.project.project import Project
    from rowtui.core.workflow.model import Resources

USUAL = ("sample", "sink", "critical-path", "row", "source:+1", "source:-1")
OVER = (JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED, JobState.MISSING)
DEEPEST = 16  # lists of lists that are assumed


class Outcome(NamedTuple):
    """What one plug-in comes to. `run` None: it could not be used, `error` says why."""

    plugin: str
    summary: str
    run: Simulated | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcomes, the best first: the shortest, then the cheapest. Times in seconds.

    `least` is what every order takes: `critical_path` (the longest way through the graph), or the
    work divided by all cores. `left_out`: plug-ins for which there was no time.
    """

    work: Work
    machines: Machines
    outcomes: tuple[Outcome, ...]
    critical_path: float
    least: float
    left_out: tuple[str, ...] = ()

    @property
    def best(self) -> Outcome | None:
        """The first that could be used."""
        return next((it for it in self.outcomes if it.run is not None), None)

    def outcome(self, plugin: str) -> Outcome | None:
        """That of one plug-in."""
        return next((it for it in self.outcomes if it.plugin == plugin), None)


# -- the work --------------------------------------------------------------------------------------


def assume_entries(growth: Growth, entries: int) -> int:
    """Let the graph grow by lists that nobody has made yet; how many were assumed.

    The growth is the caller's own: what is assumed is in it for good. Raises: DimensionError.
    """
    wanted = _expanded(growth.flow.network)
    assumed = 0
    every: Sequence[ListEntry] = [Entry(f"?{at + 1}", {}, at) for at in range(entries)]
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
    """The lists that are expanded somewhere."""
    links = (link for node in network.nodes for link in node.links)
    keys = ((link.source, link.output, link.expand) for link in links if link.expand)
    return list(dict.fromkeys(keys))


def take_complete(project: Project, growth: Growth) -> int:
    """Tell a graph that nobody drives what the project's records call complete; how many."""
    complete = Facts(growth).news(project.state, lambda _job, _token: False).complete
    growth.graph.complete(complete)
    return len(complete)


def work_of(
    project: Project,
    growth: Growth,
    times: Mapping[str, RunTime],
    *,
    failures: float = 0.0,
    seed: int = 1,
) -> Work:
    """What is left of a graph. Of actions of one name the first says what it needs."""
    graph = growth.graph
    needs = []
    for name in growth.flow.names:
        node = growth.flow.network.node(name)
        actions = () if node is None else project.workflow.named(node.action)
        seconds = times[name].seconds if name in times else 0.0
        if actions:
            needs.append(needs_of(name, actions[0].resources, seconds))
        else:
            needs.append(Needs(name, seconds=seconds))
    with graph.lock:
        states = np.frombuffer(graph.snapshot().states, np.uint8)
        node_of, edges = graph.nodes(), graph.edges()
    over = np.isin(states, [int(state) for state in OVER])
    return Work(tuple(needs), node_of, edges, None, over, failures, seed)


def needs_of(name: str, resources: Resources, seconds: float) -> Needs:
    """What an action takes in one directory. Memory that nobody states is none."""
    cpus, gpus = resources.total_cpus(1), resources.total_gpus(1)
    memory = cpus * (resources.memory_per_cpu_mb or 0) + gpus * (resources.memory_per_gpu_mb or 0)
    return Needs(name, cpus, memory, gpus, seconds)


# -- the orders ------------------------------------------------------------------------------------


def plugin_names(growth: Growth, chosen: str = "") -> list[str]:
    """The plug-ins that are worth a comparison: ours, those installed, and the chosen one."""
    names = list(USUAL)
    sinks = sorted(sink.name for sink in growth.flow.network.sinks)
    if len(sinks) > 1:
        names += [f"sink:{name}" for name in sinks]
    names += sorted(point.name for point in entry_points(group=PLUG_INS))
    if chosen:
        names.append(chosen)
    return list(dict.fromkeys(names))


def compare(
    jobs: Orderable,
    work: Work,
    machines: Machines,
    plugins: Sequence[str],
    go_on: Callable[[str], bool] = lambda _: True,
) -> Comparison:
    """Simulate the work by every one of these plug-ins. `jobs`: as they see it (`orderable`).

    `go_on` is asked with the name of each but the first before it is begun.
    Raises: RowtuiError (there are no machines, or times that cannot be).
    """
    if not machines.machines:
        raise RowtuiError(
            "no machines are known to simulate the network on",
            'give some, as in --machines "16 CPUs x 4"',
        )
    # Plug-ins shall see the times that are simulated; those that are over take none.
    jobs = replace(jobs, seconds=work.each_seconds())
    outcomes: list[Outcome] = []
    left_out = []
    for name in plugins:
        if outcomes and not go_on(name):
            left_out.append(name)
            continue
        try:
            plugin = find_plugin(name)
            order = ranks(plugin, jobs)
        except SchedulingError as error:
            outcomes.append(Outcome(name, "", None, error.message))
            continue
        outcomes.append(Outcome(name, plugin.summary, simulate(work, machines.machines, order)))
    outcomes.sort(key=_goodness)  # stable: of equals the first
    path = critical_seconds(work)
    cores = machines.cores
    least = max(path, core_hours(work) * HOUR / cores) if cores else path
    return Comparison(work, machines, tuple(outcomes), path, least, tuple(left_out))


def critical_seconds(work: Work) -> float:
    """The longest way through what is left."""
    if not len(work.node):
        return 0.0
    return float(remaining_seconds(work.waits(), work.each_seconds()).max())


def core_hours(work: Work) -> float:
    """What is left to do."""
    cpus = work.of_nodes([float(it.cpus) for it in work.nodes])
    return float((cpus * work.each_seconds()).sum()) / HOUR


def _goodness(outcome: Outcome) -> tuple[float, float, float]:
    run = outcome.run
    if run is None:
        return (1.0, 0.0, 0.0)
    # What differs by less than a thousandth of a second is equal.
    return (0.0, round(run.makespan, 3), round(run.cost or 0.0, 6))
