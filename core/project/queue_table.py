"""The jobs of all clusters in one list, and its rows in an order, folded and filtered.

Takes the project's jobs, the queues and other people's jobs; gives `Ordered` rows, of which pages
are cut. What is costly is worked out once for each answer of the queues and each order asked for.
Pure: no clock, no disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import Job, JobState, token_in_queue
from rowtui.core.project.queue_filter import read_filter
from rowtui.core.project.queue_views import (
    EVERYBODY,
    MINE,
    PROJECT,
    QueueAsked,
    QueueRow,
    RowKey,
)
from rowtui.core.project.views import ClusterView, JobView

FOLD_FROM = 3
"""Jobs from which an array or a bundle is one row: two are as short as they are."""

KEPT_ORDERS = 4
"""Orders of one list that are kept: of one screen, before and after a key."""

RANKS = {
    state: at
    for at, state in enumerate(
        (
            JobState.RUNNING,
            JobState.COMPLETING,
            JobState.SUSPENDED,
            JobState.PENDING,
            JobState.HELD,
            JobState.UNKNOWN,
            JobState.FAILED,
            JobState.TIMEOUT,
            JobState.OUT_OF_MEMORY,
            JobState.NODE_FAIL,
            JobState.LOST,
            JobState.CANCELLED,
            JobState.COMPLETED,
        )
    )
}
"""The state of several jobs is the first of theirs in this order."""

_WHOSE = {PROJECT: 0, MINE: 1, EVERYBODY: 2}


class Foreign(NamedTuple):
    """A job of somebody else on a cluster."""

    cluster: str
    user: str
    job: Job


class Entry:
    """One job of the list. `whose`: 0 this project's, 1 this person's, 2 somebody else's."""

    __slots__ = ("__dict__", "cluster", "job", "key", "user", "view", "whose")

    def __init__(
        self,
        key: RowKey,
        whose: int,
        *,
        job: Job | None = None,
        view: JobView | None = None,
        user: str = "",
    ) -> None:
        self.key = key
        self.cluster = key.cluster
        self.whose = whose
        self.job = job
        self.view = view
        self.user = user

    @property
    def seen(self) -> Job | JobView:
        """What the scheduler says of it: state, reason, times, nodes."""
        if self.view is not None:
            return self.view
        assert self.job is not None
        return self.job

    @property
    def state(self) -> JobState:
        """Its state."""
        return self.seen.state

    @property
    def word(self) -> str:
        """The word for it."""
        return self.state.value

    @property
    def id(self) -> int:
        """The scheduler's number."""
        return self.view.record.job_id if self.view is not None else self.key.id

    @property
    def number(self) -> int:
        """Of the task, or in the bundle; 0 for others."""
        return self.key.task or 0

    @property
    def label(self) -> str:
        """`4711`, `4711_3`, `4711.3`, `–` as long as it has none."""
        if self.view is not None:
            return self.view.record.label if self.view.record.job_id else "–"
        assert self.job is not None
        return str(self.job.key)

    @property
    def name(self) -> str:
        """The action, of other jobs the name."""
        if self.view is not None:
            return self.view.record.action
        assert self.job is not None
        return self.job.name

    @property
    def partition(self) -> str:
        """Where it is."""
        if self.view is not None:
            return self.view.record.partition
        assert self.job is not None
        return self.job.partition

    @property
    def nodes(self) -> str:
        """On which nodes it runs."""
        return self.seen.nodes

    @property
    def reason(self) -> str:
        """Why it waits, or how it ended."""
        if self.view is not None and self.view.record.end_reason:
            return self.view.record.end_reason
        return self.seen.reason

    @property
    def first(self) -> str:
        """Its first directory."""
        names = self.view.record.directories if self.view is not None else ()
        return names[0] if names else ""

    @property
    def size(self) -> int:
        """How many directories it has."""
        return self.view.size if self.view is not None else 0

    @property
    def elapsed(self) -> int:
        """For how long it runs, or ran."""
        return self.seen.elapsed or 0

    @property
    def limit(self) -> int:
        """How long it may run; 0 if nobody says."""
        return self.seen.limit or 0

    @property
    def left(self) -> int:
        """Seconds to its limit while it runs; a great number for others."""
        seen = self.seen
        if seen.state is not JobState.RUNNING or seen.limit is None:
            return 1 << 40
        return seen.limit - (seen.elapsed or 0)

    @cached_property
    def words(self) -> str:
        """Everything that is shown of it, in lower case."""
        parts = (self.cluster, self.label, self.word, self.name, self.first, self.partition,
                 self.nodes, self.reason, self.user)  # fmt: skip
        return "\n".join(parts).lower()


class Fold:
    """An array or a bundle as one row: those of its jobs that are listed.

    `row`: as it is shown, once somebody has looked at it.
    """

    __slots__ = ("entries", "key", "row")

    def __init__(self, key: RowKey, entries: list[Entry]) -> None:
        self.key = key
        self.entries = entries
        self.row: QueueRow | None = None


Listed = Entry | Fold
"""What a row is."""


class Ordered(NamedTuple):
    """The rows of one question. `problem`: why its filter was not applied."""

    rows: list[Listed]
    jobs: int
    places: dict[RowKey, int]
    problem: str = ""


_KEYS: dict[str, Callable[[Entry], int | str]] = {
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
}


