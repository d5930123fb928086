"""The samples of a source that is written in network.toml: its values, crossed or zipped.

Takes `Values`; gives `SourceRows`: the distinct values of each dimension, and their positions for
each sample. Samples of tables, files and directories are read in `core/runs/directories`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from rowtui.core.base.text import count, plural, visible
from rowtui.core.network.definition.numeric_ranges import (
    NotSpacedError,
    in_range,
    linspace,
    logspace,
    range_length,
)
from rowtui.core.network.definition.spec import JSON, SourceRows, Values
from rowtui.core.network.samples.domain import coded, first_repeat, said_value
from rowtui.core.network.samples.model import MOST_SAMPLES, SourceError
from rowtui.core.workflow.toml_file import did_you_mean

MOST_VALUES: Final = 10_000_000  # of one dimension: each is an object


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
