"""Read a TOML file strictly: every wrong key and type becomes a `Problem` with its place.

The input is the bytes of a file and a declaration of its keys, from which the JSON Schema of the
file is made as well. A table is checked as a whole, and the typed getters then return what is
right, so that one reading finds all problems. Row refuses unknown keys too; reporting all problems
at once is an addition of rowtui.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import has_control, similar, visible
from rowtui.core.workflow.positions import KeyPath, line_and_column, offsets
from rowtui.core.workflow.toml_keys import ANY_KEYS, Key, Kind, TableKeys

LARGEST_FILE = 16 << 20  # bytes


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the most similar known name, or "" if none is similar."""
    choices = list(known)
    near = similar(name, choices)
    if not near:
        folded = {choice.lower(): choice for choice in choices}
        near = [folded[name.lower()]] if name.lower() in folded else []
    return f"did you mean '{visible(near[0])}'?" if near else ""


def kind_of(value: object) -> str:
    """Return TOML's name of a value's type, with its article: `a string`, `an integer`, ..."""
    if isinstance(value, bool):
        return "a boolean"
    kinds = {str: "a string", int: "an integer", float: "a float", list: "an array"}
    return kinds.get(type(value), "a table" if isinstance(value, dict) else "a date or time")


class TomlFile:
    """One TOML file: its `data`, the `problems` found so far, and `top`, its outermost table.

    `file` is the name shown in problems. `keys`: those of the outermost table. `is_part`: whether
    another file includes it. Raises: InvalidFileError for bad UTF-8 and syntax.
    """

    def __init__(self, data: bytes, file: str, keys: TableKeys = ANY_KEYS) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.text = _decoded(data, file)
        self.data: dict[str, Any] = _parsed(self.text, file)
        self.top = TomlTable(self, (), self.data, keys)
        self.is_part = False
        self._offsets: dict[KeyPath, int] | None = None
        self._lines: list[int] = []  # where each line begins; filled at the first use

    @property
    def has_errors(self) -> bool:
        """Whether any problem is an error and not a warning."""
        return any(problem.severity == "error" for problem in self.problems)

    @property
    def in_order(self) -> tuple[Problem, ...]:
        """The problems found so far, by their place in the file."""
        return tuple(sorted(self.problems, key=lambda problem: (problem.line, problem.column)))

    def locate(self, path: KeyPath) -> tuple[int, int]:
        """Return line and column of a key path or of its nearest parent; (0, 0) without one."""
        if self._offsets is None:
            self._offsets = offsets(self.text)
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        for length in range(len(path), 0, -1):
            offset = self._offsets.get(path[:length])
            if offset is not None:
                line = bisect_right(self._lines, offset)
                return line, offset - self._lines[line - 1] + 1
        return 0, 0

    def problem(
        self,
        path: KeyPath,
        message: str,
        hint: str = "",
        severity: str = "error",
        action: int | None = None,
    ) -> None:
        """Record one problem at a key path."""
        line, column = self.locate(path)
        self.problems.append(Problem(self.file, line, column, message, hint, severity, action))

    def raise_if_errors(self) -> None:
        """Raises: InvalidFileError with all problems, if there is an error among them."""
        if self.has_errors:
            raise InvalidFileError(self.in_order)


def open_toml(
    path: Path, keys: TableKeys, limit: int = LARGEST_FILE, name: str = ""
) -> TomlFile | None:
    """Return a parsed file with these keys; None if there is none.

    `limit`: bytes; `name`: in problems, instead of the path. Raises: InvalidFileError.
    """
    shown = name or visible(str(path))
    try:
        return TomlFile(read_bounded(path, limit), shown, keys)
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = Problem(shown, 0, 0, f"cannot be read: {error.strerror}")
        raise InvalidFileError((problem,)) from None
    except InvalidFileError:
        raise
    except RowtuiError as error:  # not a regular file, too large
        raise InvalidFileError((Problem(shown, 0, 0, error.message),)) from None


