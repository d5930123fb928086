"""The jobs of all clusters in one list, and its rows in an order, folded and filtered.

The input is the project's records as the queues show them, and the queues; `others` finds the jobs
of a queue that have no record. `QueueTable` gives `OrderedRows`, from which pages are cut, and runs
expensive steps once for each answer of the queues and each requested order. `cluster_rows` gives
the queue of one cluster as the command `queue` prints it. Pure: no clock, no disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import CONTAINS, Term, holds, parse_filter, with_known_fields
from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.base import JobState, is_in_bundle, token_in_queue
from rowtui.core.project.queue.rows import Fold, Listed, RowKey, first_directory, key_of
from rowtui.core.project.queue.views import EVERYBODY, KINDS, MINE, PROJECT, QueueRequest
from rowtui.core.project.views.views import ClusterView
from rowtui.core.submission.plan.record import RANKS, JobRecord
from rowtui.core.submission.sending.job_records import others

_NO_LIMIT = 1 << 40


def _left(job: JobRecord) -> int:
    """Return the seconds to the limit of a running job; a large number for other jobs."""
    if job.state is not JobState.RUNNING or job.limit is None:
        return _NO_LIMIT
    return job.limit - (job.elapsed or 0)


COLUMNS: Mapping[str, Callable[[JobRecord], int | str]] = {
    "cluster": lambda job: job.cluster,
    "id": lambda job: job.label,
    "state": lambda job: job.state.value,
    "action": lambda job: job.title,
    "size": lambda job: job.size,
    "first": first_directory,
    "partition": lambda job: job.partition,
    "nodes": lambda job: job.nodes,
    "elapsed": lambda job: job.elapsed or 0,
    "limit": lambda job: job.limit or 0,
    "left": _left,
    "reason": lambda job: job.why,
    "user": lambda job: "" if job.ours else job.user,
}
"""The columns that a filter can name and rows can be sorted by, and the value of a job."""

_KEYS: Mapping[str, Callable[[JobRecord], int | str]] = {
    **COLUMNS,
    "active": lambda job: (job.state is not JobState.RUNNING) + (not job.state.active),
    "state": lambda job: RANKS[job.state],
    "id": lambda job: job.job_id,
}

OTHER_NAMES: Mapping[str, str] = {"job": "id", "name": "action", "dirs": "size", "dir": "first"}

_KNOWN = {**{name: name for name in COLUMNS}, **OTHER_NAMES}


def words_of(job: JobRecord) -> str:
    """Return all shown text of a job in lower case, in which a filter searches words."""
    parts = [job.cluster, job.label, job.state.value, job.title]
    parts += [first_directory(job)] if job.ours else [job.user]
    return "\n".join((*parts, job.partition, job.nodes, job.why)).lower()


def read_filter(
    text: str, words: Callable[[JobRecord], str] = words_of
) -> Callable[[JobRecord], bool] | None:
    """Return a test for these words, None for no words. Raises: FilterError.

    A word without a field is searched in all text of a row. `words`: see `words_of`.
    """
    terms = with_known_fields(parse_filter(text), _KNOWN).terms
    if not terms:
        return None

    def holds_for(term: Term, job: JobRecord) -> bool:
        if term.field:
            return holds(term, COLUMNS[term.field](job))
        if term.operator == CONTAINS and term.folds:
            return term.text in words(job)
        return any(holds(term, value(job)) for value in COLUMNS.values())

    return lambda job: all(holds_for(term, job) is not term.negated for term in terms)


FOLD_FROM = 3
"""Number of jobs from which an array or a bundle becomes one row; two jobs do not need folding."""

KEPT_ORDERS = 4
"""Number of cached orders of one list: those of one screen, before and after a key."""


_WHOSE = {PROJECT: 0, MINE: 1, EVERYBODY: 2}


def _whose(row: Listed) -> int:
    """Return whose job it is: 0 this project's, 1 this user's, 2 another user's."""
    job = row.entries[0] if isinstance(row, Fold) else row
    return 0 if job.ours else 2 if job.user else 1


class OrderedRows:
    """The rows for one request. `problem`: why its filter was not applied."""

    def __init__(self, rows: list[Listed], jobs: int, problem: str = "") -> None:
        self.rows = rows
        self.jobs = jobs
        self.problem = problem

    @cached_property
    def places(self) -> dict[RowKey, int]:
        """Return the position of each row."""
        return {row_key(row): at for at, row in enumerate(self.rows)}


