"""The jobs of all clusters in one list, and its rows in an order, folded and filtered.

The input is the project's jobs, the queues and other users' jobs. The result is `OrderedRows` rows,
from which pages are cut. Expensive steps run once for each answer of the queues and each requested
order. Pure: no clock, no disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import CONTAINS, Term, holds, parse_filter, with_known_fields
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.queue.joined import OwnJobs
from rowtui.core.project.queue.rows import RANKS, Fold, Foreign, Listed, QueueEntry, RowKey, key_of
from rowtui.core.project.queue.views import EVERYBODY, MINE, PROJECT, QueueRequest
from rowtui.core.project.views.views import ClusterView, JobView

# Filter of the queue's jobs, in the filter language of all lists (`core/base/filter.py`).
#
# The module turns the text into a test of one job. A word without a field is searched in all text
# of a row. Pure.

COLUMNS: Mapping[str, str] = {
    "cluster": "cluster",
    "id": "label",
    "state": "word",
    "action": "name",
    "size": "size",
    "first": "first",
    "partition": "partition",
    "nodes": "nodes",
    "elapsed": "elapsed",
    "limit": "limit",
    "left": "left",
    "reason": "reason",
    "user": "user",
}
"""The columns of the queue that a filter can name, and the attribute that holds a job's value."""

OTHER_NAMES: Mapping[str, str] = {"job": "id", "name": "action", "dirs": "size", "dir": "first"}

_KNOWN = {**{name: name for name in COLUMNS}, **OTHER_NAMES}


class Filtered(Protocol):
    """The object in which a filter searches words."""

    @property
    def words(self) -> str:
        """Return all shown text of the object, in lower case."""
        ...


def read_filter(text: str) -> Callable[[Filtered], bool] | None:
    """Return a test for these words, None for no words. Raises: FilterError."""
    terms = with_known_fields(parse_filter(text), _KNOWN).terms
    if not terms:
        return None

    def fits(one: Filtered) -> bool:
        return all(_holds(term, one) is not term.negated for term in terms)

    return fits


def _holds(term: Term, one: Filtered) -> bool:
    if term.field:
        return holds(term, getattr(one, COLUMNS[term.field]))
    if term.operator == CONTAINS and term.folds:
        return term.text in one.words
    return any(holds(term, getattr(one, where)) for where in COLUMNS.values())


FOLD_FROM = 3
"""Number of jobs from which an array or a bundle becomes one row; two jobs do not need folding."""

KEPT_ORDERS = 4
"""Number of cached orders of one list: those of one screen, before and after a key."""


_NO_KEYS: Mapping[str, RowKey] = {}
_WHOSE = {PROJECT: 0, MINE: 1, EVERYBODY: 2}


class OrderedRows:
    """The rows for one request. `problem`: why its filter was not applied."""

    def __init__(self, rows: list[Listed], jobs: int, problem: str = "") -> None:
        self.rows = rows
        self.jobs = jobs
        self.problem = problem

    @cached_property
    def places(self) -> dict[RowKey, int]:
        """Return the position of each row."""
        return {row.key: at for at, row in enumerate(self.rows)}


_KEYS: dict[str, Callable[[QueueEntry], int | str]] = {
    "active": lambda one: (one.state is not JobState.RUNNING) + (not one.state.active),
    "state": lambda one: RANKS[one.state],
    "id": lambda one: one.id,
    "action": lambda one: one.name,
    "elapsed": lambda one: one.elapsed,
    "left": lambda one: one.left,
    "cluster": lambda one: one.cluster,
    "partition": lambda one: one.partition,
    "size": lambda one: one.size,
    "reason": lambda one: one.reason,
    "nodes": lambda one: one.nodes,
    "first": lambda one: one.first,
    "user": lambda one: one.user,
}


