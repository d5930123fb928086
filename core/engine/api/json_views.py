"""The objects of `rowtui.core.base.json_objects` made from the values of a project.

Takes jobs, plans, queues, groups and packings; gives dicts for `json.dumps`. Each object is made by
one function, whatever command prints it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rowtui.core.base.json_objects import VERSION
from rowtui.core.base.text import Cost
from rowtui.core.submission.plan.model import job_label

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.base import json_objects as to
    from rowtui.core.clusters.model import Cluster, NodeType, PackingDefaults
    from rowtui.core.clusters.schedulers.base import Job
    from rowtui.core.groups.model import JobRequest, Status
    from rowtui.core.project.planning.asked import AskedAmounts
    from rowtui.core.project.planning.pack_views import (
        BundleView,
        NodeTypeView,
        NodeUse,
        PackedDestination,
        PackedPlan,
    )
    from rowtui.core.project.project import Project
    from rowtui.core.project.views.views import (
        ClusterView,
        JobView,
        PlacementExplanation,
        TransferView,
    )
    from rowtui.core.state.model import LastEnd, Submitted
    from rowtui.core.submission.plan.model import (
        InBundle,
        Packed,
        Plan,
        PlannedDestination,
        PlannedJob,
    )

_HOUR = 3600
_CPU_HOURS = ("core-hours", "CPU-hours")  # the unit of packings without prices


# -- plain values ----------------------------------------------------------------------------------


def utc(at: float | None) -> str | None:
    """`2026-11-22T18:00:00.123Z` for epoch seconds; None where they are 0 or no time."""
    from datetime import UTC, datetime

    if not at:
        return None
    try:
        text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None
    return text.replace("+00:00", "Z")


def cost_of(cost: Cost, price: float | None = None, currency: str = "") -> to.CostJson:
    """A cost, with what it is in money where that is known."""
    return {
        "cpu_hours": cost.cpu_hours,
        "gpu_hours": cost.gpu_hours,
        "price": price,
        "currency": (currency or None) if price is not None else None,
    }


def cost_in(unit: str, value: float, hours: Cost) -> to.CostJson:
    """A cost that packing counts in `unit`: a currency, or CPU-hours. `hours`: of the same jobs."""
    if unit in _CPU_HOURS:
        return cost_of(Cost(value, hours.gpu_hours))
    return cost_of(hours, value, unit)


def place_of(destination: PlannedDestination) -> to.PlaceJson:
    """Where jobs go."""
    return {"cluster": destination.cluster, "partition": destination.partition or None}


def transfers_of(views: Sequence[TransferView]) -> list[to.TransferJson]:
    """What is copied to clusters."""
    return [
        {
            "cluster": view.cluster,
            "place": view.place,
            "files": view.files,
            "size": view.size,
            "first": list(view.first),
            "unchanged": view.unchanged,
            "conflicts": list(view.conflicts),
            "back": list(view.back),
            "notices": list(view.notices),
        }
        for view in views
    ]


# -- jobs ------------------------------------------------------------------------------------------


class JobRecords(NamedTuple):
    """What is on record of the jobs of a project: their plans and views by token."""

    root: Path
    planned: Mapping[str, PlannedJob]
    views: Mapping[str, JobView]


def known_jobs(project: Project, views: Iterable[JobView]) -> JobRecords:
    """What the project has on record, after `project.jobs` was asked for `views`."""
    by_token = {view.record.token: view for view in views}
    return JobRecords(project.root, project.jobs.planned(), by_token)


def planned_job(
    job: PlannedJob, plan: Plan, *, state: str = "", reason: str = "", script: bool = False
) -> to.JobJson:
    """A job that was not sent. `state`: "" for eligible or waiting."""
    return {
        **_asked(job),
        "token": job.token,
        "id": None,
        "cluster": job.destination.cluster,
        "partition": job.destination.partition or None,
        "action": job.action,
        "name": job.name,
        "attempt": job.attempt,
        "log_path": job.log_path or None,
        "directories": list(job.directories),
        "directory_count": len(job.directories),
        "state": state or ("waiting" if job.depends_on else "eligible"),
        "reason": reason or None,
        "exit_code": None,
        "signal": None,
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "elapsed_seconds": None,
        "nodes": None,
        "user": plan.user or None,
        "plan": plan.id,
        "script": job.script if script else None,
    }


def _asked(job: PlannedJob) -> to.JobAmountsJson:
    bundle = job.bundle
    return {
        "processes": job.processes,
        "cpus": job.cpus,
        "memory_mb": job.memory_mb,
        "gpus": job.gpus,
        "walltime_seconds": walltime_of(job),
        "cost": cost_of(job.cost),
        "bundle": None if bundle is None else bundle.token,
        "depends_on": list(job.depends_on),
        "warnings": list(job.warnings),
        "reasons": list(job.reasons),
    }


def walltime_of(job: PlannedJob) -> int:
    """For how many seconds a job may run: in a bundle those of its own, not those of the bundle."""
    return job.walltime_seconds if job.bundle is None else job.bundle.own_seconds


def job_of(view: JobView, known: JobRecords) -> to.JobJson:
    """A job that was sent."""
    from rowtui.core.submission.sending.fence import begun_at, command_end

    record = view.record
    job = known.planned.get(record.token)
    ended = not view.state.active and bool(record.ended_at)
    end = command_end(record.end_reason, ended=ended)
    asked = _asked(job) if job is not None else _unknown_amounts(view)
    elapsed = elapsed_of(view, known.root)
    begun = begun_at(known.root, record.token)
    return {
        **asked,
        "token": record.token,
        "id": record.label if record.job_id else None,
        "cluster": record.cluster,
        "partition": record.partition or None,
        "action": record.action,
        "directories": list(record.directories),
        "directory_count": view.size,
        "name": record.name,
        "attempt": record.attempt,
        "state": view.state.value,
        "reason": (record.end_reason or view.reason) or None,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "submitted_at": utc(record.submitted_at),
        "started_at": utc(begun),
        "ended_at": utc(record.ended_at),
        "elapsed_seconds": elapsed,
        "log_path": record.log_path or None,
        "nodes": view.nodes or None,
        "user": record.user or None,
        "plan": record.plan_id or None,
        "script": None,
    }


def _unknown_amounts(view: JobView) -> to.JobAmountsJson:
    """The fields of a job whose plan cannot be read."""
    return {
        "processes": None,
        "cpus": None,
        "memory_mb": None,
        "gpus": None,
        "walltime_seconds": view.limit,
        "cost": None,
        "bundle": None,
        "depends_on": [],
        "warnings": [],
        "reasons": [],
    }


def elapsed_of(view: JobView, root: Path) -> float | None:
    """Seconds for which a job runs or ran: by the marks of an ended job, else the scheduler's."""
    from rowtui.core.submission.sending.fence import seconds_of_job

    seconds = None if view.state.active else seconds_of_job(root, view.record.token)
    return view.elapsed if seconds is None else round(seconds, 3)


