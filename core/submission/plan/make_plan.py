"""From job requests to a plan: each job's destination with reasons, its script, and warnings.

The input is the workflow, the job requests, the cluster and its launchers, the directories, the
user, the time and a nonce (the module uses no clock or random numbers). The result is an immutable
`Plan`, or every problem that would stop one of its jobs. Problems are found before any job is sent,
once for each action instead of for each job. Row reports these errors in the middle of a
submission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import Cost, visible
from rowtui.core.clusters.model import Cluster, PartitionChoice, starts_processes
from rowtui.core.groups.model import JobRequest
from rowtui.core.state.model import LastEnd
from rowtui.core.submission.plan.arrays import with_arrays
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import Plan, PlannedDestination, PlannedJob, RefusedWork
from rowtui.core.submission.plan.planner import (
    LaunchMethod,
    Named,
    PackedJobs,
    PlanError,
    Planner,
    PlanRefusal,
    Setting,
    applied_limit,
    job_memory_mb,
)
from rowtui.core.submission.scripts.parts import (
    bash_complaint,
    is_one_command,
    job_name,
    log_path,
    options_for,
)
from rowtui.core.workflow.model import Workflow

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.kind import SchedulerKind
    from rowtui.core.submission.plan.apply_placement import PlacedRequest

__all__ = [
    "PackedJobs",
    "PlanError",
    "Setting",
    "bash_complaint",
    "choice_reasons",
    "is_one_command",
    "job_memory_mb",
    "make_plan",
]


def make_plan(
    workflow: Workflow,
    requests: Sequence[JobRequest],
    directories: Named,
    setting: Setting,
    *,
    ends: Mapping[str, Mapping[int, LastEnd]] | None = None,
    skipped: Sequence[str] = (),
    places: Sequence[PlacedRequest] | None = None,
    refused: Sequence[RefusedWork] = (),
) -> Plan:
    """Return the plan for these requests, in their order.

    `ends` are the state's records of how directories' last jobs ended. `skipped` describes groups
    that were left out before, `refused` jobs. `places`, one for each request, are the mapper's
    placements (without: the first partition that accepts the job). A job that its machine or
    partition cannot run is refused, and the others are planned. Raises: PlanError with every
    problem of the actions that have no job that can be planned.
    """
    planner = Planner(workflow, directories, setting, ends or {})
    shared: dict[tuple[int, ...], _Shared] = {}
    if places is None:
        jobs = [_planned(planner, at, request, shared) for at, request in enumerate(requests)]
    else:
        jobs = [
            _planned(planner, at, place.request, shared, place) for at, place in enumerate(places)
        ]
    problems = planner.problems()
    if problems:
        raise PlanError(problems)
    refused = (*refused, *planner.refused())
    planned = tuple(job for job in jobs if job is not None)
    packing = PackedJobs(planned) if setting.pack is None else setting.pack(planned)
    clusters = {it.name: it for it in (setting.cluster, *(place.cluster for place in places or ()))}
    planned = tuple(_limited(job, clusters[job.destination.cluster].kind) for job in packing.jobs)
    most = {name: setting.array_tasks(cluster) for name, cluster in clusters.items()}
    if any(most.values()):
        planned = with_arrays(planned, most)
    cost = Cost()
    for job in planned:
        cost = cost.plus(job.cost)
    plan = Plan(
        id="",
        created=setting.created,
        user=setting.user,
        cluster=setting.cluster.name,
        scheduler=setting.cluster.scheduler,
        jobs=planned,
        cost=cost,
        warnings=(*setting.warnings, *planner.warnings(), *packing.warnings),
        skipped=(*skipped, *(each.sentence for each in refused)),
        packed=packing.packed,
        refused=refused,
    )
    return replace(plan, id=plan_id(plan))


class _Shared(NamedTuple):
    """The common data of an action's jobs on equally many directories."""

    way: LaunchMethod
    destination: PlannedDestination
    log_path: str
    memory_mb: int | None
    reasons: tuple[str, ...]
    starts_steps: bool


def _planned(
    planner: Planner,
    index: int,
    request: JobRequest,
    shared: dict[tuple[int, ...], _Shared],
    place: PlacedRequest | None = None,
) -> PlannedJob | None:
    """Return one job; None with its problems recorded."""
    action, positions = request.action, request.group.indices
    key = action.index, len(positions), request.cpus, request.gpus
    common = shared.get(key) if place is None else None
    if common is None:
        way = planner.way_of(request, place)
        if way is None:
            return None
        if isinstance(way, PlanRefusal):
            planner.refuse(action, positions, way)
            return None
        common = _shared(planner, request, way, place)
        if place is None:
            shared[key] = common
    names = tuple(map(planner.directories.name, positions))
    token = planner.token(index)
    script = planner.script(request, common.way, token, names, positions)
    if script is None:
        return None
    return PlannedJob(
        token=token,
        name=job_name(action, names),
        action=action.name,
        action_index=action.index,
        directories=names,
        destination=common.destination,
        script=script,
        log_path=common.log_path,
        processes=request.processes,
        cpus=request.cpus,
        gpus=request.gpus,
        memory_mb=common.memory_mb,
        walltime_seconds=request.walltime_seconds,
        cost=request.cost,
        attempt=request.attempt,
        warnings=planner.job_warnings(request, common.way.choice),
        reasons=common.reasons,
        depends_on=tuple(map(planner.token, request.depends_on)),
        basis="" if place is None else place.basis.text,
        starts_steps=common.starts_steps,
        node_type="" if place is None else place.node_type,
        requires=request.requires,
    )


def _limited(job: PlannedJob, kind: SchedulerKind) -> PlannedJob:
    """Return the job, or its bundle, with the time limit that the scheduler applies."""
    if (bundle := job.bundle) is not None:
        return replace(job, bundle=replace(bundle, seconds=kind.limit(bundle.seconds)))
    seconds, cost = applied_limit(kind, job.walltime_seconds, job.cost)
    same = seconds == job.walltime_seconds
    return job if same else replace(job, walltime_seconds=seconds, cost=cost)


def _shared(
    planner: Planner, request: JobRequest, way: LaunchMethod, place: PlacedRequest | None
) -> _Shared:
    action, cluster, partition = request.action, way.cluster, way.partition
    named = options_for(action, cluster.name).partition
    kind = cluster.kind
    return _Shared(
        way=way,
        destination=PlannedDestination(cluster.name, partition.name if partition else ""),
        log_path="" if kind.immediate else log_path(action, cluster.name),
        memory_mb=job_memory_mb(request, partition),
        reasons=choice_reasons(cluster, way.choice, named) if place is None else place.reasons,
        starts_steps=starts_processes(action, planner.setting.launchers, cluster.name),
    )


def choice_reasons(cluster: Cluster, choice: PartitionChoice, named: str | None) -> tuple[str, ...]:
    """Return why a job goes to this partition and not to earlier ones.

    `named`: the partition in workflow.toml.
    """
    refusals = tuple(f"not {refusal}" for refusal in choice.refusals)
    if only := cluster.kind.only_choice:
        return (only,)
    if choice.partition is None:
        return refusals
    name = visible(choice.partition.name)
    if named is not None:
        return (f"{name}: named in submit_options.{visible(cluster.name)}.partition", *refusals)
    return (f"{name}: the first partition that takes the job", *refusals)
