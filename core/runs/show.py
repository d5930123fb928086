"""Make the views of a network from its graph. Blocks only on the run's journal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import Problem
from rowtui.core.network.definition.spec import ALL, Link, Node
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import JobState
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.views import (
    Estimate,
    FailureView,
    LinkView,
    NetworkView,
    NodeView,
    RunView,
)

if TYPE_CHECKING:
    from rowtui.core.runs.running import Running

MOST_FAILURES = 200


def network_view(
    growth: Growth,
    running: Running | None,
    problems: Sequence[Problem] = (),
    notices: Sequence[str] = (),
    *,
    here: bool = False,
    guess: Estimate | None = None,
) -> NetworkView:
    """Return the view of a network, and of its run if there is one. Raises: RowtuiError."""
    flow = growth.flow
    return NetworkView(
        generation=growth.graph.generation,
        at=time.time(),
        name=flow.network.name,
        nodes=_nodes(growth, guess),
        links=_links(flow.network.nodes),
        failures=_failures(growth),
        run=None if running is None else _run(running, here=here),
        problems=tuple(map(str, problems)),
        notices=tuple(notices),
        estimate=guess,
    )


def _nodes(growth: Growth, guess: Estimate | None) -> tuple[NodeView, ...]:
    flow = growth.flow
    network, shape = flow.network, flow.shape
    counts = growth.graph.counts()
    levels: dict[str, int] = {source.name: 0 for source in network.sources}
    found = [
        NodeView(
            name=source.name,
            kind="source",
            action="",
            home=source.name,
            dimensions=flow.columns(source.name).dimensions,
            samples=flow.columns(source.name).count,
            lists=0,
            counts=(),
            level=0,
            needed=source.name in shape.needed,
        )
        for source in network.sources
    ]
    critical = {} if guess is None else {it.node: it.seconds for it in guess.critical_path}
    for name in shape.order:
        node = network.node(name)
        assert node is not None
        above = [levels[link.source] for link in node.links]
        levels[name] = 1 + max(above, default=0)
        run = flow.runs.get(name)
        number = flow.numbers[name]
        found.append(
            NodeView(
                name=name,
                kind="node",
                action=node.action,
                home=shape.home(name),
                dimensions=() if run is None else run.columns.dimensions,
                samples=0 if run is None else run.columns.count,
                lists=0 if run is None else run.opens.number,
                counts=counts[number] if run is not None and number < len(counts) else (),
                level=levels[name],
                needed=run is not None,
                critical=critical.get(name),
            )
        )
    found.extend(
        NodeView(
            name=sink.name,
            kind="sink",
            action="",
            home=sink.source,
            dimensions=(),
            samples=flow.columns(sink.source).count if sink.source in flow.runs else 0,
            lists=0,
            counts=(),
            level=1 + levels.get(sink.source, 0),
        )
        for sink in network.sinks
    )
    return tuple(found)


def _links(nodes: Sequence[Node]) -> tuple[LinkView, ...]:
    return tuple(
        LinkView(
            link.source, node.name, it.name, link.output, link.collapse, link.expand, _said(link)
        )
        for node in nodes
        for it in node.inputs
        for link in it.links
    )


def _said(link: Link) -> str:
    if link.require == ALL:
        return ""
    if link.require.number is not None:
        return f"at least {link.require.number:,}"
    return f"at least {link.require.share or 0:.0%}"


def _failures(growth: Growth) -> tuple[FailureView, ...]:
    graph = growth.graph
    states = graph.snapshot().states
    found: list[FailureView] = []
    at = states.find(JobState.FAILED)
    while at >= 0 and len(found) < MOST_FAILURES:
        node = growth.where(at).node
        found.append(
            FailureView(node, growth.directory(at), graph.reason(at), graph.lost_by(at), at)
        )
        at = states.find(JobState.FAILED, at + 1)
    return tuple(sorted(found, key=lambda it: -it.lost))


def _run(running: Running, *, here: bool) -> RunView:
    run = running.run
    holder = run.holder()
    standing = run.standing
    paused = standing.status is RunStatus.PAUSED
    return RunView(
        id=run.id,
        status=standing.status,
        created=run.about.created,
        holder="" if holder is None else str(holder),
        here=here,
        why=standing.why if paused else "",
        limits=standing.limits or run.about.limits,
        spent=running.spent(),
        priority=running.priority,
        execution=running.execution,
        used=running.used(),
    )