class QueueTable:
    """The list as it was at one look at the queues; made anew for each."""

    def __init__(
        self,
        jobs: Sequence[JobView],
        clusters: Iterable[ClusterView],
        foreign: Iterable[Foreign] = (),
    ) -> None:
        self.ours = [_ours(view) for view in jobs]
        self.others = sorted(
            chain(_mine(jobs, clusters), _theirs(clusters, foreign)),
            key=lambda one: (-one.key.id, -(one.key.task or 0)),
        )
        self.entries = [*self.ours, *self.others]
        self._ordered: dict[QueueAsked, Ordered] = {}

    @cached_property
    def by_key(self) -> dict[RowKey, Entry]:
        """Each job by its key."""
        return {one.key: one for one in self.entries}

    @cached_property
    def by_token(self) -> dict[str, RowKey]:
        """The keys of this project's jobs."""
        return {one.key.token: one.key for one in self.ours}

    @cached_property
    def folds(self) -> dict[RowKey, list[Entry]]:
        """The jobs of each array and bundle that is worth a row of its own."""
        found: dict[RowKey, list[Entry]] = {}
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
        """How many jobs of the person are not of this project, by cluster."""
        return Counter(one.cluster for one in self.others if one.whose == 1)

    def meant(self, key: RowKey) -> Sequence[Entry]:
        """The jobs that a row stands for; none if it is gone."""
        if key.folded:
            return self.folds.get(key, ())
        one = self.by_key.get(key)
        return (one,) if one is not None else ()

    def ordered(self, asked: QueueAsked) -> Ordered:
        """The rows, kept for the next page. `follow` does not matter."""
        asked = asked._replace(follow=None)
        found = self._ordered.get(asked)
        if found is None:
            if len(self._ordered) >= KEPT_ORDERS:
                del self._ordered[next(iter(self._ordered))]
            found = self._ordered[asked] = self._order(asked)
        return found

    def _order(self, asked: QueueAsked) -> Ordered:
        most = _WHOSE.get(asked.whose, 0)
        chosen: Iterable[Entry] = self.ours if not most else self.entries
        if most == 1:
            chosen = (one for one in chosen if one.whose < 2)
        if asked.clusters:
            where = frozenset(asked.clusters)
            chosen = (one for one in chosen if one.cluster in where)
        test, problem = _test(asked.text)
        entries = [one for one in chosen if test(one)] if test else list(chosen)
        units = list(self._folded(entries))
        self._sort(units, asked)
        rows: list[Listed] = []
        for unit in units:
            rows.append(unit)
            if isinstance(unit, Fold) and (unit.key in asked.unfolded) is asked.folding:
                rows += unit.entries
        return Ordered(rows, len(entries), {row.key: at for at, row in enumerate(rows)}, problem)

    def _folded(self, entries: Sequence[Entry]) -> Iterator[Listed]:
        """Jobs of one array or bundle together, where the first of them is."""
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

    def _sort(self, units: list[Listed], asked: QueueAsked) -> None:
        key = _KEYS.get(asked.sort, _KEYS["active"])
        # Of several: the one that would be the first of them.
        least = max if asked.sort in ("elapsed", "id") else min

        def of_unit(unit: Listed) -> int | str:
            if isinstance(unit, Entry):
                return key(unit)
            if asked.sort == "size":
                return sum(one.size for one in unit.entries)
            return least(map(key, unit.entries))

        units.sort(key=of_unit, reverse=asked.descending)
        if asked.whose != PROJECT:  # this project's jobs stay together
            units.sort(key=_whose_it_is)


def _whose_it_is(unit: Listed) -> int:
    return unit.whose if isinstance(unit, Entry) else unit.entries[0].whose


def _test(text: str) -> tuple[Callable[[Entry], bool] | None, str]:
    from rowtui.core.errors import RowtuiError

    try:
        return read_filter(text), ""
    except RowtuiError as error:
        return None, error.message


def _ours(view: JobView) -> Entry:
    record = view.record
    task = record.task if record.task is not None else record.member
    return Entry(RowKey(record.cluster, 0, task, record.token), 0, view=view)


def _mine(jobs: Sequence[JobView], clusters: Iterable[ClusterView]) -> Iterator[Entry]:
    """The jobs on the clusters of which this project has no record."""
    ours = {(job.record.cluster, *job.record.key) for job in jobs}
    tokens = {token_in_queue(job.record.token) for job in jobs}
    for cluster in clusters:
        for job in cluster.jobs:
            if (cluster.name, job.id, job.task) not in ours and job.token not in tokens:
                yield Entry(RowKey(cluster.name, job.id, job.task), 1, job=job)


def _theirs(clusters: Iterable[ClusterView], foreign: Iterable[Foreign]) -> Iterator[Entry]:
    """Other people's: those that are not this person's anyway."""
    mine = {(cluster.name, job.id) for cluster in clusters for job in cluster.jobs}
    for one in foreign:
        if (one.cluster, one.job.id) not in mine:
            key = RowKey(one.cluster, one.job.id, one.job.task)
            yield Entry(key, 2, job=one.job, user=one.user)


def states_of(entries: Iterable[Entry]) -> tuple[tuple[JobState, int], ...]:
    """How many are in which state, the most active first."""
    return in_order(Counter(one.state for one in entries))


def in_order(counts: Mapping[JobState, int]) -> tuple[tuple[JobState, int], ...]:
    """Counts by state, the most active first."""
    return tuple(sorted(counts.items(), key=lambda it: RANKS[it[0]]))
