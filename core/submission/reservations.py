"""Who has a directory: reservations before a job is sent, its id after, release at its end.

Takes jobs or tokens and the state; gives a new state (pure functions), committed by compare-and-
swap so that two processes never both get a directory. A reservation is a `Submitted` with job id
0. Several jobs are one commit: a commit writes all records of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from rowtui.core.clusters.schedulers.base import JobState, QueueSnapshot
from rowtui.core.state.model import Failure, State, Submitted
from rowtui.core.state.store import Store
from rowtui.core.state.stored import Stored
from rowtui.core.submission.model import PlannedJob
from rowtui.core.text import visible

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Release:
    """A job that no longer has its directories.

    `failures` are by the names of directories: they apply where the action is not complete.
    """

    token: str
    action: str
    failures: Mapping[str, Failure]


class Reservations(Protocol):
    """What carrying out a plan needs of the project's records."""

    def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
        """Reserve each job's directories; the tokens of those that cannot have theirs, and why."""
        ...

    def record(self, ids: Mapping[str, int]) -> None:
        """Enter the job ids of tokens."""
        ...

    def release(self, releases: Collection[Release]) -> None:
        """Give directories back, and note which of them failed."""
        ...


class StoredReservations:
    """Reservations in a project's store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
        """See `Reservations`."""
        refused: dict[str, str] = {}

        def edit(state: State) -> State:
            refused.clear()  # somebody was faster, and this is the second try
            made, why = reserved(state, jobs)
            refused.update(why)
            return made

        self._commit(edit)
        return refused

    def record(self, ids: Mapping[str, int]) -> None:
        """See `Reservations`."""
        if ids:
            self._commit(lambda state: with_ids(state, ids))

    def release(self, releases: Collection[Release]) -> None:
        """See `Reservations`."""
        if releases:
            self._commit(lambda state: released(state, releases))

    def _commit(self, edit: Callable[[State], State]) -> None:
        def on_stored(stored: Stored) -> Stored:
            state = edit(stored.state)
            return stored if state is stored.state else replace(stored, state=state)

        self._store.commit(on_stored)


def reserved(state: State, jobs: Iterable[PlannedJob]) -> tuple[State, dict[str, str]]:
    """The state with the directories of each job reserved, all of a job or none of it.

    Of a job that cannot have all, the second answer says why. What a token has already, it keeps.
    """
    submitted = {action: dict(records) for action, records in state.submitted.items()}
    refused: dict[str, str] = {}
    changed = False
    for job in jobs:
        ours = submitted.setdefault(job.action, {})
        complete = state.completed.get(job.action, 0)
        positions = []
        for name in job.directories:
            position = state.directories.position(name)
            other = None if position is None else ours.get(position)
            if position is None:
                refused[job.token] = f"{visible(name)} is no longer in the workspace"
            elif complete >> position & 1:
                refused[job.token] = f"{visible(name)} is complete already"
            elif other is not None and other.token != job.token:
                refused[job.token] = f"{visible(name)} was submitted meanwhile ({_who(other)})"
            else:
                positions.append(position)
                continue
            break
        if job.token not in refused:
            record = Submitted(job.destination.cluster, 0, job.token)
            new = [position for position in positions if position not in ours]
            ours.update(dict.fromkeys(new, record))
            changed = changed or bool(new)
    return (replace(state, submitted=_nonempty(submitted)) if changed else state), refused


def _who(record: Submitted) -> str:
    return f"{record.cluster}/{record.job_id}" if record.job_id else f"on {record.cluster}"


def with_ids(state: State, ids: Mapping[str, int]) -> State:
    """The state with these tokens' job ids entered."""
    changed = False
    submitted: dict[str, Mapping[int, Submitted]] = {}
    for action, records in state.submitted.items():
        new = {
            position: replace(record, job_id=ids[record.token])
            for position, record in records.items()
            if record.token in ids and record.job_id != ids[record.token]
        }
        submitted[action] = {**records, **new} if new else records
        changed = changed or bool(new)
    return replace(state, submitted=submitted) if changed else state


def released(state: State, releases: Iterable[Release]) -> State:
    """The state without the records of these jobs, and with their failures.

    A failure is entered only where the action is not complete and nobody else has the directory.
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
    failed = {
        action: {at: why for at, why in records.items() if not complete.get(action, 0) >> at & 1}
        for action, records in state.failed.items()
    }
    for release in by_token.values():
        if release.token not in had.get(release.action, ()):
            continue  # its end was entered before, or Row took its records over
        failures = failed.setdefault(release.action, {})
        for name, failure in release.failures.items():
            position = state.directories.position(name)
            if position is None or complete.get(release.action, 0) >> position & 1:
                continue
            if position not in submitted.get(release.action, {}):
                failures[position] = failure
    if not changed:
        return state
    return replace(state, submitted=_nonempty(submitted), failed=_nonempty(failed))


def without_gone(state: State, snapshot: QueueSnapshot, asked: Collection[int]) -> State:
    """The state without jobs that Row submitted and that are no longer in the queue.

    Only Row's rule: they have no token, so nothing else is known of them. `asked` are the job ids
    that the snapshot answers for. Source: Row A6.
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
    return replace(state, submitted=_nonempty(submitted)) if changed else state


def _nonempty(records: Mapping[str, Mapping[int, T]]) -> dict[str, Mapping[int, T]]:
    return {action: found for action, found in records.items() if found}
