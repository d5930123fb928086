"""What an engine keeps of the queues for its screens: all jobs; what it gives is bounded.

`take` turns a look at all jobs into the copy for a screen, and notes what ended meanwhile; `page`,
`all_of`, `marked`, `chosen` and `tokens` answer for the queue view. Whoever calls sees to it that
only one call runs at a time. No I/O.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.project.pace import paces
from rowtui.core.project.queue_entries import Entry, Fold, Foreign, Listed
from rowtui.core.project.queue_needs import QueueNeed, queue_needs
from rowtui.core.project.queue_rows import row_of
from rowtui.core.project.queue_table import QueueTable, in_order, states_of
from rowtui.core.project.queue_views import (
    MOST_AGAIN,
    MOST_MARKED,
    MOST_SHOWN,
    PROJECT,
    ChosenJobs,
    MarkedRow,
    QueueAsked,
    QueuePage,
    RowKey,
)
from rowtui.core.project.views import ClusterView, EndedJob, FailedJob, JobsView, JobView
from rowtui.core.submission.fence import without_directory
from rowtui.core.text import plural

if TYPE_CHECKING:
    from rowtui.core.submission.model import JobRecord

MOST_JOBS = 300
"""The newest jobs, in the copy for a screen: what the views beside the queue show of them."""

MOST_DIRECTORIES = 64
"""Directories of one of these jobs that are named."""

MOST_ENDED = 20
"""Jobs that ended since the last look that are told one by one."""

NEEDS_SECONDS = 60.0
"""Jobs come to need a person with time alone: looked for so often where nothing else changed."""

VERBS: Mapping[str, Callable[[JobState], bool]] = {
    "cancel": lambda state: state.active,
    "hold": lambda state: state is JobState.PENDING,
    "release": lambda state: state is JobState.HELD,
    "resubmit": lambda state: state.bad,
}
"""What can be done to jobs, and in which states."""

WHICH: Mapping[str, Callable[[JobState], bool]] = {
    "active": lambda state: state.active,
    "failed": lambda state: state.bad,
}
"""What can be marked at once."""


class QueueBook:
    """The latest look at everything, and the list that is made from it."""

    def __init__(self) -> None:
        self._view: JobsView | None = None
        self._clusters: dict[str, ClusterView] = {}
        self._table: QueueTable | None = None
        self._keys: Mapping[str, RowKey] = {}  # of the table before
        self._foreign: tuple[Foreign, ...] = ()
        self._active: set[str] = set()
        self._queues: dict[str, tuple[Job, ...]] = {}
        self._counts: dict[str, tuple[tuple[JobState, int], ...]] = {}
        self._asked: QueueAsked | None = None  # the newest question
        self._bounded: tuple[JobView, ...] = ()
        self._states: tuple[tuple[JobState, int], ...] = ()
        self._needs: tuple[QueueNeed, ...] = ()
        self._needs_at = 0.0

    # A look at everything

    def take(self, view: JobsView) -> JobsView:
        """Remember it; give the copy for a screen."""
        old = self._view
        same_jobs = old is not None and old.jobs is view.jobs
        queues = {one.name: one.jobs for one in view.clusters}
        same = {name for name, jobs in queues.items() if self._queues.get(name) is jobs}
        ended: list[EndedJob] = []
        many = 0
        if not same_jobs:
            many = self._note_ended(view, ended, first=old is None)
            self._bounded = tuple(map(in_brief, view.jobs[:MOST_JOBS]))
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
            self.table.ordered(self._asked)  # before anybody waits for it
        return view._replace(
            jobs=self._bounded,
            clusters=tuple(
                one._replace(jobs=(), counts=self._counts[one.name]) for one in view.clusters
            ),
            counts=self._states,
            ended=tuple(ended),
            ended_in_all=many,
            needs=self._needs,
            paces=paces((job.record for job in view.jobs), view.at),
        )

    def _note_ended(self, view: JobsView, ended: list[EndedJob], *, first: bool) -> int:
        active = {job.record.token for job in view.jobs if job.state.active}
        gone = self._active - active
        many = 0
        if gone and not first:
            for job in view.jobs:
                if job.record.token in gone:
                    many += 1
                    if len(ended) < MOST_ENDED:
                        ended.append(_ended(job))
        self._active = active
        return many

    def take_foreign(self, foreign: Iterable[Foreign]) -> None:
        """Other people's jobs, as they were last seen."""
        self._foreign = tuple(foreign)
        self._table = None

    @property
    def clusters(self) -> Collection[str]:
        """The clusters of the last look."""
        return self._clusters.keys()

    @property
    def table(self) -> QueueTable:
        """The list, made when somebody looks at it."""
        if self._table is None:
            view = self._view
            jobs, clusters = (view.jobs, view.clusters) if view is not None else ((), ())
            self._table = QueueTable(jobs, clusters, self._foreign, self._keys)
            self._keys = self._table.by_token
        return self._table

    # The queue view

    def page(self, asked: QueueAsked, start: int, length: int) -> QueuePage:
        """Rows `start`.. of the list in this order."""
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
        )

    def _place(self, key: RowKey | None, places: Mapping[RowKey, int]) -> int | None:
        """Where a row is; one that was folded is where its array is."""
        if key is None:
            return None
        if not key.cluster:  # all that is known of it is its token
            known = self.table.by_token.get(key.token)
            if known is None:
                return None
            key = known
        at = places.get(key)
        if at is None and (parent := key.parent) is not None:
            at = places.get(parent)
        return at

    def all_of(self, asked: QueueAsked, which: str) -> tuple[MarkedRow, ...]:
        """The rows of this project that have jobs which are `active` or `failed`: MOST_MARKED."""
        test = WHICH[which]
        found: list[MarkedRow] = []
        for one in self.table.ordered(asked._replace(follow=None)).rows:
            entries = one.entries if isinstance(one, Fold) else (one,)
            if isinstance(one, Entry) and _is_inside(one, self.table):
                continue  # its array is marked
            if entries[0].view is not None and any(test(it.state) for it in entries):
                found.append(MarkedRow(one.key, states_of(entries)))
                if len(found) == MOST_MARKED:
                    break
        return tuple(found)

    def marked(self, keys: Iterable[RowKey]) -> tuple[MarkedRow, ...]:
        """These rows as they are now, without those that are gone."""
        found = []
        for key in keys:
            entries = self.table.meant(key)
            if entries:
                found.append(MarkedRow(key, states_of(entries)))
        return tuple(found)

    def _meant(self, keys: Iterable[RowKey]) -> list[Entry]:
        """The jobs of this project that these rows stand for, each once."""
        found = {one.key: one for key in keys for one in self.table.meant(key)}
        return [one for one in found.values() if one.view is not None]

    def chosen(self, keys: Iterable[RowKey], verb: str) -> ChosenJobs:
        """What a verb would be done to."""
        meant = self._meant(keys)
        may = [one for one in meant if VERBS[verb](one.state)]
        failed: tuple[FailedJob, ...] = ()
        if verb == "resubmit":
            failed = tuple(_failed(one) for one in may[:MOST_AGAIN])
        return ChosenJobs(len(meant), len(may), tuple(map(_told, may[:MOST_SHOWN])), failed)

    def tokens(self, keys: Iterable[RowKey], verb: str) -> list[str]:
        """The tokens of the jobs that a verb is done to."""
        may = VERBS[verb]
        return [
            one.view.record.token
            for one in self._meant(keys)
            if one.view is not None and may(one.state)
        ]

    def find(self, action: str, directory: str) -> JobView | None:
        """The newest job of an action that has this directory."""
        for job in self._view.jobs if self._view is not None else ():
            if job.record.action == action and directory in job.record.directories:
                return in_brief(job)
        return None

    def named(self, label: str) -> JobView | None:
        """The newest job of this project that is called that: `4711`, `4711_3`, `4711.3`.

        The number of an array or a bundle alone: the first of its jobs.
        """
        number = re.split(r"[_.]", label, maxsplit=1)[0]
        found: JobView | None = None
        for job in self._view.jobs if self._view is not None else ():
            record = job.record
            if not record.job_id or str(record.job_id) != number:
                continue
            if record.label == label:
                return in_brief(job)
            if number == label and (found is None or _within(record) < _within(found.record)):
                found = job
        return in_brief(found) if found is not None else None

    def job(self, key: RowKey) -> Entry | None:
        """The job that a row is about; of an array or bundle one that waits, else the first."""
        meant: Sequence[Entry] = self.table.meant(key)
        waits = (JobState.PENDING, JobState.HELD)
        return next((one for one in meant if one.state in waits), meant[0] if meant else None)


