"""One round of a run: ready jobs in their order become a plan for confirmation; its messages.

Parts -> mapped -> tied to each other -> packed -> plan. A job that waits for others is planned only
where the scheduler, or the slot that they share, keeps the order.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.base.errors import NotSavedError
from rowtui.core.base.text import plural
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.network.graph.scheduling import NodeFacts, Orderable, find_plugin, ranks
from rowtui.core.network.samples.domain import Domain, natural
from rowtui.core.project.failed_jobs import with_attempts
from rowtui.core.project.planning.pack_terms import cluster_named
from rowtui.core.project.planning.plan_submission import (
    UsableActions,
    draft_formed,
    formed_requests,
    project_packing,
    without_broken,
)
from rowtui.core.runs.limits.limits import Breach, RunLimits
from rowtui.core.runs.limits.run_times import run_times
from rowtui.core.submission.plan.dependencies import can_depend, cannot_share, shared_options
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import PackedJobs, Plan, PlannedJob

if TYPE_CHECKING:
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.project.project import Project
    from rowtui.core.runs.execution.parts import Parts
    from rowtui.core.runs.running import OpenRun, RunUpdate


# The order of a run's jobs: the facts for a scheduling plug-in, and the ranks that it returns.


Column = NDArray[Any]


def ranks_of(project: Project, growth: Growth, priority: str) -> NDArray[np.int32]:
    """Return the rank of every job in a plug-in's order. Raises: SchedulingError."""
    return ranks(find_plugin(priority), orderable(project, growth))


def orderable(project: Project, growth: Growth) -> Orderable:
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


# The messages of the autopilot, and its question to the user.


class MessageKind(enum.Enum):
    """The kind of a message of the autopilot."""

    BEGUN = "begun"
    HAPPENED = "happened"  # jobs ended, or files of lists arrived
    SENT = "sent"
    RETRY = "retry"  # failed work that a rule retries is about to be submitted
    PROBLEM = "problem"
    WAITING = "waiting"  # nothing can be saved now: the run goes on by itself
    PAUSED = "paused"
    OVER = "over"


class AutopilotMessage(NamedTuple):
    """One message of the autopilot. `happened`: what a poll found; `plan`: what was submitted.

    `completed`, `failed`: jobs that ended, in runs without a network.
    """

    kind: MessageKind
    sentence: str
    happened: RunUpdate | None = None
    plan: Plan | None = None
    success: bool = True
    completed: int = 0
    failed: int = 0


STOPPED_ELSEWHERE = "another process stopped the run"
UNWRITABLE_SECONDS = 60.0
"""The wait before a driver tries again to write, as after a full disk."""
WAITS = "; the run waits, and tries again each minute"


async def until_writable(
    turns: Callable[[], AsyncGenerator[AutopilotMessage, None]], stop: asyncio.Event
) -> AsyncGenerator[AutopilotMessage, None]:
    """Yield the messages of a driver's turns, and begin again while nothing can be saved.

    Nothing is submitted that is not in the journals, so that the driver may wait and go on. The
    wait is reported once, until something was done again.
    """
    reported = False
    while not stop.is_set():
        try:
            async with contextlib.aclosing(turns()) as messages:
                async for message in messages:
                    reported = reported and message.kind is MessageKind.PROBLEM
                    yield message
            return
        except NotSavedError as error:
            if not reported:
                reported = True
                yield AutopilotMessage(MessageKind.WAITING, error.message, success=False)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), UNWRITABLE_SECONDS)


class PlanAnswer(NamedTuple):
    """The user's answer to a plan that the limits do not allow, or that must be confirmed.

    `send`: submit this plan once, unchanged. `limits`: the limits from now on, if not None. With
    neither, the run pauses.
    """

    send: bool = False
    limits: RunLimits | None = None


Ask = Callable[["Plan", tuple[Breach, ...]], Awaitable[PlanAnswer]]


def begun_text(running: OpenRun, made: int) -> str:
    """Return the size of a run that begins. `made`: directories made now."""
    samples = plural(len(running.graph), "sample")
    return f"{samples}, {plural(made, 'new directory', 'new directories')}"


def happened_text(happened: RunUpdate) -> str:
    """Return what a poll found."""
    parts = []
    if happened.completed:
        parts.append(f"{plural(happened.completed, 'sample')} completed")
    if happened.failed:
        parts.append(f"{plural(len(happened.failed), 'sample')} failed")
    if happened.blocked:
        parts.append(f"{happened.blocked:,} blocked")
    if happened.new:
        parts.append(f"{plural(happened.new, 'new sample')}")
    if happened.published:
        parts.append(f"{happened.published:,} published")
    return ", ".join(parts)


def over_text(running: OpenRun, lost: int) -> str:
    """Return how a run ended. `lost`: jobs that are not complete."""
    if not lost:
        return "all jobs are completed"
    counts = running.graph.counts()
    failed = sum(each[GraphJobState.FAILED] for each in counts)
    cancelled = sum(each[GraphJobState.CANCELLED] for each in counts)
    more = lost - failed - cancelled
    what = [f"{plural(failed, 'sample')} failed"] if failed or not cancelled else []
    if cancelled:
        what.append(f"{plural(cancelled, 'sample was', 'samples were')} cancelled")
    return f"nothing is left to do: {', '.join(what)}" + (
        f", and {more:,} that depend on their results cannot run" if more else ""
    )


