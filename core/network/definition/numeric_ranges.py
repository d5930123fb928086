"""Equally spaced numbers without rounding noise: 1.0, 1.1, 1.2, and not 1.2000000000002.

Takes `range`, `linspace` and `logspace` as written in network.toml; gives the values. Decimal
numbers are exact as written, and rounded once: at the end, to the nearest double.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

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
