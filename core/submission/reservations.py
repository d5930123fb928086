"""Who has a directory: reservations before a job is sent, its id after, release at its end.

Takes jobs or tokens and the state; gives a new state (pure functions), committed by compare-and-
swap so that two processes never both get a directory. Jobs name their directories, so it does not
matter how positions moved since the plan was made. What Row submitted and what was completed
meanwhile counts too. A reservation is a `Submitted` with job id 0. Several jobs are one commit: a
commit writes all records of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rowtui.core.clusters.schedulers.base import JobState, QueueSnapshot
from rowtui.core.errors import RowtuiError
from rowtui.core.state.model import (
    Directories,
    LastEnd,
    State,
    Submitted,
    among,
    without_members,
)
from rowtui.core.state.news import with_news
from rowtui.core.state.records import without_mended
from rowtui.core.state.row_files import JOBS_UNREAD
from rowtui.core.state.store import Store
from rowtui.core.state.stored import Stored
from rowtui.core.submission.model import PlannedJob
from rowtui.core.submission.open_jobs import OpenJobs, with_sent
from rowtui.core.text import visible

T = TypeVar("T")

NAMES_RATIO = 24  # directories that are listed while one is looked for among them


@dataclass(frozen=True, slots=True)
class Release:
    """A job that no longer has its directories.

    `ends` are by the names of directories: they apply where the action is not complete.
    """

    token: str
    action: str
    ends: Mapping[str, LastEnd]


class Reservations(Protocol):
    """What carrying out a plan needs of the project's records."""

    def tokens(self, cluster: str) -> set[str]:
        """The tokens of the jobs on record on a cluster."""
        ...

    def uncertain(self) -> bool:
        """Whether records were lost since the queue was last searched."""
        ...

    def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
        """Reserve each job's directories; the tokens of those that cannot have theirs, and why."""
        ...

    def record(self, ids: Mapping[str, int]) -> None:
        """Enter the job ids of tokens."""
        ...

    def release(self, releases: Collection[Release]) -> None:
        """Give directories back, and note how the job ended at each of them."""
        ...


class StoredReservations:
    """Reservations in a project's store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open = OpenJobs(store.root)

    def tokens(self, cluster: str) -> set[str]:
        """See `Reservations`."""
        stored = self._store.load().stored
        submitted = {} if stored is None else stored.state.submitted
        return {
            job.token
            for jobs in submitted.values()
            for job in jobs.values()
            if job.token and job.cluster == cluster
        }

    def uncertain(self) -> bool:
        """See `Reservations`."""
        stored = self._store.load().stored
        return stored is None or stored.uncertain

    def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
        """See `Reservations`. What the journals say was sent counts too, if records were lost.

        Raises: RowtuiError if it cannot be told which directories are submitted.
        """
        refused: dict[str, str] = {}
        own = [job.token for job in jobs]

        def edit(stored: Stored) -> Stored:
            refused.clear()  # somebody was faster, and this is the second try
            known = with_news(self._store.root, stored)
            if known.row.jobs_unread:
                path = self._store.root / ".row" / "submitted.postcard"
                raise RowtuiError(f"{visible(str(path))} cannot be read", JOBS_UNREAD)
            if known.reread:  # what is complete is not known before the workspace is read again
                reason = "records were lost, and are read again first"
                refused.update(dict.fromkeys(own, reason))
                return stored
            mended = with_sent(known.state, self._open.lacking(known.state, own))
            state, why = reserved(mended, jobs)
            refused.update(why)
            # News alone are not committed: the next synchronisation reads them with all the rest.
            return stored if state is known.state else known._replace(state=state)

        self._store.commit(edit)
        return refused

    def record(self, ids: Mapping[str, int]) -> None:
        """See `Reservations`."""
        if ids:
            self._commit(lambda state: with_ids(state, ids))

    def release(self, releases: Collection[Release]) -> None:
        """See `Reservations`."""
        if not releases:
            return

        def edit(stored: Stored) -> Stored:
            # What a job staged before it ended is complete: it is not failed until that is read.
            ending = any(release.ends for release in releases)
            known = with_news(self._store.root, stored) if ending else stored
            state = released(known.state, releases)
            return stored if state is known.state else without_mended(known._replace(state=state))

        self._store.commit(edit)

    def _commit(self, edit: Callable[[State], State]) -> None:
        def on_stored(stored: Stored) -> Stored:
            state = edit(stored.state)
            return stored if state is stored.state else stored._replace(state=state)

        self._store.commit(on_stored)


def reserved(state: State, jobs: Iterable[PlannedJob]) -> tuple[State, dict[str, str]]:
    """The state with the directories of each job reserved, all of a job or none of it.

    Of a job that cannot have all, the second answer says why. What a token has already, it keeps.
    """
    jobs = list(jobs)
    position = _positions(state.directories, sum(len(job.directories) for job in jobs))
    wanted = [[position(name) for name in job.directories] for job in jobs]
    complete = _complete(state, jobs, wanted)
    submitted = {action: dict(records) for action, records in state.submitted.items()}
    refused: dict[str, str] = {}
    changed = False
    for job, places in zip(jobs, wanted, strict=True):
        ours = submitted.setdefault(job.action, {})
        why = _refusal(job, places, ours, complete[job.action])
        if why:
            refused[job.token] = why
            continue
        record = Submitted(job.destination.cluster, 0, job.token)
        new = [at for at in places if at is not None and at not in ours]
        ours.update(dict.fromkeys(new, record))
        changed = changed or bool(new)
    return (state._replace(submitted=_nonempty(submitted)) if changed else state), refused


def _positions(directories: Directories, asked: int) -> Callable[[str], int | None]:
    """Where a name is, or None. To look for one takes as long as to list some dozen."""
    if asked * NAMES_RATIO < len(directories):
        return directories.position
    return {name: at for at, name in enumerate(directories.names())}.get


def _complete(
    state: State, jobs: Sequence[PlannedJob], wanted: Sequence[Sequence[int | None]]
) -> dict[str, frozenset[int]]:
    """Which of the jobs' directories are complete, by action: a set is read once for all jobs."""
    asked: dict[str, list[int]] = {}
    for job, places in zip(jobs, wanted, strict=True):
        asked.setdefault(job.action, []).extend(at for at in places if at is not None)
    return {
        action: among(state.completed.get(action, 0), places) for action, places in asked.items()
    }


