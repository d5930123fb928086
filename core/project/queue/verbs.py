"""Cancel, hold, release and change jobs of a project, by their tokens.

A verb reaches a job only if the scheduler still has the job under its id: Slurm reuses ids after a
crash.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import (
    JobAnswer,
    JobKey,
    Scheduler,
    is_in_bundle,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.job_terms import JobTerms, WaitingTerms
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.project.queue.views import PresentTerms
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.model import OPEN, JobStep, JournalEntry
from rowtui.core.submission.plan.record import DRIVER_MARK, JobRecord
from rowtui.core.submission.sending.journal import SEEN
from rowtui.core.submission.sending.send import find_requests

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


_NO_SUCH_JOB = "the cluster has no such job of this project any more"


async def cancel_jobs(
    project: OpenProject, tokens: Sequence[str], *, for_run: bool = False
) -> tuple[JobAnswer, ...]:
    """Cancel these jobs if the job ids are still theirs: Slurm reuses ids after a crash.

    `for_run`: a network's run cancels the jobs; otherwise the run no longer handles them.
    """
    if project.network is not None and not for_run:
        await asyncio.to_thread(project.network.cancelling, tokens)
    # Journalled first: a cancelled job that the scheduler forgets was not lost.
    if any(it.startswith(DRIVER_MARK) for it in tokens) and not for_run:
        tokens = await asyncio.to_thread(_with_drivers, project, tokens)
    await asyncio.to_thread(_note_cancelling, project, frozenset(tokens), JobStep.CANCELLING)
    rest, answers = await _taken_out(project, tokens)
    found = await _tell(project, rest, lambda scheduler, keys: scheduler.cancel(keys))
    # A job that its cluster does not have stays cancelled, should it turn up.
    refused = (it for it in (*answers, *found) if it.error and it.error != _NO_SUCH_JOB)
    if failed := {answer.label for answer in refused}:
        await asyncio.to_thread(
            _note_cancelling, project, frozenset(tokens), JobStep.NOT_CANCELLED, failed
        )
    return (*answers, *found)


def _with_drivers(project: OpenProject, tokens: Sequence[str]) -> Sequence[str]:
    """Return the jobs and every job that drives the project: they follow each other."""
    drivers = (it.token for it in project.jobs.records() if it.drives)
    return tuple(dict.fromkeys((*tokens, *drivers)))


def _note_cancelling(
    project: OpenProject,
    tokens: Collection[str],
    step: JobStep,
    labels: Collection[str] | None = None,
) -> None:
    """Journal that the user cancels these jobs, or does not; `labels`: only those with these."""
    details = {
        record.token: ""
        for record in project.jobs.records()
        if record.token in tokens and (labels is None or record.label in labels)
    }
    try:
        _note(project, step, details)
    except RowtuiError as error:
        project.notice(f"that jobs are cancelled is not recorded: {error.message}")


def _note(project: OpenProject, step: JobStep, details: Mapping[str, str]) -> None:
    """Journal a note about the jobs with these tokens that have not ended. Raises: RowtuiError."""
    now, journal = time.time(), project.jobs.journal
    by_plan: dict[str, list[JobRecord]] = {}
    for record in project.jobs.records():
        if record.token in details:
            by_plan.setdefault(record.plan_id, []).append(record)
    for plan_id, records in by_plan.items():
        with journal.hold(plan_id):
            latest = journal.latest(plan_id)  # a note after its end would open the plan again
            journal.append(
                JournalEntry(
                    it.token, plan_id, step, now, it.job_id, details[it.token], it.cluster, it.task
                )
                for it in records
                if it.token in latest and latest[it.token].step in OPEN
            )


async def _taken_out(
    project: OpenProject, tokens: Sequence[str]
) -> tuple[list[str], list[JobAnswer]]:
    """Take requests that have not started out of bundles that continue to run.

    Also returns the tokens of all other jobs. A bundle is among them if all of its jobs are
    cancelled.
    """
    if not any(map(is_in_bundle, tokens)):
        return list(tokens), []
    records = await asyncio.to_thread(project.jobs.records)
    others = {
        token_in_queue(record.token)
        for record in records
        if record.step in OPEN
        and (is_in_bundle(record.token) or is_pilot(record.token))
        and record.token not in tokens
    }
    # all jobs of a pilot end with the pilot
    others -= {token for token in tokens if is_pilot(token)}
    rest = [token for token in tokens if token_in_queue(token) not in others]
    wanted = set(tokens) - set(rest)
    answers = []
    for record in records:
        if record.token not in wanted:
            continue
        access = await project.connections.access(record.cluster)
        try:
            runner = await access.site.abandon(record.token) if access else "?"
        except OSError as error:
            runner = error.strerror or str(error)
        why = "it runs in a bundle with others: cancel them all, or let it end"
        answers.append(JobAnswer(record.key, why if runner else "", record.member))
    return rest, answers


async def hold_jobs(project: OpenProject, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
    """Hold these jobs, so that they do not start; for a bundle, the whole bundle is held."""
    answers = await _tell(project, tokens, lambda scheduler, keys: scheduler.hold(keys))
    done = {answer.job for answer in answers if not answer.error}
    await asyncio.to_thread(_note_held, project, frozenset(tokens), done)
    return answers


def _note_held(project: OpenProject, tokens: Collection[str], keys: Collection[JobKey]) -> None:
    """Journal that the user held these jobs, so that they are not released automatically."""
    now = time.time()
    for record in project.jobs.records():
        if record.token not in tokens or record.key not in keys:
            continue
        with project.jobs.journal.hold(record.plan_id):
            last = project.jobs.journal.latest(record.plan_id).get(record.token)
            if last is not None and last.step is JobStep.ACCEPTED:
                project.jobs.journal.append([last._replace(at=now, detail=SEEN)])


async def release_jobs(project: OpenProject, tokens: Sequence[str]) -> tuple[JobAnswer, ...]:
    """Release these jobs, so that they can start."""
    return await _tell(project, tokens, lambda scheduler, keys: scheduler.release(keys))


_UNCHANGEABLE = "jobs on {cluster} cannot be changed: cancel them and submit them again"


def _waiting_jobs(project: OpenProject, name: str) -> WaitingTerms | None:
    """Return what changes waiting jobs of this cluster; None if nothing does. Raises: RowtuiError.

    A cluster that cannot be asked from here changes no jobs.
    """
    reach = project.connections
    cluster, scheduler = reach.known(name), reach.scheduler(name)
    if cluster is None or scheduler is None:
        return None
    return scheduler_kind(scheduler.kind).waiting_jobs(reach.transport(cluster))


async def present_terms(
    project: OpenProject, records: Sequence[JobRecord], total: int
) -> PresentTerms:
    """Return the present terms of these waiting jobs, as their schedulers report them now."""
    by_cluster: dict[str, list[JobRecord]] = {}
    for record in records:
        by_cluster.setdefault(record.cluster, []).append(record)
    counts: dict[str, Counter[int | str | None]] = {name: Counter() for name in JobTerms._fields}
    jobs, problem = 0, ""
    for name, theirs in by_cluster.items():
        waiting = _waiting_jobs(project, name)
        if waiting is None:
            problem = _UNCHANGEABLE.format(cluster=visible(name))
            continue
        found = await waiting.terms([record.key for record in theirs])
        jobs += len(theirs)
        for record in theirs:
            known = JobTerms(record.limit, record.partition)
            terms = (found or {}).get(record.key, known)
            for term, value in terms._asdict().items():
                counts[term][value] += 1
    values = {name: tuple(count.most_common()) for name, count in counts.items()}
    return PresentTerms(total, jobs, values, problem)


async def change_jobs(
    project: OpenProject, tokens: Sequence[str], change: JobTerms
) -> tuple[JobAnswer, ...]:
    """Change the terms of these jobs, which wait; of a bundle, those of the whole bundle.

    The journal then has the limit and the partition that the scheduler reports of each changed job,
    because it may have rounded or refused a part of the change.
    """

    async def send(scheduler: Scheduler, keys: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        waiting = _waiting_jobs(project, scheduler.cluster)
        why = _UNCHANGEABLE.format(cluster=visible(scheduler.cluster)) if waiting is None else ""
        why = why or await _why_not_after(scheduler, change)
        if waiting is None or why:
            return tuple(JobAnswer(key, why) for key in keys)
        itself = {key for key in keys if not {str(key), str(key.id)}.isdisjoint(change.awaited)}
        answers = [JobAnswer(key, "a job cannot wait for itself") for key in itself]
        answers += await waiting.change([key for key in keys if key not in itself], change)
        done = [answer.job for answer in answers if not answer.error]
        if done and (change.limit is not None or change.partition is not None):
            now = await waiting.terms(done) or {}
            await asyncio.to_thread(_note_changed, project, scheduler.cluster, tokens, now)
        return tuple(answers)

    return await _tell(project, tokens, send)


async def _why_not_after(scheduler: Scheduler, change: JobTerms) -> str:
    """Return why jobs cannot wait for the jobs of a change, or "".

    Schedulers accept the id of a job that does not exist, and start the waiting job at once.
    """
    ids = [int(job.partition("_")[0]) for job in change.awaited]
    if not ids:
        return ""
    queue = await scheduler.queue(ids)
    if queue.error:
        return f"the jobs to wait for could not be looked up: {queue.error}"
    known = {job.id for job in queue.jobs}
    missing = [job for job in change.awaited if int(job.partition("_")[0]) not in known]
    return f"{visible(scheduler.cluster)} has no job {missing[0]} to wait for" if missing else ""


def _note_changed(
    project: OpenProject, cluster: str, tokens: Collection[str], terms: Mapping[JobKey, JobTerms]
) -> None:
    """Journal the limit and the partition of changed jobs. See `JobTable.plan`."""
    details = {
        record.token: f"{its.limit} {its.partition or ''}"
        for record in project.jobs.records()
        if record.cluster == cluster and record.token in tokens
        # The limit of a bundle is not that of a request in it.
        if not is_in_bundle(record.token)
        if (its := terms.get(record.key)) is not None and its.limit
    }
    try:
        _note(project, JobStep.CHANGED, details)
    except RowtuiError as error:
        project.notice(f"that jobs were changed is not recorded: {error.message}")


async def _tell(
    project: OpenProject,
    tokens: Sequence[str],
    what: Callable[[Scheduler, Sequence[JobKey]], Awaitable[tuple[JobAnswer, ...]]],
) -> tuple[JobAnswer, ...]:
    records = {record.token: record for record in await asyncio.to_thread(project.jobs.records)}
    by_cluster: dict[str, dict[str, JobKey]] = {}
    answers: list[JobAnswer] = []
    for token in tokens:
        record = records.get(token)
        if record is None or not record.job_id:
            answers.append(JobAnswer(JobKey(0), "the job has no id, so it cannot be named"))
        else:
            by_cluster.setdefault(record.cluster, {})[token] = record.key
    for name, keys in by_cluster.items():
        try:
            scheduler = project.connections.scheduler(name)
        except RowtuiError as error:  # the other clusters are still asked
            answers += [JobAnswer(key, error.message) for key in keys.values()]
            continue
        if scheduler is None:
            why = f"{name} cannot be asked from here"
            answers += [JobAnswer(key, why) for key in keys.values()]
            continue
        try:
            found = await find_requests(scheduler, list(keys))
        except (RowtuiError, OSError):  # the other clusters are still asked
            found = None
        if found is None:
            why = f"the owner of the job id cannot be checked: {name} does not answer"
            answers += [JobAnswer(key, why) for key in keys.values()]
            continue
        theirs = {
            token: any(job.key == key for job in found.get(token, ()))
            for token, key in keys.items()
        }
        answers += [
            JobAnswer(key, _NO_SUCH_JOB) for token, key in keys.items() if not theirs[token]
        ]
        wanted = [key for token, key in keys.items() if theirs[token]]
        answers += await what(scheduler, list(dict.fromkeys(wanted)))
        project.jobs.queues.looks.submitted(name)
    return tuple(answers)
