"""A project and its schedulers: asking for jobs, sending plans, cancelling, reading logs.

The order matters: first the schedulers are asked what has ended, then staged completions are
merged (a job stages before it ends), so that nothing that was completed stays marked as failed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import (
    CancelResult,
    JobState,
    QueueSnapshot,
)
from rowtui.core.errors import RowtuiError
from rowtui.core.project.queues import Answers, Look, Queues
from rowtui.core.project.views import JobsView, JobView, LogTail
from rowtui.core.state.store import NotSavedError
from rowtui.core.state.stored import Stored
from rowtui.core.submission.carry_out import Progress, Tools, carry_out
from rowtui.core.submission.journal import Journal, job_records
from rowtui.core.submission.model import JobRecord, Plan, Step
from rowtui.core.submission.plan_json import load_plan
from rowtui.core.submission.reservations import StoredReservations, without_gone
from rowtui.core.submission.settle import apply_settled
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

LOG_TAIL_BYTES = 1 << 18  # what is read of a log's end: enough for a screen of very long lines

_REASONS = {
    "time limit": JobState.TIMEOUT,
    "cancelled": JobState.CANCELLED,
    "out of memory": JobState.OUT_OF_MEMORY,
    "the node failed": JobState.NODE_FAIL,
}


@dataclass
class Jobs:
    """The jobs of one project."""

    project: Project
    journal: Journal = field(init=False)
    queues: Queues = field(init=False)
    _plans: dict[str, Plan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the journal."""
        self.journal = Journal(self.project.root)
        self.queues = Queues(self.project, self.journal)

    # What became of them

    async def ask(self) -> None:
        """Ask the schedulers, and bring the records in step with what they say."""
        answers = await self.queues.ask()
        await asyncio.to_thread(self.enter, answers)
        for name, why in self.queues.unanswered.items():
            said = f"{visible(name)} could not be asked: {visible(why)}"
            self.project.notice(f"{said}; what was known before is shown")

    def enter(self, answers: Answers) -> None:
        """Bring the records in step with what the schedulers said. Waits for the disk."""
        project = self.project
        for answer in answers.settled:
            if answer.message:
                project.notice(answer.message)
        if answers.any_ended:
            # What the jobs staged before they ended: what is complete has not failed.
            project.synchronise()
        try:
            for snapshot, strangers in answers.gone:
                self._forget_gone(snapshot, strangers)
            apply_settled(answers.settled, StoredReservations(project.store))
        except NotSavedError as error:  # who may only look sees what was known
            project.notice(error.message)
        if answers.any_ended:
            project.close()  # Row should not take them for submitted
        self._use_latest()

    def _use_latest(self) -> None:
        stored = self.project.store.load().stored
        if stored is not None:
            self.project.use(stored.state)

    def _forget_gone(self, snapshot: QueueSnapshot, asked: Collection[int]) -> None:
        def edit(stored: Stored) -> Stored:
            state = without_gone(stored.state, snapshot, asked)
            return stored if state is stored.state else stored._replace(state=state)

        self.project.store.commit(edit)

    # Sending

    async def submit(self, plan: Plan) -> AsyncIterator[Progress]:
        """Carry out a plan. Raises: RowtuiError if nothing can be written down."""
        project = self.project
        scheduler = self.queues.scheduler(plan.cluster)
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
            self.queues.submitted(plan.cluster)
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
            scheduler = self.queues.scheduler(name)
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
        looks: Mapping[str, Look] = {}
        if self.project.has_jobs_to_ask_for():
            answers = await self.queues.ask()
            await asyncio.to_thread(self.enter, answers)
            looks = answers.looks
        return await asyncio.to_thread(self.show, looks)

    def show(self, looks: Mapping[str, Look]) -> JobsView:
        """All jobs as they were at these looks at the queues. Waits for the disk."""
        records = self.records()
        unreachable = {
            record.cluster
            for record in records
            if record.step is Step.ACCEPTED and self.queues.scheduler(record.cluster) is None
        }
        errors = dict(self.queues.unanswered)
        for name in unreachable:
            errors.setdefault(name, "it cannot be asked from here")
        return JobsView(
            generation=self.project.state.generation,
            at=time.time(),
            jobs=tuple(_view(record, looks.get(record.cluster)) for record in records),
            error="; ".join(f"{name}: {why}" for name, why in sorted(errors.items())),
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


def _view(record: JobRecord, look: Look | None) -> JobView:
    if record.step is Step.ENDED:
        if not record.end_reason:
            return JobView(record, JobState.COMPLETED)
        return JobView(record, _REASONS.get(record.end_reason, JobState.FAILED), record.end_reason)
    if record.step is Step.REJECTED:
        return JobView(record, JobState.FAILED, record.end_reason)
    if record.step is Step.ABANDONED:
        return JobView(record, JobState.CANCELLED, record.end_reason)
    if look is not None and not look.snapshot.error and record.job_id not in look.asked:
        return JobView(record, JobState.PENDING, "submitted since the queue was last asked")
    jobs = look.snapshot.jobs if look is not None else ()
    job = next((it for it in jobs if it.id == record.job_id), None)
    if job is None or (job.token and job.token != record.token):
        return JobView(record, JobState.UNKNOWN, record.end_reason)
    return JobView(record, job.state, job.reason, job.elapsed, job.limit, job.nodes)
