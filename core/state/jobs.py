"""Who submits what: reservations and job ids of (action, directory) pairs.

Takes pairs as positions of the directories that the caller saw; commits through the store, so
that of two people who submit the same group at once exactly one wins, before anything is sent to
a scheduler. What Row submitted and what was completed meanwhile counts too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from rowtui.core.errors import RowtuiError
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import Failure, Submitted
from rowtui.core.state.names import flags
from rowtui.core.state.records import with_staged
from rowtui.core.state.row_files import clean_row_files, import_row_files, without_empty
from rowtui.core.state.staging import discard_staged, list_staged, read_staged
from rowtui.core.state.store import Store
from rowtui.core.state.stored import Stored
from rowtui.core.text import plural, visible

Pairs = Mapping[str, Sequence[int]]


class TakenError(RowtuiError):
    """Some pairs are already submitted, reserved by somebody, complete, or gone.

    `taken` has (action, directory name, why) for each. Nothing was reserved.
    """

    def __init__(self, taken: tuple[tuple[str, str, str], ...]) -> None:
        action, name, why = taken[0]
        more = f", and {plural(len(taken) - 1, 'other directory', 'other directories')}"
        super().__init__(
            f"{visible(action)} of {visible(name)} {why}" + (more if len(taken) > 1 else ""),
            "somebody was faster; look at the status again",
        )
        self.taken = taken


def reserve(
    store: Store, seen: StoredDirectories, pairs: Pairs, cluster: str, token: str
) -> Stored:
    """Mark these pairs as submitted with job id 0, all or none. `pairs` are positions in `seen`.

    Reserving again under the same token succeeds and changes nothing.
    Raises: TakenError; NotSavedError (nothing is reserved then).
    """
    reserved = Submitted(cluster, 0, token)

    def edit(stored: Stored) -> Stored:
        stored = _with_news(store, stored)
        places = _places(seen, stored.directories, pairs)
        taken = [
            (action, seen.name(was), why)
            for action, found in places.items()
            for was, why in _taken(stored, action, found, token)
        ]
        if taken:
            raise TakenError(tuple(taken))
        submitted = {action: dict(jobs) for action, jobs in stored.state.submitted.items()}
        failed = {action: dict(failures) for action, failures in stored.state.failed.items()}
        changed = False
        for action, found in places.items():
            jobs = submitted.setdefault(action, {})
            for _, at in found:
                assert at is not None
                if at not in jobs:
                    jobs[at] = reserved
                    failed.get(action, {}).pop(at, None)
                    changed = True
        if not changed:
            return stored
        state = replace(stored.state, submitted=submitted, failed=without_empty(failed))
        return replace(stored, state=state)

    return store.commit(edit)


def accept(store: Store, token: str, job_id: int) -> Stored:
    """The scheduler took the job with this token: its pairs get their job id."""

    def change(job: Submitted) -> Submitted | None:
        if job.token == token and job.job_id != job_id:
            return Submitted(job.cluster, job_id, token)
        return job

    return store.commit(lambda stored: _each_job(stored, change))


def release(store: Store, tokens: Collection[str]) -> Stored:
    """Jobs that never reached the scheduler, or were given up: their pairs are free again."""
    wanted = frozenset(tokens)

    def change(job: Submitted) -> Submitted | None:
        return None if job.token and job.token in wanted else job

    return store.commit(lambda stored: _each_job(stored, change))


def end_jobs(store: Store, cluster: str, ended: Mapping[int, str]) -> Stored:
    """Jobs that ended: job id -> why it failed, "" if it did not or nobody knows.

    Their pairs are no longer submitted; those with a reason and not complete count as failed.
    """

    def edit(stored: Stored) -> Stored:
        failed = {action: dict(failures) for action, failures in stored.state.failed.items()}
        any_failed = False
        for action, jobs in stored.state.submitted.items():
            completed = stored.state.completed.get(action, 0)
            for at, job in jobs.items():
                reason = ended.get(job.job_id) if job.cluster == cluster and job.job_id else None
                if reason and not completed >> at & 1:
                    failure = Failure(cluster, job.job_id, job.token, reason)
                    failed.setdefault(action, {})[at] = failure
                    any_failed = True

        def change(job: Submitted) -> Submitted | None:
            over = job.cluster == cluster and job.job_id and job.job_id in ended
            return None if over else job

        stored = _each_job(stored, change)
        if any_failed:
            stored = replace(stored, state=replace(stored.state, failed=without_empty(failed)))
        return stored

    return store.commit(edit)


def forget(store: Store, *, directories: bool, submitted: bool, completed: bool) -> Stored:
    """Forget these records, as `clean` does: everything, or what is chosen.

    Raises: NotSavedError; OSError if Row's files cannot be deleted.
    """

    def edit(stored: Stored) -> Stored:
        state, row = stored.state, stored.row
        if submitted:
            state = replace(state, submitted={}, failed={})
            row = replace(row, submitted={}, submitted_identity=None)
        if completed:
            nothing = dict.fromkeys(state.completed, 0)
            state = replace(state, completed=nothing)
            row = replace(row, completed=nothing, completed_identity=None)
            stored = replace(stored, aside={})
        if directories:
            row = replace(row, directories_identity=None, directories="")
            stored = replace(stored, reread=True)
        return replace(stored, state=state, row=row)

    # Files first: one that is found gone means the same as what is committed next.
    clean_row_files(store.root, directories=directories, submitted=submitted, completed=completed)
    stored = store.commit(edit)
    if completed:
        discard_staged(store.root, set(list_staged(store.root)) & stored.consumed.keys())
    return stored


def _with_news(store: Store, stored: Stored) -> Stored:
    """Records with what Row and jobs left since: the last look before a reservation."""
    stored = import_row_files(store.root, stored).stored
    waiting = list_staged(store.root)
    unread = [file for file in waiting if file not in stored.consumed]
    if unread:
        staged = read_staged(store.root, unread).staged
        stored = with_staged(stored, staged, waiting, int(time.time()))
    return stored


def _places(
    seen: StoredDirectories, now: StoredDirectories, pairs: Pairs
) -> dict[str, list[tuple[int, int | None]]]:
    """(position in `seen`, position now or None if it is gone) for each pair."""
    if seen.file == now.file and len(seen) == len(now):
        return {action: [(at, at) for at in members] for action, members in pairs.items()}
    return {
        action: [(at, now.table.position(os.fsencode(seen.name(at)))) for at in members]
        for action, members in pairs.items()
    }


def _taken(
    stored: Stored, action: str, places: Sequence[tuple[int, int | None]], token: str
) -> list[tuple[int, str]]:
    """(position in what the caller saw, why it is taken) for those that are."""
    completed = flags(stored.state.completed.get(action, 0), len(stored.directories))
    jobs = stored.state.submitted.get(action, {})
    taken: list[tuple[int, str]] = []
    for was, at in places:
        if at is None:
            taken.append((was, "is no longer in the workspace"))
            continue
        job = jobs.get(at)
        if job is None:
            if completed[at]:
                taken.append((was, "is already complete"))
        elif job.token != token:
            place = visible(job.cluster)
            taken.append(
                (was, f"is already submitted as {place}/{job.job_id}")
                if job.job_id
                else (was, f"is being submitted to {place} by somebody else")
            )
    return taken


def _each_job(stored: Stored, change: Callable[[Submitted], Submitted | None]) -> Stored:
    """Records with every job replaced by `change` of it; None removes it."""
    changed = False
    records: dict[str, dict[int, Submitted]] = {}
    for action, jobs in stored.state.submitted.items():
        kept: dict[int, Submitted] = {}
        for at, job in jobs.items():
            new = change(job)
            changed = changed or new is not job
            if new is not None:
                kept[at] = new
        records[action] = kept
    if not changed:
        return stored
    return replace(stored, state=replace(stored.state, submitted=without_empty(records)))
