"""Writing of Row's own files after a commit, and deletion of staged files whose content is safe.

The input is a store. The module writes the files that are due (beside and renamed), records what
was written, and checks again: the last writer makes sure that Row finds the newest records, so no
lock is needed. Staged files are deleted only when Row's own file has their completions: Row merges
staged files itself, and therefore sees the right state at every moment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import compress
from json.encoder import encode_basestring
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import NotSavedError
from rowtui.core.base.files import sync_folder, temporary_sibling, write_synced
from rowtui.core.base.lazy import np
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import DirectorySet, positions
from rowtui.core.state.names import NUMPY_FROM, NameTable, flags
from rowtui.core.state.row.postcard import (
    TRAILER_MAGIC,
    encode_completed_blocks,
    encode_names,
    encode_submitted,
)
from rowtui.core.state.row.row_files import TRAILER, DamagedFile, Paths, import_row_files
from rowtui.core.state.row.staging import discard_staged, list_staged
from rowtui.core.state.store.store import Store, not_saved
from rowtui.core.state.store.stored import (
    Identity,
    RowFiles,
    Stored,
    exported_jobs,
    identity_by,
    identity_of,
)


def directories_json(directories: StoredDirectories, workspace_mtime_ns: int) -> bytes:
    """Return Row's directories.json.

    Bad directories are left out. The time is then one that never matches, so that Row lists the
    directories itself and reports the problem.
    """
    bad, nameless = directories.bad_set, directories.nameless_set
    seconds, nanoseconds = divmod(workspace_mtime_ns, 1_000_000_000)
    if bad:
        seconds = nanoseconds = 0
    kept = positions(~(bad | nameless) & ((1 << len(directories)) - 1))
    out = bytearray(f'{{"modified_time":[{seconds},{nanoseconds}],"values":{{'.encode())
    keys, entry = _keys(directories.table)
    separator = b""
    for start in range(0, len(kept), _AT_ONCE):
        some = kept[start : start + _AT_ONCE]
        pairs = zip(map(keys.__getitem__, some), directories.json_at(some), strict=True)
        out += separator
        out += b",".join(map(entry.__mod__, pairs))
        separator = b","
    out += b"}}"
    return bytes(out)


_AT_ONCE = 1 << 14  # entries; a list of all entries takes more memory than the file


def _keys(table: NameTable) -> tuple[list[bytes], bytes]:
    """Return the key of each name, and the form of an entry; a name that is not UTF-8 has any."""
    blob = bytes(table.blob)
    if (
        blob.isascii()
        and blob.decode("ascii").isprintable()
        and not (b'"' in blob or b"\\" in blob)
    ):
        return table.all(), b'"%b":%b'
    names = [name.decode(errors="replace") for name in table.all()]
    return [encode_basestring(name).encode() for name in names], b"%b:%b"


def completed_blocks(
    table: NameTable, records: Mapping[str, DirectorySet]
) -> dict[str, tuple[int, bytes]]:
    """Return each action's names, encoded in order."""
    total = sum(members.bit_count() for members in records.values())
    if total >= NUMPY_FROM and 0 < table.width < 0x80:
        return blocks_at_once(table, records)
    names = table.all() if total else []
    blocks = {}
    for action, members in records.items():
        chosen: Iterable[bytes] = compress(names, flags(members, len(table)))
        blocks[action] = (members.bit_count(), encode_names(chosen))
    return blocks


def blocks_at_once(
    table: NameTable, records: Mapping[str, DirectorySet]
) -> dict[str, tuple[int, bytes]]:
    """As `completed_blocks` for names of one length, with numpy."""
    rows = np.empty((len(table), table.width + 1), dtype=np.uint8)
    rows[:, 0] = table.width
    rows[:, 1:] = np.frombuffer(table.blob, dtype=np.uint8).reshape(len(table), table.width)
    blocks = {}
    for action, members in records.items():
        chosen = np.frombuffer(flags(members, len(table)), dtype=np.bool_)
        blocks[action] = (members.bit_count(), rows[chosen].tobytes())
    return blocks


# A larger project that Row never opened gets no files for Row, because they would be rewritten
# completely at each completion.
EXPORT_BELOW = 200_000


class Due(NamedTuple):
    """Which of Row's files are older than the records."""

    completed: bool
    submitted: bool
    directories: bool


def due(stored: Stored) -> Due:
    """Return the files that must be written for Row. Reads no file, compares no job."""
    row, state = stored.row, stored.state
    small = len(stored.directories) < EXPORT_BELOW
    return Due(
        completed=(row.completed_identity is not None or small)
        and (
            row.completed_identity is None
            or row.names_gone
            or _differ(exported_completed(stored), row.completed)
        ),
        submitted=not row.jobs_unread
        and (row.submitted_due or (row.names_gone and row.submitted_identity is not None)),
        directories=(row.directories_identity is not None or small)
        and (row.directories_identity is None or row.directories != _version(stored))
        and bool(state.directories or row.directories_identity),
    )


def _differ(ours: Mapping[str, DirectorySet], theirs: Mapping[str, DirectorySet]) -> bool:
    return any(ours.get(action, 0) != theirs.get(action, 0) for action in {*ours, *theirs})


def _version(stored: Stored) -> str:
    return f"{stored.directories.file}@{stored.workspace_mtime_ns}"


