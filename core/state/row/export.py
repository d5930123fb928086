"""Update of Row's files after a commit, and deletion of staged files once their content is safe.

The input is a store. The module writes the files that are due, records what was written, and checks
again: the last writer makes sure that Row finds the newest records, so no lock is needed. Staged
files are deleted only when Row's own file has their completions: Row merges staged files itself,
and therefore sees the right state at every moment.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.state.row.row_files import (
    Due,
    WrittenRowFiles,
    due,
    import_row_files,
    set_aside,
    with_written,
    write_row_files,
)
from rowtui.core.state.row.staging import discard_staged, list_staged
from rowtui.core.state.store.store import NotSavedError, Store, not_saved
from rowtui.core.state.store.stored import Stored

# Other processes may commit in between; the last one finishes. This limits the rounds.
ROUNDS = 12


class ExportedRecords(NamedTuple):
    """The current records, and notices for the user."""

    stored: Stored | None
    notices: tuple[str, ...] = ()


def export_row_files(store: Store) -> ExportedRecords:
    """Write Row's outdated files, then delete the staged files whose content they include.

    A file that cannot be written never raises: the result has a notice, and no data is lost.
    """
    notices: list[str] = []
    stored: Stored | None = None
    for _ in range(ROUNDS):
        view = store.load()
        stored = view.stored
        if stored is None:
            return ExportedRecords(None, tuple(notices))
        try:
            imported = import_row_files(store.root, stored)
            notices += imported.notices
            if imported.stored is not stored:
                store.publish(view, imported.stored)
                continue
            for path in imported.damaged:
                set_aside(path)
            what = due(stored)
            if not any(what):
                break
            stored = _write(store, stored, what)
        except NotSavedError as error:
            return ExportedRecords(stored, (*notices, error.message))
        except OSError as error:
            reason = not_saved(store.root / ".row", error).message
            return ExportedRecords(stored, (*notices, f"Row's files are not up to date: {reason}"))
    if stored is not None and not due(stored).completed:
        discard_staged(store.root, set(list_staged(store.root)) & stored.consumed.keys())
    return ExportedRecords(stored, tuple(dict.fromkeys(notices)))


def _write(store: Store, stored: Stored, what: Due) -> Stored:
    written: WrittenRowFiles = write_row_files(store.root, stored, what)
    return store.commit(lambda current: with_written(current, written, what))