def _within(record: JobRecord) -> int:
    """Its number in its array or bundle."""
    return record.task if record.task is not None else record.member or 0


def in_brief(job: JobView) -> JobView:
    """The same with some of its directories."""
    names = job.record.directories
    if len(names) <= MOST_DIRECTORIES:
        return job
    record = replace(job.record, directories=names[:MOST_DIRECTORIES])
    return job._replace(record=record, directories=job.size)


def _is_inside(one: Listed, table: QueueTable) -> bool:
    """Whether it is a job of an array or bundle that has a row itself."""
    parent = one.key.parent
    return parent is not None and parent in table.folds


def _counted(jobs: Iterable[Job]) -> tuple[tuple[JobState, int], ...]:
    return in_order(Counter(job.state for job in jobs))


def _ended(job: JobView) -> EndedJob:
    record = job.record
    return EndedJob(record.token, record.label, record.action, job.state, record.end_reason)


def _failed(one: Entry) -> FailedJob:
    assert one.view is not None
    record = one.view.record
    label = record.label if record.job_id else ""
    return FailedJob(record.token, label, record.action, without_directory(one.reason), one.size)


def _told(one: Entry) -> str:
    label = "no id yet" if one.label == "–" else one.label
    return f"{label}  {one.name}  {plural(one.size, 'directory', 'directories')}  {one.word}"
