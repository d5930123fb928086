"""Facts of one file on one side, the paths that may be copied, and the patterns of wanted files.

Paths are relative to the project, with `/`, as `os.fsdecode` returns them; paths that lead out of
the project (absolute, `..`) are rejected here. A pattern is a glob: `*` and `?` match within one
name, `**` across names, and a pattern that matches a directory also matches all files in it. A
pattern without a slash matches a name at any depth; any other pattern starts at the top.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult, Trouble

if TYPE_CHECKING:
    from rowtui.core.base.document import Moment, TextOrNull

# Turn the reasons why files could not be copied into errors with hints for the user.
#
# The input is the output of a program on the cluster or on this machine, or a `CommandResult`; the
# result is a `MirrorError`.


class CopyFailure(enum.Enum):
    """The reason why files could not be copied."""

    FULL = "full"  # no space, a quota, or a file that is larger than allowed
    DENIED = "denied"
    CUT = "cut"  # the connection broke, or could not be made
    TAKEN = "taken"  # the place of the copy is used for something else
    LACKING = "lacking"  # a program is missing, or too old
    TOO_MANY = "too many"
    OTHER = "other"


class MirrorError(RowtuiError):
    """Files could not be copied."""

    def __init__(self, cause: CopyFailure, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.cause = cause


_AGAIN = "do the same again: it goes on where it stopped"
# English messages of programs, and their meaning.
_WORDS = (
    ("No space left", CopyFailure.FULL, "the disk is full"),
    ("quota exceeded", CopyFailure.FULL, "the disk quota is exceeded"),
    ("File too large", CopyFailure.FULL, "a file is larger than is allowed"),
    (
        "Wrote only",
        CopyFailure.FULL,
        "the disk is full or a quota is exceeded",
    ),  # tar, at a short write
    ("Read-only file system", CopyFailure.DENIED, "the file system is read-only"),
    ("permission denied", CopyFailure.DENIED, "permission is denied"),
    ("operation not permitted", CopyFailure.DENIED, "permission is denied"),
    ("connection unexpectedly closed", CopyFailure.CUT, ""),
    ("broken pipe", CopyFailure.CUT, ""),
    ("connection lost", CopyFailure.CUT, ""),
    ("connection reset", CopyFailure.CUT, ""),
)
_HINTS = {
    CopyFailure.FULL: f"make room there (files, quota), then {_AGAIN}",
    CopyFailure.DENIED: "see who owns that folder and whether it may be written",
}


def explain(said: str, where: str, what: str, folder: str = "") -> MirrorError:
    """Return the error for the output of a program.

    `where`: a cluster's name, or `this machine`. `folder`: the folder that files were written to,
    if known.
    """
    lines = [line for line in said.strip().splitlines() if line.strip()]
    place = f"in {visible(folder)} on {where}" if folder else f"on {where}"
    for words, cause, means in _WORDS:
        for line in lines:
            if words.lower() not in line.lower():
                continue
            text = visible(line.strip())
            if cause is CopyFailure.CUT:
                return cut(where, text)
            return MirrorError(cause, f"{what}: {means} {place}: {text}", _HINTS[cause])
    tail = f": {visible(lines[-1].strip())}" if lines else ""
    return MirrorError(CopyFailure.OTHER, f"{what} {place} did not work{tail}")


def cut(where: str, detail: str = "") -> MirrorError:
    """Return the error for a connection that broke or could not be made."""
    tail = f": {visible(detail)}" if detail else ""
    return MirrorError(CopyFailure.CUT, f"the connection to {where} is not there{tail}", _AGAIN)


def explain_result(result: CommandResult, where: str, what: str, folder: str = "") -> MirrorError:
    """Return the error for a command that did not end with status 0."""
    if result.trouble in (Trouble.LOST, Trouble.UNREACHABLE, Trouble.TIMED_OUT):
        return cut(where, result.complaint)
    if result.trouble is Trouble.NOT_STARTED:
        return MirrorError(CopyFailure.LACKING, f"{what} on {where}: {result.complaint}")
    return explain(result.stderr.decode(errors="surrogateescape"), where, what, folder)


# The received part of an interrupted file is in a directory of this name beside its destination.
PARTIAL = ".rowtui-part"
MARKER = ".rowtui-copy"  # names, inside a copy, the project that it is a copy of
_OURS = frozenset({PARTIAL, MARKER})

FILE, LINK, FOLDER = "file", "link", "folder"


class ShownFile(NamedTuple):
    """A file of a project or a copy. `size`: bytes. `target`: of a link."""

    kind: str
    size: int | None
    modified_at: Moment
    target: TextOrNull


class FileFacts(NamedTuple):
    """One file on one side. Two equal `FileFacts` count as the same content.

    `kind`: `file`, `link` (`target` is the link's text, never followed) or `folder`; links and
    folders have neither size nor time. `executable`: whether the owner may execute the file; False
    for other kinds.
    """

    size: int
    mtime_ns: int
    kind: str = FILE
    target: str = ""
    executable: bool = False

    def as_document(self) -> ShownFile:
        """Return what the kind has of it, with the time in seconds."""
        if self.kind != FILE:
            return ShownFile(self.kind, None, 0.0, self.target)
        return ShownFile(self.kind, self.size, self.mtime_ns / 1e9, "")


FOLDER_FACTS = FileFacts(0, 0, FOLDER)


class WantedFiles(NamedTuple):
    """Some files of a project. `paths` are files, or folders with all that is in them.

    `only`: patterns, relative to each of `paths` ("" is the project); () selects all files.
    `exclude`: patterns, relative to the project. `hidden`: whether names that begin with a dot are
    selected. `largest`: bytes; larger files are left out with a notice.
    """

    paths: tuple[str, ...]
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = True
    largest: int | None = None

    def taker(self) -> Callable[[str], bool]:
        """Return the function that decides by the name alone whether a path is selected."""
        bases = frozenset(distinct(self.paths))

        def takes(path: str) -> bool:
            base = next((above for above in (path, *parents(path), "") if above in bases), None)
            return base is not None and self.descends(path, base) and self.picks(path, base)

        return takes

    def descends(self, path: str, base: str) -> bool:
        """Whether `path`, at or below `base`, and the files in it may be listed."""
        if any(name in _OURS for name in path.split("/")):
            return False
        if not self.hidden and any(name[:1] == "." for name in names_below(path, base)):
            return False
        return not any(matches(path, pattern) for pattern in self.exclude)

    def picks(self, path: str, base: str) -> bool:
        """Whether `only` selects a path at or below `base`."""
        if not self.only:
            return True
        inside = path if not base else path[len(base) + 1 :]
        return any(matches(inside, pattern) for pattern in self.only)


class MirrorSelection(NamedTuple):
    """The files to be made equal on both sides, and notices about the selection for the user."""

    wanted: tuple[WantedFiles, ...]
    notices: tuple[str, ...] = ()

    def taker(self) -> Callable[[str], bool]:
        """Return the function that decides by the name alone whether a path is selected."""
        takers = [wanted.taker() for wanted in self.wanted]
        return lambda path: any(takes(path) for takes in takers)

    @property
    def above(self) -> frozenset[str]:
        """The folders above `paths`: these may be links, on either side."""
        paths = (path for wanted in self.wanted for path in wanted.paths)
        return frozenset(parent for path in paths for parent in parents(path))


def is_relative(path: str) -> bool:
    """Whether a path stays inside the project and is normalised."""
    return bool(path) and "\0" not in path and all(
        name not in ("", ".", "..") for name in path.split("/")
    )  # fmt: skip


def is_below(path: str, base: str) -> bool:
    """Whether `path` is `base` or lies in it; every path lies in ""."""
    return not base or path == base or path.startswith(base + "/")


def parents(path: str) -> Iterator[str]:
    """Yield the folders above a path, the outermost first, without the project itself."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def names_below(path: str, base: str) -> Sequence[str]:
    """Return the names of a path after those of `base`."""
    inside = path if not base else path[len(base) + 1 :]
    return inside.split("/") if inside else ()


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern matches a path or a folder above it."""
    return _compiled(pattern).match(path) is not None


def literal(path: str) -> str:
    """Return the pattern that matches exactly this path, with special characters escaped."""
    return "/" + re.sub(r"([*?\\])", r"\\\1", path)


def complaint_about(pattern: str) -> str:
    """Return why a pattern is invalid, or "" if it is valid."""
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
    """Convert a glob for one name to a regular expression; a backslash quotes a character."""
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
    """Remove the paths that lie in another of the paths, and sort the others by their names."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: path.split("/")):
        if not kept or not is_below(path, kept[-1]):
            kept.append(path)
    return tuple(kept)
