"""Synchronisation of the project's records with the disk, the first step of every command.

The input is a store and a workflow. The module determines what changed since the last time (the
workspace's modification time, value files, Row's own files, staged completions, actions and
products), reads only the changed parts, and commits. If nothing changed, the cost is two listings,
one small file and a few stats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.state.model import State
from rowtui.core.state.row.export import due, export_row_files
from rowtui.core.state.row.staging import list_staged
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.update import Compiled, Disk, RecordsUpdate

# A merge is repeated if another process commits first; with each repetition some process made
# progress.
ROUNDS = 100


class Synced(NamedTuple):
    """The current state of the project. `saved`: whether other processes will see it too.

    `uncompleted`: directories that lost a completion because their products are gone.
    """

    stored: Stored
    notices: tuple[str, ...] = ()
    saved: bool = True
    uncompleted: int = 0

    @property
    def state(self) -> State:
        """Return the records alone."""
        return self.stored.state


def synchronise(
    store: Store,
    workflow: Workflow,
    *,
    check_values: bool = False,
    full: bool = False,
    export: bool = True,
    disk: Disk | None = None,
    compiled: Compiled | None = None,
    mend: Callable[[State], State] | None = None,
) -> Synced:
    """Bring the records up to date and save them.

    `check_values` checks the stamp of every value file, for any number of directories. `full` reads
    every directory again, and removes completions whose products are gone. `export` also writes
    Row's files and deletes the staged files they include; without it both are postponed (a live
    dashboard does them later), unless completions were removed. `compiled` is kept with the
    records. `mend` enters submitted jobs from other files into records that are rebuilt. Raises:
    RowtuiError if the workspace or the records cannot be read.
    """
    run = RecordsUpdate(
        store,
        workflow,
        disk or Disk(),
        check_values=check_values,
        full=full,
        compiled=compiled,
        mend=mend,
    )
    saved = True
    for _ in range(ROUNDS):
        # before the records: a file that vanishes is in newer ones
        waiting = list_staged(store.root)
        view = store.load()
        run.notices = list(view.notices)
        before = view.stored or store.begin()
        after = run.bring_up(before, waiting)
        if after is None:
            run.start_again()
            continue
        stored = after
        saved = not store.unsaved
        if after is before and saved:
            break
        try:
            published = store.publish(view, after)
        except NotSavedError as error:
            saved = False
            run.notices.append(f"{error.message}; the project is shown as it is now")
            stored = store.keep_unsaved(view, after)
            break
        if published is not None:
            stored, saved = published, True
            break
        run.start_again()
    else:
        raise RowtuiError("the project changes too fast to be read", "try again")
    if saved:
        run.set_aside()
    if saved and (export or run.uncompleted) and (run.damaged or _is_behind(stored, waiting)):
        exported = export_row_files(store)
        stored = exported.stored or stored
        run.notices += exported.notices
    return Synced(stored, tuple(dict.fromkeys(run.notices)), saved, run.uncompleted)


def _is_behind(stored: Stored, waiting: Iterable[str]) -> bool:
    return any(due(stored)) or any(file in stored.consumed for file in waiting)
