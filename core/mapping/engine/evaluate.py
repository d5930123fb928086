"""Run the expressions of entities, with a named cause for every failure, and in TPV's order.

The input is text of entities, a namespace and an origin; the output is values. A failure stops the
mapping of the request with the place of the expression that failed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.mapping.code.expressions import (
    ExpressionError,
    compile_block,
    compile_text,
    evaluate,
)
from rowtui.core.mapping.code.model import (
    Code,
    ExpressionKind,
    JobMappingException,
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)
from rowtui.core.mapping.code.time_limit import TimeLimit, TimeLimitError
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts

Namespace = dict[str, Any]
T = TypeVar("T")


class StopMapping(Exception):
    """Ends the mapping of one request with this outcome."""

    def __init__(
        self, outcome: MappingOutcome, message: str, origin: Origin | None = None, cause: str = ""
    ) -> None:
        super().__init__(message)
        self.outcome, self.message, self.origin, self.cause = outcome, message, origin, cause


class TryNextError(Exception):
    """A destination's rule refuses the job; `wait`: the rule may accept it later."""

    def __init__(self, message: str, origin: Origin, *, wait: bool) -> None:
        super().__init__(message)
        self.message, self.origin, self.wait = message, origin, wait


REST = 300.0
"""Seconds for which code that took too long is not run again."""


_MAY_SEE_ENTITY = pattern(r"entity|self|globals|locals|vars|eval|exec")


class _Evaluated:
    """A placeholder for an amount that was computed before the destination was considered."""

    def __repr__(self) -> str:
        return "(as worked out for the job)"


EVALUATED = _Evaluated()


class Evaluator:
    """Runs code for one mapper, and leaves out for a while the code that took too long.

    `was_late`: whether any code took too long, so that answers may be other ones later.
    """

    def __init__(self, dialect: Dialect, limit: TimeLimit) -> None:
        self.dialect = dialect
        self.was_late = False
        self._limit = limit
        self._stopped: dict[Code, tuple[float, str]] = {}  # when, and why
        self._running: Code | None = None  # the code that runs, or ran last

    def job(self, call: Callable[[], T]) -> T:
        """Map one job that runs code, with one time limit for all its code.

        When the limit is reached, the running code is not run again for `REST` seconds; the job is
        then mapped again, so that it ends as if this expression had failed. Raises: TimeLimitError
        if no code was running.
        """
        while True:
            try:
                return self._limit.run(call)
            except TimeLimitError as error:
                self.was_late = True
                slow, self._running = self._running, None
                if slow is None or self._why_not(slow):
                    raise
                self._stopped[slow] = time.monotonic(), error.message

    def _why_not(self, code: Code) -> str:
        """Return why the code is not run now, "" if it is."""
        at, message = self._stopped.get(code, (-REST, ""))
        return message if time.monotonic() < at + REST else ""

    def value(self, code: Code, namespace: Namespace, origin: Origin) -> Any:
        """Return the value of a code, which `job` runs. Raises: StopMapping, TryNextError."""
        if code.constant:
            return code.value
        if message := self._why_not(code):
            raise StopMapping(MappingOutcome.ERROR, message, origin, "TimeLimitError")
        self._running = code
        try:
            return evaluate(code, self._own(namespace, code))
        except ExpressionError as error:
            place = origin.place
            if place.line and error.line > 1:
                place = place._replace(line=place.line + error.line - 1, column=0)
            cause = type(error.cause).__name__ if error.cause is not None else "SyntaxError"
            raise StopMapping(
                MappingOutcome.ERROR, error.message, origin._replace(place=place), cause
            ) from error
        except JobNotReadyException as error:
            words = str(error) or "it is not ready yet"
            raise StopMapping(
                MappingOutcome.WAITS, words, origin, "JobNotReadyException"
            ) from error
        except JobMappingException as error:
            raise StopMapping(
                MappingOutcome.FAILED, str(error), origin, "JobMappingException"
            ) from error
        except (TryNextDestinationOrFail, TryNextDestinationOrWait) as error:
            wait = isinstance(error, TryNextDestinationOrWait)
            raise TryNextError(str(error), origin, wait=wait) from error

    def _own(self, namespace: Namespace, code: Code) -> Namespace:
        """Return a copy for one code; all code but `execute` may only change its own `entity`."""
        own = namespace.copy()
        if self.dialect.input_size_by_text and "input_size" not in code.text:
            own["input_size"] = 0
        if code.form is ExpressionKind.EXECUTE or not _MAY_SEE_ENTITY.search(code.text):
            return own
        shared = {name: own[name] for name in ("entity", "self") if name in own}
        copies = {id(each): each.private() for each in shared.values() if isinstance(each, Entity)}
        own.update((name, copies.get(id(each), each)) for name, each in shared.items())
        return own

    def text(self, text: str) -> Code:
        """Return the code of a text with expressions in braces."""
        return compile_text(text, as_tpv=self.dialect.text_as_tpv)


