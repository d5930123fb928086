"""Make the views of a network from its graph. Blocks only on the run's journal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.network.definition.spec import ALL, Link, Node
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.views import (
    Estimate,
    FailureView,
    LinkView,
    NetworkView,
    NodeView,
    RunView,
    WaitPath,
    WaitStep,
)

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun


# What a job waits for: one path from the job to the cause, and the number of other dependencies.
#
# Takes the job graph; gives a bounded path. Of several dependencies, the path takes the one nearest
# to the cause: a lost job first, then a submitted, an eligible, and a waiting one. The path of a
# lost job leads to the job that failed or was cancelled itself.


MOST_STEPS: Final = 50
_NAMED: Final = 3  # inputs named in a sentence
MOST_LOOKED_AT: Final = 100_000  # dependencies of one job that are examined
_NEAREST: Final = (
    GraphJobState.FAILED,
    GraphJobState.CANCELLED,
    GraphJobState.BLOCKED,
    GraphJobState.SKIPPED,
    GraphJobState.SUBMITTED,
    GraphJobState.ELIGIBLE,
    GraphJobState.WAITING,
)


def waits_of(growth: Growth, job: int) -> WaitPath:
    """Return what this job waits for. Raises: RowtuiError for an unknown job."""
    if not 0 <= job < len(growth.graph):
        raise RowtuiError(f"there is no job {job} in the network now", "look at its samples again")
    needs = _open(growth, job)
    counts = Counter((growth.where(it).node, _word(growth, it)) for it in needs)
    steps = [_step(growth, job, len(needs))]
    seen, here = {job}, job
    while len(steps) < MOST_STEPS:
        ahead = [it for it in _open(growth, here) if it not in seen]
        if not ahead:
            break
        here = min(ahead, key=lambda it: (_NEAREST.index(growth.graph.state(it)), it))
        seen.add(here)
        steps.append(_step(growth, here, len(_open(growth, here))))
    cut = len(steps) == MOST_STEPS and bool(_open(growth, here))
    every = tuple((node, state, many) for (node, state), many in sorted(counts.items()))
    return WaitPath(tuple(steps), every, cut)


def missing_inputs(growth: Growth, job: int) -> str:
    """Return `waits for 2 of 3 inputs: DIRECTORY (simulate, eligible), ...`, or why it is lost."""
    graph = growth.graph
    state = graph.state(job)
    missing = _open(growth, job)
    names = [
        f"{visible(growth.directory(it))} ({visible(growth.where(it).node)}, {_word(growth, it)})"
        for it in missing[:_NAMED]
    ]
    if len(missing) > _NAMED:
        names.append(f"{len(missing) - _NAMED:,} more")
    shown = ", ".join(names)
    if state is GraphJobState.WAITING:
        total = len(graph.dependencies(job))
        return f"waits for {len(missing):,} of {plural(total, 'input')}: {shown}"
    if missing:
        return f"cannot run, as inputs are lost: {shown}"
    if state is GraphJobState.ELIGIBLE:
        return "is eligible: 'rowtui network make' or 'rowtui network run' makes its directory"
    why = graph.reason(job)
    return f"is {_word(growth, job)}" + (f": {visible(why)}" if why else "")


def _open(growth: Growth, job: int) -> list[int]:
    """Return the jobs that keep a job from running; none if it runs, may run, or ended itself."""
    graph = growth.graph
    state = graph.state(job)
    if state in (GraphJobState.CANCELLED, GraphJobState.BLOCKED, GraphJobState.SKIPPED):
        return [it for it in graph.root_causes(job) if it != job][:MOST_LOOKED_AT]
    if state is not GraphJobState.WAITING:
        return []
    needed = graph.dependencies(job)[:MOST_LOOKED_AT]
    return [it for it in needed if graph.state(it) is not GraphJobState.COMPLETED]


def _step(growth: Growth, job: int, open_: int) -> WaitStep:
    graph = growth.graph
    return WaitStep(
        job, growth.where(job).node, growth.directory(job), _word(growth, job), graph.reason(job),
        open_,
    )  # fmt: skip


def _word(growth: Growth, job: int) -> str:
    return growth.graph.state(job).name.lower()


MOST_FAILURES = 200


def network_view(
    growth: Growth,
    running: OpenRun | None,
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
            output=sink.output,
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
    at = states.find(GraphJobState.FAILED)
    while at >= 0 and len(found) < MOST_FAILURES:
        node = growth.where(at).node
        found.append(
            FailureView(node, growth.directory(at), graph.reason(at), graph.lost_by(at), at)
        )
        at = states.find(GraphJobState.FAILED, at + 1)
    return tuple(sorted(found, key=lambda it: -it.lost))


def _run(running: OpenRun, *, here: bool) -> RunView:
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
