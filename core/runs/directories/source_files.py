"""Read sources: files that match a pattern and directories of the workspace become samples.

Takes a project and a source; gives its samples, with notices for the user. All reading is bounded.
Tables are read by `source_tables.py`, values by `core/network/samples/sources.py`. Two directories
that are equal in all dimensions are an error that names both. Source: network.toml
(`core/network/definition/spec.py`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache
from hashlib import sha256
from pathlib import Path
from re import compile as compiled
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, visible
from rowtui.core.base.values import MISSING, resolve
from rowtui.core.network.definition.spec import (
    JSON,
    NODE_KEY,
    Existing,
    FileSource,
    Source,
    SourceRows,
    TableSource,
    Values,
)
from rowtui.core.network.samples.domain import coded, first_repeat, value_key
from rowtui.core.network.samples.model import SourceError
from rowtui.core.network.samples.names import CUT, escaped
from rowtui.core.network.samples.sources import expand_values
from rowtui.core.runs.directories.source_tables import read_table, refuse_path

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


MOST_FILES: Final = 1_000_000
MOST_NOTICES: Final = 20


class Read(NamedTuple):
    """The samples of a source, and notices about entries that were left out."""

    rows: SourceRows
    notices: tuple[str, ...] = ()


def read_source(project: OpenProject, source: Source) -> Read:
    """Return the samples of a source as on disk now (directories: as last synchronised).

    Raises: SourceError.
    """
    data, default = source.data, source.default
    if default is None:
        return _read(project, source)
    is_there = not isinstance(data, TableSource) or os.path.lexists(project.root / data.path)
    nothing = Read(SourceRows(source.name, (), (), codes=()))
    read = _read(project, source) if is_there and data != Values({}) else nothing
    if read.rows.count:
        return read
    values = tuple((value,) for value in default.values())
    missing = frozenset(() if default else (0,))
    rows = SourceRows(source.name, tuple(default), values, missing=missing)
    what = "its default is used" if default else "jobs run without it"
    notice = f"source '{visible(source.name)}' has no samples: {what}"
    return Read(rows, (*read.notices, notice))


def _read(project: OpenProject, source: Source) -> Read:
    data = source.data
    if isinstance(data, Values):
        return Read(expand_values(data, source.name))
    if isinstance(data, TableSource):
        return Read(read_table(project.root, source.name, data))
    if isinstance(data, FileSource):
        return read_files(project.root, source.name, data)
    return _read_directories(project, source.name, data)


def read_files(root: Path, source: str, data: FileSource) -> Read:
    """Return a sample for each file that matches the pattern.

    Raises: SourceError.
    """
    refuse_path(source, data.pattern)
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
                aside.add(f"file {visible(path)} is not counted: its name is not UTF-8")
        paths = named
    digest = sha256(listing).hexdigest()
    return Read(rows_from_files(source, paths, data.dimension, digest=digest), aside.notices())


def _is_unicode(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def rows_from_files(
    source: str, paths: Sequence[str], dimension: str, *, digest: str = ""
) -> SourceRows:
    """Return a sample for each path; the paths are distinct."""
    return SourceRows(source, (dimension,), (tuple(paths),), digest=digest)


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
            aside.add(f"directory {visible(name)} is not counted: {visible(bad[at])}")
            continue
        names.append(name)
        values.append(directories.value(at))
    rows, notices = rows_from_directories(source, data, names, values)
    return Read(rows, (*aside.notices(), *notices))


def rows_from_directories(
    source: str,
    data: Existing,
    names: Iterable[str],
    values: Iterable[JSON],
) -> tuple[SourceRows, tuple[str, ...]]:
    """Return a sample for each included directory that no network made, and notices.

    `values` are those of the value files, None without one. Directories that lack a dimension are
    left out with a notice. Raises: SourceError: two directories with the same values in all
    dimensions.
    """
    pointers = ["/" + name for name in data.dimensions]
    aside = LeftOutNotices()
    dimensions = data.dimensions or (source,)
    taken: list[str] = []
    columns: list[list[JSON]] = [[] for _ in dimensions]
    for name, value in zip(names, values, strict=True):
        if not is_included(name, data.include) or made_by_network(name, value):
            continue
        try:
            name.encode()
            row = [name] if not pointers else [_dimension(value, it) for it in pointers]
        except UnicodeEncodeError:
            aside.add(f"directory {visible(name)} has a name that is not UTF-8")
        except RowtuiError as error:
            aside.add(f"directory {visible(name)} is not counted: {error.message}")
        else:
            taken.append(name)
            for column, found in zip(columns, row, strict=True):
                column.append(found)
    both = [coded(c, d, source) for c, d in zip(columns, dimensions, strict=True)]
    codes = tuple(codes for _, codes in both)
    repeat = first_repeat(codes)
    if repeat is not None:
        raise SourceError(
            source,
            f"directories {visible(taken[repeat[0]])} and {visible(taken[repeat[1]])} have the same"
            f" {visible(' and '.join(dimensions))}",
            "name more of their keys in `dimensions`, or leave some directories out by `include`",
        )
    distinct = tuple(values for values, _ in both)
    return SourceRows(source, dimensions, distinct, codes, names=tuple(taken)), aside.notices()


def is_included(name: str, include: Sequence[str]) -> bool:
    """Whether one of the patterns matches the name; without patterns, all names match."""
    return not include or any(fnmatchcase(name, pattern) for pattern in include)


def made_by_network(name: str, value: JSON) -> bool:
    """Whether a network made a directory, by its value and its name."""
    home = value.get(NODE_KEY) if isinstance(value, dict) else None
    if not isinstance(home, str):
        return False
    start = escaped(home)
    kept, cut, _ = name.partition(CUT)
    return kept.startswith(start + ",") or (start.startswith(kept) if cut else name == start)


class LeftOutNotices:
    """Notices about entries that were left out: the first few as texts, the others counted."""

    def __init__(self) -> None:
        """Start with no notices."""
        self._said: dict[str, None] = {}
        self._more = 0

    def add(self, notice: str) -> None:
        """Add a notice."""
        if len(self._said) < MOST_NOTICES:
            self._said[notice] = None
        elif notice not in self._said:
            self._more += 1

    def notices(self) -> tuple[str, ...]:
        """Return the notices, with the number of further ones."""
        rest = (f"{count(self._more)} more are not counted",) if self._more else ()
        return (*self._said, *rest)


def _dimension(value: JSON, pointer: str) -> JSON:
    found = resolve(value, pointer)
    if found is MISSING:
        raise RowtuiError(f"its value has no {visible(pointer)}")
    value_key(found)
    return found
