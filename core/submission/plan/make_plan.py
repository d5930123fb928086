"""The plan of a draft: names read, scripts written, jobs in bundles or arrays, and their cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.submission.plan.arrays import with_arrays
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import PackedJobs, Plan, PlannedJob
from rowtui.core.submission.plan.planner import applied_limit
from rowtui.core.submission.scripts.parts import job_name

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.kind import SchedulerKind
    from rowtui.core.submission.plan.draft import Draft, JobDraft
    from rowtui.core.submission.plan.planner import Planner


def make_plan(draft: Draft) -> Plan:
    """Return the plan. Raises: PlanError for a job that cannot be packed as it must be."""
    setting = draft.planner.setting
    planned = tuple(_planned(draft.planner, each) for each in draft.jobs)
    packing = PackedJobs(planned) if setting.pack is None else setting.pack(planned)
    clusters = draft.clusters
    planned = tuple(_limited(it, kind_of(clusters[it.destination.cluster])) for it in packing.jobs)
    most = {name: setting.array_tasks(cluster) for name, cluster in clusters.items()}
    if any(most.values()):
        planned = with_arrays(planned, most)
    plan = Plan(
        id="",
        created=setting.created,
        user=setting.user,
        cluster=setting.cluster.name,
        scheduler=setting.cluster.scheduler,
        jobs=planned,
        cost=Cost(),
        warnings=(*draft.warnings, *packing.warnings),
        skipped=draft.skipped,
        packed=packing.packed,
        refused=draft.refused,
    )
    plan = plan._replace(cost=Cost.total(it.cost for it in charges_of(plan)))
    return plan._replace(id=plan_id(plan))


def _planned(planner: Planner, draft: JobDraft) -> PlannedJob:
    way, place, script = draft.way, draft.place, draft.script
    request = draft.requests[draft.number] if place is None else place.request
    token, positions = planner.token(draft.at), request.group.indices
    names = tuple(map(planner.directories.name, positions))
    if script is None:
        script = planner.script(request, way, token, names, positions)
    assert script is not None  # checked before
    return PlannedJob(
        token=token,
        name=job_name(request.action, names),
        action=request.action.name,
        action_index=request.action.index,
        directories=names,
        destination=way.destination,
        script=script,
        log_path=way.log_path,
        processes=request.processes,
        cpus=request.cpus,
        gpus=request.gpus,
        memory_mb=way.memory_mb,
        walltime_seconds=request.walltime_seconds,
        cost=request.cost,
        attempt=request.attempt,
        warnings=draft.warnings,
        reasons=way.reasons,
        depends_on=tuple(map(planner.token, request.depends_on)),
        basis="" if place is None else place.basis.text,
        starts_steps=way.starts_steps,
        node_type="" if place is None else place.node_type,
        requires=request.requires,
    )


def _limited(job: PlannedJob, kind: SchedulerKind) -> PlannedJob:
    """Return the job, or its bundle, with the time limit that the scheduler applies."""
    if (bundle := job.bundle) is not None:
        return job._replace(bundle=bundle._replace(seconds=kind.limit(bundle.seconds)))
    seconds, cost = applied_limit(kind, job.walltime_seconds, job.cost)
    same = seconds == job.walltime_seconds
    return job if same else job._replace(walltime_seconds=seconds, cost=cost)
