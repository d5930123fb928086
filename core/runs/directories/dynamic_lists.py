"""The lists that the jobs of a run made: the known lists, and the samples that new lists add.

Takes the successful jobs, reads their lists and grows the graph. An invalid list affects only its
own sample.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import file_size, plural, visible
from rowtui.core.network.definition.spec import JSON, NODE_KEY, Network
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.samples.domain import value_key
from rowtui.core.network.samples.sample_flow import ListKey
from rowtui.core.runs.model import Event, Grew, MadeEntry
from rowtui.core.runs.snapshot import refuse_collisions

# Read a list that a job made; each entry becomes a sample.
#
# Takes a directory's product, a JSON list; gives its entries, each with the value of the dimension
# that the list adds, and the further keys of its value file. A scalar is the value itself; an
# object holds the value under the dimension's name. Errors are reported to the user and concern
# only this list.


LIMIT = 64 << 20  # bytes
LONGEST = 1_000_000  # entries


class ListProduct(NamedTuple):
    """A list that was read. `digest`: SHA-256 of the file, in hex."""

    entries: tuple[MadeEntry, ...]
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
                f"{what}: the list is missing",
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
            "correct the output of the action, then run the action again for this sample",
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


def _entries(items: list[JSON], dimension: str, taken: frozenset[str]) -> tuple[MadeEntry, ...]:
    entries: list[MadeEntry] = []
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
        entries.append(MadeEntry(value, more, position))
    return tuple(entries)


def _kind(value: JSON) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


class NewLists(NamedTuple):
    """The new lists as events to be recorded, and the reasons why other jobs' lists are invalid."""

    grew: list[Grew]
    broken: dict[int, str]


class TakenLists:
    """The lists of one run. `known`: by the directory that holds each list."""

    def __init__(self, network: Network) -> None:
        self.known: dict[ListKey, dict[str, Sequence[MadeEntry]]] = {}
        self._makers = _lists_of(network)

    def remember(self, event: Grew) -> None:
        """Add a list from the journal."""
        key = (event.node, event.output, event.dimension)
        self.known.setdefault(key, {})[event.sample] = event.entries

    def has(self, event: Event) -> bool:
        """Whether the lists of an event are known already."""
        if not isinstance(event, Grew):
            return True
        known = self.known.get((event.node, event.output, event.dimension), {})
        return known.get(event.sample) == event.entries

    def lacks(self, growth: Growth, job: int) -> bool:
        """Whether a job makes a list that is not known yet, so its collecting jobs are
        not either.
        """
        node = growth.where(job).node
        directory = growth.directory(job) if node in self._makers else ""
        return any(
            directory not in self.known.get((node, *each), {})
            for each in self._makers.get(node, ())
        )

    def take(self, growth: Growth, workspace: Path, jobs: Iterable[int]) -> NewLists:
        """Read the lists of complete jobs, and grow the graph."""
        came = NewLists([], {})
        read: list[tuple[int, Grew]] = []
        for job in jobs if self._makers else ():
            node = growth.where(job).node
            for output, dimension in self._makers.get(node, ()):
                directory = growth.directory(job)
                if directory in self.known.get((node, output, dimension), {}):
                    continue
                taken = growth.flow.columns(node).names
                try:
                    found = read_list(workspace, directory, output, dimension, taken)
                except ListError as error:
                    came.broken[job] = error.message
                    continue
                now = time.time()
                event = Grew(now, node, directory, output, dimension, found.digest, found.entries)
                read.append((job, event))
        self._grow(growth, read, came)
        return came

    def _grow(self, growth: Growth, read: Sequence[tuple[int, Grew]], came: NewLists) -> None:
        """Grow the graph by these lists; mark only the lists as invalid that the graph
        cannot take.
        """
        if not read:
            return
        known = {key: dict(each) for key, each in self.known.items()}
        for _, event in read:
            key = (event.node, event.output, event.dimension)
            known.setdefault(key, {})[event.sample] = event.entries
        try:
            growth.grow(known, refuse_collisions)
        except RowtuiError as error:
            if len(read) == 1:
                came.broken[read[0][0]] = error.message
            else:
                half = len(read) // 2
                self._grow(growth, read[:half], came)
                self._grow(growth, read[half:], came)
            return
        self.known = known
        came.grew.extend(event for _, event in read)


def _lists_of(network: Network) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the lists that each node's jobs make: output and dimension, as links expand them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for node in network.nodes:
        for it in node.inputs:
            for link in it.links:
                if link.expand and (link.output, link.expand) not in found.get(link.source, ()):
                    found.setdefault(link.source, []).append((link.output, link.expand))
    return found