class QueueTable:
    """The list as of one poll of the queues; each poll gets a new table."""

    def __init__(
        self,
        jobs: Sequence[JobRecord],
        clusters: Iterable[ClusterView],
        foreign: Iterable[JobRecord] = (),
    ) -> None:
        """Set up the table. `jobs`: this project's; `foreign`: other users'."""
        self.ours = jobs
        mine = [job for it in clusters for job in others(jobs, it.jobs, it.name)]
        known = {(it.name, job.id) for it in clusters for job in it.jobs}
        theirs = [it for it in foreign if (it.cluster, it.job_id) not in known]
        self.others = sorted([*mine, *theirs], key=_newest_first)
        self.entries = [*self.ours, *self.others]
        self._ordered: dict[QueueRequest, OrderedRows] = {}
        self._words: dict[int, str] = {}  # by the identity of an entry
        self._kinds: dict[tuple[str, tuple[str, ...]], dict[str, int]] = {}

    @cached_property
    def by_key(self) -> dict[RowKey, JobRecord]:
        """Return each job by its key."""
        return {key_of(one): one for one in self.entries}

    @cached_property
    def by_token(self) -> dict[str, RowKey]:
        """Return the keys of this project's jobs, by token."""
        return {one.token: key_of(one) for one in self.ours}

    @cached_property
    def folds(self) -> dict[RowKey, list[JobRecord]]:
        """Return the jobs of each array and bundle that is large enough for its own row."""
        found: dict[RowKey, list[JobRecord]] = {}
        for one in self.entries:
            if (parent := fold_of(one)) is not None:
                found.setdefault(parent, []).append(one)
        folds = {key: those for key, those in found.items() if len(those) >= FOLD_FROM}
        for those in folds.values():
            those.sort(key=_number)
        return folds

    @cached_property
    def hidden(self) -> Counter[str]:
        """Return the number of the user's jobs outside this project, by cluster."""
        return Counter(one.cluster for one in self.others if _whose(one) == 1)

    def words(self, job: JobRecord) -> str:
        """Return all shown text of one of the entries; made on first use."""
        found = self._words.get(id(job))
        if found is None:
            found = self._words[id(job)] = words_of(job)
        return found

    def meant(self, key: RowKey) -> Sequence[JobRecord]:
        """Return the jobs that a row stands for; none if the row no longer exists."""
        if key.folded:
            return self.folds.get(key, ())
        one = self.by_key.get(key)
        return (one,) if one is not None else ()

    def kinds(self, asked: QueueRequest) -> Mapping[str, int]:
        """Return the number of jobs of each kind, and with "" of all, without the filter."""
        found = self._kinds.get((asked.whose, asked.clusters))
        if found is None:
            states = Counter(one.state for one in self._chosen(asked))
            found = {"": states.total()}
            for kind, test in KINDS.items():
                found[kind] = sum(number for state, number in states.items() if test(state))
            self._kinds[asked.whose, asked.clusters] = found
        return found

    def ordered(self, asked: QueueRequest) -> OrderedRows:
        """Return the rows, cached for the next page. `follow` is ignored."""
        asked = asked._replace(follow=None)
        found = self._ordered.get(asked)
        if found is None:
            if len(self._ordered) >= KEPT_ORDERS:
                del self._ordered[next(iter(self._ordered))]
            found = self._ordered[asked] = self._order(asked)
        return found

    def _chosen(self, asked: QueueRequest) -> Iterable[JobRecord]:
        """Return the jobs of these users on these clusters."""
        most = _WHOSE.get(asked.whose, 0)
        chosen: Iterable[JobRecord] = self.ours if not most else self.entries
        if most == 1:
            chosen = (one for one in chosen if _whose(one) < 2)
        if asked.clusters:
            where = frozenset(asked.clusters)
            chosen = (one for one in chosen if one.cluster in where)
        return chosen

    def _order(self, asked: QueueRequest) -> OrderedRows:
        chosen = self._chosen(asked)
        if asked.only in KINDS:
            chosen = (one for one in chosen if KINDS[asked.only](one.state))
        test, problem = None, ""
        try:
            test = read_filter(asked.text, self.words)
        except RowtuiError as error:
            problem = error.message
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

    def _folded(self, entries: Sequence[JobRecord]) -> Iterator[Listed]:
        """Fold the jobs of each array or bundle into one row, at the position of its first job."""
        folds = self.folds
        made: dict[RowKey, Fold] = {}
        for one in entries:
            parent = fold_of(one)
            if parent is None or parent not in folds:
                yield one
            elif parent in made:
                made[parent].entries.append(one)
            else:
                fold = made[parent] = Fold(parent, [one])
                yield fold
        for fold in made.values():
            fold.entries.sort(key=_number)

    def _sorted(self, units: list[Listed], asked: QueueRequest) -> list[Listed]:
        key = _KEYS.get(asked.sort, _KEYS["active"])
        # A folded row is sorted by the job that comes first in this order.
        least = max if asked.sort in ("elapsed", "id") else min

        def of_unit(unit: Listed) -> int | str:
            if not isinstance(unit, Fold):
                return key(unit)
            if asked.sort == "size":
                return sum(one.size for one in unit.entries)
            return least(map(key, unit.entries))

        units.sort(key=of_unit if self.folds else cast("Any", key), reverse=asked.descending)
        if asked.whose == PROJECT:
            return units
        units.sort(key=_whose)  # rows of this project stay together
        return units


