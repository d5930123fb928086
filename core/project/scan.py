"""The scan of directories for products and edited values, for `rowtui scan`.

New completions are staged as Row does it, in one file, so that Row and rowtui see the same state.
Completions whose products are gone are removed, and edited values are read again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, Self

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.project.disk import compiled_workflow, disk_settings, mended
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import DirectorySet, positions
from rowtui.core.state.names import flags, to_positions
from rowtui.core.state.records import Before, with_scanned
from rowtui.core.state.row.export import EXPORT_BELOW
from rowtui.core.state.row.row_files import Paths
from rowtui.core.state.row.staging import list_staged, stage_completions
from rowtui.core.state.store.stored import Stored, identity_of
from rowtui.core.state.store.sweep import without_outlived
from rowtui.core.workspace.gather import Stamped
from rowtui.core.workspace.list import DirectoryListing, list_workspace
from rowtui.core.workspace.read import WorkspaceReading, read_directories
from rowtui.core.workspace.sync import synchronise

if TYPE_CHECKING:
    from rowtui.core.project.project import Progress, Project


class ScanReport(NamedTuple):
    """`scan`: directories looked at; by action, those found complete, and completions removed."""

    scanned: int
    found: Mapping[str, int]
    lost: Mapping[str, int]


def scan(
    project: Project,
    names: Sequence[str] | None = None,
    action: str | None = None,
    progress: Progress | None = None,
) -> ScanReport:
    """Check these directories (None: all) for the products of one action (None: of all actions).

    Raises: RowtuiError for a name that is no directory of the workspace.
    """
    workspace = project.workflow.workspace
    products = {
        each.name: each.products
        for each in project.workflow.actions
        if action is None or each.name == action
    }
    value_file = project.workflow.value_file if names is None else None
    listing = list_workspace(workspace) if names is None else None
    listed = listing.names if listing else _known(project, names or ())
    stored = project.store.load().stored
    reading = read_directories(
        workspace,
        listed,
        value_file=value_file,
        products=products,
        inodes=listing.inodes if listing else (),
        stamped=True,
        workers=disk_settings(project.known_state, project.io_threads, None).workers,
        progress=progress,
    )
    if names is not None and (reading.vanished or reading.bad):
        _refuse_missing(project, listed, reading)
    lost: dict[str, int] = {}
    known: Mapping[str, DirectorySet] = {}
    where: Sequence[int | None] = ()
    if stored is not None:
        where = stored.directories.table.positions(listed)
        before = _Looked.at(
            stored.directories, Before(where, stored.state.completed), reading.completed
        )
        known = before.found
        lost = _take_back(project, listed, reading.completed, reading.bad, before)
    found = {name: members for name, members in reading.completed.items() if members}
    if stored is None or None in where:
        known = {}
        completions = {
            it: [listed[at] for at in positions(members)] for it, members in found.items()
        }
    else:
        known = _unrecorded(project, stored, known)
        completions = _sorted_names(stored, known)
    if completions:
        staged = stage_completions(project.root, completions)
        if stored is not None and known and len(staged) == 1:
            _enter(project, staged[0].name, stored, known)
    if listing and value_file is not None:
        looked = stored.directories if stored else None
        _synchronise(project, listing, Stamped(listed, reading.stamps, looked, where), progress)
    return ScanReport(
        scanned=len(listed),
        found={name: members.bit_count() for name, members in found.items()},
        lost=lost,
    )


class _Looked(NamedTuple):
    """The state when the products were checked, and the directories at that time.

    `found`: the positions at which each action was found complete.
    """

    directories: StoredDirectories
    before: Before
    found: Mapping[str, DirectorySet]

    @classmethod
    def at(
        cls,
        directories: StoredDirectories,
        before: Before,
        completed: Mapping[str, DirectorySet],
    ) -> Self:
        """Return what was looked at; `completed`: the indices of complete directories."""
        found = {name: to_positions(of, before.where) for name, of in completed.items()}
        return cls(directories, before, found)


def _unrecorded(
    project: Project, looked: Stored, found: Mapping[str, DirectorySet]
) -> dict[str, DirectorySet]:
    """Return the completions that the records, or Row's own file as it is now, do not have.

    A large project that Row never opened has no such file, and none is written for it.
    """
    now = project.store.load().stored
    recorded: Mapping[str, DirectorySet] = {}
    if now is not None and now.directories is looked.directories:
        file, ours = now.row.completed_identity, now.state.completed
        theirs = now.row.completed
        if file is None and len(now.directories) >= EXPORT_BELOW:
            theirs = ours
        if file == identity_of(Paths.of(project.root).completed):
            recorded = {name: ours.get(name, 0) & theirs.get(name, 0) for name in found}
    news = {name: members & ~recorded.get(name, 0) for name, members in found.items()}
    return {name: members for name, members in news.items() if members}


def _sorted_names(stored: Stored, found: Mapping[str, DirectorySet]) -> dict[str, list[bytes]]:
    """Return the names in each of these sets, sorted, so that no caller has to sort them again."""
    names = stored.directories.table.all() if found else []
    return {
        name: list(compress(names, flags(members, len(names)))) for name, members in found.items()
    }


def _enter(project: Project, file: str, looked: Stored, found: Mapping[str, DirectorySet]) -> None:
    """Enter the completions just staged.

    Their positions are known, so no file has to be read again.
    """

    def edit(stored: Stored) -> Stored:
        completed = dict(stored.state.completed)
        moved = stored.directories is not looked.directories
        if moved or file in stored.consumed or not found.keys() <= completed.keys():
            return stored
        for name, members in found.items():
            completed[name] |= members
        generation = stored.state.generation + 1
        waiting = list_staged(project.root)
        consumed = without_outlived(stored.consumed, waiting, generation)
        return stored._replace(
            state=stored.state._replace(completed=completed),
            consumed={**consumed, file: (generation, int(time.time()))},
        )

    # then the staged file is merged later, as files of other processes are
    with contextlib.suppress(NotSavedError):
        project.store.commit(edit)


def _synchronise(
    project: Project,
    listing: DirectoryListing,
    stamped: Stamped,
    progress: Progress | None,
) -> None:
    """Enter the found directories, and read the values again whose stamps have changed."""
    disk = disk_settings(project.known_state, project.io_threads, progress)._replace(
        list_=lambda _: listing, stamped=stamped
    )
    synced = synchronise(
        project.store,
        project.workflow,
        export=False,
        disk=disk,
        compiled=compiled_workflow(project.workflow),
        mend=lambda state: mended(project.root, state, project.notice),
    )
    for notice in synced.notices:
        project.notice(notice)
    project.use(synced.state)


def _known(project: Project, names: Sequence[str]) -> list[bytes]:
    listed = []
    for name in names:
        if not name or "/" in name or name in {".", ".."}:
            raise RowtuiError(
                f"'{visible(name)}' is not the name of a directory in the workspace",
                f"names only, as in 'ls {visible(str(project.workflow.workspace))}'",
            )
        listed.append(os.fsencode(name))
    return listed


def _refuse_missing(project: Project, listed: Sequence[bytes], reading: WorkspaceReading) -> None:
    at = min([*reading.vanished, *reading.bad])
    path = project.workflow.workspace / os.fsdecode(listed[at])
    raise RowtuiError(
        f"Unable to read '{visible(str(path))}': {reading.bad.get(at, 'no such directory')}"
    )


def look_again(project: Project, names: Sequence[bytes]) -> bool:
    """Check these directories for products and record the result; return whether anything changed.

    Pairs of action and directory whose job has not ended are skipped: the job reports when a
    product is whole.
    """
    products = project.workflow.products()
    where = [project.state.directories.position(os.fsdecode(name)) for name in names]
    directories = project.state.directories
    assert isinstance(directories, StoredDirectories)
    before = Before(where, project.state.completed)
    reading = read_directories(
        project.workflow.workspace, names, value_file=None, products=products
    )
    found: dict[str, int] = {}
    news: dict[str, list[bytes]] = {}
    for action, members in reading.completed.items():
        busy = project.state.submitted.get(action, {})
        known = project.state.completed.get(action, 0)
        found[action] = 0
        for at, position in enumerate(where):
            # keep the known state, so that no completion is lost
            if position is None or position in busy:
                complete = position is not None and bool(known >> position & 1)
            else:
                complete = bool(members >> at & 1)
                if complete and not known >> position & 1:
                    news.setdefault(action, []).append(names[at])
            found[action] |= complete << at
    looked = _Looked.at(directories, before, found)
    lost = _take_back(project, names, found, {*reading.bad, *reading.vanished}, looked)
    if news:
        stage_completions(project.root, news)
    return bool(news or lost)


def _take_back(
    project: Project,
    listed: Sequence[bytes],
    completed: Mapping[str, DirectorySet],
    unreadable: Collection[int],
    looked: _Looked,
) -> dict[str, int]:
    """Remove completions of the checked directories that lack the products.

    Only directories that were complete before the check are changed: a job that ended since then
    has newer information.
    """
    lost: dict[str, int] = {}

    def edit(stored: Stored) -> Stored:
        lost.clear()
        where, found = looked.before.where, looked.found
        if stored.directories is not looked.directories:
            where = stored.directories.table.positions(listed)
            found = {name: to_positions(members, where) for name, members in completed.items()}
        usable = where
        if unreadable:
            usable = [None if at in unreadable else to for at, to in enumerate(where)]
        looked_at = to_positions((1 << len(listed)) - 1, usable)
        for name, members in found.items():
            complete = stored.state.completed.get(name, 0)
            gone = complete & looked_at & ~members
            if gone:
                gone &= to_positions(looked.before.complete(name), where)
            if gone:
                lost[name] = gone.bit_count()
                stored = with_scanned(stored, gone, {name: 0}, replacing=True)
        return stored

    if project.store.load().stored is not None:
        project.use(project.store.commit(edit).state)
        if lost:
            project.close()  # update Row's files, so that Row does not use the removed completions
    return lost
