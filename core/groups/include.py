"""Find the directories that an action includes, by evaluating its selectors on rank columns.

Each condition compares its operand only with the distinct values; the rest are operations on bit
sets. As in Row, a directory that lacks the pointer, or whose value cannot be compared with the
operand, is an error only if the condition is evaluated for this directory. The condition is not
evaluated if an earlier selector already included the directory, or if an earlier condition of the
same selector was false.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from rowtui.core.base.errors import IncomparableError
from rowtui.core.base.text import plural, visible
from rowtui.core.base.values import JsonKind, compact, compare, is_double, kind_of, resolve
from rowtui.core.state.columns import RankColumn, is_wide, single_bytes
from rowtui.core.state.model import Directories, DirectorySet, bit_set, positions
from rowtui.core.workflow.model import Action, Condition

# With more directories, numpy is worth its import time (measured, see docs/background/speed.md).
NUMPY_FROM = 250_000
FEW = 100  # so few directories are evaluated one by one
_SHOWN: Final = 60  # characters of a value in a message

_FALSE, _TRUE, _UNORDERED, _MISSING = range(4)
_ACCEPTED: Final[dict[str, frozenset[int]]] = {
    "<": frozenset({-1}),
    "<=": frozenset({-1, 0}),
    "==": frozenset({0}),
    "!=": frozenset({-1, 1}),
    ">=": frozenset({0, 1}),
    ">": frozenset({1}),
}


def included(action: Action, directories: Directories, among: DirectorySet) -> DirectorySet:
    """Return the directories of `among` that the action includes.

    Raises: IncomparableError if an evaluated condition has no result for a directory; the error
    names the first such directory and counts the others.
    """
    selectors = action.group.include
    if not selectors:
        return among
    chosen = 0
    undecided = among
    faults: list[tuple[Condition, DirectorySet]] = []
    for selector in selectors:
        holds = undecided
        for condition in selector.conditions:
            if not holds:
                break
            answers = _answer(condition, directories, holds)
            if holds & answers.unknown:
                faults.append((condition, holds & answers.unknown))
            holds &= answers.true
        chosen |= holds
        undecided &= ~holds
    if faults:
        raise _first_fault(action, directories, faults)
    return chosen


class _Answers(NamedTuple):
    true: DirectorySet
    unknown: DirectorySet


def _answer(condition: Condition, directories: Directories, among: DirectorySet) -> _Answers:
    """Evaluate one condition, at least for the directories of `among`."""
    column = directories.column(condition.pointer)
    verdicts = verdicts_by_code(column, condition.operator, condition.operand)
    if among.bit_count() <= FEW:
        answers = {position: verdicts[column.codes[position]] for position in positions(among)}
        return _Answers(
            true=bit_set(at for at, verdict in answers.items() if verdict == _TRUE),
            unknown=bit_set(at for at, verdict in answers.items() if verdict > _TRUE),
        )
    codes = single_bytes(column.codes, len(verdicts))
    if codes is not None:
        by_position = codes.translate(verdicts.ljust(256))
    elif len(column.codes) >= NUMPY_FROM:
        from rowtui.core.groups.wide import sets_of

        return _Answers(*sets_of(verdicts, column.codes, _TRUE))
    else:
        by_position = bytes(map(verdicts.__getitem__, column.codes))
    return _Answers(
        true=_as_set(by_position, _IS_TRUE) if _TRUE in verdicts else 0,
        unknown=(
            _as_set(by_position, _IS_UNKNOWN)
            if _UNORDERED in by_position or _MISSING in by_position
            else 0
        ),
    )


_IS_TRUE: Final = bytes(48 + (verdict == _TRUE) for verdict in range(256))
_IS_UNKNOWN: Final = bytes(48 + (verdict in {_UNORDERED, _MISSING}) for verdict in range(256))


def _as_set(by_position: bytes, digits: bytes) -> DirectorySet:
    """Convert verdicts to a bit set by way of a binary number in text: linear, without numpy."""
    return int(by_position.translate(digits)[::-1] or b"0", 2)


def verdicts_by_code(column: RankColumn, operator: str, operand: Any) -> bytes:
    """Return for each code of the column, including the missing one, the verdict of the condition.

    A verdict is false, true, unordered or missing.
    """
    operand = _as_json(operand)
    accepted = _ACCEPTED[operator]
    distinct = column.distinct
    kind = kind_of(operand)
    if kind >= JsonKind.ARRAY or (
        kind is JsonKind.NUMBER and is_wide(operand) and not is_double(operand)
    ):
        # The order of wide integers and doubles relative to a wide integer is not monotonic.
        orders = (compare(value, operand) for value in distinct)
        found = [_UNORDERED if order is None else int(order in accepted) for order in orders]
        return bytes([*found, _MISSING])
    first = bisect_left(distinct, kind, key=kind_of)
    last = bisect_right(distinct, kind, key=kind_of)

    def order_with_operand(value: Any) -> int:
        return compare(value, operand) or 0

    low = bisect_left(distinct, 0, first, last, key=order_with_operand)
    high = bisect_right(distinct, 0, low, last, key=order_with_operand)
    return b"".join(
        (
            bytes([_UNORDERED]) * first,
            bytes([-1 in accepted]) * (low - first),
            bytes([0 in accepted]) * (high - low),
            bytes([1 in accepted]) * (last - high),
            bytes([_UNORDERED]) * (len(distinct) - last),
            bytes([_MISSING]),
        )
    )


def _as_json(operand: Any) -> Any:
    """Convert TOML's nan and inf to null, as in Row."""
    if isinstance(operand, float) and not math.isfinite(operand):
        return None
    if isinstance(operand, (list, tuple)):
        return [_as_json(element) for element in operand]
    return operand


def _first_fault(
    action: Action,
    directories: Directories,
    faults: Sequence[tuple[Condition, DirectorySet]],
) -> IncomparableError:
    """Return the error for the first directory by name, with the first condition that failed."""
    every = 0
    for _, fault in faults:
        every |= fault
    first = (every & -every).bit_length() - 1
    condition = next(condition for condition, fault in faults if fault >> first & 1)
    further = every.bit_count() - 1
    name = directories.name(first)
    column = directories.column(condition.pointer)
    code = column.codes[first]
    where = f"include of action '{visible(action.name)}'"
    if code == column.missing:
        message = (
            f"{where}: the value of directory '{visible(name)}' has nothing at"
            f" '{visible(condition.pointer)}'"
        )
        hint = "put a condition before it that such directories do not meet, or add the key"
    else:
        value = resolve(directories.value(first), condition.pointer)
        message = (
            f"{where}: cannot compare {shown(value)} with {shown(_as_json(condition.operand))}"
            f" at '{visible(condition.pointer)}' of directory '{visible(name)}'"
        )
        hint = "only numbers, strings, booleans, and arrays of one length have an order"
    return IncomparableError(message + and_more(further), (name,), hint)


def and_more(further: int) -> str:
    """Return the end of a message about one directory of several."""
    if not further:
        return ""
    return f" (and the like for {plural(further, 'more directory', 'more directories')})"


def shown(value: Any) -> str:
    """Return a value for a message: compact, safe for a terminal, and not too long."""
    text = compact(value)
    return visible(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
