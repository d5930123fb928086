"""The usage of a project's jobs: recorded as they end, completed from the accounts of clusters.

The input is the jobs that ended, and the schedulers; the result is records in `core/usage`. What a
job's script measured is recorded with the job's end. Accounts often have a job only seconds after
its end, and sites dislike many queries: they are asked when somebody wants to see the usage.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.schedulers.base import (
    JobKey,
    array_of,
    is_in_bundle,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredStep, combined, with_more
from rowtui.core.project.context.cluster_context import cluster_named
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import read_ended
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.running import UsageNow
from rowtui.core.usage.store import UsageColumns, UsageStore

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster, EnergyFactors
    from rowtui.core.project.project import Project
    from rowtui.core.project.queue.queues import QueuePolls
    from rowtui.core.submission.sending.job_records import JobTable
    from rowtui.core.usage.costs import JobCosts
    from rowtui.core.usage.right_size import MeasuredNeed
    from rowtui.core.workflow.model import Action, Resources

# Sites keep accounts for months, but a job that they do not know after a week they never will.
ACCOUNT_SECONDS = 7 * 86_400
# Jobs whose accounts are asked for at once: the newest of them, a few commands for a cluster.
AT_MOST = 5_000
EVIDENCE_AT_MOST = 50_000  # jobs; with more, reading all plans takes longer than a user waits


class ProjectUsage:
    """The usage of the jobs of one project."""

    def __init__(self, project: Project, table: JobTable, polls: Callable[[], QueuePolls]) -> None:
        """Set up the usage. `polls`: returns the polls of queues, for jobs that run."""
        self.project = project
        self._table = table
        self._polls = polls
        self.store = UsageStore(project.root)

    @cached_property
    def needs(self) -> MeasuredNeeds:
        """Return what measured jobs of the actions need."""
        return MeasuredNeeds(self)

    def note(self, ended: Iterable[JobRecord]) -> None:
        """Record jobs that ended. A job may be noted again. Waits for the disk."""
        try:
            self.store.append([usage for it in ended if (usage := _usage(it)) is not None])
        except RowtuiError as error:  # the jobs' ends matter more
            self.project.notice(str(error))

    def any_ended(self) -> bool:
        """Whether any job ended, measured or not. Without one, no columns need to be made."""
        return bool(self.store.stamp()) or any(
            it.step is JobStep.ENDED for it in self._table.records()
        )

    async def complete(self) -> UsageColumns:
        """Return the usage of all jobs, after asking clusters for the accounts that are missing.

        Raises: RowtuiError if the records cannot be read.
        """
        columns = await asyncio.to_thread(self.store.columns)
        lacking = columns.chosen(columns.incomplete())
        if not len(lacking):
            return columns
        jobs = sorted(lacking.jobs(), key=lambda it: -it.ended_at)[:AT_MOST]
        by_cluster: dict[str, list[JobUsage]] = {}
        for job in jobs:
            by_cluster.setdefault(job.kind.cluster, []).append(job)
        news = await asyncio.gather(*(self._ask(*each) for each in by_cluster.items()))
        found = [job for each in news for job in each]
        if not found:
            return columns
        await asyncio.to_thread(self._save, found)
        return await asyncio.to_thread(self.store.columns)

    async def now(self, jobs: Sequence[JobRecord], *, by_hand: bool = False) -> dict[str, UsageNow]:
        """Return what running jobs have used up to now, by their tokens.

        `jobs`: as of the last poll of their queues. Each cluster is asked at most once in each
        polling interval (`by_hand`: once in some seconds); its jobs are missing if it was not asked
        or did not answer.
        """
        known = self._requested(jobs)
        asked: dict[str, dict[str, JobKey]] = {}
        for job in jobs:
            token = job.token
            if token in known and job.elapsed is not None:
                known[token] = known[token]._replace(wall=float(job.elapsed))
            if token in known and is_in_bundle(token):
                problem = "only its whole bundle can be measured while it runs"
                known[token] = known[token]._replace(problem=problem)
            elif token in known:
                asked.setdefault(job.cluster, {})[token] = job.key
        looks = self._polls()

        async def ask(cluster: str, keys: Mapping[str, JobKey]) -> None:
            tokens = {key: array_of(token, key.task) for token, key in keys.items()}
            found = await looks.measured_now(cluster, tokens, by_hand=by_hand)
            for token, key in keys.items():
                if found is None:
                    del known[token]
                elif key in found:
                    known[token] = known[token].measured(found[key])
                else:
                    problem = f"{cluster} does not report what it uses"
                    known[token] = known[token]._replace(problem=problem)

        await asyncio.gather(*(ask(*each) for each in asked.items()))
        return known

    async def steps(self, jobs: Sequence[JobUsage]) -> dict[str, tuple[MeasuredStep, ...]]:
        """Return the steps of ended jobs by their tokens, as the accounts of their clusters say.

        Jobs without steps, or whose cluster does not answer, are missing.
        """
        found: dict[str, tuple[MeasuredStep, ...]] = {}
        whole = [job for job in jobs if job.job_id and not is_in_bundle(job.token)]
        for cluster in dict.fromkeys(job.kind.cluster for job in whole):
            connections = self.project.connections
            if connections.known(cluster) is None or connections.login_needed(cluster):
                continue
            if (access := await connections.access(cluster)) is None:
                continue
            here = [job for job in whole if job.kind.cluster == cluster]
            keys = {_key(job): token_in_queue(job.token) for job in here}
            known = await access.scheduler.measured(keys) or {}
            for job in here:
                if (account := known.get(_key(job))) is not None and account.steps:
                    found[job.token] = account.steps
        return found

    def ended(self, record: JobRecord) -> UsageNow | None:
        """Return what an ended job used; None if that is unknown. Waits for the disk."""
        job = self.store.columns().find(record.token)
        now = self._requested([record]).get(record.token)
        if job is None or now is None:
            return None
        return now._replace(running=False).measured(job.used)

    def _requested(self, records: Iterable[JobRecord]) -> dict[str, UsageNow]:
        """Return what jobs requested, by their tokens."""
        found, now = {}, time.time()
        for record in records:
            if (job := record.planned) is not None:
                limit = None if job.memory_mb is None else job.memory_mb * 1024
                found[record.token] = UsageNow(
                    now, None, job.walltime_seconds, None, job.cpus, None, limit
                )
        return found

    async def with_unmeasured(self) -> UsageColumns:
        """Return the usage of all jobs of the journal that ended, also of those without a record.

        Jobs that ended before rowtui measured them, or whose record is lost, are recorded without
        values, so that sums over jobs are those of the journal.
        """
        columns = await self.complete()
        lacking = await asyncio.to_thread(self.unmeasured, columns)
        if not lacking:
            return columns
        await asyncio.to_thread(self._save, lacking)
        return await asyncio.to_thread(self.store.columns)

    def evidence(self, columns: UsageColumns) -> UsageColumns:
        """Return the jobs that show what future jobs need, of up to 50,000. Waits for the disk."""
        from rowtui.core.usage.amounts import evidence, killed_at_limit  # loads numpy

        if len(columns) > EVIDENCE_AT_MOST or not killed_at_limit(columns).any():
            return columns
        works = {it.token: (it.action, it.directories) for it in self._table.records()}
        return evidence(columns, lambda token: works.get(token, token))

    def costs(self, columns: UsageColumns) -> JobCosts:
        """Return what these jobs cost, by the prices and energy factors of clusters.toml."""
        # Costs are not needed to record the ends of jobs.
        from rowtui.core.usage.costs import job_costs

        return job_costs(columns, self._clusters(columns))

    def energy_factors(self, columns: UsageColumns) -> dict[str, EnergyFactors]:
        """Return the factors of the clusters of these jobs that have any, by name."""
        clusters = self._clusters(columns).items()
        return {name: it.energy for name, it in clusters if it.energy is not None}

    def _clusters(self, columns: UsageColumns) -> dict[str, Cluster]:
        names = sorted(columns.clusters())
        found = {}
        for name in names:
            # `--cluster` may name a cluster that only old jobs know, and that has no costs.
            with contextlib.suppress(RowtuiError):
                found[name] = cluster_named(self.project, name)
        return {name: it for name, it in found.items() if it is not None}

    def unmeasured(self, columns: UsageColumns) -> list[JobUsage]:
        """Return the ended jobs of the journal that have no record of what they used."""
        ended = [it for it in self._table.records() if it.step is JobStep.ENDED]
        known = columns.tokens() if ended else set()
        if columns.nameless().any():
            return []  # they may be any of these jobs
        records = [it for it in ended if it.token not in known]
        return [usage for record in records if (usage := _usage(record)) is not None]

    def _save(self, jobs: list[JobUsage]) -> None:
        try:
            self.store.append(jobs)
        except RowtuiError as error:
            self.project.notice(str(error))

    async def _ask(self, cluster: str, jobs: list[JobUsage]) -> list[JobUsage]:
        """Return the jobs with the values of the cluster's accounts, as far as there are any."""
        connections = self.project.connections
        access = None
        if connections.known(cluster) is not None and not connections.login_needed(cluster):
            access = await connections.access(cluster)
        if access is None:
            return []
        asked = [job for job in jobs if job.job_id and not is_in_bundle(job.token)]
        keys = {_key(job): token_in_queue(job.token) for job in asked}
        known = await access.scheduler.measured(keys) if keys else {}
        if known is None:
            self.project.notice(f"{cluster} could not be asked what its jobs used")
            return []
        done = [news for job in jobs if (news := _completed(job, known)) is not None]
        return await asyncio.to_thread(lambda: [self._read_again(it) for it in done])

    def _read_again(self, job: JobUsage) -> JobUsage:
        """Return the job with the last line of its marker, which is written after the others."""
        marker = read_ended(self.project.root, job.token)
        if marker is None or marker.measured is None:
            return job
        return job._replace(used=with_more(job.used, marker.measured))


