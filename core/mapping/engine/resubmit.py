"""Retry a failed job: the handler of `resubmit` that applies, and its destination.

The input is the handlers of a placement, filled in, and how a job ended; the output is the first
handler whose condition holds. Conditions are the small language of Galaxy's resubmission (names,
numbers, comparisons, arithmetic, and, or, not); they are parsed and never run as Python. Source:
TPV's documentation, "Job Resubmission".
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.workflow.toml_file import did_you_mean

# Destinations by which a handler has a job mapped again, with its parameters as `previous_params`.
MAP_AGAIN = frozenset({"", "tpv_dispatcher", "tpv", "rowtui"})
_LONGEST = 1_000  # characters of a condition
_MOST_SECONDS = 30 * 24 * 3600


class JobEnd(NamedTuple):
    """How a job ended. `attempt`: the number of the attempt, from 1; times in seconds."""

    walltime_reached: bool = False
    memory_limit_reached: bool = False
    node_failed: bool = False
    unknown_error: bool = False
    attempt: int = 1
    seconds_running: float = 0.0
    seconds_since_queued: float = 0.0

    @property
    def names(self) -> Mapping[str, Any]:
        """The names that conditions may use."""
        known = self._asdict()
        known["any_failure"] = True
        known["any_potential_job_fix"] = self.walltime_reached or self.memory_limit_reached
        known["tool_detected_failure"] = False
        return known


class Resubmission(NamedTuple):
    """The retry of a failed job. `destination` "": map it again, with attempt + 1."""

    handler: str
    destination: str
    delay_seconds: float
    attempt: int


class ResubmitError(RowtuiError):
    """A handler that cannot be parsed. `origin`: its origin, if known."""

    def __init__(self, message: str, hint: str = "", origin: Origin | None = None) -> None:
        super().__init__(message, hint)
        self.origin = origin


def next_attempt(resubmit: Mapping[str, Mapping[str, Any]], end: JobEnd) -> Resubmission | None:
    """Return the first handler whose condition holds; None: the job has finally failed.

    Raises: ResubmitError for a condition or delay that cannot be parsed.
    """
    for name, handler in resubmit.items():
        condition = handler.get("condition", "any_failure")
        if not _value(str(condition), end, f"the condition of {visible(name)}"):
            continue
        target = str(handler.get("destination") or handler.get("environment") or "")
        delay = handler.get("delay") or 0
        seconds = _value(str(delay), end, f"the delay of {visible(name)}")
        if isinstance(seconds, bool) or not 0 <= seconds <= _MOST_SECONDS:
            raise ResubmitError(f"the delay of {visible(name)} is not a time in seconds: {seconds}")
        where = "" if target in MAP_AGAIN else target
        return Resubmission(name, where, float(seconds), end.attempt + 1)
    return None


_BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _value(text: str, end: JobEnd, what: str) -> Any:
    try:
        if len(text) > _LONGEST:
            raise ResubmitError(f"{what} is too long")
        return _Reader(end.names, what).of(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        shown = visible(text[:80])
        raise ResubmitError(f"{what} cannot be read: {shown}", "like: attempt <= 3") from error
    except (ArithmeticError, TypeError) as error:
        raise ResubmitError(f"{what} cannot be worked out: {error}") from error


class _Reader:
    def __init__(self, names: Mapping[str, Any], what: str) -> None:
        self.names = names
        self.what = what

    def of(self, node: ast.expr) -> Any:
        """Raises: ResubmitError for anything except the small language."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return node.value
            case ast.Name(id=name):
                return self.named(name)
            case ast.BoolOp(op=op, values=values):
                found = (bool(self.of(each)) for each in values)
                return all(found) if isinstance(op, ast.And) else any(found)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.of(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.of(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.of(left), self.of(right))
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self.of(each) for each in (left, *others)]
                known = [_BINARY.get(type(op)) for op in ops]
                if None not in known:
                    pairs = zip(known, values, values[1:], strict=False)
                    return all(compare(a, b) for compare, a, b in pairs if compare is not None)
        raise ResubmitError(
            f"{self.what} has an element that conditions do not support: "
            f"{visible(ast.unparse(node)[:60])}",
            f"they may have {', '.join(sorted(self.names))}, numbers, comparisons, and, or, not",
        )

    def named(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        hint = did_you_mean(name, self.names) or f"known: {', '.join(sorted(self.names))}"
        raise ResubmitError(f"{self.what} uses an unknown name: {visible(name)}", hint)
