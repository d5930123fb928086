"""Sending one job, or one array of jobs, to a scheduler until the outcome is certain.

The input is planned jobs and the access to their cluster; the result is the scheduler's answer. If
an answer is lost, the queue is searched for the token. If the scheduler certainly has no such job,
and jobs are submitted held, the jobs are sent again under the same token: if the first one appears
later, it stays held, and `settle` cancels it.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    Rejected,
    Scheduler,
    SubmitResult,
    Unreachable,
    array_of,
    token_in_queue,
)
from rowtui.core.submission.bundles.pilot import hand_over
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.bundles.script import bundle_spec
from rowtui.core.submission.plan.arrays import SubmissionCall, array_script, units_of
from rowtui.core.submission.plan.dependencies import after_of, shared_options
from rowtui.core.submission.plan.model import JournalEntry, PlannedDestination, PlannedJob
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.site import Access

# Requests by their name in the scheduler: their own token, or that of their bundle.
#
# A scheduler has one job for a whole bundle, under the bundle's token; the journal, the fences and
# the records refer to its requests. All queries to a scheduler about requests use this module.


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


async def refuse_unknown_jobs(
    access: Access, journal: Journal, ids: Collection[int], *, lost: bool = False
) -> None:
    """Refuse active jobs of this project that are not on record, after a loss of records.

    `ids`: of the recorded jobs on this cluster. A held job never began and is removed from the
    queue. `lost`: records certainly were lost, so that an answer without a job's folder proves
    nothing. Raises: RowtuiError if there are other jobs, or the cluster cannot be asked.
    """
    scheduler = access.scheduler
    if scheduler.immediate:
        return
    snapshot = await scheduler.queue()
    if snapshot.error:
        raise _not_asked(scheduler, snapshot.error, lost=lost)
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
        raise _not_asked(scheduler, "no answer", lost=lost)
    if lost and not all(folders.get(job.id, "").startswith("/") for job in active):
        why = "its answer does not name the folders of all jobs"
        raise _not_asked(scheduler, why, lost=lost)
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


def _not_asked(scheduler: Scheduler, why: str, *, lost: bool) -> SilentClusterError:
    name = visible(scheduler.cluster)
    hint = "nothing was sent: before each plan the queue is searched for jobs of this project; "
    hint += "submit again when the cluster answers"
    if lost:
        hint += (
            ". The records are new or were lost: if no job of this project is queued there, "
            "'rowtui clean --submitted' does without that search"
        )
    if "gave no answer within" in why:
        hint += ". If it always needs longer, set `query_timeout` of the cluster in clusters.toml"
    return SilentClusterError(
        f"{name} cannot be asked for jobs of this project: {visible(why)}", hint
    )


# Number of searches, and seconds in between, for a job whose submission had no clear answer.
LOOKUPS = 3
LOOKUP_PAUSE = 2.0
LONGEST_PAUSE = 30.0
# Seconds for which a cluster without clear answers is asked while the user waits.
PATIENCE = 180.0
SENDS = 5  # most submissions of the same job
# After this many refused kinds of jobs for one reason, no other job is sent to the destination.
KINDS_REFUSED = 3


@dataclass(frozen=True, slots=True)
class SendWaits:
    """How, and for how long, to wait for clear answers. `say` receives messages for the user."""

    pause: float = LOOKUP_PAUSE
    patience: float = PATIENCE
    stop: Callable[[], bool] = lambda: False
    say: Callable[[str], None] = lambda _: None


def batches_of(
    jobs: Sequence[PlannedJob], most: Callable[[SubmissionCall], int]
) -> Iterator[list[PlannedJob]]:
    """Yield jobs that are reserved together; an array is not split."""
    batch: list[PlannedJob] = []
    for unit in units_of(jobs):
        if batch and len(batch) + len(unit.jobs) > most(unit):
            yield batch
            batch = []
        batch += unit.jobs
    if batch:
        yield batch


def chunks_of(
    units: Sequence[SubmissionCall], most: Callable[[SubmissionCall], int], *, first: bool
) -> list[list[SubmissionCall]]:
    """Return units to send at the same time, never a job together with one that it depends on.

    `first`: nothing was sent before. In this case the first unit is sent alone, because a refusal
    of this unit would apply to the others, too.
    """
    chunks: list[list[SubmissionCall]] = []
    inside: set[str] = set()
    for unit in units:
        alone = first and len(chunks) == 1
        depends = inside & {token for job in unit.jobs for token in job.depends_on}
        if not chunks or alone or depends or len(chunks[-1]) >= most(unit):
            chunks.append([])
            inside = set()
        chunks[-1].append(unit)
        inside |= {job.token for job in unit.jobs}
    return chunks


def log_folders(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return the folders of the jobs' logs. Slurm silently fails a job without its log folder."""
    # The log of a bundle is in the folder of its first job's log.
    named = {posixpath.dirname(job.log_path) for job in jobs if job.log_path}
    folders = {str(PurePosixPath(folder)) for folder in named if "%" not in folder}
    return sorted(folders - {"."})