def jobs_of(views: Sequence[JobView], known: JobRecords, error: str) -> to.JobsJson:
    """`show jobs`."""
    return {
        "version": VERSION,
        "error": error or None,
        "jobs": [job_of(view, known) for view in views],
    }


# -- the queue -------------------------------------------------------------------------------------


class Queued(NamedTuple):
    """A job as its scheduler has it, and the tokens of this project's jobs in it."""

    job: Job
    name: str
    tokens: tuple[str, ...] = ()
    bundled: bool = False


def cluster_queue(
    cluster: ClusterView, rows: Iterable[Queued], known: JobRecords | None, now: float
) -> to.ClusterQueueJson:
    """The jobs of one cluster. `known`: None outside of a project."""
    age = None if cluster.as_of is None else max(0.0, round(now - cluster.as_of, 3))
    return {
        "name": cluster.name,
        "where": cluster.where,
        "scheduler": cluster.scheduler,
        "connected": cluster.connected,
        "login": cluster.login or None,
        "error": cluster.error or None,
        "as_of": utc(cluster.as_of),
        "age_seconds": age,
        "next_at": utc(cluster.next_at),
        "jobs": [queue_row(row, cluster.name, known, now) for row in rows],
    }


def queue_row(row: Queued, cluster: str, known: JobRecords | None, now: float) -> to.QueueRowJson:
    """One job of a queue: what is on record of it, and what the scheduler says."""
    from rowtui.core.clusters.schedulers.base import JobState
    from rowtui.core.clusters.schedulers.reasons import explain
    from rowtui.core.submission.sending.fence import command_end, signal_name

    job = row.job
    told = explain(job, now)
    views = [] if known is None else [known.views[it] for it in row.tokens if it in known.views]
    ours = [] if known is None else [job_of(view, known) for view in views]
    record = cast(
        "to.QueueRowJson", ours[0] if ours and not row.bundled else _of_others(row, known)
    )
    end = command_end(job.reason if not job.state.active else "", ended=False)
    code, signal = end.exit_code, end.signal
    if not job.state.active and code is None and signal is None:
        signal = (signal_name(job.exit_signal) or str(job.exit_signal)) if job.exit_signal else None
        code = None if signal else job.exit_code
    if ours and not row.bundled and ours[0]["ended_at"]:  # its own word
        code, signal = ours[0]["exit_code"], ours[0]["signal"]
    elif job.state is JobState.CANCELLED:  # what ended it then is no news
        code = signal = None
    elapsed: float | None = job.elapsed or None
    if not job.state.active and record["elapsed_seconds"] is not None:
        elapsed = record["elapsed_seconds"]
    limit = job.limit if record["walltime_seconds"] is None else record["walltime_seconds"]
    return {
        **record,
        "token": record["token"] or job.token or None,
        "id": record["id"] or (str(job.key) if job.id else None),
        "cluster": cluster,
        "partition": job.partition or record["partition"],
        "name": job.name or record["name"],
        "walltime_seconds": limit,
        "state": job.state.value,
        "reason": job.reason or record["reason"],
        "exit_code": code,
        "signal": signal,
        "elapsed_seconds": elapsed,
        "nodes": job.nodes or None,
        "ours": bool(row.tokens),
        "requests": ours if row.bundled else [],
        "explanation": told.sentence,
        "hint": told.hint or None,
        "needs_person": told.needs_person,
        "starts_at": utc(job.start_estimate),
    }


