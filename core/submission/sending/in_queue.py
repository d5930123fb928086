"""Requests by their name in the scheduler: their own token, or that of their bundle.

A scheduler has one job for a whole bundle, under the bundle's token; the journal, the fences and
the records refer to its requests. All queries to a scheduler about requests use this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobState,
    Scheduler,
    array_of,
    token_in_queue,
)
from rowtui.core.submission.plan.model import JournalEntry
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.site import Access


async def find_requests(
    scheduler: Scheduler, tokens: Collection[str]
) -> Mapping[str, tuple[Job, ...]] | None:
    """As `Scheduler.find`; requests of a bundle get the jobs that have the bundle's token."""
    if not tokens:
        return {}
    found = await scheduler.find(list(dict.fromkeys(map(token_in_queue, tokens))))
    if found is None:
        return None
    theirs = ((token, found.get(token_in_queue(token))) for token in tokens)
    return {token: jobs for token, jobs in theirs if jobs is not None}


def tokens_by_key(keys: Iterable[tuple[str, JobKey]]) -> dict[JobKey, list[str]]:
    """Return the tokens of each scheduler job: one token, or those of its bundle."""
    found: dict[JobKey, list[str]] = {}
    for token, key in keys:
        found.setdefault(key, []).append(token)
    return found


async def refuse_unknown_jobs(access: Access, journal: Journal, ids: Collection[int]) -> None:
    """Refuse active jobs of this project that are not on record, after a loss of records.

    `ids`: of the recorded jobs on this cluster. A held job never began and is removed from the
    queue. Raises: RowtuiError if there are other jobs, or the cluster cannot be asked.
    """
    scheduler = access.scheduler
    if scheduler.immediate:
        return
    snapshot = await scheduler.queue()
    if snapshot.error:
        raise _not_asked(scheduler, snapshot.error)
    active = [job for job in snapshot.jobs if job.state.active]
    for plan_ids in (journal.open_plan_ids, journal.done_plan_ids):
        if active:
            known = await asyncio.to_thread(_tokens, journal, plan_ids())
            active = [
                job
                for job in active
                if (job.token or job.id not in ids)
                and known.isdisjoint((job.token, array_of(job.token, job.task)))
            ]
    folders = await scheduler.folders(sorted({job.id for job in active})) if active else {}
    if folders is None:
        raise _not_asked(scheduler, "no answer")
    ours = [job for job in active if folders.get(job.id) == str(access.site.workdir)]
    held = [job.key for job in ours if job.token and job.state is JobState.HELD]
    if held:
        await scheduler.cancel(held)
    rest = [job.key for job in ours if job.key not in held]
    if rest:
        some = ", ".join(map(str, rest[:5])) + (", …" if len(rest) > 5 else "")
        raise RowtuiError(
            f"{plural(len(rest), 'job')} of this project {'is' if len(rest) == 1 else 'are'} in "
            f"the queue of {visible(scheduler.cluster)}, but the records do not have them any "
            f"more: {some}",
            "nothing was sent, since they may work on the same directories: wait until they have "
            "ended, or cancel them, and submit again",
        )


def _tokens(journal: Journal, plan_ids: Collection[str]) -> set[str]:
    """Return the tokens that the jobs of these plans may have in a scheduler."""

    def names(entry: JournalEntry) -> tuple[str, str]:
        token = token_in_queue(entry.token)
        return token, array_of(token, entry.task)

    entries = (entry for plan_id in plan_ids for entry in journal.entries(plan_id))
    return {name for entry in entries for name in names(entry)} - {""}


class SilentClusterError(RowtuiError):
    """A cluster did not answer before anything was sent, so nothing was sent."""


def _not_asked(scheduler: Scheduler, why: str) -> SilentClusterError:
    return SilentClusterError(
        f"{visible(scheduler.cluster)} cannot be asked for jobs of this project: {visible(why)}",
        "nothing was sent, since records may be lost: before each plan the queue is searched for "
        "jobs of this project; submit again when the cluster answers",
    )
