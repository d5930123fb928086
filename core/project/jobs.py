"""A project and its schedulers: asking for jobs, sending plans, cancelling, reading logs.

The order matters: first the schedulers are asked what has ended, then staged completions are
merged (a job stages before it ends), so that nothing that was completed stays marked as failed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.base import (
    CancelResult,
    Job,
    JobState,
    QueueSnapshot,
    Scheduler,
)
from rowtui.core.errors import RowtuiError
from rowtui.core.project.views import JobsView, JobView, LogTail
from rowtui.core.state.model import Submitted
from rowtui.core.state.store import NotSavedError
from rowtui.core.state.stored import Stored
from rowtui.core.submission.carry_out import Progress, Tools, carry_out
from rowtui.core.submission.journal import Journal, job_records
from rowtui.core.submission.model import JobRecord, Plan, Step
from rowtui.core.submission.plan_json import load_plan
from rowtui.core.submission.reservations import StoredReservations, without_gone
from rowtui.core.submission.settle import Settled, apply_settled, settle
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

# How long a scheduler is waited for: it is asked again soon, and people wait for the answer.
QUERY_SECONDS = 20.0
# How long a cluster that did not answer when it was to be recognised is left alone.
REST_SECONDS = 15.0
LOG_TAIL_BYTES = 1 << 18  # what is read of a log's end: enough for a screen of very long lines

_REASONS = {
    "time limit": JobState.TIMEOUT,
    "cancelled": JobState.CANCELLED,
    "out of memory": JobState.OUT_OF_MEMORY,
    "the node failed": JobState.NODE_FAIL,
}


def scheduler_of(cluster: Cluster) -> Scheduler:
    """The scheduler of a cluster, loaded only now."""
    if cluster.scheduler == "bash":
        from rowtui.core.clusters.schedulers.bash import BashScheduler

        return BashScheduler(cluster.name)
    if cluster.scheduler == "slurm":
        from rowtui.core.clusters.schedulers.slurm import SlurmScheduler

        return SlurmScheduler(cluster.name, query_timeout=QUERY_SECONDS)
    from rowtui.core.clusters.schedulers.local import LocalScheduler

    return LocalScheduler(cluster.name)


@dataclass
class Jobs:
    """The jobs of one project."""

    project: Project
    journal: Journal = field(init=False)
    _schedulers: dict[str, Scheduler] = field(default_factory=dict)
    _plans: dict[str, Plan] = field(default_factory=dict)
    # The clusters that did not answer when they were last asked, and why.
    unanswered: dict[str, str] = field(default_factory=dict)
    _failure: str = ""  # why it cannot be told which cluster this is,
    _failed_at: float = 0.0  # and when that was

    def __post_init__(self) -> None:
        """Find the journal."""
        self.journal = Journal(self.project.root)

    def scheduler(self, name: str) -> Scheduler | None:
        """The scheduler of a cluster that jobs were sent to, if it can be asked from here.

        Only the cluster that this is, and this machine's own queue.
        """
        if name not in self._schedulers:
            cluster = self.here()
            if cluster is None or name != cluster.name:
                from rowtui.core.clusters.builtin import LOCAL

                if name != LOCAL.name:
                    return None
                cluster = LOCAL
            self._schedulers[name] = scheduler_of(cluster)
        return self._schedulers[name]

    def here(self) -> Cluster | None:
        """The cluster that this is; None where that cannot be told now.

        What is known of a project can be shown also while its cluster does not answer.
        """
        if self._failure and time.monotonic() - self._failed_at < REST_SECONDS:
            return None
        try:
            cluster = self.project.cluster
        except RowtuiError as error:
            self._failure, self._failed_at = error.message, time.monotonic()
            return None
        self._failure = ""
        return cluster

    # What became of them

    async def ask(self) -> None:
        """Ask the schedulers, and bring the records in step with what they say."""
        await self._ask()
        for name, why in self.unanswered.items():
            said = f"{visible(name)} could not be asked: {visible(why)}"
            self.project.notice(f"{said}; what was known before is shown")

    async def _ask(self) -> dict[str, QueueSnapshot]:
        """The queues as they were, by cluster."""
        project = self.project
        self.unanswered = {}
        snapshots: dict[str, QueueSnapshot] = {}
        settled: list[Settled] = []
        gone: list[tuple[QueueSnapshot, list[int]]] = []
        here = self.here()
        for name in sorted(project.submitted_clusters() | ({here.name} if here else set())):
            scheduler = self.scheduler(name)
            if scheduler is None:
                if self._failure:
                    self.unanswered[name] = self._failure
                continue
            snapshot = await self._ask_for_known(scheduler)
            if snapshot is not None:
                snapshots[name] = snapshot
            settled += await settle(self.journal, scheduler, project.root, snapshot=snapshot)
            strangers = self._strangers(name)
            if snapshot is not None and not snapshot.error and strangers:
                gone.append((snapshot, strangers))
        for answer in settled:
            if answer.message:
                project.notice(answer.message)
        ended = bool(gone) or any(answer.release for answer in settled)
        if ended:
            # What the jobs staged before they ended: what is complete has not failed.
            await asyncio.to_thread(project.synchronise)
        reservations = StoredReservations(project.store)
        try:
            for snapshot, strangers in gone:
                await asyncio.to_thread(self._forget_gone, snapshot, strangers)
            await asyncio.to_thread(apply_settled, settled, reservations)
        except NotSavedError as error:  # who may only look sees what was known
            project.notice(error.message)
        if ended:
            await asyncio.to_thread(project.close)  # Row should not take them for submitted
        self._use_latest()
        return snapshots

    async def _ask_for_known(self, scheduler: Scheduler) -> QueueSnapshot | None:
        """One look at the queue for all jobs on record; None: there is none to ask for."""
        known = {job.job_id for job in self._submitted_to(scheduler.cluster) if job.job_id}
        if scheduler.immediate or not known:
            return None
        snapshot = await scheduler.queue(sorted(known))
        if snapshot.error:
            self.unanswered[scheduler.cluster] = snapshot.error
        return snapshot

    def _use_latest(self) -> None:
        stored = self.project.store.load().stored
        if stored is not None:
            self.project.use(stored.state)

    def _submitted_to(self, cluster: str) -> set[Submitted]:
        return {
            job
            for jobs in self.project.state.submitted.values()
            for job in jobs.values()
            if job.cluster == cluster
        }

    def _strangers(self, cluster: str) -> list[int]:
        """The ids of jobs that Row submitted: nothing else is known of them."""
        return sorted(
            {job.job_id for job in self._submitted_to(cluster) if job.job_id and not job.token}
        )

    def _forget_gone(self, snapshot: QueueSnapshot, asked: Collection[int]) -> None:

        def edit(stored: Stored) -> Stored:
            state = without_gone(stored.state, snapshot, asked)
            return stored if state is stored.state else stored._replace(state=state)

        self.project.store.commit(edit)

    # Sending

    async def submit(self, plan: Plan) -> AsyncIterator[Progress]:
        """Carry out a plan. Raises: RowtuiError if nothing can be written down."""
        project = self.project
        scheduler = self.scheduler(plan.cluster)
        if scheduler is None:
            raise RowtuiError(
                f"the plan is for cluster '{visible(plan.cluster)}', not for this one"
            )
        tools = Tools(
            scheduler=scheduler,
            journal=self.journal,
            reservations=StoredReservations(project.store),
            root=project.root,
        )
        self._plans[plan.id] = plan
        try:
            async for step in carry_out(plan, tools):
                yield step
        finally:
            self._use_latest()

    async def cancel(self, tokens: Sequence[str]) -> tuple[CancelResult, ...]:
        """Cancel these jobs, if the ids still are theirs: Slurm gives ids again after a crash."""
        records = {record.token: record for record in self.records()}
        by_cluster: dict[str, dict[int, str]] = {}
        results: list[CancelResult] = []
        for token in tokens:
            record = records.get(token)
            if record is None or not record.job_id:
                results.append(CancelResult(0, "the job has no id, so nothing can be cancelled"))
            else:
                by_cluster.setdefault(record.cluster, {})[record.job_id] = token
        for name, ids in by_cluster.items():
            scheduler = self.scheduler(name)
            if scheduler is None:
                results += [CancelResult(it, f"{name} cannot be asked from here") for it in ids]
                continue
            snapshot = await scheduler.queue(list(ids))
            if snapshot.error:
                why = f"whether the id still is this job's cannot be asked: {snapshot.error}"
                results += [CancelResult(it, why) for it in ids]
                continue
            others = {job.id for job in snapshot.jobs if job.token and job.token != ids.get(job.id)}
            results += [CancelResult(it, "the id now belongs to another job") for it in others]
            results += await scheduler.cancel([it for it in ids if it not in others])
        return tuple(results)

    # Looking at them

    def records(self) -> list[JobRecord]:
        """All jobs of this project that are on record, newest first."""
        found: list[JobRecord] = []
        for plan_id in self.journal.plan_ids():
            try:
                if plan_id not in self._plans:
                    self._plans[plan_id] = load_plan(self.project.root, plan_id)
                found += job_records(self._plans[plan_id], self.journal.entries(plan_id))
            except RowtuiError as error:
                self.project.notice(str(error))
        return sorted(found, key=lambda record: (-record.submitted_at, record.token))

    async def view(self) -> JobsView:
        """All jobs with their states: of the active ones what the scheduler says now."""
        asked: dict[str, QueueSnapshot] = {}
        if self.project.has_jobs_to_ask_for():
            asked = await self._ask()
        records = await asyncio.to_thread(self.records)
        known: dict[tuple[str, int], Job] = {}
        errors = []
        active = [record for record in records if record.step is Step.ACCEPTED]
        for name in sorted({record.cluster for record in active}):
            scheduler = self.scheduler(name)
            if scheduler is None:
                errors.append(f"{name}: {self._failure or 'it cannot be asked from here'}")
                continue
            snapshot = asked.get(name)
            ids = {record.job_id for record in active if record.cluster == name}
            if snapshot is None or not (snapshot.error or ids <= {j.id for j in snapshot.jobs}):
                snapshot = await scheduler.queue(sorted(ids))
            if snapshot.error:
                errors.append(f"{name}: {snapshot.error}")
            known.update({(name, job.id): job for job in snapshot.jobs})
        return JobsView(
            generation=self.project.state.generation,
            at=time.time(),
            jobs=tuple(
                _view(record, known.get((record.cluster, record.job_id))) for record in records
            ),
            error="; ".join(errors),
        )

    def log_tail(self, token: str, lines: int) -> LogTail:
        """The last lines of a job's log, cut to a bounded size."""
        record = next((it for it in self.records() if it.token == token), None)
        if record is None:
            return LogTail("", 0, (), "this job is not on record")
        path = self.log_path(record)
        shown = visible(str(path))
        if not record.log_path:
            return LogTail("", 0, (), "the job wrote to the terminal that it ran in")
        try:
            with path.open("rb") as log:
                size = os.fstat(log.fileno()).st_size
                log.seek(max(0, size - LOG_TAIL_BYTES))
                data = log.read(LOG_TAIL_BYTES)
        except FileNotFoundError:
            return LogTail(shown, 0, (), "nothing has been written yet")
        except OSError as error:
            return LogTail(shown, 0, (), f"cannot be read: {error.strerror}")
        text = data.decode("utf-8", "replace").split("\n")
        if size > LOG_TAIL_BYTES:
            text = text[1:]  # the first line is cut
        if text and not text[-1]:
            text.pop()
        return LogTail(shown, size, tuple(text[-lines:] if lines else text))

    def log_path(self, record: JobRecord) -> Path:
        """Where a job's log is, on this machine."""
        return self.project.root / record.log_path


def _view(record: JobRecord, job: Job | None) -> JobView:
    if record.step is Step.ENDED:
        if not record.end_reason:
            return JobView(record, JobState.COMPLETED)
        return JobView(record, _REASONS.get(record.end_reason, JobState.FAILED), record.end_reason)
    if record.step is Step.REJECTED:
        return JobView(record, JobState.FAILED, record.end_reason)
    if record.step is Step.ABANDONED:
        return JobView(record, JobState.CANCELLED, record.end_reason)
    if job is None or (job.token and job.token != record.token):
        return JobView(record, JobState.UNKNOWN, record.end_reason)
    return JobView(record, job.state, job.reason, job.elapsed, job.limit, job.nodes)
