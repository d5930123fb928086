"""Jobs that were sent and have not ended, from the journals; used to rebuild lost records.

The input is a project's folder; the result is the jobs of the open journals with their directories.
A journal is read from the last position, and a plan only if the records lack its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.state.model import State, Submitted
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import OPEN, SENT, JobStep, JournalEntry, PlannedJob
from rowtui.core.submission.sending.fence import abandon
from rowtui.core.submission.sending.journal import Journal

FORGOTTEN = "its record was cleaned"


class SentJob(NamedTuple):
    """A job with its latest journal entry, and its scheduler's id, or 0."""

    job: PlannedJob
    job_id: int

    @property
    def record(self) -> Submitted:
        """Return the record for each of the job's directories."""
        return Submitted(self.job.destination.cluster, self.job_id, self.job.token)


class OpenJobs:
    """The sent jobs of one project's open journals."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[str, tuple[int, dict[str, JournalEntry]]] = {}
        self._plans: dict[str, dict[str, PlannedJob]] = {}

    def lacking(self, state: State, own: Collection[str] = ()) -> list[SentJob]:
        """Return the sent jobs whose tokens are not in these records.

        A plan that has one of the tokens `own` is left out. Raises: RowtuiError if a journal, or
        the plan of such a job, cannot be read.
        """
        found: list[SentJob] = []
        own = frozenset(own)
        had: frozenset[str] | None = None
        for plan_id, latest in self._journals(own).items():
            if any(token in latest for token in own):
                continue
            sent = {token: it for token, it in latest.items() if it.step in SENT}
            if sent and had is None:
                had = frozenset(
                    job.token for jobs in state.submitted.values() for job in jobs.values()
                )
            lacking = [token for token in sent if token not in (had or ())]
            if lacking:
                jobs = self._jobs(plan_id)
                found += [
                    SentJob(jobs[token], sent[token].job_id) for token in lacking if token in jobs
                ]
        return found

    def _journals(self, own: Collection[str]) -> dict[str, dict[str, JournalEntry]]:
        """Return the latest entry of each token by plan; a plan of `own` is not read further."""
        journal = Journal(self.root)
        found = {}
        for plan_id, size in journal.stamp():
            read, latest = self._read.get(plan_id, (0, {}))
            if size < read:
                read, latest = 0, {}
            if size > read and not any(token in latest for token in own):
                read, fresh = journal.entries_from(plan_id, read, own)
                latest |= {entry.token: entry for entry in fresh}
            found[plan_id] = latest
            self._read[plan_id] = read, latest
        for plan_id in self._read.keys() - found.keys():
            del self._read[plan_id]
            self._plans.pop(plan_id, None)
        return found

    def _jobs(self, plan_id: str) -> dict[str, PlannedJob]:
        if plan_id not in self._plans:
            try:
                plan = load_plan(self.root, plan_id)
            except RowtuiError as error:
                raise RowtuiError(
                    f"the records of a submission that is under way are lost: {error.message}",
                    "nothing is submitted until its jobs have ended; `rowtui queue` looks at them",
                ) from None
            self._plans[plan_id] = {job.token: job for job in plan.jobs}
        return self._plans[plan_id]


def forget_open(root: Path, close: Callable[[JournalEntry], str | None]) -> int:
    """Give up all open jobs that have not begun, so that their directories are free.

    `close` closes the fence of a job that may be in a queue, where the job would run, and returns
    "", or why that is not possible: the job has begun, or its cluster does not answer. None: the
    cluster is unknown, and the fence here is closed. A job that is not given up keeps its
    directories; the number of these jobs is returned. A plan that is being carried out now is left
    to its process. Raises: RowtuiError; OSError.
    """

    def may_begin(entry: JournalEntry) -> bool:
        why = "" if entry.step is JobStep.PLANNED else close(entry)
        return bool(abandon(root, entry.token) if why is None else why)

    journal, kept = Journal(root), 0
    for plan_id in journal.open_plan_ids():
        with journal.hold(plan_id) as held:
            entries = journal.latest(plan_id).values() if held else ()
            mine = [entry for entry in entries if entry.step in OPEN]
            free = [it for it in mine if not may_begin(it)]
            kept += len(mine) - len(free)
            journal.append(it._replace(step=JobStep.ABANDONED, detail=FORGOTTEN) for it in free)
            if held and len(free) == len(mine):
                journal.put_away(plan_id)
    return kept


def with_sent(state: State, sent: Iterable[SentJob]) -> State:
    """Return the records with these jobs' directories submitted, if no other job has them."""
    submitted = {action: dict(records) for action, records in state.submitted.items()}
    changed = False
    for one in sent:
        ours = submitted.setdefault(one.job.action, {})
        for name in one.job.directories:
            at = state.directories.position(name)
            if at is None:
                continue
            had, record = ours.get(at), one.record
            # Row's file has the id of a job without its token.
            if had is None or (record.job_id and had == record._replace(token="")):
                ours[at] = record
                changed = True
    if not changed:
        return state
    kept = {action: records for action, records in submitted.items() if records}
    return state._replace(submitted=kept)