class Round(NamedTuple):
    """What could be submitted now. `plan`: None if nothing. `blocked`: reasons for ready jobs.

    `again`: more can be planned at once after this plan was submitted. `waits`: a running job will
    end, and more can be planned then.
    """

    plan: Plan | None
    blocked: tuple[str, ...] = ()
    again: bool = False
    waits: bool = False


def plan_parts(
    running: OpenRun,
    parts: Parts,
    numbers: Sequence[int] | None = None,
    pack: Pack | None = None,
) -> Round:
    """Return the plan of these parts (None: all), in their order. See `RoundWork.plan`.

    Raises: RowtuiError.
    """
    project = running.project
    chosen = [parts.all[at] for at in (range(len(parts)) if numbers is None else numbers)]
    if not chosen:
        return Round(None, parts.blocked)
    actions = list({part.group.action.index: part.group.action for part in chosen}.values())
    requests = with_attempts(project, [part.request for part in chosen])

    def round_of(usable: UsableActions) -> Plan:
        kept = {action.index for action in usable.actions}
        wanted = [request for request in requests if request.action.index in kept]
        with parts.in_planned_directories():
            formed = formed_requests(project, wanted, parts.blocked)
            return make_plan(draft_formed(project, usable, formed, pack))

    plan = without_broken(project, actions, round_of)
    return Round(plan, parts.blocked) if plan.jobs else Round(None, plan.skipped)


class Tied(NamedTuple):
    """Planned jobs with dependencies by token, and the lists of jobs that share a slot."""

    jobs: tuple[PlannedJob, ...]
    lanes: list[list[PlannedJob]]


def tied(
    parts: Parts,
    jobs: Sequence[PlannedJob],
    units: Sequence[Sequence[int]],
    may_wait: Callable[[PlannedJob], bool],
) -> Tied:
    """Return the planned jobs with their dependencies; drop jobs whose order cannot be kept.

    `units`: numbers of parts that should share a slot where possible. `may_wait`: whether a job may
    be submitted before the jobs that it needs have ended.
    """
    planned = {parts.number(job): job for job in jobs}
    lane_of: dict[int, object] = {}
    for at, unit in enumerate(units):
        for number in unit:
            if number in planned and not cannot_share(planned[number], waits=True):
                lane_of[number] = (at, _place(planned[number]))
    kept: dict[int, PlannedJob] = {}
    waits: dict[object, set[object]] = {}  # for each slot (or single job), the slots it waits for
    for number in sorted(planned):  # a part has a higher number than the parts it needs
        job, needs = planned[number], parts.all[number].needs
        if any(it not in kept for it in needs):
            continue
        mine = lane_of.get(number, number)
        others = {lane_of.get(it, it) for it in needs} - {mine}
        if mine != number and _reaches(waits, others, mine):
            del lane_of[number]  # its slot would wait for itself
            mine, others = number, {lane_of.get(it, it) for it in needs}
        here = job.destination.cluster
        if others and not (
            may_wait(job) and all(kept[it].destination.cluster == here for it in needs)
        ):
            lane_of.pop(number, None)
            continue
        waits.setdefault(mine, set()).update(others)
        tokens = tuple(kept[it].token for it in needs)
        kept[number] = job._replace(depends_on=tokens) if tokens else job
    lanes: dict[object, list[PlannedJob]] = {}
    for unit in units:
        for number in unit:
            if number in kept and number in lane_of:
                lanes.setdefault(lane_of[number], []).append(kept[number])
    every = tuple(kept[at] for job in jobs if (at := parts.number(job)) in kept)
    return Tied(every, [those for those in lanes.values() if len(those) > 1])


def _reaches(waits: Mapping[object, set[object]], begin: Collection[object], end: object) -> bool:
    """Whether any of `begin` waits, directly or indirectly, for `end`."""
    todo, seen = list(begin), set(begin)
    while todo:
        one = todo.pop()
        if one == end:
            return True
        more = waits.get(one, set()) - seen
        seen |= more
        todo += more
    return False


def _place(job: PlannedJob) -> object:
    return job.destination, shared_options(job), job.node_type


def keeps_order(project: Project) -> Callable[[PlannedJob], bool]:
    """Return a predicate: whether the job's cluster starts it only after its dependencies
    succeeded.
    """
    known: dict[str, bool] = {}

    def may_wait(job: PlannedJob) -> bool:
        name = job.destination.cluster
        if name not in known:
            cluster = cluster_named(project, name)
            known[name] = cluster is not None and can_depend(cluster)
        return known[name]

    return may_wait


def as_the_project_packs(project: Project, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
    """Return the jobs packed as the project and its clusters configure."""
    packing = project_packing(project)
    return PackedJobs(jobs) if packing is None else packing(jobs)