def _completed(job: JobUsage, known: Mapping[JobKey, Measured]) -> JobUsage | None:
    """Return the job with its account; without one only if there never will be one."""
    account = None if is_in_bundle(job.token) else known.get(_key(job))
    if account is not None:
        return job._replace(used=with_more(job.used, account), complete=True)
    late = time.time() - job.ended_at > ACCOUNT_SECONDS
    never = is_in_bundle(job.token) or not job.job_id
    return job._replace(complete=True) if late or never else None


def _key(job: JobUsage) -> JobKey:
    """Return the scheduler's id of a job, with the number of a task."""
    task = job.token.rpartition(".")[2] if "." in job.token else ""
    return JobKey(job.job_id, int(task) if task.isdecimal() else None)


def _usage(record: JobRecord) -> JobUsage | None:
    """Return the usage of a job of this project that ended; None for any other job."""
    job = record.planned
    if job is None or record.end is None:
        return None
    kind = UsageKind(
        job.action,
        record.cluster,
        job.destination.partition or "",
        record.user,
        job.attempt,
        job.cpus,
        job.gpus,
        job.memory_mb,
        job.walltime_seconds,
    )
    used = combined(record.measured)
    submitted = record.submitted_at
    return JobUsage(record.token, kind, record.job_id, record.size, record.end, submitted, used)


class MeasuredNeeds:
    """The needs of the actions of one project, as long as the records stay as they are."""

    def __init__(self, usage: ProjectUsage) -> None:
        self._usage = usage
        self._stamp: object = None
        self._columns: UsageColumns | None = None
        self._known: dict[tuple[str, Resources, int], MeasuredNeed] = {}

    def of(self, action: Action, directories: int) -> MeasuredNeed:
        """Return what a job of the action on so many directories needs. Blocks on the disk."""
        from rowtui.core.usage.right_size import MeasuredNeed, need_of  # loads the recommendations

        store = self._usage.store
        stamp = store.stamp()
        if self._columns is None or stamp != self._stamp:
            try:
                self._columns = self._usage.evidence(store.columns())
            except RowtuiError:  # `rowtui usage` reports the reason
                return MeasuredNeed()
            self._stamp = stamp
            self._known.clear()
        key = (action.name, action.resources, directories)
        if key not in self._known:
            self._known[key] = need_of(self._columns, action, directories)
        return self._known[key]
