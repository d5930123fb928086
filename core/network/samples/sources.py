"""The samples of a source that is written in network.toml: its values, crossed or zipped.

Takes `Values`; gives `SourceRows`: the distinct values of each dimension, and their positions for
each sample. This module also defines when two values of a dimension are the same in a network.
Samples of tables, files and directories are in `source_rows.py`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, plural, visible
from rowtui.core.base.values import compact
from rowtui.core.network.definition.load_tables import is_text
from rowtui.core.network.definition.numeric_ranges import (
    NotSpacedError,
    in_range,
    linspace,
    logspace,
    range_length,
)
from rowtui.core.network.definition.spec import JSON, SourceRows, Values
from rowtui.core.network.samples.model import MOST_SAMPLES
from rowtui.core.network.samples.names import GREATEST_INTEGER, LEAST_INTEGER
from rowtui.core.workflow.toml_file import did_you_mean

MOST_VALUES: Final = 10_000_000  # of one dimension: each is an object


class SourceError(RowtuiError):
    """A source whose samples cannot be determined. `source` is its name."""

    def __init__(self, source: str, message: str, hint: str = "") -> None:
        super().__init__(f"source '{visible(source)}': {message}", hint)
        self.source = source


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


# Values


def expand_values(values: Values, source: str) -> SourceRows:
    """Return every combination of the values; zipped dimensions count as one, at the first one's
    place.

    Raises: SourceError: too many, a value twice, zipped dimensions of different lengths, no value.
    """
    groups = _groups(values, source)
    sizes = [_group_size(values, group, source) for group in groups]
    total = math.prod(sizes)
    is_zipped = any(len(group) > 1 for group in groups)
    if total > MOST_SAMPLES:
        terms = (f"{' and '.join(g)} {count(n)}" for g, n in zip(groups, sizes, strict=True))
        raise SourceError(
            source,
            f"it has {count(total)} samples ({visible(' x '.join(terms))}),"
            f" more than the {count(MOST_SAMPLES)} that are allowed",
        )
    columns = {name: _expanded(spec, name, source) for name, spec in values.dimensions.items()}
    distinct = {}
    codes = {}
    each, again = total, 1  # samples per row of the group, and how often these repeat
    for group, size in zip(groups, sizes, strict=True):
        each = each // size if size else 0
        own = []
        for name in group:
            distinct[name], code = coded(columns[name], name, source)
            own.append(code)
            if is_zipped:
                codes[name] = _repeated(code, each) * again
        _refuse_equal_values(columns, group, own, source)
        again *= size
    return SourceRows(
        source,
        tuple(columns),
        tuple(distinct[name] for name in columns),
        tuple(codes[name] for name in columns) if is_zipped else None,
    )


def _groups(values: Values, source: str) -> list[tuple[str, ...]]:
    sets = {name: zipped for zipped in values.zipped for name in zipped}
    for name in sets:
        if name not in values.dimensions:
            raise SourceError(
                source,
                f"`zip` names {visible(name)}, which is no dimension of it",
                did_you_mean(name, values.dimensions),
            )
    return list(dict.fromkeys(sets.get(name, (name,)) for name in values.dimensions))


def _group_size(values: Values, group: tuple[str, ...], source: str) -> int:
    sizes = [_length(values.dimensions[name], name, source) for name in group]
    for name, size in zip(group, sizes, strict=True):
        if size != sizes[0]:
            raise SourceError(
                source,
                f"{visible(group[0])} has {plural(sizes[0], 'value')},"
                f" but {visible(name)} has {count(size)}",
                "dimensions that go together (`zip`) have as many values as each other",
            )
        if size > MOST_VALUES:
            raise SourceError(
                source,
                f"{visible(name)} has {plural(size, 'value')},"
                f" more than the {count(MOST_VALUES)} that one dimension may have",
            )
    return sizes[0]


def _length(spec: JSON, name: str, source: str) -> int:
    if not isinstance(spec, Mapping):
        return len(spec)
    if "range" not in spec:
        (only,) = spec.values()
        return max(0, int(only[2]))
    try:
        return range_length(spec["range"])
    except NotSpacedError as error:
        raise SourceError(source, f"{visible(name)}: {error}") from None


_SPACED: Final[dict[str, Callable[[Any], Sequence[JSON]]]] = {
    "range": in_range,
    "linspace": lambda given: linspace(*given),
    "logspace": lambda given: logspace(*given),
}


def _expanded(spec: JSON, name: str, source: str) -> Sequence[JSON]:
    if not isinstance(spec, Mapping):
        return cast("Sequence[JSON]", spec)
    ((kind, given),) = spec.items()
    try:
        return _SPACED[kind](given)
    except NotSpacedError as error:
        raise SourceError(source, f"{visible(name)}: {error}") from None


def _refuse_equal_values(
    columns: Mapping[str, Sequence[JSON]],
    group: tuple[str, ...],
    codes: Sequence[Sequence[int]],
    source: str,
) -> None:
    repeat = first_repeat(codes)
    if repeat is not None:
        said = " and ".join(said_value(columns[name][repeat[1]]) for name in group)
        raise SourceError(
            source,
            f"{visible(' and '.join(group))} {'has' if len(group) == 1 else 'have'} {said} twice"
            f" (values {repeat[0] + 1} and {repeat[1] + 1})",
            "each sample may occur once; remove one of the two values",
        )


def _repeated(codes: array[int], times: int) -> array[int]:
    if times == 1:
        return codes
    repeated = array("i")
    for code in codes:
        repeated += array("i", (code,)) * times
    return repeated


# Values as positions


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
