"""Read a list that a job made; each entry becomes a sample.

Takes a directory's product, a JSON list; gives its entries, each with the value of the dimension
that the list adds, and the further keys of its value file. A scalar is the value itself; an object
holds the value under the dimension's name. Errors are reported to the user and concern only this
list.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Hashable
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import file_size, plural, visible
from rowtui.core.network.definition.spec import JSON, NODE_KEY
from rowtui.core.network.samples.sources import value_key
from rowtui.core.runs.model import Entry

LIMIT = 64 << 20  # bytes
LONGEST = 1_000_000  # entries


class ListProduct(NamedTuple):
    """A list that was read. `digest`: SHA-256 of the file, in hex."""

    entries: tuple[Entry, ...]
    digest: str


class ListError(RowtuiError):
    """A list cannot be used. `missing`: the file does not exist; otherwise its content is wrong."""

    def __init__(self, problem: Problem, *, missing: bool = False) -> None:
        super().__init__(problem.message, problem.hint)
        self.problem = problem
        self.missing = missing


def read_list(
    workspace: Path,
    directory: str,
    output: str,
    dimension: str,
    taken: Collection[str] = (),
) -> ListProduct:
    """Return the entries of a directory's list product, in the list's order.

    `taken`: the dimensions that the sample has already; no entry may have a key with such a name.
    Raises: ListError.
    """
    path = workspace / directory / output
    what = f'"{visible(output)}" of sample {visible(directory)}'
    try:
        data = read_bounded(path, LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        raise ListError(
            Problem(
                str(path),
                0,
                0,
                f"{what}: the list that was promised never came",
                "the job ended without it: see its log, and the paths that its command writes to",
            ),
            missing=True,
        ) from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise _wrong(path, what, f"it cannot be read: {said}") from None
    except RowtuiError:
        raise _wrong(
            path, what, f"it is not a regular file of at most {file_size(LIMIT)}"
        ) from None
    try:
        entries = _entries(_parse(data), dimension, frozenset((NODE_KEY, *taken)))
    except _WrongError as error:
        raise _wrong(path, what, error.why, error.line, error.column) from None
    return ListProduct(entries, hashlib.sha256(data).hexdigest())


class _WrongError(Exception):
    def __init__(self, why: str, line: int = 0, column: int = 0) -> None:
        super().__init__(why)
        self.why, self.line, self.column = why, line, column


def _wrong(path: Path, what: str, why: str, line: int = 0, column: int = 0) -> ListError:
    place = f"line {line}, column {column}: " if line else ""
    return ListError(
        Problem(
            str(path),
            line,
            column,
            f"{what}: {place}{why}",
            "mend what the action writes, then run it again for this sample",
        )
    )


def _parse(data: bytes) -> list[JSON]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _WrongError(f"byte 0x{data[error.start]:02x} is not UTF-8", line, column) from None
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        why = "it is empty" if not text.strip() else f"it is not JSON: {error.msg}"
        raise _WrongError(why, error.lineno, error.colno) from None
    except RecursionError:
        raise _WrongError("it is nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise _WrongError(f"it is not JSON that can be used: {error}") from None
    if not isinstance(value, list):
        raise _WrongError(f"it is {_kind(value)}, not a list")
    if len(value) > LONGEST:
        raise _WrongError(f"it has {plural(len(value), 'entry', 'entries')}, more than {LONGEST:,}")
    return value


def _no_constant(text: str) -> None:
    raise _WrongError(f"{text} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _WrongError(f"{text[:40]} is too large a number")
    return number


def _entries(items: list[JSON], dimension: str, taken: frozenset[str]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    first: dict[Hashable, int] = {}
    for position, item in enumerate(items):
        more: dict[str, JSON] = {}
        value: JSON = item
        if isinstance(item, dict):
            more = dict(item)
            if dimension not in more:
                raise _WrongError(
                    f'entry {position} is an object without the key "{visible(dimension)}", whose '
                    "value its sample is called after"
                )
            value = more.pop(dimension)
            clash = next((key for key in more if key in taken), None)
            if clash is not None:
                raise _WrongError(
                    f'entry {position} has the key "{visible(clash)}", which the value file of '
                    "its directory needs for something else"
                )
        if isinstance(value, list | dict):
            where = f'"{visible(dimension)}" of entry' if isinstance(item, dict) else "entry"
            raise _WrongError(
                f"{where} {position} is {_kind(value)}; a number, a text, true, false or null is "
                "wanted"
            )
        try:
            key = value_key(value)
        except RowtuiError as error:
            raise _WrongError(f"entry {position}: {error.message}") from None
        if (before := first.setdefault(key, position)) != position:
            shown = visible(json.dumps(value, ensure_ascii=False))
            raise _WrongError(
                f"entries {before} and {position} are both {shown}: of one list, no two samples "
                "may be the same"
            )
        entries.append(Entry(value, more, position))
    return tuple(entries)


def _kind(value: JSON) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")
