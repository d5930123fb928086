"""Whether the code of a mapping file may run: by its owner, or by the user's trust.

Mapping files contain Python. The code of a file may run if the file is the user's own configuration
(no other user can have written it), or if the user trusted exactly this content. The store keeps
the whole text, so that a changed file can be shown as a difference; a text that no longer matches
its digest is ignored.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, sync_folder, temporary_sibling, write_synced
from rowtui.core.base.lazy import hashlib
from rowtui.core.base.text import plural, visible

LARGEST_SOURCE = 10_000_000  # bytes of one mapping file; the largest known files have 1 MB
_LARGEST_RECORD = 1 << 20  # bytes of the JSON beside a trusted text
_DIGEST = 64  # characters of a SHA-256 in hexadecimal
_VERSION = 1

# difflib takes up to quadratic time: more changed lines than these are listed, not aligned.
_MOST_ALIGNED = 1_000
_WIDEST = 1_000  # characters of one line of a difference


def digest_of(data: bytes) -> str:
    """Return the name of a content: its SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def day(at: float) -> str:
    """Return the local day of a time (seconds since 1970), `2026-11-21`."""
    if not abs(at) < 1e11:  # a damaged record, infinite or not a number
        return "an unknown day"
    return time.strftime("%Y-%m-%d", time.localtime(at))


def own_file_objection(real: Path, folder: Path) -> str:
    """Return why a file is not the user's own configuration; "" if it is.

    `real`: the file with links resolved; `folder`: the configuration folder. The file must be
    inside the folder. The file, its folders up to `folder` and `folder` itself must belong to this
    user or to root, and no other user may write to them. A file that is reached through a link out
    of the folder is not the user's own configuration.
    """
    own = Path(os.path.realpath(folder))
    if own not in real.parents:
        return f"it is really {visible(str(real))}, outside your configuration folder"
    below = real.relative_to(own).parts
    for path in (own, *(own.joinpath(*below[: n + 1]) for n in range(len(below)))):
        objection = _others_may_write(path)
        if objection:
            return objection
    return ""


def _others_may_write(path: Path) -> str:
    """Return why users other than this user and root can change a path; "" if they cannot."""
    try:
        status = path.lstat()
    except OSError as error:
        return f"{visible(str(path))} cannot be looked at: {error.strerror}"
    if status.st_uid not in (0, os.getuid()):
        return f"{visible(str(path))} belongs to another user (uid {status.st_uid})"
    for bit, who in ((stat.S_IWOTH, "everybody"), (stat.S_IWGRP, "its group")):
        if status.st_mode & bit:
            return f"{visible(str(path))} can be written by {who}"
    return ""


class TrustRecord(NamedTuple):
    """A record that the user trusted a content under a name, and when (seconds since 1970)."""

    digest: str
    name: str
    at: float


