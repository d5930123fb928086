"""The store: immutable generations of a project's records, published by compare-and-swap.

Generation g is the file `.row/rowtui/done.<g>.rtc`; the highest is current. Readers take no lock
and write nothing. A commit writes a temporary file and links it to the next number; link(2) fails
if another process was faster, and the edit is then repeated on that process's records. Files that a
slow reader may still need are not deleted early, even if the clock jumps. Source:
docs/background/state.md.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import adler32, crc32

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.base.files import publish_new, sync_folder, temporary_sibling, write_synced
from rowtui.core.base.text import visible
from rowtui.core.state.container import Container, CorruptCacheError
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.merge import empty_directories
from rowtui.core.state.model import State
from rowtui.core.state.store.stored import (
    Identity,
    Stored,
    identity_by,
    identity_of,
    unpack_stored,
    with_known_directories,
    with_submitted_due,
)

if TYPE_CHECKING:
    from rowtui.core.state.store.pack_stored import PackedSets

_DIGITS = 18  # most digits of a generation's number

Edit = Callable[[Stored], Stored]


class StoreView(NamedTuple):
    """The current state of the store. `stored`: None if there are no usable records.

    `highest`: the highest generation that ever existed, including damaged ones; `damaged`: files to
    set aside; `files`: all files in the folder.
    """

    stored: Stored | None
    highest: int = 0
    damaged: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()


class Store:
    """The records of the project in `root`. The last generation read is cached."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".row" / "rowtui"
        self.unsaved = False  # whether `load` returns records that are only in memory
        self._last: Stored | None = None
        self._last_file: Identity | None = None  # of the generation in `_last`
        self._published: dict[int, tuple[int, float]] = {}  # size and time of generations
        self._packed: PackedSets | None = None

    def load(self) -> StoreView:
        """Return the current generation: one listing, and one file unless it was the last one read.

        Raises: NewerCacheError; RowtuiError if the folder cannot be read.
        """
        for _ in range(8):
            try:
                return self._load()
            except FileNotFoundError:  # deleted since the listing: there are newer ones
                continue
        raise RowtuiError(
            f"the records in {visible(str(self.folder))} change too fast to be read",
            "try again",
        )

    def commit(self, edit: Edit) -> Stored:
        """Publish `edit` of the current records; it is repeated if another process was faster.

        Returns the current records, also if `edit` returned its argument. Without records `edit`
        gets empty ones. Raises: NotSavedError, and any error of `edit`.
        """
        while True:
            view = self.load()
            before = view.stored or self.begin()
            after = edit(before)
            if after is before:
                return before
            published = self.publish(view, after)
            if published is not None:
                return published

    def keep_unsaved(self, view: StoreView, stored: Stored) -> Stored:
        """Keep unsaved records in memory; `load` returns them until other processes commit."""
        generation = view.stored.state.generation if view.stored else 0
        state = stored.state._replace(generation=generation)
        self._last = stored._replace(state=state)
        self.unsaved = True
        return self._last

    def begin(self) -> Stored:
        """Return empty records for a project that has none; they are not saved yet."""
        state = State(0, empty_directories(), {})
        return Stored(state, os.urandom(8).hex(), reread=True, uncertain=True)

    def publish(self, view: StoreView, after: Stored) -> Stored | None:
        """Make `after`, which was made from `view`, current; None if another process was faster.

        Raises: NotSavedError.
        """
        try:
            return self._publish(view, after)
        except OSError as error:
            raise not_saved(self.folder, error) from None

    def save_orders(self, directories: StoredDirectories, key: str, data: bytes) -> bool:
        """Keep `data` (sort orders, ...) for as long as these directories are current.

        Returns whether it was saved. The data only saves time, so no error is raised.
        """
        path = self._orders_path(directories, key)
        temporary = temporary_sibling(path)
        try:
            if directories.packed or os.path.exists(path):
                return False
            write_synced(temporary, data)
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return False
        return True

    def load_orders(self, directories: StoredDirectories, key: str) -> bytes | None:
        """Return the data of `save_orders` for these directories and `key`, or None."""
        try:
            return self._orders_path(directories, key).read_bytes()
        except OSError:
            return None

    def _orders_path(self, directories: StoredDirectories, key: str) -> Path:
        # hashlib would load OpenSSL. A reader of the file checks that its key is the right one.
        raw = key.encode(errors="surrogateescape")
        digest = f"{crc32(raw):08x}{adler32(raw):08x}"
        ours = directories.file.removeprefix("dirs.").removesuffix(".rtc")
        return self.folder / f"orders.{ours}.{digest}.bin"

    def _load(self) -> StoreView:
        unsaved = self._last if self.unsaved else None
        try:
            files = frozenset(os.listdir(self.folder))
        except (FileNotFoundError, NotADirectoryError):
            return StoreView(unsaved)
        except OSError as error:
            raise RowtuiError(
                f"the records in {visible(str(self.folder))} cannot be read: {error.strerror}",
                "you need read permission on the project's .row folder",
            ) from None
        generations, highest = _generations(files)
        damaged: list[str] = []
        notices: list[str] = []
        known = self._last
        deleted = known is not None and known.state.generation > highest
        for generation in reversed(generations):
            file = f"done.{generation}.rtc"
            # After a deletion of all files, the numbers begin again.
            if known and known.state.generation == generation and self._is_last(file):
                return StoreView(self._checked(known, lost=bool(damaged)), highest, (), files, ())
            identity = identity_of(self.folder / file)
            try:
                container = Container.open(self.folder / file)
                stored = unpack_stored(container, self.folder, generation)
                self._check_directories(stored, files)
            except CorruptCacheError as error:
                damaged.append(file)
                notices.append(f"{error.message}; it is renamed, and made again")
                continue
            except PermissionError as error:
                raise RowtuiError(
                    f"{visible(str(self.folder / file))} cannot be read: {error.strerror}",
                    "you need read permission on the project's .row folder",
                ) from None
            # deleted, and another file has its name
            if identity_of(self.folder / file) != identity:
                raise FileNotFoundError(file)
            stored = with_known_directories(stored, self._last)
            stored = self._checked(stored, lost=deleted or bool(damaged))
            self._last, self.unsaved = stored, False
            self._last_file = identity
            return StoreView(stored, highest, tuple(damaged), files, tuple(notices))
        return StoreView(unsaved, highest, tuple(damaged), files, tuple(notices))

    def _is_last(self, file: str) -> bool:
        return identity_of(self.folder / file) == self._last_file

    @staticmethod
    def _checked(stored: Stored, *, lost: bool) -> Stored:
        """Return the records; if newer ones were lost, everything since must be read again."""
        return stored._replace(reread=True, uncertain=True) if lost else stored

    @staticmethod
    def _check_directories(stored: Stored, files: Collection[str]) -> None:
        for file in stored.directories.files:
            if file not in files:
                raise CorruptCacheError(f"the cache file {file} is missing")

    def _publish(self, view: StoreView, after: Stored) -> Stored | None:
        from rowtui.core.state.store.pack_stored import PackedSets, pack_stored

        self._packed = self._packed or PackedSets()
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in view.damaged:
            with contextlib.suppress(FileNotFoundError):
                os.rename(self.folder / file, self.folder / f"{file}.damaged")
        generation = view.highest + 1
        created = self._write_directories(after.directories)
        after = with_submitted_due(self._with_retired(view, after, generation), view.stored)
        try:
            status = publish_new(
                self.folder / f"done.{generation}.rtc", pack_stored(after, generation, self._packed)
            )
            published = status is not None and self._is_current(view)
        # another process deleted the temporary file as outdated: a clock jumped
        except FileNotFoundError:
            status, published = None, False
        except BaseException:
            self._discard(created)
            raise
        if status is None or not published:
            self._discard(created)
            return None
        directories = after.directories
        if directories.packed and directories.file:
            directories = StoredDirectories(
                directories.file,
                len(directories),
                directories.bad_set,
                directories.pointers,
                folder=self.folder,
                nameless_set=directories.nameless_set,
                segments=directories.segments,
            )
        state = after.state._replace(generation=generation, directories=directories)
        self._last, self.unsaved = after._replace(state=state), False
        self._last_file = identity_by(status)  # another file may have the name by now
        with contextlib.suppress(OSError):
            from rowtui.core.state.store.sweep import sweep

            usable, _ = _generations(view.files)
            folder = os.fspath(self.folder)
            self._published = sweep(folder, view.files, usable, self._last, self._published)
        return self._last

    def _is_current(self, view: StoreView) -> bool:
        """Whether the new generation follows the one that it was made from.

        If this process slept long enough, other generations may have been published and deleted,
        and the number was free again. The previous generation's file still existing rules that out.
        """
        ours = view.highest + 1
        if view.stored is not None and view.stored.state.generation:
            parent = self.folder / f"done.{view.stored.state.generation}.rtc"
            current = os.path.exists(parent)
        else:
            current = _generations(os.listdir(self.folder))[1] == ours
        if not current:
            with contextlib.suppress(OSError):
                os.unlink(self.folder / f"done.{ours}.rtc")
        return current

    def _write_directories(self, directories: StoredDirectories) -> list[str]:
        """Write data that is only in memory.

        Other processes use these files only after `done` names them.
        """
        if not directories.packed or not directories.file:
            return []
        created: list[str] = []
        try:
            for file, data in directories.unwritten.items():
                if not (self.folder / file).exists():
                    created.append(file)
                    write_synced(self.folder / file, data)
            created.append(directories.file)
            write_synced(self.folder / directories.file, directories.packed)
            sync_folder(self.folder)
        except BaseException:
            self._discard(created)
            raise
        return created

    def _discard(self, files: Collection[str]) -> None:
        for file in files:
            with contextlib.suppress(OSError):
                os.unlink(self.folder / file)

    def _with_retired(self, view: StoreView, after: Stored, generation: int) -> Stored:
        """Record which files are no longer needed from now on; drop entries of deleted files."""
        now = int(time.time())
        used = after.directories.files
        before = view.stored.directories.files if view.stored else frozenset()
        retired = {file: since for file, since in after.retired.items() if file not in used}
        retired |= dict.fromkeys(before - used, (generation, now))
        retired = {f: since for f, since in retired.items() if f in view.files or f in before}
        return after._replace(retired=retired)


def not_saved(folder: Path, error: OSError) -> NotSavedError:
    """Return the error for the user from an error of the file system."""
    place = visible(str(folder))
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return NotSavedError(
            f"nothing can be saved in {place}: {error.strerror}",
            "you can look at the project; to change it, you need write permission",
            forbidden=True,
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NotSavedError(
            f"nothing can be saved in {place}: {error.strerror}",
            "free some space (see `df` and your quota) and try again; nothing was lost",
            forbidden=False,
        )
    return NotSavedError(
        f"nothing can be saved in {place}: {error.strerror or error}",
        "nothing was lost; try again",
        forbidden=False,
    )


def _generations(files: Collection[str]) -> tuple[list[int], int]:
    """Return the readable generations, ascending; and the highest number that ever existed."""
    usable: list[int] = []
    damaged: list[int] = []
    for file in files:
        if file.startswith("done."):
            number, _, ending = file[5:].partition(".")
            if number.isdecimal() and len(number) <= _DIGITS:
                if ending == "rtc":
                    usable.append(int(number))
                elif ending == "rtc.damaged":
                    damaged.append(int(number))
    usable.sort()
    return usable, max([0, *usable[-1:], *damaged])