def _refusal(
    job: PlannedJob,
    wanted: Sequence[int | None],
    records: Mapping[int, Submitted],
    complete: Collection[int],
) -> str:
    """Why a job cannot have its directories, by the first that is in the way; "" if it can."""
    for name, at in zip(job.directories, wanted, strict=True):
        if at is None:
            return f"{visible(name)} is no longer in the workspace"
        if at in complete:
            return f"{visible(name)} is complete already"
        other = records.get(at)
        if other is not None and other.token != job.token:
            return f"{visible(name)} was submitted meanwhile ({_who(other)})"
    return ""


def _who(record: Submitted) -> str:
    return f"{record.cluster}/{record.job_id}" if record.job_id else f"on {record.cluster}"


def with_ids(state: State, ids: Mapping[str, int]) -> State:
    """The state with these tokens' job ids entered."""
    changed = False
    submitted: dict[str, Mapping[int, Submitted]] = {}
    for action, records in state.submitted.items():
        new = {
            position: record._replace(job_id=ids[record.token])
            for position, record in records.items()
            if record.token in ids and record.job_id != ids[record.token]
        }
        submitted[action] = {**records, **new} if new else records
        changed = changed or bool(new)
    return state._replace(submitted=submitted) if changed else state


def released(state: State, releases: Iterable[Release]) -> State:
    """The state without the records of these jobs, and with their ends.

    An end is entered only where the action is not complete and no other job has the directory.
    """
    by_token = {release.token: release for release in releases}
    changed = False
    submitted: dict[str, Mapping[int, Submitted]] = {}
    had: dict[str, set[str]] = {}
    for action, records in state.submitted.items():
        kept = {at: record for at, record in records.items() if record.token not in by_token}
        if len(kept) != len(records):
            changed = True
            had.setdefault(action, set()).update(r.token for r in records.values())
        submitted[action] = kept if len(kept) != len(records) else records
    complete = state.completed
    ends = {
        action: without_members(records, complete.get(action, 0))
        for action, records in state.ends.items()
    }
    for release in by_token.values():
        if release.token not in had.get(release.action, ()):
            continue  # its end was entered before, or Row took its records over
        others = submitted.get(release.action, {})
        found = {state.directories.position(name): end for name, end in release.ends.items()}
        mine = {at: end for at, end in found.items() if at is not None and at not in others}
        of_action = ends.setdefault(release.action, {})
        of_action.update(without_members(mine, complete.get(release.action, 0)))
    if not changed:
        return state
    return state._replace(submitted=_nonempty(submitted), ends=_nonempty(ends))


def without_gone(state: State, snapshot: QueueSnapshot, asked: Collection[int]) -> State:
    """The state without jobs that Row submitted and that are no longer in the queue.

    Only Row's rule: they have no token, so nothing else is known of them. `asked` are the job ids
    that the snapshot answers for.
    """
    if snapshot.error:
        return state
    there = {job.id for job in snapshot.jobs if job.state.active or job.state is JobState.UNKNOWN}
    gone = {Submitted(snapshot.cluster, job_id) for job_id in set(asked) - there}
    changed = False
    submitted: dict[str, Mapping[int, Submitted]] = {}
    for action, records in state.submitted.items():
        kept = {at: record for at, record in records.items() if record not in gone}
        submitted[action] = kept if len(kept) != len(records) else records
        changed = changed or len(kept) != len(records)
    return state._replace(submitted=_nonempty(submitted)) if changed else state


def _nonempty(records: Mapping[str, Mapping[int, T]]) -> dict[str, Mapping[int, T]]:
    return {action: found for action, found in records.items() if found}