class TrustStore:
    """The contents that this user trusted: for each digest the whole text and a small JSON."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def is_trusted(self, digest: str) -> bool:
        """Whether exactly this content was trusted, and its record is undamaged."""
        return self.record(digest) is not None

    def record(self, digest: str) -> TrustRecord | None:
        """Return the record with the last name and time of trusting this content, or None."""
        return max(self._records(digest), key=lambda record: record.at, default=None)

    def trust(self, name: str, data: bytes, now: float) -> str:
        """Record that the user trusts this content under this name, and return its digest.

        `name`: an absolute path or a URL, by which a later version is compared with this one.
        Raises: RowtuiError if the store is writable by other users or cannot be written.
        """
        import json

        if len(data) > LARGEST_SOURCE:
            raise RowtuiError(f"{visible(name)} is too large to be trusted")
        digest = digest_of(data)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            objection = self.objection()
            if objection:
                hint = "inspect its content, then remove the folder and trust your files again"
                raise RowtuiError(f"nothing can be trusted: {objection}", hint)
            names = {record.name: record.at for record in self._records(digest)}
            names[visible(name)] = now
            record = {
                "version": _VERSION,
                "sha256": digest,
                "names": [{"name": name, "at": at} for name, at in names.items()],
            }
            _replace_private(self._text(digest), data)
            _replace_private(self._json(digest), json.dumps(record, indent=1).encode() + b"\n")
        except OSError as error:
            message = f"{visible(str(self.folder))} cannot be written: {error.strerror}"
            raise RowtuiError(message) from None
        return digest

    def revoke(self, digest: str) -> bool:
        """Revoke the trust in this content, under any name; return False if it was not trusted.

        Raises: RowtuiError if the store cannot be changed.
        """
        if not _is_digest(digest):
            return False
        was = self.is_trusted(digest)
        try:
            for path in (self._json(digest), self._text(digest)):
                path.unlink(missing_ok=True)
        except OSError as error:
            message = f"{visible(str(self.folder))} cannot be changed: {error.strerror}"
            raise RowtuiError(message) from None
        return was

    def last_trusted(self, name: str) -> bytes | None:
        """Return the content last trusted under this name, to compare a new content with it."""
        name = visible(name)
        mine = [record for record in self.listing() if record.name == name]
        return self._content(mine[-1].digest) if mine else None

    def listing(self) -> tuple[TrustRecord, ...]:
        """Return all trusted contents, the oldest first."""
        try:
            files = os.listdir(self.folder)
        except OSError:
            return ()
        digests = [file.removesuffix(".json") for file in files if file.endswith(".json")]
        records = [record for digest in digests for record in self._records(digest)]
        return tuple(sorted(records, key=lambda record: (record.at, record.name, record.digest)))

    def objection(self) -> str:
        """Return why the whole store is ignored; "" if it is not, or does not exist yet."""
        real = Path(os.path.realpath(self.folder))
        return _others_may_write(real) if os.path.lexists(real) else ""

    def _text(self, digest: str) -> Path:
        return self.folder / f"{digest}.yml"

    def _json(self, digest: str) -> Path:
        return self.folder / f"{digest}.json"

    def _content(self, digest: str) -> bytes | None:
        """Return the text of a digest, if it still has this digest."""
        try:
            data = read_bounded(self._text(digest), LARGEST_SOURCE)
        except (OSError, RowtuiError):
            return None
        return data if digest_of(data) == digest else None

    def _records(self, digest: str) -> tuple[TrustRecord, ...]:
        """Return the names under which a content was trusted; none if the record is damaged."""
        import json

        if not _is_digest(digest) or self.objection():
            return ()
        try:
            data = read_bounded(self._json(digest), _LARGEST_RECORD)
            record = json.loads(data)
            if record["version"] != _VERSION or record["sha256"] != digest:
                return ()
            found = tuple(
                TrustRecord(digest, visible(str(entry["name"])), float(entry["at"]))
                for entry in record["names"]
            )
        except (OSError, RowtuiError, ValueError, LookupError, TypeError, RecursionError):
            return ()
        return found if self._content(digest) is not None else ()


def _is_digest(text: str) -> bool:
    return len(text) == _DIGEST and all(char in "0123456789abcdef" for char in text)


def _replace_private(path: Path, data: bytes) -> None:
    """Replace a file that only this user may read, in one step."""
    temporary = temporary_sibling(path)
    try:
        write_synced(temporary, data, 0o600)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def difference(old: bytes | None, new: bytes, name: str, most_lines: int = 1_000) -> list[str]:
    """Return the change since a content was trusted: unified diff lines, safe to show.

    `old`: the content trusted before, None if there was none. At most `most_lines` lines of the
    difference are returned; omitted parts (more lines, the end of a long line) are counted in their
    place.
    """
    before = [] if old is None else _lines(old)
    after = _lines(new)
    if before == after:
        return []
    name = visible(name)
    shown = [f"--- {name} (trusted)" if old is not None else "--- nothing trusted before"]
    shown.append(f"+++ {name} (now)")
    left_out = 0
    for line in _changes(before, after):
        if len(shown) < most_lines + 2:
            shown.append(line[0] + _narrow(line[1:]))
        else:
            left_out += 1
    if left_out:
        shown.append(f"... and {plural(left_out, 'more line')} of difference, not shown")
    return shown


def _lines(data: bytes) -> list[str]:
    """Return the lines of a text; text behind the last newline is a line if it is not empty."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lines[-1]:
        return [*lines[:-1], lines[-1] + "\n"]  # so that the line differs from one with a newline
    return lines[:-1]


def _narrow(line: str) -> str:
    end = ""
    if line.endswith("\n"):
        line, end = line[:-1], " (no newline at the end)"
    more = len(line) - _WIDEST
    if more > 0:
        line, end = line[:_WIDEST], f" ... and {plural(more, 'more character')}{end}"
    return visible(line) + end


def _changes(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the hunks of a unified diff; equal beginnings and ends are compared only once."""
    import difflib

    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    first = max(0, start - 3)
    old = before[first : len(before) - max(0, end - 3)]
    new = after[first : len(after) - max(0, end - 3)]
    if max(len(old), len(new)) <= _MOST_ALIGNED:
        hunks = difflib.unified_diff(old, new, lineterm="")
    else:
        hunks = _unaligned(old, new)
    for line in itertools.islice(hunks, 2, None):  # without the headings of difflib
        yield _shifted(line, first) if line.startswith("@@") else line


def _unaligned(old: list[str], new: list[str]) -> Iterator[str]:
    yield from ("---", "+++")
    yield f"@@ -1,{len(old)} +1,{len(new)} @@"
    for sign, lines in (("-", old), ("+", new)):
        for line in lines:
            yield sign + line


def _shifted(heading: str, by: int) -> str:
    """Return `@@ -1,5 +1,6 @@` with line numbers from the beginning of the file."""
    _, old, new, _ = heading.split(" ")
    moved = []
    for part in (old, new):
        number, comma, count = part[1:].partition(",")
        moved.append(f"{part[0]}{int(number) + by}{comma}{count}")
    return f"@@ {moved[0]} {moved[1]} @@"
