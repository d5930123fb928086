"""Records forgotten on purpose: what `clean` does. Source: Row A3.7."""

from __future__ import annotations

from dataclasses import replace

from rowtui.core.state.row_files import clean_row_files
from rowtui.core.state.staging import discard_staged, list_staged
from rowtui.core.state.store import Store
from rowtui.core.state.stored import Stored


def forget(store: Store, *, directories: bool, submitted: bool, completed: bool) -> Stored:
    """Forget these records: everything, or what is chosen.

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
