"""Deletion of records on the user's request, for `clean`."""

from __future__ import annotations

from rowtui.core.state.row.row_files import clean_row_files
from rowtui.core.state.row.staging import discard_staged, list_staged
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored


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
            stored = stored._replace(aside={})
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
