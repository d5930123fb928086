"""Change a few resources of one action in workflow.toml, and no other character.

The input is the bytes of the file, the action and the settings; the output is the new bytes.
Comments, order, spacing, line ends, inline tables and dotted keys stay as the user wrote them. The
result is parsed again: if anything except the resources of this action would change, the edit is
refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem, WorkflowError
from rowtui.core.base.text import visible
from rowtui.core.workflow.edit_amounts import EditRefusedError, Key, Settings
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import Workflow
from rowtui.core.workflow.positions import KeyPath, NotTomlError, Scanner
from rowtui.core.workflow.toml_file import TomlFile

# Find where the tables, keys and values of a TOML text begin and end, for editing.
#
# The input is valid TOML, with any line ends; the output is offsets in characters. The module is
# built on the scanner that finds the places of problems.


class Header(NamedTuple):
    """`[a.b]` or `[[a.b]]`. `end`: the offset behind the last bracket."""

    path: KeyPath
    start: int
    end: int


class Pair(NamedTuple):
    """`key = value`. `table`: the path of the header or inline table that contains the pair.

    `inline`: whether the pair is in an inline table. `start`: the offset of the key; the value is
    at `value`..`end`.
    """

    table: KeyPath
    path: KeyPath
    start: int
    value: int
    end: int
    inline: bool


class TomlPositions(NamedTuple):
    """All headers and pairs, in the order of the text (a pair comes after the pairs in its value).

    `braces`: for each inline table, the offset behind its opening brace.
    """

    headers: tuple[Header, ...]
    pairs: tuple[Pair, ...]
    braces: dict[KeyPath, int]

    def pair(self, path: KeyPath) -> Pair | None:
        """Return the pair that sets exactly this path, or None."""
        return next((pair for pair in self.pairs if pair.path == path), None)

    def header(self, path: KeyPath) -> Header | None:
        """Return the header that begins exactly this table, or None."""
        return next((header for header in self.headers if header.path == path), None)


def places(text: str) -> TomlPositions:
    """Return the places in a text. Raises: NotTomlError, RecursionError."""
    reader = _Reader(text)
    reader.document()
    return TomlPositions(tuple(reader.headers), tuple(reader.pairs), reader.braces)


class _Reader(Scanner):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.headers: list[Header] = []
        self.pairs: list[Pair] = []
        self.braces: dict[KeyPath, int] = {}
        self._depth = 0
        self._last = (0, 0)  # the last value

    def header(self) -> KeyPath:
        start = self.at
        path = super().header()
        self.headers.append(Header(path, start, self.at))
        return path

    def pair(self, table: KeyPath) -> KeyPath:
        start = self.at
        path = super().pair(table)
        value, end = self._last
        self.pairs.append(Pair(table, path, start, value, end, self._depth > 0))
        return path

    def value(self, path: KeyPath) -> None:
        while self.text[self.at] in " \t":
            self.at += 1
        start = self.at
        super().value(path)
        self._last = (start, start + len(self.text[start : self.at].rstrip()))

    def inline_table(self, path: KeyPath) -> None:
        self.braces[path] = self.at + 1
        self._depth += 1
        super().inline_table(path)
        self._depth -= 1


FILE = "workflow.toml"
_MARK = "\N{BYTE ORDER MARK}"
_ODD = "this workflow.toml is written in a way in which it cannot be changed safely"


def edit_resources(data: bytes, action: int, settings: Settings) -> bytes:
    """Return the file with these resources of the action at this index.

    Raises: EditRefusedError; WorkflowError if the file is already invalid.
    """
    before = parse_workflow(data, Path("/"), FILE)
    text = data.decode("utf-8")
    mark = _MARK if text.startswith(_MARK) else ""
    new = text.removeprefix(mark)
    try:
        for key, value in settings.keys.items():
            new = _with(new, ("action", action, "resources"), key, value)
    except (NotTomlError, RecursionError, IndexError):
        raise EditRefusedError(_ODD) from None
    after = (mark + new).encode("utf-8")
    _check(data, before, after, action, settings)
    return after


def _with(text: str, resources: KeyPath, key: Key, value: int | None) -> str:
    """Return the text with one key of a table of resources set, or removed."""
    found = places(text)
    pair = found.pair((*resources, *key))
    if value is None:
        return text if pair is None else _without(text, found, pair)
    if pair is not None:
        literal = _literal(key, value, text[pair.value])
        return text[: pair.value] + literal + text[pair.end :]
    return _added(text, found, resources, key, _literal(key, value))


def _literal(key: Key, value: int, quote: str = '"') -> str:
    if key[0] != "walltime":
        return str(value)
    quote = "'" if quote == "'" else '"'
    return f"{quote}{value // 3600:02}:{value // 60 % 60:02}:{value % 60:02}{quote}"


# Adding keys


def _added(text: str, found: TomlPositions, resources: KeyPath, key: Key, literal: str) -> str:
    """Return the text with one more pair, beside similar pairs."""
    action, name = resources[:-1], ".".join(key)
    inside = [pair for pair in found.pairs if pair.table == resources]
    if (header := found.header(resources)) is not None:
        direct = [pair for pair in inside if not pair.inline]
        return _line_after(text, direct[-1] if direct else header.start, f"{name} = {literal}")
    if resources in found.braces:
        return _in_braces(text, found, resources, inside, f"{name} = {literal}")
    own = [pair for pair in found.pairs if pair.table == action]
    dotted = [pair for pair in own if pair.path[: len(resources)] == resources]
    below = [each for each in found.headers if each.path[: len(resources)] == resources]
    if below and not dotted:  # only [action.resources.walltime]
        last = [pair for pair in found.pairs if pair.table == below[-1].path]
        new = ("", "[action.resources]", f"{name} = {literal}")
        return _line_after(text, last[-1] if last else below[-1].start, *new)
    whole = f"resources.{name} = {literal}"
    if action in found.braces:
        return _in_braces(text, found, action, dotted or own, whole)
    if (header := found.header(action)) is None:
        raise EditRefusedError(_ODD)
    after = (dotted or own)[-1] if own else header.start
    return _line_after(text, after, whole)


def _line_after(text: str, after: Pair | int, *lines: str) -> str:
    """Insert lines below the line in which a pair ends (or of an offset), with its indentation."""
    start, end = (after, after) if isinstance(after, int) else (after.start, after.end)
    line = text.rfind("\n", 0, start) + 1
    indent = text[line:start] if not text[line:start].strip() else ""
    stop = text.find("\n", end)
    if stop < 0:  # the last line, without a line end
        first = text.find("\n")
        ending = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
        return text + "".join(ending + (indent + each if each else "") for each in lines)
    ending = "\r\n" if text[stop - 1] == "\r" else "\n"
    new = "".join((indent + each if each else "") + ending for each in lines)
    return text[: stop + 1] + new + text[stop + 1 :]


def _in_braces(
    text: str, found: TomlPositions, table: KeyPath, beside: Sequence[Pair], new: str
) -> str:
    """Insert one more pair in an inline table, behind the last of the pairs `beside`."""
    if beside:
        at = beside[-1].end
        return f"{text[:at]}, {new}{text[at:]}"
    at = found.braces[table]
    if any(pair.table == table for pair in found.pairs):
        raise EditRefusedError(_ODD)
    closed = text.startswith("}", at)
    return f"{text[:at]} {new}{' ' if closed else ''}{text[at:]}"


# Removing keys


def _without(text: str, found: TomlPositions, pair: Pair) -> str:
    """Return the text without a pair, and without its line if no other text is on it."""
    if not pair.inline:
        start = text.rfind("\n", 0, pair.start) + 1
        stop = text.find("\n", pair.end)
        return text[:start] + ("" if stop < 0 else text[stop + 1 :])
    beside = [each for each in found.pairs if each.table == pair.table and each.inline]
    at = beside.index(pair)
    if at:
        return text[: beside[at - 1].end] + text[pair.end :]
    if len(beside) > 1:
        return text[: pair.start] + text[beside[1].start :]
    return text[: pair.start] + text[pair.end :].lstrip(" \t")


# Checking the result


def _check(data: bytes, before: Workflow, after: bytes, action: int, settings: Settings) -> None:
    """Raises: EditRefusedError if anything except the requested resources has changed."""
    try:
        now = parse_workflow(after, Path("/"), FILE)
    except (WorkflowError, ValueError) as error:
        why = error.problems[0].message if isinstance(error, WorkflowError) else str(error)
        raise EditRefusedError(f"{_ODD}: {why}") from None
    wanted = list(before.actions)
    wanted[action] = wanted[action]._replace(resources=settings.resources)
    if len(now.actions) != len(wanted):
        raise EditRefusedError(_ODD)
    others = [
        visible(old.name)
        for old, new in zip(wanted, now.actions, strict=True)
        if old.index != action and not _same(old.resources, new.resources)
    ]
    if others:
        verb = "takes its" if len(others) == 1 else "take their"
        names = ", ".join(dict.fromkeys(others))
        raise EditRefusedError(f"{names} {verb} resources from this action, and would change too")
    if not _same(now.actions[action].resources, settings.resources):
        raise EditRefusedError(
            "the present value is inherited, and workflow.toml cannot remove an inherited value"
            if None in settings.keys.values()
            else _ODD
        )
    if not _same(_written(after, action, {}), _written(data, action, settings.keys)):
        raise EditRefusedError(_ODD)
    known = {_said(problem) for problem in before.problems}
    for problem in now.problems:
        if _said(problem) not in known:
            raise EditRefusedError(problem.message, problem.hint)


def _said(problem: Problem) -> tuple[str, str, int | None]:
    return problem.message, problem.severity, problem.action


def _written(data: bytes, action: int, keys: Mapping[Key, int | None]) -> dict[str, Any]:
    """Return the tables as written, with these resources of the action."""
    try:
        tables = TomlFile(data, FILE).data
    except InvalidFileError:
        raise EditRefusedError(_ODD) from None
    table = tables["action"][action]
    resources = table.setdefault("resources", {})
    for key, value in keys.items():
        inner = resources
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
        if value is None:
            inner.pop(key[-1], None)
        else:
            inner[key[-1]] = _read(key, value)
    if not resources:
        del table["resources"]
    return tables


def _read(key: Key, value: int) -> object:
    # a string or an integer has the same form in TOML and JSON
    return json.loads(_literal(key, value))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types; a NaN is equal to itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)
