"""A project and its schedulers: polling jobs, sending plans, cancelling and reading logs.

The order matters. First the schedulers are asked which jobs have ended; then staged completions are
merged. A job stages its completions before it ends, so no completed directory stays marked as
failed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.lazy import asyncio
from rowtui.core.base.text import visible
from rowtui.core.clusters.polling.poll import Polled
from rowtui.core.clusters.schedulers.base import QueueSnapshot
from rowtui.core.project.queue.queues import Answers, Queues
from rowtui.core.project.views.logs import LocalLog, Log, RemoteLog, read_log_end
from rowtui.core.project.views.views import JobsView, LogTail
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.plan.model import JobStep, Plan
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.job_records import JobTable, with_queues
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.submission.sending.reservations import StoredReservations, without_gone

if TYPE_CHECKING:
    from rowtui.core.project.context.copies import Copies
    from rowtui.core.project.project import Project
    from rowtui.core.submission.reconcile.conclude import SeenProducts
    from rowtui.core.submission.reconcile.ending import OverJob
    from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob
    from rowtui.core.submission.sending.release_held import SendingProgress
    from rowtui.core.submission.sending.site import Access


class JobEvents(Protocol):
    """What happens to the jobs of a project, for records and messages to its user."""

    def polled(self, cluster: str, polled: Polled | None) -> None:
        """Take a poll of a cluster; None if it has no queue that can be polled from here."""
        ...

    def jobs_ended(self, ended: Collection[JobRecord]) -> None:
        """Take jobs that ended, before the journal has their ends. Waits for the disk."""
        ...

    def looked(self) -> None:
        """Take that ends were recorded."""
        ...


class Jobs:
    """The jobs of one project."""

    unsaved: NotSavedError | None = None  # why the last look could not be saved
    _unfetched: tuple[ReconciledJob, ...] = ()  # ended jobs, see `fetch_results`
    # the input of the cached views, and the views
    _shown: tuple[object, tuple[JobRecord, ...]] | None = None

    def __init__(self, project: Project, table: JobTable, events: JobEvents) -> None:
        """Start without any known queue."""
        self.project, self.table, self.events = project, table, events
        self.journal: Journal = table.journal
        self.queues = Queues(project, self.journal, events.polled)
        # by token: jobs that must be sent again, and why, as of the last polls
        self.unfinished: dict[str, str] = {}

    @cached_property
    def copies(self) -> Copies:
        """Return the copies of the project on clusters that do not share its folder."""
        from rowtui.core.project.context.copies import Copies

        return Copies(self.project, self.table)

    # Job states

    async def ask(self, *, now: bool = True, may_send: bool = False) -> None:
        """Poll the schedulers, and update the records from their answers.

        `now`, `may_send`: see `Queues.ask`.
        """
        await self.entered(await self.queues.ask(now=now, may_send=may_send))
        for name, why in self.queues.unanswered.items():
            text = f"{visible(name)} could not be asked: {visible(why)}"
            self.project.notice(f"{text}; its earlier jobs are shown")

    async def entered(self, answers: Answers) -> None:
        """Fetch the results of ended jobs, and update the records."""
        await asyncio.to_thread(self.enter, await self.fetched(answers))

    async def fetched(self, answers: Answers) -> Answers:
        """Fetch the results of ended jobs; return the answers without unfetched jobs."""
        if answers.any_ended and self.project.connections.remote():
            settled = await self.copies.fetched(answers.settled)
            answers = answers._replace(settled=settled)
        return answers

    def enter(self, answers: Answers) -> None:
        """Update the records from the schedulers' answers. Waits for the disk.

        What cannot be saved now, as on a full disk, is found again at the next poll.
        """
        project = self.project
        for token in {it.token for it in answers.settled}:
            self.unfinished.pop(token, None)
        self.unfinished |= {it.token: it.unfinished for it in answers.settled if it.unfinished}
        if answers.any_ended:
            # Jobs stage completions before they end: a completed directory has not failed.
            project.synchronise()
        try:
            if answers.settled or answers.gone:
                self._conclude(answers)
        except NotSavedError as error:  # a user without write permission sees the last known state
            self.unsaved = error
            project.notice(error.message)
        else:
            self.unsaved = None
        if answers.any_ended:
            project.close()  # Row should not count ended jobs as submitted
        self._use_latest()
        if answers.any_ended:
            self.events.looked()

    def _conclude(self, answers: Answers) -> None:
        from rowtui.core.submission.reconcile.conclude import concluded
        from rowtui.core.submission.reconcile.reconcile_state import apply_settled

        settled = concluded(answers.settled, self._look_at_ended, time.time())
        for snapshot, strangers in answers.gone:
            self._forget_gone(snapshot, strangers)
        # First what they used: a job whose end is in the journal is not looked at again.
        if ended := [it.ended for it in settled if it.ended is not None]:
            self.events.jobs_ended(ended)
        apply_settled(settled, StoredReservations(self.project.store))
        for message in (it.message for it in settled if it.message):
            self.project.notice(message)

    def _look_at_ended(self, jobs: Sequence[OverJob]) -> list[SeenProducts]:
        from rowtui.core.submission.reconcile.conclude import look_at_ended

        return look_at_ended(self.project.store, self.project.workflow, jobs)

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

    async def submit(self, plan: Plan) -> AsyncGenerator[SendingProgress, None]:
        """Carry out a plan. Raises: RowtuiError if no record can be written."""
        from rowtui.core.submission.sending.carry_out import carry_out
        from rowtui.core.submission.sending.release_held import SendingProgress, Tools

        project = self.project
        access = {}
        for cluster in project.connections.copied(plan.jobs):
            text = f"comparing with the copy on {visible(cluster.name)}"
            yield SendingProgress(0, len(plan.jobs), "", text, copies_to=cluster.name)
        for name in dict.fromkeys(job.destination.cluster for job in plan.jobs):
            there = await project.connections.access(name)
            if there is None:
                raise RowtuiError(
                    f"the plan is for cluster '{visible(name)}', which cannot be reached from here"
                )
            access[name] = there
        await self._search_after_loss(access)
        tools = Tools(
            access=access,
            journal=self.journal,
            reservations=StoredReservations(project.store, project.workflow),
            root=project.root,
            # The submission does not wait for clusters that need a login first.
            stop=lambda: any(project.connections.login_needed(name) for name in access),
            search=lambda: self._search_after_loss(access),
            look=self._look_at_ended,
            on_end=lambda ended: self.events.jobs_ended([ended]),
        )
        if project.network is not None:
            await asyncio.to_thread(project.network.submitting, plan)
        async with contextlib.aclosing(self.copies.send(plan)) as copying:
            async for name, text in copying:
                yield SendingProgress(0, len(plan.jobs), "", text, copies_to=name)
        try:
            async for step in carry_out(plan, tools):
                yield step
        finally:
            for name in access:
                self.queues.looks.submitted(name)
            self._use_latest()
            if project.network is not None:
                project.network.submitted(plan)

    async def _search_after_loss(self, access: Mapping[str, Access]) -> None:
        """Refuse to send while the queue holds jobs of this project that are not on record.

        A loss of records cannot always be detected, so the queue is searched before each plan, and
        again before a job is sent if records were lost since then. Raises: RowtuiError.
        """
        from rowtui.core.submission.sending.send import refuse_unknown_jobs

        store = self.project.store
        stored = await asyncio.to_thread(lambda: store.load().stored)
        if stored is None:
            return
        asked = dict(access)
        if stored.uncertain:  # lost jobs may be on each cluster of the project
            for name in self.project.submitted_clusters() - access.keys():
                if (there := await self.project.connections.access(name)) is not None:
                    asked[name] = there
        for name, there in asked.items():
            sent = (job for jobs in stored.state.submitted.values() for job in jobs.values())
            ids = {job.job_id for job in sent if job.cluster == name and not job.token}
            await refuse_unknown_jobs(there, self.journal, ids, lost=stored.uncertain)
        if not stored.uncertain:
            return
        lineage = stored.lineage

        def certain(current: Stored) -> Stored:
            return current._replace(uncertain=False) if current.lineage == lineage else current

        await asyncio.to_thread(store.commit, certain)

    # Reading jobs

    def records(self) -> list[JobRecord]:
        """Return all jobs of this project that are on record, newest first."""
        return self.table.records()

    async def view(
        self,
        *,
        everywhere: bool = False,
        among: Collection[str] = (),
        now: bool = True,
        fetch: bool = True,
    ) -> JobsView:
        """Return all jobs with their states; active jobs have the scheduler's current state.

        `everywhere`, `among` and `now`: see `Queues.ask`. Without `fetch`, ended jobs whose results
        are on copies are concluded by `fetch_results`.
        """
        queues: Mapping[str, Polled] = {}
        if everywhere or among or self.project.has_jobs_to_ask_for():
            answers = await self.queues.ask(now=now, everywhere=everywhere, among=among)
            queues = answers.queues
            if not fetch and self.project.connections.remote():
                parts: dict[bool, list[ReconciledJob]] = {True: [], False: []}
                for it in answers.settled:
                    parts[self.copies.has_results(it)].append(it)
                self._unfetched = tuple(parts[True])
                answers = answers._replace(settled=tuple(parts[False]))
            await self.entered(answers)
        return await asyncio.to_thread(self.show, queues)

    async def fetch_results(self) -> None:
        """Fetch the results that the last `view` did not, and conclude their jobs."""
        unfetched, self._unfetched = self._unfetched, ()
        if unfetched:
            await self.entered(Answers({}, unfetched))

    def show(self, queues: Mapping[str, Polled]) -> JobsView:
        """Return all jobs as of these polls of the queues. Waits for the disk.

        As long as nothing has changed, `jobs` is the identical tuple.
        """
        # A journal only grows until its plan is finished; then it is archived.
        written = (self.journal.stamp(), tuple(self.journal.plan_ids()))
        looked = {name: (polled.snapshot, polled.as_of) for name, polled in queues.items()}
        if self._shown is None or self._shown[0] != (written, looked):
            # Without the jobs that were left out of their submission: no scheduler ever had them.
            every = self.records()
            records = (it for it in every if it.job_id or it.step is not JobStep.ABANDONED)
            self._shown = ((written, looked), tuple(with_queues(records, queues, time.time())))
        jobs = self._shown[1]
        unreachable = {
            job.cluster
            for job in jobs
            if job.step is JobStep.ACCEPTED and self.project.connections.known(job.cluster) is None
        }
        errors = dict(self.queues.unanswered)
        for name in unreachable:
            errors.setdefault(name, "it cannot be asked from here")
        return JobsView(
            generation=self.project.state.generation,
            at=time.time(),
            jobs=jobs,
            error="; ".join(f"{name}: {why}" for name, why in sorted(errors.items())),
            clusters=self.queues.looks.views(),
        )

    async def log_tail(self, token: str, lines: int) -> LogTail:
        """Return the last lines of a job's log, cut to a bounded size."""
        records = await asyncio.to_thread(self.records)
        record = next((it for it in records if it.token == token), None)
        if record is None:
            return LogTail("", 0, (), "this job is not on record")
        if not record.log_path:
            return LogTail("", 0, (), "the job wrote to the terminal that it ran in")
        try:
            return await read_log_end(await self.log(record), lines)
        except RowtuiError as error:
            return LogTail(visible(record.log_path), 0, (), error.message)

    async def log(self, record: JobRecord) -> Log:
        """Return a job's log: on this machine, or in the copy of the project on its cluster.

        Raises: RowtuiError if the copy cannot be determined.
        """
        connections = self.project.connections
        cluster = connections.known(record.cluster)
        path = self.log_path(record)
        if cluster is None or not connections.is_copied(cluster):
            return LocalLog(path)
        # While a job runs, a log here is an earlier fetch of the cluster's log.
        if record.step is not JobStep.ACCEPTED and path.exists():
            return LocalLog(path)
        with connections.explained(cluster.name):
            copy = await connections.mirror(cluster).resolve()
        where = PurePosixPath(copy, record.log_path)
        return RemoteLog(connections.transport(cluster), where, cluster.name)

    def log_path(self, record: JobRecord) -> Path:
        """Return the path of a job's log on this machine, whether or not the log exists yet."""
        return self.project.root / record.log_path
