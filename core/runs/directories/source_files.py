"""Read the content of sources: tables, lists of files, the directories of the workspace.

Takes a project and a source; gives its samples, with notices for the user. All reading is bounded.
A row that cannot be used is an error with its file and line, because a missing sample would change
the result. Source: network.toml (`core/network/definition/spec.py`).
"""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import cache
from hashlib import sha256
from pathlib import Path
from re import compile as compiled
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import count, plural, visible
from rowtui.core.base.values import MISSING
from rowtui.core.network.definition.load_tables import path_fault
from rowtui.core.network.definition.spec import (
    Existing,
    FileSource,
    Source,
    SourceRows,
    TableSource,
    Values,
)
from rowtui.core.network.samples.source_rows import (
    LeftOutNotices,
    is_included,
    rows_from_directories,
    rows_from_files,
    rows_from_table,
)
from rowtui.core.network.samples.sources import SourceError, expand_values

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


# Find the files of a project that match a pattern, as `pathlib` does, but with a limit.
#
# Takes the project's folder and a pattern; gives sorted relative paths. `**` does not follow
# symbolic links to folders, so loops of links are harmless. A link that the pattern names, or that
# `*` matches, is followed on purpose. Unreadable entries are reported; `pathlib` omits them.

OWN_FOLDER: Final = ".row"  # rowtui's and Row's records, no data


class TooManyFilesError(Exception):
    """The pattern matches more files than are allowed."""


def find_files(root: str, pattern: str, most: int, tell: Callable[[str, str], None]) -> list[str]:
    """Return the regular files that match a pattern, as paths relative to `root`, sorted as text.

    `pattern` is relative, without `..`. `tell` is called with the path and the reason (possibly
    twice) for each folder that cannot be listed and each broken link. Raises: TooManyFilesError.
    """
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    found: set[str] = set()
    seen: set[tuple[str, int]] = set()
    todo = [("", 0)]
    while todo:
        folder, at = todo.pop()
        if (folder, at) in seen:
            continue
        seen.add((folder, at))
        is_last = at == len(parts) - 1
        if parts[at] == "**":
            if not is_last:
                todo.append((folder, at + 1))
            for name, entry in _entries(root, folder, tell):
                if entry.is_dir(follow_symlinks=False):
                    todo.append((name, at))
                elif is_last and _leads_to(stat.S_ISREG, root, name, entry, tell):
                    found.add(name)
        else:
            fits = _matcher(parts[at])
            for name, entry in _entries(root, folder, tell):
                if not fits(entry.name):
                    continue
                if not is_last:
                    if _leads_to(stat.S_ISDIR, root, name, entry, tell):
                        todo.append((name, at + 1))
                elif _leads_to(stat.S_ISREG, root, name, entry, tell):
                    found.add(name)
        if len(found) > most:
            raise TooManyFilesError
    return sorted(found)