def _of_others(row: Queued, known: JobRecords | None) -> Any:
    """The fields of a row that is no single job of this project."""
    planned = [] if known is None else [known.planned.get(it) for it in row.tokens]
    bundle = next((it.bundle for it in planned if it is not None and it.bundle), None)
    return {
        "token": None,
        "id": None,
        "partition": None,
        "action": None,
        "directories": [],
        "directory_count": sum(len(it.directories) for it in planned if it is not None),
        "name": row.name,
        "attempt": None,
        "processes": None,
        "cpus": None if bundle is None else bundle.cpus,
        "memory_mb": None if bundle is None else bundle.memory_mb,
        "gpus": None if bundle is None else bundle.gpus,
        "walltime_seconds": None if bundle is None else bundle.seconds,
        "cost": None if bundle is None else cost_of(_hours_of(bundle)),
        "bundle": None if bundle is None else bundle.token,
        "depends_on": [],
        "reason": None,
        "submitted_at": None,
        "started_at": None,
        "ended_at": None,
        "elapsed_seconds": None,
        "log_path": row.job.log_path or None,
        "user": None,
        "plan": None,
        "script": None,
        "warnings": [],
        "reasons": [],
    }


# -- plans -----------------------------------------------------------------------------------------


def plan_of(plan: Plan, *, scripts: bool = False) -> to.PlanJson:
    """A plan. `scripts`: with the script of each job."""
    return {
        "version": VERSION,
        "id": plan.id,
        "created": plan.created,
        "user": plan.user,
        "cluster": plan.cluster,
        "scheduler": plan.scheduler,
        "jobs": [planned_job(job, plan, script=scripts) for job in plan.jobs],
        "bundles": bundles_of(plan.jobs),
        "refused": refused_of(plan),
        "skipped": list(plan.skipped),
        "cost": cost_of(plan.cost),
        "packed": [packed_of(packed, plan.jobs) for packed in plan.packed],
        "warnings": list(plan.warnings),
    }


