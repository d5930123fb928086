"""The values of one dimension in the whole network: each value has one position.

Samples of two outputs match where their dimensions have the same values. Values are therefore
compared once, here, and are small integers everywhere else. `value_key` defines when two values are
the same.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.base.values import compact
from rowtui.core.network.definition.load_tables import is_text
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.samples.model import SourceError
from rowtui.core.network.samples.names import GREATEST_INTEGER, LEAST_INTEGER, text_of


class Domain:
    """The distinct values of a dimension, in order.

    A domain is immutable; a longer one replaces it.
    """

    __slots__ = ("_codes", "_labels", "name", "values")

    def __init__(self, name: str, values: Iterable[Any], labels: Iterable[str] | None = None):
        """Create a domain.

        `labels`: the unique text of each value in ids; by default the text used in names of
        directories.
        """
        self.name = name
        self.values = tuple(values)
        self._labels = None if labels is None else tuple(labels)
        self._codes: Mapping[Hashable, int] | None = None

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def __repr__(self) -> str:
        """Return name and size."""
        return f"Domain({self.name!r}, {len(self)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the text of each value in ids."""
        return tuple(map(text_of, self.values)) if self._labels is None else self._labels

    def label(self, code: int) -> str:
        """Return the text of one value in ids."""
        return text_of(self.values[code]) if self._labels is None else self._labels[code]

    def code(self, value: Any) -> int:
        """Return the position of a value. Raises: KeyError."""
        return self._positions()[value_key(value)]

    def codes(self, values: Iterable[Any]) -> Iterable[int]:
        """Return the position of each value. Raises: KeyError."""
        return map(self._positions().__getitem__, _keys(tuple(values)))

    def extended(self, values: Iterable[Any], text: Callable[[Any], str] = text_of) -> Domain:
        """Return a domain with these values appended; itself if it has all of them.

        `text` makes labels of new values, if this domain has labels of its own.
        """
        known = dict(self._positions())
        new = []
        values = _distinct(tuple(values))
        for key, value in zip(_keys(values), values, strict=True):
            if key not in known:
                known[key] = len(known)
                new.append(value)
        if not new:
            return self
        labels = None if self._labels is None else (*self._labels, *map(text, new))
        longer = Domain(self.name, (*self.values, *new), labels)
        longer._codes = known
        return longer

    def codes_in(self, other: Domain) -> list[int] | None:
        """Return the position of each value in another domain; None if the positions are the same.

        Values that the other domain does not have are numbered behind its last one.
        """
        shorter = min(len(self), len(other))
        if other is self or all(
            map(operator.is_, self.values[:shorter], other.values[:shorter])
        ):  # values behind the shorter end are missing there and have the right number already
            return None
        known = other._positions()
        behind = len(other)
        codes = []
        for key in _keys(self.values):
            code = known.get(key)
            if code is None:
                code, behind = behind, behind + 1
            codes.append(code)
        return codes

    def _positions(self) -> Mapping[Hashable, int]:
        if self._codes is None:
            self._codes = dict(zip(_keys(self.values), range(len(self.values)), strict=True))
        return self._codes


def _keys(values: tuple[Any, ...]) -> Iterable[Hashable]:
    """Return the `value_key` of each value; most values are their own key, which is much faster."""
    return values if set(map(type, values)) <= _OWN_KEYS else map(value_key, values)


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return each value once, at its first place, if the values are their own keys."""
    return tuple(dict.fromkeys(values)) if set(map(type, values)) <= _OWN_KEYS else values


_OWN_KEYS = {int, float, str}


def natural(value: Any) -> tuple[int, Any]:
    """Return a sort key of values: null, true and false, numbers, texts."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, value)
    return (2, value) if isinstance(value, (int, float)) else (3, str(value))


def value_key(value: JSON) -> Hashable:
    """Return a key that is equal for exactly those values of a dimension that are the same.

    Numbers are the same if they are equal: 1 and 1.0, 0.0 and -0.0. A bool is not a number, nor is
    a text that looks like one. Raises: RowtuiError for a value that a dimension cannot have.
    """
    if isinstance(value, str):
        if value.isascii() or is_text(value):
            return value
    elif isinstance(value, float):
        if math.isfinite(value):
            return value
    elif isinstance(value, bool):
        return ("bool", value)
    elif isinstance(value, int):
        if LEAST_INTEGER <= value <= GREATEST_INTEGER:
            return value
    elif value is None:
        return None
    raise RowtuiError(
        f"{said_value(value)} cannot be the value of a dimension",
        "use finite numbers (integers of at most 64 bits), texts, true, false or null",
    )


def coded(
    values: Sequence[JSON], dimension: str, source: str, place: Callable[[int], str] | None = None
) -> tuple[tuple[JSON, ...], array[int]]:
    """Return the distinct values in order of appearance, and the position of each value in them.

    `place` returns the place of a row's value for messages. Raises: SourceError.
    """
    known: dict[Hashable, int] = {}
    try:
        codes = array("i", [known.setdefault(key, len(known)) for key in map(value_key, values)])
    except RowtuiError:
        at, error = next(_refused(values))
        where = f"{place(at)}: " if place is not None else ""
        raise SourceError(
            source, f"{where}{visible(dimension)}: {error.message}", error.hint
        ) from None
    distinct: list[JSON] = [None] * len(known)
    for value, code in zip(reversed(values), reversed(codes), strict=True):
        distinct[code] = value
    return tuple(distinct), codes


def _refused(values: Iterable[JSON]) -> Iterator[tuple[int, RowtuiError]]:
    for at, value in enumerate(values):
        try:
            value_key(value)
        except RowtuiError as error:
            yield at, error


def first_repeat(codes: Sequence[Sequence[int]]) -> tuple[int, int] | None:
    """Return the first row that equals an earlier one in all columns, as (earlier row, row)."""
    if not codes:
        return None
    rows: Sequence[int] = codes[0]
    for column in codes[1:]:
        size = max(column, default=0) + 1
        rows = [row * size + code for row, code in zip(rows, column, strict=True)]
    if len(set(rows)) == len(rows):
        return None
    first: dict[int, int] = {}
    return next(
        (at_first, at)
        for at, row in enumerate(rows)
        if (at_first := first.setdefault(row, at)) != at
    )


def said_value(value: object) -> str:
    """Return a value as text for a message: short, and texts in quotes."""
    if isinstance(value, str):
        value = value if len(value) <= 60 else value[:57] + "..."
        return f"'{visible(value)}'"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    text = visible(str(value)) if isinstance(value, float) else visible(compact(value))
    return text if len(text) <= 60 else text[:57] + "..."
