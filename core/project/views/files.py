"""The files of a directory, and the content of one of them in a form for a screen.

The input is a path, the result is a bounded value. Names and contents were written by jobs and are
not trusted: only regular files are opened, without waiting for a writer, and neither the size of a
file nor the depth of its content decides how much is read, computed or returned. The caller escapes
control characters. A text of any size is read by `LogBook`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
from collections.abc import Collection, Iterator
from itertools import accumulate, chain, islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import file_size, visible

MOST_FILES = 1_000
"""Entries of a folder that are listed."""

MOST_JSON = MOST_TABLE = 1_000_000
"""Bytes of a JSON file, and of the beginning of a table, that are laid out."""

MOST_LINES = 20_000
"""Lines of a JSON file."""

MOST_ROWS, MOST_COLUMNS, MOST_CELL = 1_000, 64, 200
"""Rows and columns of a table, and characters of one of its cells."""

IMAGES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
"""Names of pictures end so."""

TEXTS = frozenset({".err", ".log", ".out", ".txt"})
"""Names of texts end so, whatever bytes are in them: a log of gigabytes may have holes."""

_HEAD = 1 << 13  # bytes from which the kind of a file is recognised
_PREVIEW = 200  # lines of a text that come with its kind
_WIDEST = 2_000  # characters of a line
_HEX = 256  # bytes of any other file that are shown
_FOLDED = 80  # characters up to which a JSON object or list stays on one line
_INDENT, _DEEPEST = 2, 40  # columns of a level, and levels that are indented
_PIECES = re.compile(r'"(?:\\.|[^"\\])*"?|[\[\]{}:,]|[^\s\[\]{}:,"]+')


class FileRow(NamedTuple):
    """One entry of a folder. `name` may contain `/` in the name of a product. `size`: bytes."""

    name: str
    folder: bool
    size: int
    modified: float
    product: bool = False


class FolderListing(NamedTuple):
    """The entries of a folder, products first. `more`: some entries are left out."""

    path: str
    rows: tuple[FileRow, ...]
    more: bool = False


class FileContent(NamedTuple):
    """A file. `kind`: text, json, table, image, or bytes.

    `lines` are those of the JSON, of the beginning of a text, or of the bytes in hexadecimal form;
    `rows` are those of a table, its heading first. `note` is a sentence about what is shown.
    """

    path: str
    kind: str
    size: int
    modified: float
    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""


def path_below(workspace: Path, name: str) -> Path:
    """Return the path of a file or folder in the workspace. Raises: RowtuiError if it is outside.

    A symbolic link in the workspace may lead out of it: the user's own jobs made the link.
    """
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in name:
        raise RowtuiError(f"{visible(name) or 'this name'} is not in the workspace")
    return workspace.joinpath(*parts)


def list_files(folder: Path, products: Collection[str] = ()) -> FolderListing:
    """Return the entries of a folder. `products`: paths in the folder. Raises: RowtuiError."""
    found = {name: row for name in products if (row := _row(folder / name, name, product=True))}
    try:
        with os.scandir(folder) as entries:
            others = (entry for entry in entries if entry.name not in found)
            listed = list(islice(others, MOST_FILES + 1))
    except OSError as error:
        why = f"this directory cannot be listed: {error.strerror or error}"
        raise RowtuiError(why, visible(str(folder))) from None
    rows = filter(None, (_row(Path(one.path), one.name) for one in listed[:MOST_FILES]))
    ordered = sorted(rows, key=lambda row: (not row.folder, row.name))
    return FolderListing(str(folder), (*found.values(), *ordered), len(listed) > MOST_FILES)


def _row(path: Path, name: str, *, product: bool = False) -> FileRow | None:
    try:
        facts = path.stat()
    except OSError:
        try:
            facts = path.lstat()  # a link to nothing
        except OSError:
            return None
    return FileRow(name, stat.S_ISDIR(facts.st_mode), facts.st_size, facts.st_mtime, product)


def read_file(path: Path, *, as_text: bool = False) -> FileContent:
    """Return the content of a file; with `as_text`, that of a text. Raises: RowtuiError."""
    try:
        with open(path, "rb", opener=_opened) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise RowtuiError("this is not a file that can be read", visible(str(path)))
            head = file.read(_HEAD)
            size = facts.st_size
            read = FileContent(str(path), "text", size, facts.st_mtime)
            suffix = path.suffix.lower()
            if not as_text and suffix in IMAGES:
                return read._replace(kind="image")
            if not as_text and suffix == ".json" and size <= MOST_JSON:
                return _json(read, head + file.read(MOST_JSON - len(head)))
            if not as_text and suffix in (".csv", ".tsv"):
                data = head + file.read(max(0, MOST_TABLE - len(head)))
                return _table(read, data, suffix)
    except OSError as error:
        why = f"this file cannot be read: {error.strerror or error}"
        raise RowtuiError(why, visible(str(path))) from None
    if not as_text and suffix not in TEXTS and not _is_text(head):
        note = f"no text: the first {min(size, _HEX)} bytes of it"
        return read._replace(kind="bytes", lines=tuple(hex_lines(head[:_HEX])), note=note)
    if suffix == ".json" and not as_text:
        limit = file_size(MOST_JSON)
        read = read._replace(note=f"larger than {limit}, so it is shown as a text")
    return read._replace(lines=_first_lines(head))


def _opened(path: str, flags: int) -> int:
    """Open the file without waiting for the writer of a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _first_lines(data: bytes) -> tuple[str, ...]:
    return tuple(data[:_HEAD].decode("utf-8", "replace").splitlines()[:_PREVIEW])


