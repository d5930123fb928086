"""The samples of a source that is written in network.toml: its values, crossed or zipped.

Takes `Values`; gives `SourceRows`: the distinct values of each dimension, and their positions for
each sample. Equally spaced numbers have no rounding noise (1.1, not 1.1000000000002): decimal
numbers are exact as written, and rounded once: at the end, to the nearest double. Samples of
tables, files and directories are read in `core/runs/directories`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, Final, cast

from rowtui.core.base.text import count, plural, visible
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


# A double has 17 digits; the error of ten million multiplications does not reach them.
_DIGITS: Final = Context(prec=60, rounding=ROUND_HALF_EVEN, Emin=-(10**6), Emax=10**6, traps=[])


class NotSpacedError(Exception):
    """No numbers can be made of this; the message gives the reason."""


def range_length(bounds: float | Sequence[float]) -> int:
    """Return how many values `range` has. Raises: NotSpacedError."""
    start, stop, step = _bounds(bounds)
    return max(0, math.ceil((stop - start) / step))


def in_range(bounds: float | Sequence[float]) -> list[int] | list[float]:
    """Return the values of `range = stop`, `[start, stop]` or `[start, stop, step]`, without stop.

    The values are integers if all bounds are integers, otherwise doubles. Raises: NotSpacedError.
    """
    start, stop, step = _bounds(bounds)
    if all(isinstance(bound, int) for bound in _listed(bounds)):
        return list(range(int(start), int(stop), int(step)))
    return _doubles(start, step, range_length(bounds))


def linspace(start: float, stop: float, number: int) -> list[float]:
    """Return `number` doubles at equal distances, including both ends unless `number` is 1.

    Raises: NotSpacedError.
    """
    first, last = _exact(start), _exact(stop)
    return _doubles(first, (last - first) / max(number - 1, 1), number)


def logspace(start: float, stop: float, number: int) -> list[float]:
    """Return `number` doubles with equal ratios, from `start` to `stop` (the ends, not exponents).

    Raises: NotSpacedError; also for ends that are not both above zero.
    """
    if not (_exact(start) > 0 and _exact(stop) > 0):
        raise NotSpacedError(
            f"logspace goes from {start} to {stop}, but its ends must be greater than 0"
            " (they are the first and the last value, no exponents)"
        )
    first, last = Decimal(repr(start)), Decimal(repr(stop))
    ratio = Decimal(1)
    if number > 1:
        whole = _DIGITS.ln(_DIGITS.divide(last, first))
        ratio = _DIGITS.exp(_DIGITS.divide(whole, Decimal(number - 1)))
    values = []
    value = first
    for _ in range(number):
        values.append(float(value))
        value = _DIGITS.multiply(value, ratio)
    if number > 1:
        values[-1] = float(last)
    return values


def _doubles(start: Fraction, step: Fraction, number: int) -> list[float]:
    # The quotient of two integers is rounded correctly, and ten times faster than Fraction's.
    whole = math.lcm(start.denominator, step.denominator)
    first, each = int(start * whole), int(step * whole)
    return [(first + each * at) / whole for at in range(number)]


def _listed(bounds: float | Sequence[float]) -> Sequence[float]:
    return (0, bounds) if isinstance(bounds, (int, float)) else bounds


def _bounds(bounds: float | Sequence[float]) -> tuple[Fraction, Fraction, Fraction]:
    start, stop, *more = map(_exact, _listed(bounds))
    step = more[0] if more else Fraction(1)
    if not step:
        raise NotSpacedError("the step of range is 0")
    return start, stop, step


def _exact(number: float) -> Fraction:
    """Return the number exactly as it was written: 0.1 is one tenth."""
    if not math.isfinite(number):
        raise NotSpacedError(f"{number} is no number that can be counted with")
    return Fraction(repr(number))


_SPACED: Final[dict[str, Callable[[Any], Sequence[JSON]]]] = {
    "range": in_range,
    "linspace": lambda given: linspace(*given),
    "logspace": lambda given: logspace(*given),
}