class TomlTable:
    """One table of a file. Getters return None for a missing or wrong key.

    `check` records what is wrong. The first getter calls it, if it was not called before.
    """

    __slots__ = ("_wrong", "file", "keys", "path", "values")

    def __init__(
        self, file: TomlFile, path: KeyPath, values: dict[str, Any], keys: TableKeys
    ) -> None:
        self.file = file
        self.path = path
        self.values = values
        self.keys = keys
        self._wrong: set[str] | None = None

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def problem(
        self, key: str | KeyPath, message: str, hint: str = "", severity: str = "error"
    ) -> None:
        """Record one problem at a key of this table; the key `()` is the table itself."""
        inner = (key,) if isinstance(key, str) else key
        self.file.problem((*self.path, *inner), message, hint, severity)

    def check(self) -> None:
        """Record unknown and missing keys, and wrong values. Inner tables have their own check."""
        self._wrong = set()
        known, others, subject, one, *_ = self.keys
        for key in self.values:
            if key not in known and others is None:
                self._unknown(key)
        for key, field in known.items():
            if subject and field.required is not None and key not in self.values:
                self.problem((), f"{subject} is missing `{key}`", field.required)
        if one and len(present := self._present()) != 1:
            expected = " or ".join(f"`{name}`" for name in known)
            found = "both" if len(present) == 2 else str(len(present) or "none")
            self.problem((), f"wanted exactly 1 element: {expected}, found {found}")
        for key, field in known.items():
            if key in self.values:
                self._check(key, field)
        for key in self.values if others is not None else ():
            if key not in known and others is not None:
                self._check(key, others)

    def with_keys(self, keys: TableKeys) -> TomlTable:
        """Return the same table with the keys of one kind of table."""
        return TomlTable(self.file, self.path, self.values, keys)

    def string(self, key: str) -> str | None:
        """Return a string."""
        text: str | None = self._good(key, "string", "line")
        return text

    def boolean(self, key: str) -> bool | None:
        """Return true or false."""
        value: bool | None = self._good(key, "boolean")
        return value

    def integer(self, key: str) -> int | None:
        """Return an integer."""
        value: int | None = self._good(key, "integer")
        return value

    def number(self, key: str) -> float | None:
        """Return an integer or float as a float."""
        value: float | None = self._good(key, "number")
        return None if value is None else float(value)

    def strings(self, key: str) -> tuple[str, ...] | None:
        """Return an array of strings, without wrong elements."""
        value = self._good(key, "strings", "texts")
        if value is None:
            return None
        return (value,) if isinstance(value, str) else tuple(filter(_is_string, value))

    def array(self, key: str) -> list[Any] | None:
        """Return an array of any elements."""
        elements: list[Any] | None = self._good(key, "array")
        return elements

    def table(self, key: str) -> TomlTable | None:
        """Return a table, checked."""
        values = self._good(key, "table")
        if values is None:
            return None
        inner = self._inner((key,), values)
        inner.check()
        return inner

    def tables(self, key: str) -> list[TomlTable] | None:
        """Return an array of tables, without wrong elements."""
        elements = self._good(key, "tables")
        if elements is None:
            return None
        tables = ((index, it) for index, it in enumerate(elements) if isinstance(it, dict))
        return [self._inner((key, index), it) for index, it in tables]

    def only_key(self) -> str | None:
        """Return the key of a table that has exactly `one`; None if it has several or none."""
        if self._wrong is None:
            self.check()
        present = self._present()
        return present[0] if len(present) == 1 else None

    def _present(self) -> list[str]:
        return [key for key in self.keys.named if key in self.values]

    def _good(self, key: str, *kinds: Kind) -> Any:
        if self._wrong is None:
            self.check()
        assert self._wrong is not None
        assert self._field(key).kind in kinds, key  # the declaration and the code disagree
        return None if key in self._wrong else self.values.get(key)

    def _field(self, key: str) -> Key:
        field = self.keys.named.get(key, self.keys.others)
        assert field is not None, key
        return field

    def _inner(self, path: KeyPath, values: dict[str, Any]) -> TomlTable:
        keys = self._field(str(path[0])).keys or ANY_KEYS
        return TomlTable(self.file, (*self.path, *path), values, keys)

    def _unknown(self, key: str) -> None:
        known = self.keys.named
        if self.keys.lenient:
            message = f"unknown key `{visible(key)}` is ignored"
            self.problem(key, message, did_you_mean(key, known), "warning")
            return
        expected = ", ".join(f"`{name}`" for name in known)
        hint = did_you_mean(key, known) or f"expected one of {expected}"
        hint = self.keys.elsewhere.get(key, hint)
        self.problem(key, f"unknown key `{visible(key)}`{self._inside()}", hint)

    def _check(self, key: str, field: Key) -> None:
        """Record what is wrong with a value; wrong elements of an array do not make it wrong."""
        value, kind = self.values[key], field.kind
        name = f"`{visible(key)}`"
        if wanted := field.type_wanted(value):
            hint = field.hint
            if kind == "tables" and isinstance(value, dict):
                hint = f"write it as [[{'.'.join(self._names(key))}]]"
            elif not isinstance(hint, str):
                hint = hint((*self.path, key), value)
            self._refuse(key, f"{name} must be {wanted}, not {kind_of(value)}", hint)
        elif isinstance(value, list) and kind in ("strings", "texts", "tables"):
            right, noun = (dict, "table") if kind == "tables" else (str, "string")
            for index, element in enumerate(value):
                if not isinstance(element, right):
                    message = f"element {index} of {name} must be a {noun}"
                    self.problem((key, index), f"{message}, not {kind_of(element)}")
        elif kind == "line" and has_control(value):
            self._refuse(key, f"{name} has control characters")
        elif kind in ("integer", "number") and (wanted := field.size_wanted(value)):
            self._refuse(key, f"{name} is {value} but must be {wanted}")
        elif field.choices and value not in field.choices:
            expected = ", ".join(f"'{choice}'" for choice in field.choices)
            hint = did_you_mean(value, field.choices) or f"expected one of {expected}"
            self._refuse(key, f"{name} cannot be '{visible(value)}'", hint)

    def _refuse(self, key: str, message: str, hint: str = "") -> None:
        assert self._wrong is not None
        self._wrong.add(key)
        self.problem(key, message, hint)

    def _names(self, key: str = "") -> list[str]:
        return [str(step) for step in (*self.path, key) if isinstance(step, str) and step]

    def _inside(self) -> str:
        names = self._names()
        return f" in `{visible('.'.join(names))}`" if names else ""


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        line, column = line_and_column(before, len(before))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        problem = Problem(file, line, column, message, "save the file as UTF-8")
        raise InvalidFileError((problem,)) from None


_PLAINER = {"Cannot overwrite a value": "the key is set twice"}


def _parsed(text: str, file: str) -> dict[str, Any]:
    import tomli

    line = column = 0
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        line, column = error.lineno, error.colno
        message = _PLAINER.get(error.msg, error.msg)
    except RecursionError:
        message = "tables or arrays are nested too deeply"
    except ValueError as error:  # an integer of more than 4300 digits
        message = str(error)
    message = visible(message[:1].lower() + message[1:])
    raise InvalidFileError((Problem(file, line, column, f"not valid TOML: {message}"),))
