"""One round of a run: ready jobs in their order become a plan for confirmation; its messages.

Parts -> mapped -> tied to each other -> packed -> plan. A job that waits for others is planned only
where the scheduler, or the slot that they share, keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.project.failed_jobs import with_attempts
from rowtui.core.project.planning.plan_submission import (
    UsableActions,
    draft_formed,
    formed_requests,
    project_packing,
    without_broken,
)
from rowtui.core.submission.plan.dependencies import can_depend, cannot_share, shared_options
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import PackedJobs, Plan, PlannedJob

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.runs.execution.parts import Parts
    from rowtui.core.runs.running import OpenRun


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


def keeps_order(project: OpenProject) -> Callable[[PlannedJob], bool]:
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


def as_the_project_packs(project: OpenProject, jobs: tuple[PlannedJob, ...]) -> PackedJobs:
    """Return the jobs packed as the project and its clusters configure."""
    packing = project_packing(project)
    return PackedJobs(jobs) if packing is None else packing(jobs)
