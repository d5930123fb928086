"""Pure edits of records, for directories that move, actions that change, and files that arrive.

Each function takes a `Stored` and returns a new one, or the identical object if nothing changes, so
that the caller can detect whether saving is needed.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import (
    MISSING_PRODUCTS,
    DirectorySet,
    LastEnd,
    LastOutcome,
    among,
    bit_set,
    without_members,
)
from rowtui.core.state.names import NUMPY_FROM, Remap, remap
from rowtui.core.state.row.export import clean_row_files
from rowtui.core.state.row.row_files import import_row_files
from rowtui.core.state.row.staging import Staged, discard_staged, list_staged, read_staged
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored
from rowtui.core.state.store.sweep import without_outlived

# Deletion of records on the user's request, for `clean`.


def forget(store: Store, *, directories: bool, submitted: bool, completed: bool) -> Stored:
    """Delete these records: everything, or the chosen parts.

    Raises: NotSavedError; OSError if Row's files cannot be deleted.
    """

    def edit(stored: Stored) -> Stored:
        state, row = stored.state, stored.row
        if submitted:
            state = state._replace(submitted={}, ends={})
            row = row._replace(submitted={}, submitted_identity=None, jobs_unread=False)
            stored = stored._replace(uncertain=False)
        if completed:
            nothing = dict.fromkeys(state.completed, 0)
            state = state._replace(completed=nothing)
            row = row._replace(completed=nothing, completed_identity=None)
            stored = stored._replace(aside={}, doubtful={})
        if directories:
            row = row._replace(directories_identity=None, directories="")
            stored = stored._replace(reread=True)
        return stored._replace(state=state, row=row)

    # Files first: another process that finds a file gone draws the same conclusion as the next
    # commit.
    clean_row_files(store.root, directories=directories, submitted=submitted, completed=completed)
    stored = store.commit(edit)
    if completed:
        discard_staged(store.root, set(list_staged(store.root)) & stored.consumed.keys())
    return stored


# Records with the changes by Row and by jobs; the last check before a decision is committed.
#
# The input is the records on which a commit is based. The module checks Row's own files and the
# staged completions (three stats and a listing if nothing is new); it does not read the workspace.


def with_news(root: Path, stored: Stored) -> Stored:
    """Return `stored` with Row's newest files and all staged completions; itself if nothing is new.

    A file that cannot be read is left for the next synchronisation, which reports it. If a staged
    file vanishes in between, newer records contain it, and the commit is repeated from those.
    """
    stored = import_row_files(root, stored).stored
    waiting = list_staged(root)
    unread = [file for file in waiting if file not in stored.consumed]
    if unread:
        staged = read_staged(root, unread).staged
        stored = with_staged(stored, staged, waiting, int(time.time()))
    return stored


T = TypeVar("T")


def moved(stored: Stored, directories: StoredDirectories, mapping: Remap) -> Stored:
    """Return the records of `stored` at the positions of other `directories`."""
    state, row = stored.state, stored.row
    if not mapping:
        return stored._replace(state=state._replace(directories=directories))

    def sets(records: Mapping[str, DirectorySet]) -> dict[str, DirectorySet]:
        return {action: remap(members, mapping) for action, members in records.items()}

    def jobs(records: Mapping[str, Mapping[int, T]]) -> dict[str, dict[int, T]]:
        return {
            action: {
                to: job for at, job in found.items() if (to := mapping.position(at)) is not None
            }
            for action, found in records.items()
        }

    completed, submitted = sets(row.completed), jobs(row.submitted)
    row = row._replace(
        completed=completed,
        submitted=submitted,
        names_gone=row.names_gone
        or any(completed[it].bit_count() < row.completed[it].bit_count() for it in completed)
        or any(len(submitted[it]) < len(row.submitted[it]) for it in submitted),
    )
    return stored._replace(
        state=state._replace(
            directories=directories,
            completed=sets(state.completed),
            submitted=jobs(state.submitted),
            ends=jobs(state.ends),
        ),
        aside=sets(stored.aside),
        doubtful=sets(stored.doubtful),
        row=row,
    )


def with_actions(stored: Stored, actions: Iterable[str]) -> Stored:
    """Return records with an entry for each of these actions; others are kept aside."""
    wanted = tuple(actions)
    completed = stored.state.completed
    if tuple(completed) == wanted:
        return stored
    aside = dict(stored.aside)
    for action, members in completed.items():
        if action not in wanted and members:
            aside[action] = aside.get(action, 0) | members
    chosen = {action: completed.get(action, 0) | aside.pop(action, 0) for action in wanted}
    return stored._replace(state=stored.state._replace(completed=chosen), aside=aside)


def with_staged(
    stored: Stored, staged: Sequence[Staged], waiting: Collection[str], now: int
) -> Stored:
    """Return records with the completions of staged files; each file counts once.

    `waiting` are the existing staged files; `now` is in epoch seconds. Names that are not in the
    workspace are dropped, as in Row.
    """
    fresh = [file for file in staged if file.file not in stored.consumed]
    if not fresh:
        return stored
    completed = dict(stored.state.completed)
    aside = dict(stored.aside)
    table = stored.directories.table
    lists = [names for file in fresh for names in file.records.values()]
    # One look-up table for all lists; very large blocks of names need none.
    known = table.by_name(sum(len(names) for names in lists if len(names) < NUMPY_FROM))
    for file in fresh:
        for action, names in file.records.items():
            members, _ = table.find(names, known)
            records = completed if action in completed else aside
            records[action] = records.get(action, 0) | members
    generation = stored.state.generation + 1
    consumed = without_outlived(stored.consumed, waiting, generation)
    consumed |= {file.file: (generation, now) for file in fresh}
    aside = {action: members for action, members in aside.items() if members}
    return stored._replace(
        state=stored.state._replace(completed=completed),
        aside=aside,
        consumed=consumed,
    )


class Before(NamedTuple):
    """The state of checked directories before the check: their positions, and all records."""

    where: Sequence[int | None]
    completed: Mapping[str, DirectorySet]

    def complete(self, action: str) -> DirectorySet:
        """Return the indices of the checked directories that were complete."""
        if self.where == range(len(self.where)):
            return self.completed.get(action, 0) & ((1 << len(self.where)) - 1)
        known = among(self.completed.get(action, 0), [at for at in self.where if at is not None])
        return bit_set([index for index, at in enumerate(self.where) if at in known])


def with_scanned(
    stored: Stored, scanned: DirectorySet, found: Mapping[str, DirectorySet], *, replacing: bool
) -> Stored:
    """Return records with the completions that a scan of the directories `scanned` found.

    `replacing`: directories not found complete are no longer complete.
    """
    completed = dict(stored.state.completed)
    for action, members in found.items():
        if action in completed:
            kept = completed[action] & ~scanned if replacing else completed[action]
            completed[action] = kept | members
    if completed == stored.state.completed:
        return stored
    return stored._replace(state=stored.state._replace(completed=completed))


def without_mended(stored: Stored) -> Stored:
    """Return records without the ends of jobs that no longer matter.

    These are the ends at directories that are complete, and missing products of actions without
    products.
    """
    state = stored.state
    ends: dict[str, Mapping[int, LastEnd]] = {}
    for action, its in state.ends.items():
        left = without_members(its, state.completed.get(action, 0))
        if stored.products.get(action) == ():
            left = {at: end for at, end in left.items() if end.reason != MISSING_PRODUCTS}
        if left:
            ends[action] = left
    if ends == state.ends:
        return stored
    return stored._replace(state=state._replace(ends=ends))


def with_retried(stored: Stored, action: str, names: Iterable[str]) -> Stored:
    """Return the records in which the user asked to try an action again in these directories."""
    state = stored.state
    ends = dict(state.ends.get(action, {}))
    for at in map(state.directories.position, names):
        if at is not None and at in ends:
            ends[at] = ends[at]._replace(outcome=LastOutcome.RETRIED)
    return stored._replace(state=state._replace(ends={**state.ends, action: ends}))