class AmountStep(NamedTuple):
    """One amount or bound to compute. `code` None: `value` is used unchanged.

    `bounded`: the entity sets a bound for this amount.
    """

    name: str
    code: Code | None
    value: Any
    origin: Origin
    bounded: bool = False


Program = tuple[AmountStep, ...]


def amounts_program(entity: Entity) -> Program:
    """Return the amounts and bounds that an entity sets, in the order of evaluation."""
    return tuple(
        step
        for name in (*BOUNDS, *AMOUNTS)
        if (value := getattr(entity, name)) is not None
        for step in [_step(name, value, entity)]
    )


def _step(name: str, value: Any, entity: Entity) -> AmountStep:
    origin = entity.whence(name)
    bounds = (getattr(entity, f"{bound}_{name}", None) for bound in ("min", "max"))
    bounded = name in AMOUNTS and any(bound is not None for bound in bounds)
    if isinstance(value, str):
        code = compile_block(value)
        if code.constant:
            return AmountStep(name, None, code.value, origin, bounded)
        return AmountStep(name, code, None, origin, bounded)
    return AmountStep(name, None, value, origin, bounded)


def run_amounts(
    program: Program, namespace: Namespace, evaluator: Evaluator, given: Amounts, *, clamp: bool
) -> dict[str, Any]:
    """Compute amounts and bounds, store them in the namespace, and return those of the program.

    `given`: the amounts that were computed before. Raises: StopMapping.
    """
    found: dict[str, Any] = {}
    for name, code, value, origin, bounded in program:
        if code is not None:
            value = evaluator.value(code, namespace, origin)  # noqa: PLW2901
        elif value is EVALUATED:
            value = getattr(given, name)  # noqa: PLW2901
            if value is None:
                continue
        if type(value) not in _PLAIN_KINDS:  # of a class that the code defines, or of numpy
            value = _as_number(name, value, origin)  # noqa: PLW2901
        if evaluator.dialect.numbers_only:
            _refuse_others(name, value, origin)
        if clamp and bounded:
            value = _clamped_here(name, value, found, evaluator.dialect, origin)  # noqa: PLW2901
        found[name] = namespace[name] = value
    return found


def _clamped_here(
    name: str, value: Any, bounds: Mapping[str, Any], dialect: Dialect, origin: Origin
) -> Any:
    try:
        return clamped(name, value, bounds, dialect)
    except TypeError as error:  # dialect tpv3 does not check the types of amounts
        message = f"{name} is {visible(repr(value)[:60])}, which its bounds cannot be compared with"
        raise StopMapping(MappingOutcome.ERROR, message, origin, "TypeError") from error


def clamped(name: str, value: Any, bounds: Mapping[str, Any], dialect: Dialect) -> Any:
    """Return an amount within its bounds; the upper bound wins. None stays None in dialect seed."""
    low, high = bounds.get(f"min_{name}"), bounds.get(f"max_{name}")
    if dialect.zero_is_a_bound:
        if value is None:
            return None
        if low is not None:
            value = max(low, value)
        return value if high is None else min(high, value)
    if low:
        value = max(low, value or 0)
    return min(high, value or 0) if high else value


_PLAIN_KINDS = frozenset((int, float, bool, str, type(None), complex, list, tuple, dict, set))


def _as_number(name: str, value: Any, origin: Origin) -> float:
    """Return the number of an object, converted once, so that its class is not called again."""
    try:
        number = float(value)
        return int(number) if number.is_integer() else number
    except Exception as error:
        message = f"{name} must be a number, not an object of class {type(value).__name__}"
        raise StopMapping(
            MappingOutcome.ERROR, visible(message), origin, type(error).__name__
        ) from error


def _refuse_others(name: str, value: Any, origin: Origin) -> None:
    if value is None:
        return
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if 0 <= value <= sys.float_info.max:
            return
        words = "too large" if value > 0 else str(value)
        message = f"{name} is {words}, which is not an amount"
    else:
        shown = visible(repr(value)[:60])
        message = f"{name} must be a number, not {shown} ({type(value).__name__})"
        if isinstance(value, (set, dict)):
            message += "; an amount is an expression as it is, without braces"
    raise StopMapping(MappingOutcome.ERROR, message, origin, "TypeError")


def lower(one: Any, other: Any) -> Any:
    """Return the lower of two amounts, or the one that is set."""
    return _either(min, one, other)


def higher(one: Any, other: Any) -> Any:
    """Return the higher of two amounts, or the one that is set."""
    return _either(max, one, other)


def _either(choose: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    if one is None:
        return other
    return one if other is None else choose(one, other)