def sent_of(
    plan: Plan | None,
    answers: Mapping[str, str],
    known: JobRecords | None,
    transfers: Sequence[TransferView] = (),
) -> to.SentJson:
    """What became of a plan. `answers`: errors by token, "" for what is about no single job."""
    jobs: list[to.JobJson] = []
    if plan is not None and known is not None:
        for job in plan.jobs:
            view = known.views.get(job.token)
            if view is not None:
                jobs.append(job_of(view, known))
            else:
                why = answers.get(job.token, "")
                jobs.append(planned_job(job, plan, state="never sent", reason=why))
    return {
        "version": VERSION,
        "plan": None if plan is None or not plan.jobs else plan.id,
        "jobs": jobs,
        "refused": [] if plan is None else refused_of(plan),
        "skipped": [] if plan is None else list(plan.skipped),
        "errors": [error for error in answers.values() if error],
        "transfers": transfers_of(transfers),
    }


def refused_of(plan: Plan) -> list[to.RefusedJson]:
    """The directories that a plan leaves out, with the reason."""
    return [
        {
            "stage": it.stage.value,
            "action": it.action,
            "jobs": len(it.jobs),
            "directories": (names := [name for job in it.jobs for name in job]),
            "directory_count": len(names),
            "reason": it.reason,
            "hint": it.hint or None,
        }
        for it in plan.refused
    ]


def bundles_of(jobs: Iterable[PlannedJob]) -> list[to.BundleJson]:
    """The bundles of these jobs, in their order."""
    found: dict[str, to.BundleJson] = {}
    for job in jobs:
        if job.bundle is None:
            continue
        if job.bundle.token not in found:
            found[job.bundle.token] = _bundle(job.bundle)
        found[job.bundle.token]["jobs"].append(job.token)
    return list(found.values())


def _bundle(bundle: InBundle) -> to.BundleJson:
    return {
        "token": bundle.token,
        "node_type": bundle.node_type or None,
        "cpus": bundle.cpus,
        "memory_mb": bundle.memory_mb,
        "gpus": bundle.gpus,
        "walltime_seconds": bundle.seconds,
        "cost": cost_of(_hours_of(bundle)),
        "jobs": [],
    }


def _hours_of(bundle: InBundle) -> Cost:
    """What a bundle holds of its node, for as long as it may last."""
    hours = bundle.seconds / _HOUR
    return Cost(bundle.cpus * hours, bundle.gpus * hours)


# -- packings --------------------------------------------------------------------------------------


def packed_of(packed: Packed, jobs: Iterable[PlannedJob]) -> to.PackedSummaryJson:
    """What packing did at one destination. `jobs`: of the whole plan."""
    alone, together = Cost(), Cost()
    bundles: dict[str, InBundle] = {}
    for job in jobs:
        if job.destination == packed.destination:
            alone = alone.plus(job.cost)
            if job.bundle is None:
                together = together.plus(job.cost)
            else:
                bundles[job.bundle.token] = job.bundle
    for bundle in bundles.values():
        together = together.plus(_hours_of(bundle))
    return {
        "destination": place_of(packed.destination),
        "packer": packed.packer,
        "job_count": packed.jobs,
        "bundle_count": packed.bundles,
        "cost": cost_in(packed.unit, packed.cost, together),
        "cost_alone": cost_in(packed.unit, packed.alone, alone),
        "lower_bound": packed.bound,
        "unit": packed.unit,
    }


def packing_of(packed: PackedPlan) -> to.PackingJson:
    """`pack`: all destinations. Jobs are named by their tokens, as in the plan."""
    jobs = packed.plan.jobs
    return {
        "version": VERSION,
        "plan": packed.plan.id,
        "packers": [{"name": name, "summary": text} for name, text in packed.packers],
        "destinations": [_packed_destination(there, jobs) for there in packed.destinations],
        "refused": refused_of(packed.plan),
        "skipped": list(packed.plan.skipped),
    }


def _packed_destination(
    there: PackedDestination, jobs: Sequence[PlannedJob]
) -> to.PackedDestinationJson:
    return {
        **packed_of(there.packed, jobs),
        "gap": there.gap,
        "proven": there.proven,
        "packing_seconds": round(there.took, 3),
        "used": utilisation_of(there.used_of()),
        "node_types": [
            _node_type(kind, there.used_of(number)) for number, kind in enumerate(there.node_types)
        ],
        "bundles": [_packed_bundle(bundle, there, jobs) for bundle in there.bundles],
        "alone": [
            {"jobs": [jobs[at].token for at in left.jobs], "reason": left.reason}
            for left in there.left_alone
        ],
    }