class QueueTable:
    """The list as of one poll of the queues; each poll gets a new table."""

    def __init__(
        self,
        jobs: Sequence[JobView],
        clusters: Iterable[ClusterView],
        foreign: Iterable[Foreign] = (),
        known: Mapping[str, RowKey] = _NO_KEYS,
    ) -> None:
        """Set up the table.

        `known`: keys of this project's jobs in the previous table, by token.
        """
        self.ours = [_ours(view, known) for view in jobs]
        self.others = sorted(
            chain(_mine(jobs, clusters), _theirs(clusters, foreign)),
            key=_newest_first,
        )
        self.entries = [*self.ours, *self.others]
        self._ordered: dict[QueueRequest, OrderedRows] = {}

    @cached_property
    def by_key(self) -> dict[RowKey, QueueEntry]:
        """Return each job by its key."""
        return {one.key: one for one in self.entries}

    @cached_property
    def by_token(self) -> dict[str, RowKey]:
        """Return the keys of this project's jobs, by token."""
        return {one.key.token: one.key for one in self.ours}

    @cached_property
    def folds(self) -> dict[RowKey, list[QueueEntry]]:
        """Return the jobs of each array and bundle that is large enough for its own row."""
        found: dict[RowKey, list[QueueEntry]] = {}
        for one in self.entries:
            if one.key.task is not None:
                parent = one.key.parent
                assert parent is not None
                found.setdefault(parent, []).append(one)
        folds = {key: those for key, those in found.items() if len(those) >= FOLD_FROM}
        for those in folds.values():
            those.sort(key=lambda one: one.number)
        return folds

    @cached_property
    def hidden(self) -> Counter[str]:
        """Return the number of the user's jobs outside this project, by cluster."""
        return Counter(one.cluster for one in self.others if one.whose == 1)

    def meant(self, key: RowKey) -> Sequence[QueueEntry]:
        """Return the jobs that a row stands for; none if the row no longer exists."""
        if key.folded:
            return self.folds.get(key, ())
        one = self.by_key.get(key)
        return (one,) if one is not None else ()

    def ordered(self, asked: QueueRequest) -> OrderedRows:
        """Return the rows, cached for the next page. `follow` is ignored."""
        asked = asked._replace(follow=None)
        found = self._ordered.get(asked)
        if found is None:
            if len(self._ordered) >= KEPT_ORDERS:
                del self._ordered[next(iter(self._ordered))]
            found = self._ordered[asked] = self._order(asked)
        return found

    def _order(self, asked: QueueRequest) -> OrderedRows:
        most = _WHOSE.get(asked.whose, 0)
        chosen: Iterable[QueueEntry] = self.ours if not most else self.entries
        if most == 1:
            chosen = (one for one in chosen if one.whose < 2)
        if asked.clusters:
            where = frozenset(asked.clusters)
            chosen = (one for one in chosen if one.cluster in where)
        test, problem = _test(asked.text)
        entries = [one for one in chosen if test(one)] if test else list(chosen)
        units: list[Listed] = [*(self._folded(entries) if self.folds else entries)]
        units = self._sorted(units, asked)
        rows = units
        if asked.unfolded or not asked.folding:
            rows = []
            for unit in units:
                rows.append(unit)
                if isinstance(unit, Fold) and (unit.key in asked.unfolded) is asked.folding:
                    rows += unit.entries
        return OrderedRows(rows, len(entries), problem)

    def _folded(self, entries: Sequence[QueueEntry]) -> Iterator[Listed]:
        """Fold the jobs of each array or bundle into one row, at the position of its first job."""
        folds = self.folds
        made: dict[RowKey, Fold] = {}
        for one in entries:
            parent = one.key.parent if one.key.task is not None else None
            if parent is None or parent not in folds:
                yield one
            elif parent in made:
                made[parent].entries.append(one)
            else:
                fold = made[parent] = Fold(parent, [one])
                yield fold
        for fold in made.values():
            fold.entries.sort(key=lambda one: one.number)

    def _sorted(self, units: list[Listed], asked: QueueRequest) -> list[Listed]:
        key = _KEYS.get(asked.sort, _KEYS["active"])
        # A folded row is sorted by the job that comes first in this order.
        least = max if asked.sort in ("elapsed", "id") else min

        def of_unit(unit: Listed) -> int | str:
            if isinstance(unit, QueueEntry):
                return key(unit)
            if asked.sort == "size":
                return sum(one.size for one in unit.entries)
            return least(map(key, unit.entries))

        units.sort(key=of_unit if self.folds else cast("Any", key), reverse=asked.descending)
        if asked.whose == PROJECT:
            return units
        ours = [unit for unit in units if not unit.whose]  # rows of this project stay together
        mine = [unit for unit in units if unit.whose == 1]
        return ours + mine + [unit for unit in units if unit.whose > 1]


def _test(text: str) -> tuple[Callable[[QueueEntry], bool] | None, str]:
    try:
        return read_filter(text), ""
    except RowtuiError as error:
        return None, error.message


def _ours(view: JobView, known: Mapping[str, RowKey]) -> QueueEntry:
    return QueueEntry(known.get(view.record.token) or key_of(view.record), 0, view=view)


def _newest_first(one: QueueEntry) -> tuple[int, int]:
    return -one.key.id, -(one.key.task or 0)


def _mine(jobs: Sequence[JobView], clusters: Iterable[ClusterView]) -> Iterator[QueueEntry]:
    """Yield the user's jobs on the clusters that have no record in this project."""
    for cluster in clusters:
        own = OwnJobs(jobs, cluster.name)
        for job in cluster.jobs:
            if not own.owns(job):
                yield QueueEntry(RowKey(cluster.name, job.id, job.task), 1, job=job)


def _theirs(clusters: Iterable[ClusterView], foreign: Iterable[Foreign]) -> Iterator[QueueEntry]:
    """Yield other users' jobs that are not already among this user's jobs."""
    mine = {(cluster.name, job.id) for cluster in clusters for job in cluster.jobs}
    for one in foreign:
        if (one.cluster, one.job.id) not in mine:
            key = RowKey(one.cluster, one.job.id, one.job.task)
            yield QueueEntry(key, 2, job=one.job, user=one.user)
