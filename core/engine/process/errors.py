"""Errors that are sent from the engine's process to the screen's, and the loss of that process."""

from __future__ import annotations

import pickle
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError


class EngineLost(RowtuiError):
    """The engine's process ended during a call, or is not running."""


class UnknownPlan(RowtuiError):
    """The engine does not have the plan of this name: send the whole plan."""


class SentError(NamedTuple):
    """An error as a value: its class by name, and the content of its instance."""

    module: str
    name: str
    arguments: tuple[Any, ...]
    fields: dict[str, Any]


def as_value(error: BaseException, log: Path) -> SentError:
    """Return an error as a value. A defect is logged, and only a sentence is sent to the screen."""
    if isinstance(error, RowtuiError):
        kind = type(error)
        found = SentError(kind.__module__, kind.__qualname__, error.args, dict(vars(error)))
        if _crosses(found):
            return found
        write_down(error)
        return _sentence(error.message, error.hint)
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        arguments: tuple[Any, ...] = error.args
        if error.filename is not None:
            arguments = (error.errno, error.strerror, error.filename)
        return SentError("builtins", type(error).__qualname__, arguments, {})
    write_down(error)
    text = str(error) or "no more is known"
    return _sentence(f"{type(error).__name__}: {text}", f"the details are in {log}")


def _sentence(message: str, hint: str) -> SentError:
    return SentError(
        RowtuiError.__module__, "RowtuiError", (message,), {"message": message, "hint": hint}
    )


def _crosses(told: SentError) -> bool:
    try:
        from_value(pickle.loads(pickle.dumps(told)))  # noqa: S301
    except Exception:
        return False
    return True


def from_value(told: SentError) -> Exception:
    """Restore the error with its fields, without calling its constructor."""
    found: Any = import_module(told.module)
    for part in told.name.split("."):
        found = getattr(found, part)
    error: Exception = found.__new__(found, *told.arguments)
    if told.fields:
        error.args = told.arguments
        vars(error).update(told.fields)
    return error


def write_down(error: BaseException) -> None:
    """Write an error with its traceback to the log, which is standard error here."""
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    sys.stderr.write(f"{when} " + "".join(traceback.format_exception(error)))
    sys.stderr.flush()


def how_it_ended(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is None:
        return "nothing is known of its end"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"