def utilisation_of(used: NodeUse) -> to.UtilisationJson:
    """Shares of what is paid for."""
    return {"cpus": used.cpus, "memory": used.memory, "gpus": used.gpus}


def _node_type(kind: NodeTypeView, used: NodeUse) -> to.NodeTypeJson:
    return {
        "name": kind.name,
        "cpus": kind.amounts.cpus,
        "memory_mb": kind.amounts.memory_mb or None,
        "gpus": kind.amounts.gpus,
        "disk_mb": kind.amounts.disk_mb or None,
        "price_per_hour": kind.price if kind.priced else None,
        "at_most": kind.at_most,
        "boot_seconds": kind.boot_seconds,
        "longest_seconds": kind.longest_seconds,
        "whole_node": kind.whole_node,
        "source": kind.source,
        "used": utilisation_of(used),
    }


def node_kind_of(kind: NodeType) -> to.NodeKindJson:
    """A node type as clusters.toml describes it."""
    return {
        "name": kind.name,
        "partition": kind.partition or None,
        "cpus": kind.cpus,
        "memory_mb": kind.memory_mb,
        "gpus": kind.gpus,
        "disk_mb": kind.disk_mb,
        "price_per_hour": kind.price,
        "at_most": kind.at_most,
        "boot_seconds": kind.boot_seconds,
        "longest_seconds": kind.longest_seconds,
        "whole_node": kind.whole_node,
        "source": kind.source,
    }


def _packed_bundle(
    bundle: BundleView, there: PackedDestination, jobs: Sequence[PlannedJob]
) -> to.PackedBundleJson:
    """A bundle with its lanes: the amounts that its scheduler job asks for, as in the plan."""
    tokens = [at for lane in bundle.lanes for at in lane.jobs]
    sent = jobs[tokens[0]]
    if sent.bundle is not None:
        amounts, hours = _bundle(sent.bundle), _hours_of(sent.bundle)
    else:
        hours = sent.cost
        amounts = {
            "token": None,
            "node_type": None,
            "cpus": sent.cpus,
            "memory_mb": sent.memory_mb,
            "gpus": sent.gpus,
            "walltime_seconds": sent.walltime_seconds,
            "cost": cost_of(hours),
            "jobs": [],
        }
    return {
        **amounts,
        "node_type": there.node_types[bundle.node_type].name,
        "cost": cost_in(there.packed.unit, bundle.cost, hours),
        "jobs": [jobs[at].token for at in tokens],
        "lanes": [
            {
                "cpus": lane.amounts.cpus,
                "memory_mb": lane.amounts.memory_mb or None,
                "gpus": lane.amounts.gpus,
                "jobs": [
                    {
                        "token": jobs[at].token,
                        "action": jobs[at].action,
                        "directories": list(jobs[at].directories),
                        "directory_count": len(jobs[at].directories),
                        "walltime_seconds": seconds,
                    }
                    for at, seconds in zip(lane.jobs, lane.seconds, strict=True)
                ],
            }
            for lane in bundle.lanes
        ],
    }


def cluster_of(cluster: Cluster) -> to.ClusterJson:
    """A cluster as clusters.toml describes it."""
    remote, packing, budget = cluster.remote, cluster.packing, cluster.budget
    identify = cluster.identify
    return {
        "name": cluster.name,
        "identify": {
            "by_environment": identify.by_environment and [*identify.by_environment],
            "always": identify.always,
        },
        "scheduler": cluster.scheduler,
        "partitions": [cast("to.PartitionJson", each._asdict()) for each in cluster.partitions],
        "submit_options": [*cluster.submit_options],
        "slurm_gpus_per_task": cluster.slurm_gpus_per_task,
        "source": cluster.source,
        "remote": remote
        and {
            "host": remote.host,
            "user": remote.user,
            "port": remote.port,
            "transport": remote.transport,
            "paths": [{"local": pair.local, "remote": pair.remote} for pair in remote.paths],
            "mirror": remote.mirror,
            "config": [*remote.config],
        },
        "poll_seconds": cluster.poll_seconds,
        "arrays": cluster.arrays,
        "maximum_array_size": cluster.maximum_array_size,
        "memory_resource": cluster.memory_resource,
        "gpu_resource": cluster.gpu_resource,
        "node_types": [node_kind_of(kind) for kind in cluster.node_types],
        "currency": cluster.currency or None,
        "packing": packing
        and {
            **_packing_defaults(packing),
            "partitions": {name: _packing_defaults(own) for name, own in packing.partitions},
        },
        "asked_partitions": cluster.asked_partitions,
        "budget": budget and {"cpu_hours": budget.cpu_hours, "gpu_hours": budget.gpu_hours},
    }


