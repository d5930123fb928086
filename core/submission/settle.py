"""What became of jobs whose fate the journal does not know, and which of the others have ended.

Takes the journal and the scheduler; enters what is known into the project's records, writes it
down, and gives a `Settled` for each job of which there is something new. Run at every start and
with every poll. A job that was being sent when rowtui was killed is looked for by its token; if
neither the scheduler nor the fence knows it, the fence is closed first, so that it can never run
later, and then its directories are free again. Whatever cannot be asked stays as it is, and is
said. Source: slurm_rig 6.4, steps 3 to 6.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot
from rowtui.core.errors import RowtuiError
from rowtui.core.submission.ending import WITHOUT_A_WORD, Ending, ending_of, scheduler_word
from rowtui.core.submission.fence import ABANDONED, abandon, job_id_of, read_ended, read_fence
from rowtui.core.submission.model import JournalEntry, Plan, PlannedJob, Step
from rowtui.core.submission.plan_json import load_plan
from rowtui.core.submission.reservations import Release
from rowtui.core.submission.tools import Tools
from rowtui.core.text import visible

_OPEN = frozenset({Step.PLANNED, Step.SENDING, Step.UNKNOWN, Step.ACCEPTED})
_LOST = frozenset({Step.SENDING, Step.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Settled:
    """What is now known of one job. `message` is for a person, "" if there is nothing to say.

    `release` has the job's action and failures: its directories are no longer submitted. None:
    they still are, under `job_id` if that is not 0.
    """

    token: str
    plan_id: str
    cluster: str
    step: Step
    job_id: int
    message: str = ""
    release: Release | None = None


async def settle(tools: Tools, snapshot: QueueSnapshot | None = None) -> tuple[Settled, ...]:
    """Settle the open jobs of all plans, and enter that into the project's records.

    `snapshot`: all jobs of this user as just polled, if the caller has it; else it is asked for.
    Plans that another process is carrying out are left to it.
    Raises: RowtuiError if the records or the journal cannot be written.
    """
    settling = _Settling(tools)
    plans = await asyncio.to_thread(settling.open_plans)
    asked = {
        entry.job_id
        for latest in plans.values()
        for entry in latest.values()
        if entry.step is Step.ACCEPTED
    }
    if asked and snapshot is None:
        snapshot = await tools.scheduler.queue(sorted(asked))
    settling.asked, settling.snapshot = asked, snapshot
    for plan_id in plans:
        with tools.journal.hold(plan_id) as held:
            if held:
                await settling.settle_plan(plan_id)
    return tuple(settling.settled)


@dataclass
class _Settling:
    tools: Tools
    asked: Collection[int] = ()
    snapshot: QueueSnapshot | None = None
    by_id: dict[int, Job] = field(default_factory=dict)
    settled: list[Settled] = field(default_factory=list)
    # Of the plan at hand: what is to be entered and then written down, in this order.
    plan: Plan | None = None
    plan_id: str = ""
    ids: dict[str, int] = field(default_factory=dict)
    releases: list[Release] = field(default_factory=list)
    entries: list[JournalEntry] = field(default_factory=list)

    def open_plans(self) -> dict[str, dict[str, JournalEntry]]:
        """The plans that have open jobs, with the latest entry of each job."""
        found = {}
        for plan_id in self.tools.journal.plan_ids():
            try:
                latest = self.tools.journal.latest(plan_id)
            except RowtuiError as error:
                self.plan_id = plan_id
                self.tell("", Step.UNKNOWN, error.message)
                continue
            if any(entry.step in _OPEN for entry in latest.values()):
                found[plan_id] = latest
        return found

    async def settle_plan(self, plan_id: str) -> None:
        """All open jobs of one plan, whose journal is held."""
        journal, reservations = self.tools.journal, self.tools.reservations
        latest = await asyncio.to_thread(journal.latest, plan_id)
        self.plan, self.plan_id = None, plan_id
        self.ids, self.releases, self.entries = {}, [], []
        for token, entry in latest.items():
            if entry.step in _OPEN:
                await self.settle_token(token, entry)
        # Directories are given back before that is written down: whoever is killed in between
        # leaves jobs that are settled once more. The other way they would stay reserved.
        await asyncio.to_thread(reservations.record, self.ids)
        await asyncio.to_thread(reservations.release, self.releases)
        await asyncio.to_thread(journal.append, self.entries)
        latest |= {entry.token: entry for entry in self.entries}
        if not any(entry.step in _OPEN for entry in latest.values()):
            await asyncio.to_thread(journal.put_away, plan_id)

    async def settle_token(self, token: str, entry: JournalEntry) -> None:
        if entry.step is Step.ACCEPTED and not self.may_have_changed(entry, token):
            return
        try:
            if self.plan is None:
                self.plan = await asyncio.to_thread(load_plan, self.tools.root, self.plan_id)
            job = next(job for job in self.plan.jobs if job.token == token)
        except (RowtuiError, StopIteration) as error:
            self.tell(token, entry.step, f"what job {token} was for is not known: {error}")
            return
        try:
            if entry.step is Step.PLANNED:
                # Written down before anything was sent: it certainly never was.
                self.give_up(job, "never sent")
            elif self.plan.scheduler == "bash":
                self.settle_immediate(job, entry)
            elif self.plan.cluster != self.tools.scheduler.cluster:
                return  # its own cluster must be asked
            elif entry.step in _LOST:
                await self.find_lost(job, entry)
            else:
                await self.look_at(job, entry)
        except OSError as error:
            self.tell(token, entry.step, f"{job.name}: its traces cannot be read: {error.strerror}")

    def may_have_changed(self, entry: JournalEntry, token: str) -> bool:
        """Whether the snapshot says anything new of an accepted job. Most jobs just run."""
        snapshot = self.snapshot
        if snapshot is None or snapshot.error or entry.job_id not in self.asked:
            return False
        known = self.known(entry.job_id, token)
        if known is not None and (known.state.active or known.state is JobState.UNKNOWN):
            # Killed between writing an id down and recording it: record it again, it is cheap.
            self.ids[token] = known.id
            return False
        return True

    def known(self, job_id: int, token: str) -> Job | None:
        """The job in the snapshot, unless its id was given to another."""
        if not self.by_id and self.snapshot is not None:
            self.by_id = {job.id: job for job in self.snapshot.jobs}
        job = self.by_id.get(job_id)
        return job if job is not None and job.token in ("", token) else None

    # -- jobs whose submission had no answer -------------------------------------------------

    async def find_lost(self, job: PlannedJob, entry: JournalEntry) -> None:
        found = await self.tools.scheduler.find(job.token)
        if found is None:
            where = visible(job.destination.cluster)
            why = f"whether {job.name} was submitted is not known: {where} cannot be asked"
            self.tell(job.token, entry.step, why)
            return
        runner = read_fence(self.tools.root, job.token)
        if not found and not runner:
            runner = abandon(self.tools.root, job.token)
            if not runner:
                self.give_up(job, "it never reached the scheduler")
                return
        if runner == ABANDONED:
            await self.cancel(found)
            self.give_up(job, "given up before it began")
            return
        known = _chosen(found, job_id_of(runner))
        job_id = known.id if known else job_id_of(runner)
        await self.cancel([other for other in found if other.id != job_id])
        if known is None or not known.state.active:
            await self.finish(job, job_id, known)
        else:
            self.ids[job.token] = job_id
            self.note(job.token, Step.ACCEPTED, job_id, "found again")
            where = f"{visible(job.destination.cluster)}/{job_id}"
            self.tell(job.token, Step.ACCEPTED, f"{job.name} was found again: {where}", job_id)

    async def cancel(self, others: Sequence[Job]) -> None:
        """Take duplicates out of the queue; the fence keeps them from doing anything anyway."""
        ids = [other.id for other in others if other.state.active]
        if ids:
            await self.tools.scheduler.cancel(ids)

    def settle_immediate(self, job: PlannedJob, entry: JournalEntry) -> None:
        """A job that ran inside a rowtui that was killed: it may have gone on without it."""
        root = self.tools.root
        marker = read_ended(root, job.token)
        runner = read_fence(root, job.token)
        if marker is None and runner != ABANDONED:
            from rowtui.core.clusters.schedulers.local_processes import processes_of_job

            host = _host_of(runner)
            if host and host != socket.gethostname():
                why = f"{job.name} began on {visible(host)}: only there one can tell if it runs"
                self.tell(job.token, entry.step, why)
                return
            if processes_of_job(job.token, None):
                self.tell(job.token, entry.step, f"{job.name} is still running")
                return
            runner = runner or abandon(root, job.token) or ABANDONED
        if marker is None and runner == ABANDONED:
            self.give_up(job, "it was never started")
        else:
            self.end(job, 0, ending_of(job, marker, None, WITHOUT_A_WORD, 0))

    def give_up(self, job: PlannedJob, why: str) -> None:
        release = Release(job.token, job.action, {})
        self.note(job.token, Step.ABANDONED, 0, why)
        self.tell(job.token, Step.ABANDONED, f"{job.name}: {why}", release=release)

    # -- jobs that the scheduler has or had ---------------------------------------------------

    async def look_at(self, job: PlannedJob, entry: JournalEntry) -> None:
        known = self.known(entry.job_id, job.token)
        if known is None and read_ended(self.tools.root, job.token) is None:
            found = await self.tools.scheduler.find(job.token)
            if found is None:
                return
            known = _chosen(found, entry.job_id)
        if known is None or not (known.state.active or known.state is JobState.UNKNOWN):
            await self.finish(job, entry.job_id, known)
        elif known.id != entry.job_id:
            self.ids[job.token] = known.id
            self.note(job.token, Step.ACCEPTED, known.id, "it has a new id")

    async def finish(self, job: PlannedJob, job_id: int, known: Job | None) -> None:
        marker = await asyncio.to_thread(read_ended, self.tools.root, job.token)
        code, word = (None, WITHOUT_A_WORD) if known is None else scheduler_word(known)
        self.end(job, job_id, ending_of(job, marker, code, word, job_id))

    def end(self, job: PlannedJob, job_id: int, ending: Ending) -> None:
        message = f"{job.name}: {visible(ending.reason)}" if ending.reason else ""
        self.note(job.token, Step.ENDED, job_id, ending.detail)
        self.tell(job.token, Step.ENDED, message, job_id, ending.release)

    # -- what is entered and written down when the plan is through ------------------------------

    def note(self, token: str, step: Step, job_id: int, detail: str) -> None:
        at = self.tools.clock()
        self.entries.append(JournalEntry(token, self.plan_id, step, at, job_id, detail))

    def tell(
        self, token: str, step: Step, message: str, job_id: int = 0, release: Release | None = None
    ) -> None:
        cluster = self.plan.cluster if self.plan else ""
        self.settled.append(Settled(token, self.plan_id, cluster, step, job_id, message, release))
        if release is not None:
            self.releases.append(release)


def _chosen(found: Sequence[Job], runner: int) -> Job | None:
    """The job that has the fence, else one that can still run, else any."""
    order = sorted(found, key=lambda it: (it.id != runner, not it.state.active, it.id))
    return order[0] if order else None


def _host_of(runner: str) -> str:
    """The host in the fence of a job without a scheduler, `bash:<host>:<process>`."""
    parts = runner.split(":")
    return ":".join(parts[1:-1]) if len(parts) > 2 else ""
