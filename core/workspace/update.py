"""One update of the project's records from the disk, before it is saved.

The input is a store, a workflow, and the records as they were loaded. The result is records that
include Row's files, staged completions, and the directories, values and products of the workspace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.state.container import CorruptCacheError
from rowtui.core.state.directories import Stamp
from rowtui.core.state.merge import merge_directories
from rowtui.core.state.model import State, positions
from rowtui.core.state.records import (
    moved,
    with_actions,
    with_scanned,
    with_staged,
    without_mended,
)
from rowtui.core.state.row.row_files import import_row_files
from rowtui.core.state.row.staging import read_staged, set_aside_staged
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Identity, Stored
from rowtui.core.workflow.model import Workflow
from rowtui.core.workspace.gather import (
    Gathered,
    ReadRequest,
    Stamped,
    append_changed,
    compare,
    edited,
    found_where,
    workflow_pointers,
)
from rowtui.core.workspace.list import DirectoryListing, list_workspace, workspace_mtime_ns
from rowtui.core.workspace.read import WorkspaceReading, read_directories, stat_values
from rowtui.core.workspace.workers import Workers

# Up to this many directories, every command checks whether their value files were edited: a stat
# each, 3 ms in all. With more directories, `scan` does so.
STAMPS_UP_TO = 1_000


Progress = Callable[[int, int], None]


class Compiled(NamedTuple):
    """A compiled workflow, which loads fast, and the identity of its source file."""

    data: bytes
    identity: Identity | None


class Disk(NamedTuple):
    """The functions that read the workspace; replaceable for tests and other processes."""

    list_: Callable[[Path], DirectoryListing] = list_workspace
    read: Callable[..., WorkspaceReading] = read_directories
    stat: Callable[..., list[Stamp | None]] = stat_values
    workers: Workers | None = None
    progress: Progress | None = None
    stamped: Stamped | None = None


# Names, the data found there, whether missing products are gone, and the names' positions now.
_Scan = tuple[list[bytes], WorkspaceReading, bool, Sequence[int | None] | None]


class _Changes(NamedTuple):
    """What differs between the workspace, the settings and the records.

    `everything`: all directories are read again. `renewed`: actions with other products.
    `other_values`: the value file has another name. `there`: known directories that still exist.
    Without a listing no directory was added or has vanished.
    """

    listing: DirectoryListing | None
    everything: bool
    renewed: list[str]
    other_values: bool
    added: list[bytes]
    vanished: list[bytes]
    there: list[bytes]


class RecordsUpdate:
    """One synchronisation. Readings are kept if a lost race makes it start again."""

    def __init__(
        self,
        store: Store,
        workflow: Workflow,
        disk: Disk,
        *,
        check_values: bool,
        full: bool,
        compiled: Compiled | None,
        mend: Callable[[State], State] | None,
    ) -> None:
        self.store = store
        self.workflow = workflow
        self.disk = disk
        self.check_values = check_values
        self.full = full
        self.compiled = compiled
        self.mend = mend
        self.notices: list[str] = []
        self.uncompleted = 0
        self.damaged = False  # one of Row's files
        self._first: Stored | None = None  # the records to which the readings belong
        self._listing: DirectoryListing | None = None
        self._readings: list[tuple[ReadRequest, WorkspaceReading]] = []
        self._unreadable: tuple[tuple[str, str], ...] = ()
        self._products = workflow.products()

    def bring_up(self, before: Stored, waiting: Sequence[str]) -> Stored | None:
        """Return the updated `before`, or `before` itself; None: start again from newer records."""
        try:
            return self._bring_up(before, waiting)
        except CorruptCacheError as error:
            # Positions have no meaning without the names: start again, with Row's files and the
            # disk.
            self.notices.append(f"{error.message}; everything is read again")
            fresh = self.store.begin()
            state = fresh.state._replace(generation=before.state.generation)
            return self._bring_up(fresh._replace(state=state), waiting)

    def start_again(self) -> None:
        """Start again after another process committed: readings stay valid, the listing may not."""
        self._listing = None

    def set_aside(self) -> None:
        """Rename unreadable staged files, after this was saved."""
        for file, _ in self._unreadable:
            set_aside_staged(self.store.root, file)

    def _bring_up(self, before: Stored, waiting: Sequence[str]) -> Stored | None:
        self.uncompleted = 0
        known_actions = set(before.state.completed) | set(before.products)
        stored = with_actions(before, self._products)
        gone = [a for a in before.state.completed if a not in stored.state.completed]
        for action in gone:
            self.notices.append(
                f"workflow.toml has no action {visible(action)} any more; "
                "its records are kept aside until it comes back"
            )
        if len(stored.directories):
            stored = self._with_row_files(stored)
        stored, scans, appeared = self._with_workspace(stored, known_actions)
        if appeared:  # Row's files may name directories that were unknown until now
            stored = self._with_row_files(stored, again=True)
        unread = [file for file in waiting if file not in stored.consumed]
        if unread:
            read = read_staged(self.store.root, unread)
            if read.vanished and self._is_superseded(before):
                return None
            stored = with_staged(stored, read.staged, waiting, int(time.time()))
            self._unreadable = read.unreadable
            self.notices += [
                f"the staged file {visible(file)} cannot be read ({why}); it is renamed, unused"
                for file, why in read.unreadable
            ]
        if self._first is None:
            self._first = stored
        for scan in scans:
            stored = self._with_scan(stored, *scan)
        if stored.reread and self.mend is not None:
            stored = stored._replace(state=self.mend(stored.state))
        return without_mended(self._with_circumstances(stored))

    def _with_row_files(self, stored: Stored, *, again: bool = False) -> Stored:
        imported = import_row_files(self.store.root, stored, again=again)
        self.notices += imported.notices
        self.damaged = self.damaged or bool(imported.damaged)
        return imported.stored

    def _is_superseded(self, before: Stored) -> bool:
        stored = self.store.load().stored
        return stored is not None and stored.state.generation != before.state.generation

    def _with_scan(
        self,
        stored: Stored,
        names: list[bytes],
        found: WorkspaceReading,
        replacing: bool,
        where: Sequence[int | None] | None,
    ) -> Stored:
        """Enter the result of a scan; `where`: the positions of the names, if they are known."""
        first = self._first if replacing else None
        scanned, sets = found_where(stored, first, names, found, where)
        after = with_scanned(stored, scanned, sets, replacing=replacing)
        if replacing and after is not stored:
            lost = sum(
                (members & ~after.state.completed.get(action, 0)).bit_count()
                for action, members in stored.state.completed.items()
            )
            if lost:
                self.uncompleted += lost
                self.notices.append(
                    f"{plural(lost, 'completion')} taken back: the products are gone"
                )
        return after

    def _with_circumstances(self, stored: Stored) -> Stored:
        """Record the settings with which these records were made."""
        value_file = self.workflow.value_file
        if (stored.products, stored.value_file) != (self._products, value_file) or stored.reread:
            stored = stored._replace(
                products=dict(self._products), value_file=value_file, reread=False
            )
        compiled = self.compiled
        if compiled and (compiled.identity, compiled.data) != (
            stored.workflow_identity,
            stored.workflow,
        ):
            stored = stored._replace(workflow=compiled.data, workflow_identity=compiled.identity)
        return stored

    def _with_workspace(
        self, stored: Stored, known_actions: set[str]
    ) -> tuple[Stored, list[_Scan], bool]:
        """Return (records for the current directories, scan results, whether any are new)."""
        changes = self._changes(stored)
        listing = changes.listing
        found, scans = self._scanned(stored, changes, known_actions)
        scans += self._doubtful(stored)
        stored = stored._replace(doubtful={}) if stored.doubtful else stored
        stored, scans = self._merged(stored, changes.vanished, found, scans)
        if listing and (stored.workspace_mtime_ns, stored.racy) != (
            listing.mtime_ns,
            listing.racy,
        ):
            stored = stored._replace(workspace_mtime_ns=listing.mtime_ns, racy=listing.racy)
        return stored, scans, bool(changes.added) or not len(stored.directories)

    def _changes(self, stored: Stored) -> _Changes:
        """Compare the workspace and the settings with the records."""
        everything = self.full or stored.reread
        if everything:
            stored.directories.verify()
        renewed = [a for a, paths in self._products.items() if stored.products.get(a) != paths]
        other_values = self.workflow.value_file != stored.value_file
        needs_all = everything or bool(renewed) or other_values
        listing = self._listing_if_needed(stored, needs_all)
        if listing is None:
            return _Changes(None, everything, renewed, other_values, [], [], [])
        return _Changes(
            listing, everything, renewed, other_values, *compare(stored, listing, needs_all)
        )

    def _scanned(
        self, stored: Stored, changes: _Changes, known_actions: set[str]
    ) -> tuple[Gathered, list[_Scan]]:
        """Read new, edited and outdated directories; return their values and their products."""
        value_file, there, everything = self.workflow.value_file, changes.there, changes.everything
        pointers = () if len(stored.directories) else workflow_pointers(self.workflow)
        listing = changes.listing
        whole = listing.names if listing and everything else changes.added
        if everything:
            values = []
        elif changes.other_values:
            values = there
        else:
            values = self._edited(stored, changes.vanished, listing)
        found = Gathered()
        scans: list[_Scan] = []
        for wanted in (
            ReadRequest(whole, value_file, tuple(self._products), pointers),
            ReadRequest(values, value_file, ()),
        ):
            if wanted.names:
                reading = self._read(wanted, listing)
                append_changed(found, wanted, reading, stored)
                if wanted.actions:
                    scans.append((wanted.names, reading, self.full, None))
        renewed = () if everything else changes.renewed
        for actions, replacing in (
            (tuple(a for a in renewed if a in known_actions), True),
            (tuple(a for a in renewed if a not in known_actions), False),
        ):
            if there and actions:
                reading = self._read(ReadRequest(there, None, actions), listing)
                scans.append((there, reading, replacing, None))
        return found, scans

    def _doubtful(self, stored: Stored) -> list[_Scan]:
        """Look for the products of completions that are in doubt."""
        scans: list[_Scan] = []
        for action in stored.doubtful.keys() & self._products.keys():
            names = [stored.directories.table[at] for at in positions(stored.doubtful[action])]
            scans.append((names, self._read(ReadRequest(names, None, (action,))), True, None))
        return scans

    def _merged(
        self, stored: Stored, vanished: list[bytes], found: Gathered, scans: list[_Scan]
    ) -> tuple[Stored, list[_Scan]]:
        """Return records and scans for the positions of the current directories."""
        pointers = workflow_pointers(self.workflow)
        stale = not set(pointers) <= set(stored.directories.pointers)
        changed = found.names or vanished or found.vanished
        if not changed and not stale and stored.directories.file:
            return stored, scans
        merged = merge_directories(
            stored.directories,
            vanished,
            found.names,
            found,
            value_file=self.workflow.value_file,
            pointers=pointers,
            generation=stored.state.generation + 1,
        )
        stored = moved(stored, merged.directories, merged.mapping)
        return stored, [
            (*scan[:3], merged.where) if scan[0] is found.names else scan for scan in scans
        ]

    def _listing_if_needed(self, stored: Stored, needed: bool) -> DirectoryListing | None:
        """Return the workspace's directories, or None if they certainly are the known ones."""
        workspace = self.workflow.workspace
        if (
            not needed
            and not stored.racy
            and workspace_mtime_ns(workspace) == stored.workspace_mtime_ns
        ):
            return None
        if self._listing is None:
            self._listing = self.disk.list_(workspace)
        return self._listing

    def _edited(
        self, stored: Stored, vanished: list[bytes], listing: DirectoryListing | None
    ) -> list[bytes]:
        """Return the known directories whose value file has changed since it was read."""
        value_file = self.workflow.value_file
        if value_file is None:
            return []
        names: Sequence[bytes] = ()
        count = len(stored.directories)
        stamped = self.disk.stamped
        if stamped:
            names = stamped.names
        elif self.check_values or count <= STAMPS_UP_TO:
            names = listing.names if listing else stored.directories.table.all()
        elif 0 < stored.directories.bad_set.bit_count() <= STAMPS_UP_TO:
            # The user fixes these; a fixed directory should return at once.
            names = [stored.directories.table[at] for at in stored.directories.bad]
        if not names:
            return []

        def stat(chosen: Sequence[bytes]) -> Sequence[Stamp | None]:
            return self.disk.stat(self.workflow.workspace, chosen, value_file)

        asked = stamped or Stamped(names, None, None, ())
        return edited(stored.directories, asked, stat, frozenset(vanished))

    def _read(
        self, wanted: ReadRequest, listing: DirectoryListing | None = None
    ) -> WorkspaceReading:
        """Read directories; all names are in the listing, if there is one."""
        for known, reading in self._readings:
            if known == wanted:
                return reading
        arguments: dict[str, Any] = {}
        if self.disk.workers:
            arguments["workers"] = self.disk.workers
        if self.disk.progress:
            arguments["progress"] = self.disk.progress
        if listing:
            arguments["inodes"] = listing.inodes_of(wanted.names)
        if wanted.pointers:
            arguments["pointers"] = wanted.pointers
        reading = self.disk.read(
            self.workflow.workspace,
            wanted.names,
            value_file=wanted.value_file,
            products={action: self._products[action] for action in wanted.actions},
            **arguments,
        )
        self._readings.append((wanted, reading))
        return reading