def _is_text(head: bytes) -> bool:
    """Whether bytes have no NUL, and at most one control character in fifty."""
    controls = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return b"\0" not in head and controls * 50 <= len(head)


def hex_lines(data: bytes) -> Iterator[str]:
    """Yield lines of 16 bytes: the offset, the bytes in hexadecimal form, and as ASCII."""
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in part)
        yield f"{at:06x}  {part[:8].hex(' '):<23}  {part[8:].hex(' '):<23}  {letters}"


def _json(read: FileContent, data: bytes) -> FileContent:
    try:
        text = data.decode("utf-8-sig")
        # Numbers are not converted: one of a million digits would take seconds.
        json.loads(text, parse_int=len, parse_float=len)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        note = f"not valid JSON, so it is shown as a text: {why}"
        return read._replace(lines=_first_lines(data), note=note)
    laid_out = list(islice(json_lines(text), MOST_LINES + 1))
    note = f"the first {MOST_LINES:,} lines" if len(laid_out) > MOST_LINES else ""
    shown = (it[:_WIDEST] + "…" * (len(it) > _WIDEST) for it in laid_out[:MOST_LINES])
    return read._replace(kind="json", lines=tuple(shown), note=note)


def json_lines(text: str, width: int = _FOLDED) -> Iterator[str]:
    """Yield the lines of a JSON text: every value as it is written, indented by its level.

    An object or list inside another one stays on one line if the line then has at most `width`
    characters. The text may be cut anywhere.
    """
    pieces = _PIECES.findall(text)
    widths = [0, *accumulate(len(piece) + (piece in ",:") for piece in pieces)]
    ends: dict[int, int] = {}
    open_ones: list[int] = []
    for at, piece in enumerate(pieces):
        if piece in "[{":
            open_ones.append(at)
        elif piece in "]}" and open_ones:
            ends[open_ones.pop()] = at
    now: list[str] = []
    depth = at = 0
    while at < len(pieces):
        piece = pieces[at]
        end = ends.get(at, at)
        before = _INDENT * depth + sum(map(len, now)) + 1
        room = width - before - widths[end + 1] + widths[at]
        if piece in "[{" and (end == at + 1 or (depth and end > at and room >= 0)):
            now += (_spaced(one) for one in pieces[at : end + 1])
            at = end
        elif piece in "[{":
            yield _indented(depth, [*now, piece])
            now, depth = [], depth + 1
        elif piece in "]}":
            if now:
                yield _indented(depth, now)
            now, depth = [piece], max(0, depth - 1)
        elif piece == ",":
            yield _indented(depth, [*now, piece])
            now = []
        else:
            now.append(_spaced(piece))
        at += 1
    if now:
        yield _indented(depth, now)


def _spaced(piece: str) -> str:
    return f"{piece} " if piece in ",:" else piece


def _indented(depth: int, pieces: list[str]) -> str:
    return " " * _INDENT * min(depth, _DEEPEST) + "".join(pieces).rstrip(" ")


def _table(read: FileContent, data: bytes, suffix: str) -> FileContent:
    text = data.decode("utf-8-sig", "replace")
    whole = read.size <= len(data)
    if not whole:
        text = text[: text.rfind("\n") + 1]
    first = text[: text.find("\n")]
    mark = "\t" if suffix == ".tsv" else max(",;\t", key=first.count)
    lines = io.StringIO(text, newline="")
    try:
        found = list(islice(csv.reader(lines, delimiter=mark), MOST_ROWS + 2))
    except csv.Error as error:
        note = f"not a valid table, so it is shown as a text: {error}"
        return read._replace(lines=_first_lines(data), note=note)
    rows = [[cell[:MOST_CELL] for cell in row[:MOST_COLUMNS]] for row in found if row]
    if not rows:
        return read
    width = max(map(len, rows))
    full = (tuple(chain(row, [""] * (width - len(row)))) for row in rows[: MOST_ROWS + 1])
    cut = not whole or len(found) > MOST_ROWS + 1
    note = f"the first {min(len(rows) - 1, MOST_ROWS):,} rows" if cut else ""
    if width == MOST_COLUMNS and any(len(row) > MOST_COLUMNS for row in found):
        note = f"{note or 'all rows'}, {MOST_COLUMNS} columns at most"
    return read._replace(kind="table", rows=tuple(full), note=note)