def exported_completed(stored: Stored) -> dict[str, DirectorySet]:
    """Return the content for completed.postcard: every workflow action, names that are UTF-8."""
    nameless = stored.directories.nameless_set
    if not nameless:
        return dict(stored.state.completed)
    return {action: members & ~nameless for action, members in stored.state.completed.items()}


class WrittenRowFiles(NamedTuple):
    """Row's files that were written; to be entered with `with_written`."""

    row: RowFiles
    directories: str


def write_row_files(root: Path, stored: Stored, what: Due) -> WrittenRowFiles:
    """Write those of Row's files that are due.

    Raises: OSError; each file is then either unchanged or completely written.
    """
    paths = Paths.of(root)
    row, directories = stored.row, stored.directories
    trailer = TRAILER.pack(TRAILER_MAGIC, bytes.fromhex(stored.lineage), stored.state.generation)
    if what.submitted:
        jobs = exported_jobs(stored)
        table = directories.table
        named = {a: {table[at]: job for at, job in found.items()} for a, found in jobs.items()}
        identity = _replace(paths.submitted, encode_submitted(named) + trailer)
        row = row._replace(submitted_identity=identity, submitted=jobs)
    if what.completed:
        completed = exported_completed(stored)
        data = encode_completed_blocks(completed_blocks(directories.table, completed))
        identity = _replace(paths.completed, data + trailer)
        row = row._replace(completed_identity=identity, completed=completed)
    if what.directories:
        identity = _replace(
            paths.directories, directories_json(directories, stored.workspace_mtime_ns)
        )
        row = row._replace(directories_identity=identity, directories=_version(stored))
    return WrittenRowFiles(row, directories.file)


def with_written(stored: Stored, written: WrittenRowFiles, what: Due) -> Stored:
    """Return records with the current content of Row's files.

    If the directories changed in between, the sets in `written` refer to other positions; the files
    then look changed, their trailer shows that rowtui wrote them, and they are read again.
    """
    row, new = stored.row, written.row
    if new.aside.items() - row.aside.items():
        row = row._replace(aside=row.aside | new.aside)
        stored = stored._replace(row=row)
    if stored.directories.file != written.directories:
        return stored
    if what.completed or what.submitted:
        row = row._replace(names_gone=False)
    if what.completed:
        row = row._replace(completed_identity=new.completed_identity, completed=new.completed)
    if what.submitted:
        row = row._replace(submitted_identity=new.submitted_identity, submitted=new.submitted)
    if what.directories:
        row = row._replace(
            directories_identity=new.directories_identity, directories=new.directories
        )
    return stored._replace(row=row)


def clean_row_files(root: Path, *, directories: bool, submitted: bool, completed: bool) -> None:
    """Delete these of Row's files, as `row clean` does. Raises: OSError."""
    paths = Paths.of(root)
    for path, chosen in zip(paths, (completed, submitted, directories), strict=True):
        if chosen:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
            except OSError:  # a folder at this path
                set_aside(DamagedFile(path, identity_by(os.stat(path))))


MOST_ASIDE = 10  # damaged files of one name that are kept


def set_aside(file: DamagedFile) -> str | None:
    """Keep a damaged file under a second name, where late writes of Row are found.

    Returns that name ("": not kept), or None if the path has another file by now. A file stays at
    its path until a new one replaces it, so that no other process finds none; a folder is renamed.
    Raises: OSError.
    """
    path, seen = file
    kept = ""
    for number in range(MOST_ASIDE):
        aside = path.with_name(f"{path.name}.damaged{number or ''}")
        if os.path.lexists(aside):
            if identity_of(aside) != seen:
                continue
        elif path.is_dir():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.rename(f"{path}/", aside)  # with the slash, a file is never renamed
                return aside.name
            return None
        else:
            try:
                os.link(path, aside)
            except (FileExistsError, FileNotFoundError):
                return None  # so that the file is looked at again
            except OSError:  # a file system without hard links
                write_synced(aside, path.read_bytes())
        kept = aside.name
        break
    return kept if identity_of(path) == seen else None


def _replace(path: Path, data: bytes) -> Identity:
    """Replace a file; return the identity that it will have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_sibling(path)
    try:
        write_synced(temporary, data)
        identity = identity_of(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)
    assert identity is not None
    return identity


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
            if imported.busy:
                return ExportedRecords(stored, tuple(dict.fromkeys(notices)))
            kept = {set_aside(file): file for file in imported.damaged}
            if None in kept:
                continue  # another process has replaced the file
            aside = {name: file.identity for name, file in kept.items() if name}
            stored = stored._replace(row=stored.row._replace(aside=stored.row.aside | aside))
            bad = {file.path for file in imported.damaged}
            late = zip(due(stored), Paths.of(store.root), strict=True)
            what = Due(*(is_due or path in bad for is_due, path in late))
            if not any(what):
                break
            written = write_row_files(store.root, stored, what)
            stored = store.commit(partial(with_written, written=written, what=what))
        except NotSavedError as error:
            return ExportedRecords(stored, (*notices, error.message))
        except OSError as error:
            reason = not_saved(store.root / ".row", error).message
            return ExportedRecords(stored, (*notices, f"Row's files are not up to date: {reason}"))
    if stored is not None and not due(stored).completed:
        discard_staged(store.root, set(list_staged(store.root)) & stored.consumed.keys())
    return ExportedRecords(stored, tuple(dict.fromkeys(notices)))