def _entries(
    root: str, folder: str, tell: Callable[[str, str], None]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                if folder or entry.name != OWN_FOLDER:
                    yield (f"{folder}/{entry.name}" if folder else entry.name), entry
    except OSError as error:
        tell(folder or ".", error.strerror or str(error))


def _leads_to(
    is_wanted: Callable[[int], bool],
    root: str,
    path: str,
    entry: os.DirEntry[str],
    tell: Callable[[str, str], None],
) -> bool:
    """Whether the entry is, or links to, the wanted type (a file or a folder)."""
    try:
        if not entry.is_symlink():
            is_file = is_wanted is stat.S_ISREG
            return entry.is_file() if is_file else entry.is_dir()  # mostly without a system call
        return is_wanted(os.stat(os.path.join(root, path)).st_mode)
    except OSError as error:
        tell(path, error.strerror or str(error))
        return False


@cache
def _matcher(part: str) -> Callable[[str], object]:
    return compiled(translate(part)).match


LARGEST_TABLE: Final = 100_000_000  # bytes; a million rows of a hundred characters
MOST_FILES: Final = 1_000_000
_BOM: Final = b"\xef\xbb\xbf"  # the start of UTF-8 files that Excel writes
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class Read(NamedTuple):
    """The samples of a source, and notices about entries that were left out."""

    rows: SourceRows
    notices: tuple[str, ...] = ()


class Cells(NamedTuple):
    """A parsed table: each row has as many cells as the header has names."""

    header: list[str]
    rows: list[list[Any]]
    lines: list[int]


def read_source(project: OpenProject, source: Source) -> Read:
    """Return the samples of a source as on disk now (directories: as last synchronised).

    Raises: SourceError.
    """
    data = source.data
    if isinstance(data, Values):
        return Read(expand_values(data, source.name))
    if isinstance(data, TableSource):
        return Read(read_table(project.root, source.name, data))
    if isinstance(data, FileSource):
        return read_files(project.root, source.name, data)
    return _read_directories(project, source.name, data)


def read_table(root: Path, source: str, data: TableSource) -> SourceRows:
    """Return the samples of a CSV or JSON file.

    Raises: SourceError.
    """
    _refuse_path(source, data.path)
    try:
        content = read_bounded(root / data.path, LARGEST_TABLE)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SourceError(source, f"cannot read {visible(data.path)}: {reason}") from None
    except RowtuiError as error:
        raise SourceError(source, visible(error.message)) from None
    text = _decoded(source, data.path, content)
    cells = (
        _csv_cells(source, data.path, text)
        if data.kind == "csv"
        else _objects(source, data.path, text)
    )
    digest = sha256(content).hexdigest()
    return rows_from_table(source, data, cells.header, cells.rows, cells.lines, digest=digest)


def _refuse_path(source: str, path: str) -> None:
    fault = path_fault(path, "the project")
    if fault:
        raise SourceError(source, f"the path '{visible(path)}' {fault}")


def _decoded(source: str, path: str, content: bytes) -> str:
    if content.startswith(_UTF_16):
        raise SourceError(
            source, f"{visible(path)} is UTF-16, but should be UTF-8", "save it as UTF-8"
        )
    try:
        return content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"0x{error.object[error.start]:02x}"
        raise SourceError(
            source, f"{visible(path)}:{line}: byte {byte} is not UTF-8", "save it as UTF-8"
        ) from None


# CSV


def _csv_cells(source: str, path: str, text: str) -> Cells:
    cells = Cells([], [], [])
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=_delimiter(text),
        skipinitialspace=True,
        strict=True,
    )
    before = 0
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if not cells.header:
                cells.header.extend(cell.strip() for cell in row)
            elif len(row) == len(cells.header):
                cells.rows.append(row)
                cells.lines.append(line)
            else:
                raise SourceError(
                    source,
                    f"{visible(path)}:{line}: {plural(len(row), 'cell')},"
                    f" but {plural(len(cells.header), 'column')}",
                    "cells that hold the delimiter need double quotes",
                )
    except csv.Error as error:
        raise SourceError(source, f"{visible(path)}:{before + 1}: {error}") from None
    if not cells.header:
        raise SourceError(
            source, f"{visible(path)} is empty", "its first line should name the columns"
        )
    return cells


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter, outside quotes, of the first line that is not blank."""
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    bare = "".join(first.split('"')[::2])
    return max(",\t;", key=bare.count)


# JSON


def _objects(source: str, path: str, text: str) -> Cells:
    try:
        entries = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SourceError(
            source, f"{visible(path)}:{error.lineno}:{error.colno}: {error.msg}"
        ) from None
    if not isinstance(entries, list):
        raise SourceError(source, f"{visible(path)} should be a list of objects")
    header: dict[str, None] = {}
    for at, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise SourceError(source, f"{visible(path)}: entry {at} is no object")
        header.update(dict.fromkeys(entry))
    rows = [[entry.get(name, MISSING) for name in header] for entry in entries]
    return Cells(list(header), rows, list(range(1, len(rows) + 1)))


# Files


def read_files(root: Path, source: str, data: FileSource) -> Read:
    """Return a sample for each file that matches the pattern.

    Raises: SourceError.
    """
    _refuse_path(source, data.pattern)
    aside = LeftOutNotices()
    try:
        paths = find_files(
            str(root),
            data.pattern,
            MOST_FILES,
            lambda path, reason: aside.add(f"cannot read {visible(path)}: {reason}"),
        )
    except TooManyFilesError:
        raise SourceError(
            source,
            f"more than the {count(MOST_FILES)} files that are allowed fit"
            f" '{visible(data.pattern)}'",
        ) from None
    listing = "\0".join(paths).encode(errors="surrogateescape")
    if not _is_unicode(listing):
        named = []
        for path in paths:
            if _is_unicode(path.encode(errors="surrogateescape")):
                named.append(path)
            else:
                aside.add(f"file {visible(path)} is set aside: its name is not UTF-8")
        paths = named
    digest = sha256(listing).hexdigest()
    return Read(rows_from_files(source, paths, data.dimension, digest=digest), aside.notices())


def _is_unicode(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


# Directories


def _read_directories(project: OpenProject, source: str, data: Existing) -> Read:
    directories = project.state.directories
    bad = directories.bad
    aside = LeftOutNotices()
    names: list[str] = []
    values: list[Any] = []
    for at, name in enumerate(directories.names()):
        if not is_included(name, data.include):
            continue
        if bad and at in bad:
            aside.add(f"directory {visible(name)} is set aside: {visible(bad[at])}")
            continue
        names.append(name)
        values.append(directories.value(at))
    rows, notices = rows_from_directories(source, data, names, values)
    return Read(rows, (*aside.notices(), *notices))