def _packing_defaults(packing: PackingDefaults) -> to.PackingDefaultsJson:
    return {
        "enabled": packing.enabled,
        "packer": packing.packer,
        "largest_bundle": packing.largest_bundle,
        "longest_seconds": packing.longest_seconds,
        "time_factor": packing.time_factor,
    }


# -- directories and groups ------------------------------------------------------------------------


def bad_of(project: Project) -> dict[str, str]:
    """The directories that are set aside, by name, and why."""
    directories = project.state.directories
    return {directories.name(position): why for position, why in directories.bad.items()}


def directory_of(
    project: Project,
    action: str,
    position: int,
    status: Status | None,
    submitted: Submitted | None = None,
) -> to.DirectoryJson:
    """One directory of an action. `submitted`: the job with which it is submitted."""
    from rowtui.core.groups.model import ENDED, Status

    directories = project.state.directories
    end = project.state.ends.get(action, {}).get(position) if status in ENDED else None
    return {
        "name": directories.name(position),
        "action": action,
        "status": None if status is None else status.value,
        "failed": failure_of(end) if end is not None and status is Status.FAILED else None,
        "reason": None if end is None else end.reason,
        "job": None
        if submitted is None
        else {
            "cluster": submitted.cluster,
            "id": job_label(submitted.job_id, submitted.token),
            "token": submitted.token or None,
        },
        "value": directories.value(position),
    }


def failure_of(end: LastEnd) -> to.FailureJson:
    """How the last job of a directory ended."""
    return failed_for(end.reason, job_label(end.job_id, end.token), end.cluster)


def failed_for(reason: str, job: str | None, cluster: str) -> to.FailureJson:
    """A failure by the reason on record."""
    from rowtui.core.submission.sending.fence import command_end

    found = command_end(reason, ended=False)
    return {
        "exit_code": found.exit_code,
        "signal": found.signal,
        "reason": reason,
        "job": job,
        "cluster": cluster,
    }


def group_of(
    request: JobRequest, asked: AskedAmounts, number: int, directories: list[to.DirectoryJson]
) -> to.GroupJson:
    """A group and what its job asks for, as mapping files have it. `number`: from 1."""
    from rowtui.core.project.planning.asked import as_asked

    group = request.group
    if asked.refused:  # what the action itself asks for
        asked = as_asked(request)
    statuses = {it["status"] for it in directories}
    return {
        "action": group.action.name,
        "number": number,
        "directories": directories,
        "directory_count": len(group.indices),
        "status": statuses.pop() if len(statuses) == 1 else None,
        "processes": request.processes,
        "cpus": asked.cpus,
        "memory_mb": asked.memory_mb,
        "gpus": asked.gpus,
        "walltime_seconds": asked.walltime_seconds,
        "cost": cost_of(asked.cost),
    }


# -- explanations ----------------------------------------------------------------------------------


def explanation_of(explanation: PlacementExplanation, action: str, about: str) -> to.ExplainedJson:
    """An explanation as `rowtui explain --json` prints one. `about`: which directories."""
    from rowtui.core.mapping.model.decision_json import decision_data, problem_data

    decisions: list[to.GroupsDecisionJson] = []
    if explanation.decision is not None:
        decisions.append(
            {
                "groups": [[explanation.group, explanation.group]],
                "directory_count": explanation.directories,
                "first_directory": explanation.first,
                **decision_data(explanation.decision, explanation.loads),
            }
        )
    return {
        "version": VERSION,
        "action": action,
        "about": about,
        "group_count": explanation.groups,
        "why_not": None,
        "files": [
            {"name": name, "trusted": trusted, "because": because}
            for name, (trusted, because) in zip(
                explanation.files, explanation.trusted, strict=False
            )
        ],
        "problems": [problem_data(each) for each in explanation.problems],
        "decisions": decisions,
    }
