"""Row's files brought up to date after a commit, and staged files deleted once they are safe.

Takes a store; writes what is due, enters what was written, and looks again: whoever writes last
makes sure that the newest records are what Row finds, so no lock is needed. Staged files are
deleted only when Row's own file has their completions: Row merges staged files itself, and stays
right in between.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.state.row_files import (
    Due,
    Written,
    due,
    import_row_files,
    set_aside,
    with_written,
    write_row_files,
)
from rowtui.core.state.staging import discard_staged, list_staged
from rowtui.core.state.store import NotSavedError, Store, not_saved
from rowtui.core.state.stored import Stored

# Others may commit meanwhile; whoever comes last finishes. Never more rounds than this.
ROUNDS = 12


class Exported(NamedTuple):
    """The current records, and what a person should know."""

    stored: Stored | None
    notices: tuple[str, ...] = ()


def export_row_files(store: Store) -> Exported:
    """Write those of Row's files that are behind, then delete the staged files they include.

    Never raises for a file that cannot be written: that is a notice, and nothing is lost.
    """
    notices: list[str] = []
    stored: Stored | None = None
    for _ in range(ROUNDS):
        view = store.load()
        stored = view.stored
        if stored is None:
            return Exported(None, tuple(notices))
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
            return Exported(stored, (*notices, error.message))
        except OSError as error:
            reason = not_saved(store.root / ".row", error).message
            return Exported(stored, (*notices, f"Row's files are not up to date: {reason}"))
    if stored is not None and not due(stored).completed:
        discard_staged(store.root, set(list_staged(store.root)) & stored.consumed.keys())
    return Exported(stored, tuple(dict.fromkeys(notices)))


def _write(store: Store, stored: Stored, what: Due) -> Stored:
    written: Written = write_row_files(store.root, stored, what)
    return store.commit(lambda current: with_written(current, written, what))
