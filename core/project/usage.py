"""The usage of a project's jobs: recorded as they end, completed from the accounts of clusters.

The input is the jobs that ended, and the schedulers; the result is records in `core/usage`. What a
job's script measured is recorded with the job's end. Accounts often have a job only seconds after
its end, and sites dislike many queries: they are asked when somebody wants to see the usage.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import JobKey, is_in_bundle, token_in_queue
from rowtui.core.clusters.schedulers.measured import Measured, combined, with_more
from rowtui.core.submission.plan.model import JobStep, PlannedJob
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageColumns, UsageStore

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster, EnergyFactors
    from rowtui.core.project.project import Project
    from rowtui.core.submission.reconcile.ending import FinishedJob
    from rowtui.core.usage.costs import JobCosts

# Sites keep accounts for months, but a job that they do not know after a week they never will.
ACCOUNT_SECONDS = 7 * 86_400
# Jobs whose accounts are asked for at once: the newest of them, a few commands for a cluster.
AT_MOST = 5_000


class ProjectUsage:
    """The usage of the jobs of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.store = UsageStore(project.root)

    def note(self, ended: Iterable[FinishedJob]) -> None:
        """Record jobs that ended. A job may be noted again. Waits for the disk."""
        try:
            self.store.append([_usage(it) for it in ended])
        except RowtuiError as error:  # the jobs' ends matter more
            self.project.notice(str(error))

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

    async def with_unmeasured(self) -> UsageColumns:
        """Return the usage of all jobs of the journal that ended, also of those without a record.

        Jobs that ended before rowtui measured them, or whose record is lost, are recorded without
        values, so that sums over jobs are those of the journal.
        """
        columns = await self.complete()
        lacking = await asyncio.to_thread(self._unmeasured, columns)
        if not lacking:
            return columns
        await asyncio.to_thread(self._save, lacking)
        return await asyncio.to_thread(self.store.columns)

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
        from rowtui.core.project.planning.pack_terms import cluster_named

        names = sorted({columns.kind(line).cluster for line in columns.lines("kind")})
        found = ((name, cluster_named(self.project, name)) for name in names)
        return {name: it for name, it in found if it is not None}

    def unmeasured_count(self, columns: UsageColumns) -> int:
        """Return how many ended jobs of the journal have no record of what they used."""
        return len(self._unmeasured(columns))

    def _unmeasured(self, columns: UsageColumns) -> list[JobUsage]:
        ended = [it for it in self.project.jobs.records() if it.step is JobStep.ENDED]
        known = columns.tokens() if ended else set()
        records = [it for it in ended if it.token not in known]
        planned = self.project.jobs.planned() if records else {}
        return [
            JobUsage(
                record.token,
                _kind(planned[record.token], record.user),
                record.job_id,
                len(record.directories),
                record.end_reason,
                record.exit_code,
                record.submitted_at,
                record.ended_at,
            )
            for record in records
            if record.token in planned
        ]

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
        return [news for job in jobs if (news := _completed(job, known)) is not None]


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


def _usage(ended: FinishedJob) -> JobUsage:
    job = ended.job
    return JobUsage(
        job.token,
        _kind(job, ended.user),
        ended.job_id,
        len(job.directories),
        ended.reason,
        ended.exit_code,
        ended.submitted_at,
        ended.ended_at,
        combined(ended.measured),
    )


def _kind(job: PlannedJob, user: str) -> UsageKind:
    where = job.destination
    return UsageKind(
        job.action,
        where.cluster,
        where.partition or "",
        user,
        job.attempt,
        job.cpus,
        job.gpus,
        job.memory_mb,
        job.walltime_seconds,
    )
