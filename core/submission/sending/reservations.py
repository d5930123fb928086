"""Ownership of directories: reservation before a job is sent, job id after, release at its end.

The input is jobs or tokens and the state; the result is a new state (pure functions), committed by
compare-and-swap so that two processes never both get a directory. Jobs name their directories, so
positions may have changed since the plan was made. Directories that Row submitted, or that were
completed in between, are taken as well. A reservation is a `Submitted` with job id 0. Several jobs
share one commit, because a commit writes all records of the project.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.schedulers.base import JobState, QueueSnapshot
from rowtui.core.state.model import (
    Directories,
    LastEnd,
    State,
    Submitted,
    among,
    bit_set,
    positions,
    without_members,
)
from rowtui.core.state.records import with_news, without_mended
from rowtui.core.state.row.row_files import JOBS_UNREAD
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.reconcile.open_jobs import OpenJobs, with_sent
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.read import read_directories
from rowtui.core.workspace.workers import Workers

T = TypeVar("T")

# Number of times, and seconds in between, that records older than Row's files are read again.
LOOKS_AGAIN = 5
PAUSE = 0.05
REQUESTS = 32  # to the file system at once, when products are looked for
NAMES_RATIO = 24  # directories that are listed in the time of one search


class ReservationRelease(NamedTuple):
    """A job that gives its directories back.

    `ends` are by the names of directories; they apply where the action is not complete.
    """

    token: str
    action: str
    ends: Mapping[str, LastEnd]


class StoredReservations:
    """Reservations in a project's store. Without a workflow no products are looked for."""

    def __init__(self, store: Store, workflow: Workflow | None = None) -> None:
        self._store = store
        self._workflow = workflow
        self._open = OpenJobs(store.root)
        self._looked_at: set[str] = set()  # tokens: what they reserved is not looked at again

    def tokens(self, cluster: str) -> set[str]:
        """Return the tokens of the jobs on record on a cluster."""
        stored = self._store.load().stored
        submitted = {} if stored is None else stored.state.submitted
        return {
            job.token
            for jobs in submitted.values()
            for job in jobs.values()
            if job.token and job.cluster == cluster
        }

    def uncertain(self) -> bool:
        """Whether records were lost since the queue was last searched."""
        stored = self._store.load().stored
        return stored is None or stored.uncertain

    def reserve(self, jobs: Sequence[PlannedJob]) -> dict[str, str]:
        """Reserve each job's directories; return why for each token that cannot have its own.

        If records were lost, jobs in the journals count as well. Directories that have their
        products are entered as complete, whatever the records say. Raises: RowtuiError if the
        submitted directories cannot be determined.
        """
        refused: dict[str, str] = {}
        own = [job.token for job in jobs]
        made = self._made(jobs)
        is_behind = False

        def edit(stored: Stored) -> Stored:
            nonlocal is_behind
            refused.clear()  # another process committed first, so this is a retry
            known = with_news(self._store.root, stored)
            if known.row.jobs_unread:
                path = self._store.root / ".row" / "submitted.postcard"
                raise RowtuiError(f"{visible(str(path))} cannot be read", JOBS_UNREAD)
            is_behind = known.reread and not stored.reread
            if known.reread:  # completions are unknown until the workspace is read again
                reason = "records were lost, and are read again first"
                refused.update(dict.fromkeys(own, reason))
                return stored
            mended = with_sent(known.state, self._open.lacking(known.state, own))
            mended = with_made(mended, made)
            state, why = reserved(mended, jobs)
            refused.update(why)
            # News without a reservation are not committed: the next synchronisation reads them.
            return stored if state is known.state else known._replace(state=state)

        self._store.commit(edit)
        for _ in range(LOOKS_AGAIN):
            if not is_behind:
                break
            # Row's files are newer than the records: another process saves now, or records were
            # lost.
            time.sleep(PAUSE)
            self._store.commit(edit)
        return refused

    def _made(self, jobs: Sequence[PlannedJob]) -> dict[str, set[str]]:
        """Return the directories that have the products of their action, by action.

        Directories that the user named are left out: their products are to be made again.
        """
        made: dict[str, set[str]] = {}
        jobs = [job for job in jobs if job.token not in self._looked_at]
        self._looked_at.update(job.token for job in jobs)
        if self._workflow is None:
            return made
        asked: dict[str, list[str]] = {}
        for job in jobs:
            asked.setdefault(job.action, []).extend(() if job.named else job.directories)
        products = self._workflow.products()
        for action, names in asked.items():
            if names and products.get(action):
                found = read_directories(
                    self._workflow.workspace,
                    list(map(os.fsencode, names)),
                    value_file=None,
                    products={action: products[action]},
                    workers=Workers(1, REQUESTS),
                )
                if whole := positions(found.completed[action]):
                    made[action] = {names[at] for at in whole}
        return made

    def record(self, ids: Mapping[str, int]) -> None:
        """Enter the job ids of tokens."""
        if ids:
            self._commit(lambda state: with_ids(state, ids))

    def release(self, releases: Collection[ReservationRelease]) -> None:
        """Give directories back, and record how the job ended at each of them."""
        if not releases:
            return

        def edit(stored: Stored) -> Stored:
            # Completions that a job staged before its end must be read first, so that they do not
            # count as failed.
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
    """Return the state with the directories of each job reserved: all of a job's, or none.

    The second result states the reason for each job that cannot have all of its directories. A
    token keeps the directories that it has already.
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


def with_made(state: State, made: Mapping[str, Collection[str]]) -> State:
    """Return the state with directories complete whose products were seen.

    The products of a job that may still run, or that died there, may be half written.
    """
    completed = dict(state.completed)
    for action, names in made.items():
        sent, ends = state.submitted.get(action, {}), state.ends.get(action, {})
        where = {at for name in names if (at := state.directories.position(name)) is not None}
        whole = where - sent.keys() - {at for at, end in ends.items() if end.died}
        completed[action] = completed.get(action, 0) | bit_set(whole)
    return state if completed == state.completed else state._replace(completed=completed)


def _positions(directories: Directories, asked: int) -> Callable[[str], int | None]:
    """Return a function from a name to its position, or None, by search or by a full list.

    A search takes as long as listing some dozen directories.
    """
    if asked * NAMES_RATIO < len(directories):
        return directories.position
    return {name: at for at, name in enumerate(directories.names())}.get


def _complete(
    state: State, jobs: Sequence[PlannedJob], wanted: Sequence[Sequence[int | None]]
) -> dict[str, frozenset[int]]:
    """Return which of the jobs' directories are complete, by action; each set is read only once."""
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
    """Return why a job cannot have its directories, by the first conflict; "" if it can."""
    for name, at in zip(job.directories, wanted, strict=True):
        if at is None:
            return f"{visible(name)} is no longer in the workspace"
        if at in complete:
            done, total = sum(at in complete for at in wanted), len(wanted)
            some = f" ({done} of {total} directories)" if total > 1 else ""
            rest = "; the next plan has the others" if done < total else ""
            return f"{visible(name)} is complete already{some}{rest}"
        other = records.get(at)
        if other is not None and other.token != job.token:
            return f"{visible(name)} was submitted meanwhile ({_who(other)})"
    return ""


def _who(record: Submitted) -> str:
    return f"{record.cluster}/{record.job_id}" if record.job_id else f"on {record.cluster}"


def with_ids(state: State, ids: Mapping[str, int]) -> State:
    """Return the state with these tokens' job ids entered."""
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


def released(state: State, releases: Iterable[ReservationRelease]) -> State:
    """Return the state without the records of these jobs, and with their ends.

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
            continue  # its end was entered before, or Row's records replaced its own
        others = submitted.get(release.action, {})
        found = {state.directories.position(name): end for name, end in release.ends.items()}
        mine = {at: end for at, end in found.items() if at is not None and at not in others}
        of_action = ends.setdefault(release.action, {})
        of_action.update(without_members(mine, complete.get(release.action, 0)))
    if not changed:
        return state
    return state._replace(submitted=_nonempty(submitted), ends=_nonempty(ends))


def without_gone(state: State, snapshot: QueueSnapshot, asked: Collection[int]) -> State:
    """Return the state without jobs that Row submitted and that are no longer in the queue.

    The rule is Row's: these jobs have no token, so no other evidence exists. `asked` are the job
    ids for which the snapshot is complete.
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
