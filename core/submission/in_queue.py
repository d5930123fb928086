"""Requests by what the scheduler calls them: their own token, or that of their bundle.

A scheduler knows one job for a whole bundle, under the bundle's token; the journal, the fences and
the records know its requests. Whoever asks a scheduler for requests asks through here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rowtui.core.clusters.schedulers.base import Job, JobKey, Scheduler, token_in_queue


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
    """The tokens of each scheduler job: one, or those of its bundle."""
    found: dict[JobKey, list[str]] = {}
    for token, key in keys:
        found.setdefault(key, []).append(token)
    return found
