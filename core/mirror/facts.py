"""What is known of one file on one side, which path may be copied, and which are wanted.

Paths are relative to the project, with `/`, as `os.fsdecode` gives them; nothing that leads out
of it (absolute, `..`) ever gets further than here. A pattern is a glob: `*` and `?` stay inside
one name, `**` does not, and what lies in a directory that matches is meant too. A pattern without
a slash means a name at any depth, any other is read from the top.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

# What has not arrived whole lies in a directory of this name beside where it will be.
PARTIAL = ".rowtui-part"
MARKER = ".rowtui-copy"  # says in a copy which project it is a copy of
_OURS = frozenset({PARTIAL, MARKER})

FILE, LINK, FOLDER = "file", "link", "folder"


class FileFacts(NamedTuple):
    """One file as one side has it. Two equal ones are taken for the same content.

    `kind`: `file`, `link` (`target` is where it leads, never followed) or `folder`; these two
    have neither size nor time. `executable`: whether its owner may run it; False for other kinds.
    """

    size: int
    mtime_ns: int
    kind: str = FILE
    target: str = ""
    executable: bool = False


FOLDER_FACTS = FileFacts(0, 0, FOLDER)


class Wanted(NamedTuple):
    """Some files of a project. `paths` are files or folders, these with all that they hold.

    `only`: patterns, read from each of `paths` ("" is the project); () takes everything.
    `exclude`: patterns, read from the project. `hidden`: whether names that begin with a dot are
    taken. `largest`: bytes; what is larger is left out and said so.
    """

    paths: tuple[str, ...]
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = True
    largest: int | None = None

    def taker(self) -> Callable[[str], bool]:
        """The function that says whether a path is among them, by its name alone."""
        bases = frozenset(distinct(self.paths))

        def takes(path: str) -> bool:
            base = next((above for above in (path, *parents(path), "") if above in bases), None)
            return base is not None and self.descends(path, base) and self.picks(path, base)

        return takes

    def descends(self, path: str, base: str) -> bool:
        """Whether `path`, which lies at or below `base`, and what is in it may be looked at."""
        if any(name in _OURS for name in path.split("/")):
            return False
        if not self.hidden and any(name[:1] == "." for name in names_below(path, base)):
            return False
        return not any(matches(path, pattern) for pattern in self.exclude)

    def picks(self, path: str, base: str) -> bool:
        """Whether `only` takes a path at or below `base`."""
        if not self.only:
            return True
        inside = path if not base else path[len(base) + 1 :]
        return any(matches(inside, pattern) for pattern in self.only)


class Selection(NamedTuple):
    """What is to be made equal on both sides, and what a person should know of the choice."""

    wanted: tuple[Wanted, ...]
    notices: tuple[str, ...] = ()

    def taker(self) -> Callable[[str], bool]:
        """The function that says whether a path is among it, by its name alone."""
        takers = [wanted.taker() for wanted in self.wanted]
        return lambda path: any(takes(path) for takes in takers)

    @property
    def above(self) -> frozenset[str]:
        """The folders above what was named: these may be links, on either side."""
        paths = (path for wanted in self.wanted for path in wanted.paths)
        return frozenset(parent for path in paths for parent in parents(path))


def is_relative(path: str) -> bool:
    """Whether a path stays inside the project and is spelled in the one way that is used here."""
    return bool(path) and "\0" not in path and all(
        name not in ("", ".", "..") for name in path.split("/")
    )  # fmt: skip


def is_below(path: str, base: str) -> bool:
    """Whether `path` is `base` or lies in it; everything lies in ""."""
    return not base or path == base or path.startswith(base + "/")


def parents(path: str) -> Iterator[str]:
    """The folders that a path lies in, the outermost first, without the project itself."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def names_below(path: str, base: str) -> Sequence[str]:
    """The names of a path that come after those of `base`."""
    inside = path if not base else path[len(base) + 1 :]
    return inside.split("/") if inside else ()


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern means a path, or a folder that it lies in."""
    return _compiled(pattern).match(path) is not None


def literal(path: str) -> str:
    """The pattern that means this very path, whatever characters it has."""
    return "/" + re.sub(r"([*?\\])", r"\\\1", path)


def complaint_about(pattern: str) -> str:
    """Why this is no pattern, or ""."""
    if not pattern.strip("/"):
        return "a pattern that names nothing"
    if "\0" in pattern or any(name in ("..", ".") for name in pattern.split("/")):
        return "patterns stay inside the project: no `.`, no `..`"
    return ""


@functools.lru_cache(4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = "/" in pattern.rstrip("/")
    names = pattern.strip("/").split("/")
    text = "" if anchored else "(?:.*/)?"
    for index, name in enumerate(names):
        last = index == len(names) - 1
        if name == "**":
            text += ".*" if last else "(?:.*/)?"
        else:
            text += _name_expression(name) + ("" if last else "/")
    return re.compile(f"(?s:{text})(?:/|\\Z)")


def _name_expression(name: str) -> str:
    """A glob for one name as a regular expression; a backslash makes the next character plain."""
    text = ""
    at = 0
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            text += "[^/]*" if not text.endswith("[^/]*") else ""
        elif char == "?":
            text += "[^/]"
        elif char == "\\" and at < len(name):
            text += re.escape(name[at])
            at += 1
        else:
            text += re.escape(char)
    return text


def distinct(paths: Iterable[str]) -> tuple[str, ...]:
    """Paths without those that lie in another of them, in the order of their bytes."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: path.split("/")):
        if not kept or not is_below(path, kept[-1]):
            kept.append(path)
    return tuple(kept)