def spec_of(unit: SubmissionCall, access: Access, keys: Mapping[str, JobKey]) -> JobSpec:
    """Return the scheduler's specification. `keys`: of the jobs to wait for, by token."""
    array = unit.bundle is None and len(unit.jobs) > 1
    after = after_of(unit.jobs, keys, array=array)
    if unit.bundle is not None:
        return bundle_spec(unit.jobs, unit.bundle, access, after)
    first = unit.jobs[0]
    script = array_script(unit.jobs, access.scheduler.kind) if array else first.script
    return JobSpec(
        token=first.array if array else first.token,
        name=first.name,
        script=script,
        workdir=access.site.workdir,
        log_path=first.log_path,
        cpus=first.cpus,
        gpus=first.gpus,
        memory_mb=first.memory_mb,
        walltime_seconds=first.walltime_seconds,
        after=after.jobs,
        after_tasks=after.tasks,
        after_each=after.each,
        held=access.scheduler.holds,
        tasks=tuple(job.task or 0 for job in unit.jobs) if array else (),
    )


async def submit_surely(
    unit: SubmissionCall, access: Access, keys: Mapping[str, JobKey], waiting: SendWaits
) -> SubmitResult:
    """Submit, and ask until the outcome is certain or the timeout is reached.

    A command that ends with an error in unknown words counts as a refusal if it does so twice, and
    the scheduler then certainly has no such job. A request to a pilot is not searched for: `settle`
    closes the fence of a request that did not begin, and then it may be submitted again.
    """
    if is_in_pilot(unit.jobs[0].token):
        return await hand_over(unit.jobs, access)
    scheduler = access.scheduler
    spec = spec_of(unit, access, keys)
    result = await scheduler.submit(spec)
    deadline = asyncio.get_running_loop().time() + waiting.patience
    pause = waiting.pause
    sends = looks = 1
    while isinstance(result, OutcomeUnknown | Unreachable):
        over = asyncio.get_running_loop().time() + pause > deadline or waiting.stop()
        if isinstance(result, OutcomeUnknown):
            found = await find_requests(scheduler, [job.token for job in unit.jobs])
            jobs = () if found is None else found.get(unit.jobs[0].token, ())
            if jobs:
                return Accepted(chosen(jobs).id)
            if found is not None and scheduler.holds:
                if result.ended and sends > 1 and await _is_closed(unit, access):
                    return Rejected(result.reason)
                if sends >= SENDS or over:
                    return result
                sends += 1
                result = await scheduler.submit(spec)
                continue
            looks += 1
        if over or (not scheduler.holds and looks > LOOKUPS):
            return result
        waiting.say(
            f"{visible(unit.cluster)} gives no clear answer on {unit.name} "
            f"({visible(result.reason)}); asking again"
        )
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        if isinstance(result, Unreachable):
            result = await scheduler.submit(spec)
    return result


async def _is_closed(unit: SubmissionCall, access: Access) -> bool:
    """Close the fences of jobs that a scheduler certainly does not have; whether none ever began.

    The scheduler refused the jobs twice, in unknown words. Even if it has them later, they end
    without running, and `settle` cancels them.
    """
    try:
        return not any((await access.site.close_fences([it.token for it in unit.jobs])).values())
    except OSError:
        return False


def chosen(found: Sequence[Job], runner: int = 0) -> Job:
    """Return, of several jobs with one token, the fence's owner, else one that may still run."""
    return min(found, key=lambda it: (it.id != runner, not it.state.active, it.id))


class RefusedKinds:
    """The kinds of jobs that schedulers refused during one submission."""

    def __init__(self) -> None:
        """Begin without a refusal."""
        self._kinds: set[tuple[object, ...]] = set()
        self._reasons: Counter[tuple[PlannedDestination, str]] = Counter()  # kinds, by reason

    def add(self, unit: SubmissionCall, reason: str) -> None:
        """Record that a scheduler refused a unit."""
        self._kinds.add(_kind(unit))
        self._reasons[unit.jobs[0].destination, reason] += 1

    def includes(self, unit: SubmissionCall) -> bool:
        """Whether an equal kind of job was refused there, or several kinds for one reason."""
        if not self._kinds:
            return False
        destination = unit.jobs[0].destination
        return _kind(unit) in self._kinds or any(
            there == destination and kinds >= KINDS_REFUSED
            for (there, _), kinds in self._reasons.items()
        )


def _kind(unit: SubmissionCall) -> tuple[object, ...]:
    """Return the properties by which a scheduler judges a job: destination, amounts and options."""
    job, bundle = unit.jobs[0], unit.bundle
    if is_in_pilot(job.token):
        return (job.token,)
    if bundle is not None:
        amounts: tuple[object, ...] = (
            bundle.cpus, bundle.memory_mb, bundle.gpus, bundle.seconds, bundle.node_type,
        )  # fmt: skip
    else:
        amounts = (job.processes, job.cpus, job.memory_mb, job.gpus, job.walltime_seconds)
    return (job.destination, amounts, shared_options(job))
