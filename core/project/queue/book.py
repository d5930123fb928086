"""The engine's store of queue data for screens: it holds all jobs and returns bounded values.

`take` turns a poll of all jobs into the copy for a screen, and notes jobs that ended since the last
call. `page`, `all_of`, `marked`, `chosen` and `tokens` serve the queue view. The caller must not
run two calls at the same time. No I/O.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.base import NO_ID, Job, JobState
from rowtui.core.project.queue.needs import QueueNeed, queue_needs
from rowtui.core.project.queue.queue_list import QueueTable, fold_of, row_key
from rowtui.core.project.queue.rows import (
    Fold,
    Listed,
    MarkedRow,
    RowKey,
    in_order,
    row_of,
    states_of,
)
from rowtui.core.project.queue.throughput import paces
from rowtui.core.project.queue.views import (
    KINDS,
    MOST_AGAIN,
    MOST_MARKED,
    MOST_SHOWN,
    PROJECT,
    ChosenJob,
    ChosenJobs,
    QueuePage,
    QueueRequest,
)
from rowtui.core.project.views.views import ClusterView, FailedJob, JobsView

if TYPE_CHECKING:
    from rowtui.core.submission.plan.record import JobRecord


MOST_JOBS = 300
"""Number of newest jobs in the copy for a screen; the views beside the queue show them."""

MOST_DIRECTORIES = 64
"""Most directories of one of these jobs that are named."""

MOST_ENDED = 20
"""Most jobs ended since the last poll that are reported individually."""

NEEDS_SECONDS = 60.0
"""Passing time alone can make a job need the user, so needs are computed at least this often."""

VERBS: Mapping[str, Callable[[JobState], bool]] = {
    "cancel": lambda state: state.active,
    "hold": lambda state: state is JobState.PENDING,
    "release": lambda state: state is JobState.HELD,
    "change": lambda state: state.waits,
    "retry": lambda state: state.bad,
}
"""The verbs for jobs, and the states in which each applies."""


class QueueBook:
    """The latest poll of all clusters, and the list that is made from it."""

    def __init__(self) -> None:
        self._view: JobsView | None = None
        self._clusters: dict[str, ClusterView] = {}
        self._table: QueueTable | None = None
        self._foreign: tuple[JobRecord, ...] = ()
        self._active: set[str] = set()
        self._queues: dict[str, tuple[Job, ...]] = {}
        self._counts: dict[str, tuple[tuple[JobState, int], ...]] = {}
        self._asked: QueueRequest | None = None  # the newest request
        self._bounded: tuple[JobRecord, ...] = ()
        self._states: tuple[tuple[JobState, int], ...] = ()
        self._needs: tuple[QueueNeed, ...] = ()
        self._needs_at = 0.0

    # Polls of all clusters

    def take(self, view: JobsView) -> JobsView:
        """Store the view, and return the copy for a screen."""
        old = self._view
        same_jobs = old is not None and old.jobs is view.jobs
        queues = {one.name: one.jobs for one in view.clusters}
        same = {name for name, jobs in queues.items() if self._queues.get(name) is jobs}
        ended: list[JobRecord] = []
        many = 0
        if not same_jobs:
            many = self._note_ended(view, ended, first=old is None)
            self._bounded = tuple(it.in_brief(MOST_DIRECTORIES) for it in view.jobs[:MOST_JOBS])
            self._states = in_order(Counter(job.state for job in view.jobs))
        if not same_jobs or len(same) < len(queues) or len(queues) != len(self._queues):
            self._table = None
        self._counts = {
            name: self._counts[name] if name in same else _counted(jobs)
            for name, jobs in queues.items()
        }
        if not same_jobs or view.at - self._needs_at >= NEEDS_SECONDS:
            self._needs, self._needs_at = queue_needs(view.jobs, view.at), view.at
        self._queues, self._view = queues, view
        self._clusters = {one.name: one for one in view.clusters}
        if self._table is None and self._asked is not None:
            self.table.ordered(self._asked)  # prepared before a screen waits for it
        return view._replace(
            jobs=self._bounded,
            clusters=tuple(
                one._replace(jobs=(), counts=self._counts[one.name]) for one in view.clusters
            ),
            counts=self._states,
            ended=tuple(ended),
            ended_in_all=many,
            needs=self._needs,
            paces=paces(view.jobs, view.at),
        )

    def _note_ended(self, view: JobsView, ended: list[JobRecord], *, first: bool) -> int:
        active = {job.token for job in view.jobs if job.state.active}
        gone = self._active - active
        many = 0
        if gone and not first:
            for job in view.jobs:
                if job.token in gone:
                    many += 1
                    if len(ended) < MOST_ENDED:
                        ended.append(job.in_brief(MOST_DIRECTORIES))
        self._active = active
        return many

    @property
    def running(self) -> tuple[JobRecord, ...]:
        """Return the jobs of this project that ran at the last poll."""
        jobs = self._view.jobs if self._view is not None else ()
        return tuple(job for job in jobs if job.state is JobState.RUNNING)

    def take_foreign(self, foreign: Iterable[JobRecord]) -> None:
        """Store other users' jobs, as last polled."""
        self._foreign = tuple(foreign)
        self._table = None

    @property
    def clusters(self) -> Collection[str]:
        """Return the clusters of the last poll."""
        return self._clusters.keys()

    @property
    def table(self) -> QueueTable:
        """Return the list; it is made on first use."""
        if self._table is None:
            view = self._view
            jobs, clusters = (view.jobs, view.clusters) if view is not None else ((), ())
            self._table = QueueTable(jobs, clusters, self._foreign)
        return self._table

    # Queue view

    def page(self, asked: QueueRequest, start: int, length: int) -> QueuePage:
        """Return the rows from `start` on, of the list in this order."""
        self._asked = asked._replace(follow=None)
        table = self.table
        ordered = table.ordered(asked)
        start = max(0, start)
        rows = tuple(
            row_of(one, inside=_is_inside(one, table), cluster=self._clusters)
            for one in ordered.rows[start : start + max(0, length)]
        )
        hidden = 0
        if asked.whose == PROJECT:
            hidden = sum(
                number
                for name, number in table.hidden.items()
                if not asked.clusters or name in asked.clusters
            )
        every = ordered.jobs
        if asked.text and not ordered.problem:
            every = table.ordered(asked._replace(text="")).jobs
        return QueuePage(
            total=len(ordered.rows),
            start=start,
            rows=rows,
            jobs=ordered.jobs,
            all_jobs=every,
            hidden=hidden,
            followed=self._place(asked.follow, ordered.places),
            problem=ordered.problem,
            kinds=table.kinds(asked),
        )

    def _place(self, key: RowKey | None, places: Mapping[RowKey, int]) -> int | None:
        """Return the position of a row; a folded job has the position of its array or bundle."""
        if key is None:
            return None
        if not key.cluster:  # only the token of the row is known
            known = self.table.by_token.get(key.token)
            if known is None:
                return None
            key = known
        at = places.get(key)
        if at is None and (parent := key.parent) is not None:
            at = places.get(parent)
        return at

    def all_of(self, asked: QueueRequest, which: str) -> tuple[MarkedRow, ...]:
        """Return this project's rows with `active` or `failed` jobs, at most MOST_MARKED."""
        test = KINDS[which]
        found: list[MarkedRow] = []
        for one in self.table.ordered(asked._replace(follow=None)).rows:
            entries = one.entries if isinstance(one, Fold) else (one,)
            if not isinstance(one, Fold) and _is_inside(one, self.table):
                continue  # its array or bundle is marked
            if entries[0].ours and any(test(it.state) for it in entries):
                found.append(MarkedRow(row_key(one), states_of(entries)))
                if len(found) == MOST_MARKED:
                    break
        return tuple(found)

    def marked(self, keys: Iterable[RowKey]) -> tuple[MarkedRow, ...]:
        """Return the current state of these rows, without rows that no longer exist."""
        found = []
        for key in keys:
            entries = self.table.meant(key)
            if entries:
                found.append(MarkedRow(key, states_of(entries)))
        return tuple(found)

    def _meant(self, keys: Iterable[RowKey]) -> list[JobRecord]:
        """Return the jobs of this project that these rows stand for, each once."""
        found = {one.token: one for key in keys for one in self.table.meant(key) if one.ours}
        return list(found.values())

    def chosen(self, keys: Iterable[RowKey], verb: str) -> ChosenJobs:
        """Return the jobs to which a verb would be applied."""
        meant = self._meant(keys)
        may = [one for one in meant if VERBS[verb](one.state)]
        failed: tuple[FailedJob, ...] = ()
        if verb == "retry":
            failed = tuple(_failed(one) for one in may[:MOST_AGAIN])
        rows = tuple(map(_chosen, may))
        directories, hours = sum(it.directories for it in rows), sum(it.cpu_hours for it in rows)
        sums = ChosenJob(plural(len(may), "job"), "", directories, "", hours)
        return ChosenJobs(len(meant), len(may), rows[:MOST_SHOWN], sums, failed)

    def tokens(self, keys: Iterable[RowKey], verb: str) -> list[str]:
        """Return the tokens of the jobs to which a verb is applied."""
        may = VERBS[verb]
        return [one.token for one in self._meant(keys) if may(one.state)]

    def waiting(self, keys: Iterable[RowKey]) -> tuple[int, list[JobRecord]]:
        """Return the number of the jobs of these rows, and those of the jobs that wait."""
        meant = self._meant(keys)
        return len(meant), [one for one in meant if VERBS["change"](one.state)]

    def find(self, action: str, directory: str, records: Iterable[JobRecord]) -> JobRecord | None:
        """Return the newest of these jobs of an action with this directory, as last polled.

        A job may be on record since the last poll.
        """
        for job in records:
            if job.action == action and directory in job.directories:
                polled = self._view.jobs if self._view is not None else ()
                latest = next((it for it in polled if it.token == job.token), job)
                return latest.in_brief(MOST_DIRECTORIES)
        return None

    def named(self, label: str) -> JobRecord | None:
        """Return the newest job of this project with this label: `4711`, `4711_3` or `4711.3`.

        The number of an array or a bundle alone gives the first of its jobs.
        """
        number = re.split(r"[_.]", label, maxsplit=1)[0]
        found: JobRecord | None = None
        for job in self._view.jobs if self._view is not None else ():
            if not job.job_id or str(job.job_id) != number:
                continue
            if job.label == label:
                return job.in_brief(MOST_DIRECTORIES)
            if number == label and (found is None or _within(job) < _within(found)):
                found = job
        return found.in_brief(MOST_DIRECTORIES) if found is not None else None

    def job(self, key: RowKey) -> JobRecord | None:
        """Return the job of a row; for an array or bundle a waiting job, else the first one."""
        meant = self.table.meant(key)
        return next((one for one in meant if one.state.waits), meant[0] if meant else None)


def _within(record: JobRecord) -> int:
    """Return the job's number in its array or bundle."""
    return record.task if record.task is not None else record.member or 0


def _is_inside(one: Listed, table: QueueTable) -> bool:
    """Whether it is a job of an array or bundle that has its own row."""
    return not isinstance(one, Fold) and fold_of(one) in table.folds


def _counted(jobs: Iterable[Job]) -> tuple[tuple[JobState, int], ...]:
    return in_order(Counter(job.state for job in jobs))


def _failed(one: JobRecord) -> FailedJob:
    label = one.label if one.job_id else ""
    return FailedJob(one.token, label, one.action, one.cause, one.size)


def _chosen(one: JobRecord) -> ChosenJob:
    label = "no id yet" if one.label == NO_ID else one.label
    cpus = one.planned.cpus if one.planned is not None else 0
    hours = cpus * (one.seconds or 0) / 3600
    return ChosenJob(label, one.title, one.size, one.state.value, hours)
