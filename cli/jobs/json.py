"""Jobs and queues as JSON, from the records of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.document import Flat, Moment, TextOrNull
from rowtui.core.base.text import CostJson
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.project.queue.queue_list import ClusterRow
from rowtui.core.project.views.views import ClusterView
from rowtui.core.submission.plan.charges import Charge
from rowtui.core.submission.plan.model import JobStep, Plan, PlannedJob
from rowtui.core.submission.plan.outcome import JobOutcome, signal_name
from rowtui.core.submission.plan.record import JobRecord, shown_job
from rowtui.core.submission.sending.fence import begun_at


class JobAmountsJson(NamedTuple):
    """What a job asks for. `cpus`, `memory_mb`, `gpus`, `processes`: of the whole job.

    `walltime_seconds`: the limit that the scheduler applies. `bundle`: the token of its bundle;
    `depends_on`: tokens. `reasons`: why this destination, and why no other.
    """

    processes: int | None = None
    cpus: int | None = None
    memory_mb: int | None = None
    gpus: int | None = None
    walltime_seconds: int | None = None
    cost: CostJson | None = None
    bundle: str | None = None
    depends_on: Sequence[str] = ()
    warnings: Sequence[str] = ()
    reasons: Sequence[str] = ()


class JobJson(NamedTuple):
    """One job: what it asks for and, once it was sent, how it stands.

    `id`: as in `JobReference`. `state`: waiting (for `depends_on`), eligible, reserved, held,
    pending, running, suspended, completing, completed, failed, timeout, out of memory, node failed,
    preempted, lost, cancelled, refused, never sent, or unknown. `reason`: why it waits (only then),
    or how it ended. `outcome`: how it ended, null before: completed, no product, exit code, setup
    failed, signal, time limit, out of memory, node failed, preempted, lost, not started, not
    reported, no report, cancelled, not reached, refused, never sent. `exit_code`: the command's
    own; null where a signal ended the command, or none is known. `signal`: `KILL`, `TERM`, ....
    `script`: null unless scripts are asked for.
    """

    amounts: Flat[JobAmountsJson]
    token: str
    id: str | None
    cluster: str
    partition: TextOrNull
    action: str
    directories: Sequence[str]
    directory_count: int
    name: str
    attempt: int
    state: str
    reason: TextOrNull
    outcome: JobOutcome | None
    exit_code: int | None
    signal: TextOrNull
    submitted_at: Moment
    started_at: Moment
    ended_at: Moment
    elapsed_seconds: float | None
    log_path: TextOrNull
    nodes: TextOrNull
    user: TextOrNull
    plan: TextOrNull
    script: str | None = None


class JobsJson(NamedTuple):
    """`show jobs`: newest first; only with `--long` those that ended or are on other clusters.

    `error`: why states may be out of date.
    """

    error: TextOrNull
    jobs: Sequence[JobJson]


class LogJson(NamedTuple):
    """`logs`: the job and the text of its log, or the last lines of it. `path`: of the log."""

    job: JobJson
    path: str
    lines: Sequence[str]


class QueueRowJson(NamedTuple):
    """One scheduler job. The fields of `JobJson`, null where only the scheduler knows the job.

    `ours`: of this project. `requests`: the jobs in it, of a bundle. `explanation`, `hint`: what
    the state and the reason mean. `needs_person`: it does not start unless a person acts.
    `starts_at`: an estimate of the scheduler.
    """

    job: Flat[JobJson]
    token: TextOrNull
    action: TextOrNull
    attempt: int | None
    ours: bool
    requests: Sequence[JobJson]
    explanation: str
    hint: TextOrNull
    needs_person: bool
    starts_at: Moment


class ClusterQueueJson(NamedTuple):
    """The jobs of one cluster. `where`: `here` or `me@host`. `connected`: null without a login.

    `login`: why a person must log in. `error`: why the last poll failed; `as_of`: of what is known,
    `age_seconds` old; `next_at`: of the next poll.
    """

    name: str
    where: str
    scheduler: str
    connected: bool | None
    login: TextOrNull
    error: TextOrNull
    as_of: Moment | None
    age_seconds: float | None
    next_at: Moment
    jobs: Sequence[QueueRowJson]


class QueueJson(NamedTuple):
    """`queue`: all clusters."""

    clusters: Sequence[ClusterQueueJson]


def job_document(record: JobRecord, root: Path | None) -> JobJson:
    """A job of the project in `root`; None if it was not sent, so that it left no files there."""
    job, end = record.planned, record.end
    return JobJson(
        JobAmountsJson() if job is None else _amounts(job),
        record.token,
        record.label if record.job_id else None,
        record.cluster,
        record.partition,
        record.action,
        record.directories,
        record.size,
        record.name,
        record.attempt,
        record.state.value,
        record.reason,
        None if end is None else end.outcome,
        record.exit_code,
        "" if end is None else end.signal,
        record.submitted_at,
        0.0 if root is None else begun_at(root, record.token) or 0.0,
        record.ended_at,
        _rounded(record.seconds),
        record.log_path,
        record.nodes,
        record.user,
        record.plan_id,
    )


def unsent_job(job: PlannedJob, plan: Plan, state: str = "", reason: str = "") -> JobJson:
    """A job that was not sent. `state`: "" for eligible or waiting."""
    record = JobRecord(
        job.token,
        job.destination.cluster,
        user=plan.user,
        plan_id=plan.id,
        planned=job,
        step=JobStep.PLANNED,
        size=len(job.directories),
    )
    state = state or ("waiting" if job.depends_on else "eligible")
    return job_document(record, None)._replace(state=state, reason=reason)


def _amounts(job: PlannedJob) -> JobAmountsJson:
    return JobAmountsJson(
        job.processes,
        job.cpus,
        job.memory_mb,
        job.gpus,
        job.own_seconds,
        job.cost.as_document(),
        None if job.bundle is None else job.bundle.token,
        job.depends_on,
        job.warnings,
        job.reasons,
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def cluster_queue(
    cluster: ClusterView,
    rows: Iterable[ClusterRow],
    root: Path | None,
    charges: Mapping[str, Charge],
    now: float,
) -> ClusterQueueJson:
    """The jobs of one cluster. `root`: None outside of a project. `charges`: of its bundles."""
    return ClusterQueueJson(
        cluster.name,
        cluster.where,
        cluster.scheduler,
        cluster.connected,
        cluster.login,
        cluster.error,
        cluster.as_of,
        None if cluster.as_of is None else max(0.0, round(now - cluster.as_of, 3)),
        cluster.next_at,
        [queue_row(row, cluster.name, root, charges, now) for row in rows],
    )


def queue_row(
    row: ClusterRow, cluster: str, root: Path | None, charges: Mapping[str, Charge], now: float
) -> QueueRowJson:
    """One job of a queue: what is on record of it, and what the scheduler reports."""
    record = row.record
    found = explain(shown_job(record), now)
    is_one = record.ours and not row.requests
    job = job_document(record, root) if is_one else _of_others(row, charges)
    if record.state.active:
        job = job._replace(elapsed_seconds=job.elapsed_seconds or None)
    return QueueRowJson(
        job._replace(cluster=cluster),
        record.token,
        record.action if is_one else "",
        record.attempt if is_one else None,
        bool(row.ours),
        [job_document(it, root) for it in row.requests],
        found.sentence,
        found.hint,
        found.needs_person,
        record.start_estimate or 0.0,
    )


def _of_others(row: ClusterRow, charges: Mapping[str, Charge]) -> JobJson:
    """The fields of a row that is no single job of this project."""
    record, job = row.record, row.record.queued
    amounts = JobAmountsJson(walltime_seconds=record.limit)
    planned = [it.planned for it in row.requests if it.planned is not None]
    bundle = next((it.bundle for it in planned if it.bundle is not None), None)
    if bundle is not None:
        charge = charges.get(bundle.token)
        amounts = JobAmountsJson(
            None,
            bundle.cpus,
            bundle.memory_mb,
            bundle.gpus,
            bundle.seconds,
            None if charge is None else charge.price,
            bundle.token,
        )
    code, signal = None, ""
    if job is not None and not job.state.active and job.state is not JobState.CANCELLED:
        number = job.exit_signal
        code = None if number else job.exit_code
        if number and not job.launch_error:
            signal = signal_name(number) or str(number)
    return job_document(JobRecord(record.token, record.cluster, record.key), None)._replace(
        amounts=amounts,
        partition=record.partition,
        directory_count=sum(it.size for it in row.requests),
        name=record.name or row.name,
        state=record.state.value,
        reason=record.reason,
        exit_code=code,
        signal=signal,
        elapsed_seconds=_rounded(record.seconds),
        log_path=job.log_path if job is not None else "",
        nodes=record.nodes,
    )
