"""Find the files of a project that match a pattern, as `pathlib` does, but with a limit.

Takes the project's folder and a pattern; gives sorted relative paths. `**` does not follow symbolic
links to folders, so loops of links are harmless. A link that the pattern names, or that `*`
matches, is followed on purpose. Unreadable entries are reported; `pathlib` omits them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import cache
from re import compile as compiled
from typing import Final

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
