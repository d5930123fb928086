"""The order of a run's jobs: the facts for a scheduling plug-in, and the ranks that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.scheduling import NodeFacts, Orderable, find_plugin, ranks
from rowtui.core.network.samples.domain import Domain, natural
from rowtui.core.runs.limits.run_times import run_times

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


Column: TypeAlias = "NDArray[Any]"


def ranks_of(project: OpenProject, growth: Growth, priority: str) -> NDArray[np.int32]:
    """Return the rank of every job in a plug-in's order. Raises: SchedulingError."""
    return ranks(find_plugin(priority), orderable(project, growth))


def orderable(project: OpenProject, growth: Growth) -> Orderable:
    """Return the jobs of a graph in the form that plug-ins take."""
    flow = growth.flow
    from_source, to_sink = _hops(growth)
    rows = {action.name: action.index for action in reversed(project.workflow.actions)}
    limits = run_times(project, flow.network, measured={})  # the walltime limits of actions
    facts: list[NodeFacts] = []
    for name in flow.names:
        node = flow.network.node(name)
        facts.append(
            NodeFacts(
                name,
                from_source.get(name, 0),
                to_sink.get(name, {}),
                limits[name].seconds if name in limits else 1.0,
                0 if node is None else rows.get(node.action, 0),
            )
        )
    graph = growth.graph
    return Orderable(tuple(facts), graph.nodes(), sample_places(growth), graph.edges())


def sample_places(growth: Growth) -> Column:
    """Return for each job the rank of its sample among all samples of all nodes, in natural order.

    Samples are ordered by the values of dimensions, in the order of the network's dimensions. A
    sample without a dimension precedes samples with it. Numbers precede texts.
    """
    flow = growth.flow
    names: dict[str, Domain] = {}
    for run in flow.runs.values():
        for axis in run.columns.axes:
            names.setdefault(axis.name, axis)
    count = len(growth.graph)
    keys = []
    for name, domain in names.items():
        natural = _natural(domain)
        key = np.full(count, -1, dtype=np.int32)
        for node, run in flow.runs.items():
            if name in run.columns.names:
                codes = run.columns.codes[run.columns.names.index(name)]
                key[growth.jobs(node)] = natural[codes]
        keys.append(key)
    if not keys or not count:
        return np.zeros(count, dtype=np.int32)
    order: Column = np.lexsort(tuple(reversed(keys)))
    new = np.zeros(count, dtype=bool)
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    places = np.empty(count, dtype=np.int32)
    places[order] = np.cumsum(new)
    return places


def _natural(domain: Domain) -> NDArray[np.int32]:
    """Return the rank of each value of a domain among all values."""
    places = np.empty(len(domain), dtype=np.int32)
    order = sorted(range(len(domain)), key=lambda at: natural(domain.values[at]))
    places[order] = np.arange(len(domain), dtype=np.int32)
    return places


def _hops(growth: Growth) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return the links from the nearest source to each node, and from each node to its sinks."""
    flow = growth.flow
    from_source: dict[str, int] = dict.fromkeys(flow.sources, 0)
    above: dict[str, set[str]] = {}
    for name in flow.shape.order:
        node = flow.network.node(name)
        if node is None or name not in flow.runs:
            continue
        above[name] = {link.source for link in node.links}
        from_source[name] = 1 + min((from_source[source] for source in above[name]), default=0)
    to_sink: dict[str, dict[str, int]] = {}
    ends = {sink.name: sink.source for sink in flow.network.sinks} or {
        name: name for name in above if not any(name in those for those in above.values())
    }
    for sink, end in ends.items():
        hops, reached = 1, {end}
        while reached:
            for name in reached:
                to_sink.setdefault(name, {}).setdefault(sink, hops)
            reached = {up for name in reached for up in above.get(name, ())}
            hops += 1
    return from_source, to_sink
