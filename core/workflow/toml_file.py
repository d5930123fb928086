"""Read a TOML file strictly: every wrong key and type becomes a `Problem` with its place.

The input is the bytes of workflow.toml, clusters.toml or launchers.toml. Typed getters record a
problem and continue, so that one reading finds all problems. Row refuses unknown keys too;
reporting all problems at once is an addition of rowtui.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.base.text import has_control, similar, visible
from rowtui.core.workflow.positions import KeyPath, line_and_column, offsets, place_of

LARGEST_INTEGER = 2**63 - 1  # the limit of TOML and of Row


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

    `file` is the name shown in problems. Raises: InvalidFileError for bad UTF-8 and syntax.
    """

    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.text = _decoded(data, file)
        self.data: dict[str, Any] = _parsed(self.text, file)
        self._offsets: dict[KeyPath, int] | None = None

    @property
    def top(self) -> TomlTable:
        """The outermost table."""
        return TomlTable(self, (), self.data)

    @property
    def has_errors(self) -> bool:
        """Whether any problem is an error and not a warning."""
        return any(problem.severity == "error" for problem in self.problems)

    def locate(self, path: KeyPath) -> tuple[int, int]:
        """Return line and column of a key path or of its nearest parent; (0, 0) without one."""
        if self._offsets is None:
            self._offsets = offsets(self.text)
        return place_of(self.text, self._offsets, path)

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
            raise InvalidFileError(tuple(self.problems))


class TomlTable:
    """One table of a file. Getters return None for a missing or wrong key; wrong is recorded."""

    __slots__ = ("file", "path", "values")

    def __init__(self, file: TomlFile, path: KeyPath, values: dict[str, Any]) -> None:
        self.file = file
        self.path = path
        self.values = values

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

    def only(self, known: Collection[str]) -> None:
        """Record a problem for every other key."""
        for key in self.values:
            if key not in known:
                expected = ", ".join(f"`{name}`" for name in known)
                hint = did_you_mean(key, known) or f"expected one of {expected}"
                self.problem(key, f"unknown key `{visible(key)}`{self._inside()}", hint)

    def string(self, key: str) -> str | None:
        """Return a string."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        self._wrong(key, "a string", value)
        return None

    def line(self, key: str) -> str | None:
        """Return a string of one line, which can go into the header of a script."""
        text = self.string(key)
        if text is not None and has_control(text):
            self.problem(key, f"`{key}` has control characters")
            return None
        return text

    def boolean(self, key: str) -> bool | None:
        """Return true or false."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        self._wrong(key, "true or false", value)
        return None

    def integer(self, key: str, at_least: int = 0) -> int | None:
        """Return an integer of at least `at_least`."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self._wrong(key, "an integer", value)
            return None
        if not at_least <= value <= LARGEST_INTEGER:
            wanted = "a non-negative integer" if at_least == 0 else f"at least {at_least}"
            if value > LARGEST_INTEGER:
                wanted = f"at most {LARGEST_INTEGER}"
            self.problem(key, f"`{visible(key)}` is {value} but must be {wanted}")
            return None
        return value

    def strings(self, key: str) -> tuple[str, ...] | None:
        """Return an array of strings. Wrong elements are recorded and left out."""
        elements = self.array(key, "an array of strings")
        if elements is None:
            return None
        good = []
        for index, element in enumerate(elements):
            if isinstance(element, str):
                good.append(element)
            else:
                message = f"element {index} of `{visible(key)}` must be a string"
                self.problem((key, index), f"{message}, not {kind_of(element)}")
        return tuple(good)

    def array(self, key: str, wanted: str = "an array") -> list[Any] | None:
        """Return an array of any elements."""
        value = self.values.get(key)
        if value is None or isinstance(value, list):
            return value
        self._wrong(key, wanted, value)
        return None

    def table(self, key: str) -> TomlTable | None:
        """Return a table."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, dict):
            return TomlTable(self.file, (*self.path, key), value)
        self._wrong(key, "a table", value)
        return None

    def tables(self, key: str) -> list[TomlTable] | None:
        """Return an array of tables. Wrong elements are recorded and left out."""
        elements = self.array(key, "an array of tables")
        if elements is None:
            hint = f"write it as [[{'.'.join(self._names(key))}]]"
            if isinstance(self.values.get(key), dict):
                self._add_hint(hint)
            return None
        good = []
        for index, element in enumerate(elements):
            if isinstance(element, dict):
                good.append(TomlTable(self.file, (*self.path, key, index), element))
            else:
                message = f"element {index} of `{visible(key)}` must be a table"
                self.problem((key, index), f"{message}, not {kind_of(element)}")
        return good

    def choice(self, key: str, choices: Collection[str]) -> str | None:
        """Return one of a few strings."""
        value = self.string(key)
        if value is None or value in choices:
            return value
        expected = ", ".join(f"'{choice}'" for choice in choices)
        hint = did_you_mean(value, choices) or f"expected one of {expected}"
        self.problem(key, f"`{visible(key)}` cannot be '{visible(value)}'", hint)
        return None

    def exactly_one(self, known: Collection[str]) -> str | None:
        """Return the only key of this table, which must be one of the known ones."""
        self.only(known)
        present = [key for key in known if key in self.values]
        if len(present) == 1 and len(self.values) == 1:
            return present[0]
        if len(present) != 1:
            expected = " or ".join(f"`{name}`" for name in known)
            found = "both" if len(present) == 2 else str(len(present) or "none")
            self.problem((), f"wanted exactly 1 element: {expected}, found {found}")
            return None
        return present[0]

    def _wrong(self, key: str, wanted: str, value: object) -> None:
        self.problem(key, f"`{visible(key)}` must be {wanted}, not {kind_of(value)}")

    def _add_hint(self, hint: str) -> None:
        self.file.problems[-1] = self.file.problems[-1]._replace(hint=hint)

    def _names(self, key: str = "") -> list[str]:
        return [str(step) for step in (*self.path, key) if isinstance(step, str) and step]

    def _inside(self) -> str:
        names = self._names()
        return f" in `{visible('.'.join(names))}`" if names else ""


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