def row_key(row: Listed) -> RowKey:
    """Return the key of a row."""
    return row.key if isinstance(row, Fold) else key_of(row)


def fold_of(job: JobRecord) -> RowKey | None:
    """Return the key of the array or bundle of a job; None for any other job."""
    if job.key.task is None and (job.planned is None or not is_in_bundle(job.token)):
        return None
    return key_of(job).parent


def _number(job: JobRecord) -> int:
    """Return the number in the array or bundle; 0 for other jobs."""
    return job.task if job.task is not None else job.member or 0


def _newest_first(job: JobRecord) -> tuple[int, int]:
    return -job.key.id, -(job.key.task or 0)


class ClusterRow(NamedTuple):
    """A job in the queue of one cluster.

    A bundle or pilot in the queue is one row, with its requests that have not ended. A request that
    has ended is a job of its own.
    """

    record: JobRecord
    requests: tuple[JobRecord, ...] = ()

    @property
    def name(self) -> str:
        """Return the job's action, or the name with which it was submitted."""
        if self.requests and self.record.ours:  # a pilot
            return f"{self.record.action}: {plural(len(self.requests), 'request')}"
        if self.requests:
            actions = ", ".join(dict.fromkeys(it.action for it in self.requests))
            return f"{plural(len(self.requests), 'request')}: {actions}"
        return self.record.title

    @property
    def ours(self) -> tuple[JobRecord, ...]:
        """Return the jobs of this project that the row stands for, as `show jobs` lists them."""
        return (*self.requests, *((self.record,) if self.record.ours else ()))


def cluster_rows(
    cluster: ClusterView, jobs: Iterable[JobRecord], *, ended: bool
) -> list[ClusterRow]:
    """Return the jobs of one cluster: running ones first, in each state the newest first.

    `jobs`: this project's; `ended`: include those that have ended.
    """
    ours = {it.token: it for it in jobs if it.cluster == cluster.name}
    members: dict[str, list[JobRecord]] = {}
    for record in ours.values():
        if is_in_bundle(record.token):
            pending = members.setdefault(token_in_queue(record.token), [])
            pending += [record] if record.state.may_change else []
    rows = [ClusterRow(it) for it in others(ours.values(), cluster.jobs, cluster.name)]
    for job in cluster.jobs:
        if job.token in members and (job.state.active or job.state is JobState.UNKNOWN):
            requests = sorted(members[job.token], key=_number)
            bundle = ours.pop(job.token, None)
            bundle = bundle or JobRecord(job.token, cluster.name, job.key, queued=job)
            rows.append(ClusterRow(bundle, tuple(requests)))
            for each in requests:
                del ours[each.token]
    rows += map(ClusterRow, ours.values())
    shown = [row for row in rows if ended or row.record.state.may_change]
    shown.sort(key=_place)
    return shown


def _place(row: ClusterRow) -> tuple[int, int, int]:
    record = row.record
    return RANKS[record.state], -record.job_id, -1 if record.task is None else record.task


def together(rows: Sequence[ClusterRow]) -> list[list[ClusterRow]]:
    """Return the rows in order, with equal waiting tasks of an array in one list."""
    groups: list[list[ClusterRow]] = []
    for row in rows:
        if groups and row.record.task is not None and _alike(groups[-1][-1]) == _alike(row):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _alike(row: ClusterRow) -> tuple[object, ...]:
    job = row.record
    return (
        job.job_id,
        job.task is None,
        None if job.state.waits else job.task,
        job.state,
        row.name,
        job.partition,
        job.limit,
        job.why,
        job.start_estimate,
    )
