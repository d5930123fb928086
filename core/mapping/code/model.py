"""Compiled pieces of Python from mapping files, and the exceptions by which they route a job.

Files of TPV import the exceptions by their names.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible

CODE_FILE = "<mapping expression>"  # file name by which tracebacks identify expressions

_LOOKS = pattern(r"\b(globals|locals|vars|dir|eval|exec)\s*\(")

Run = Callable[[dict[str, Any]], Any]


class ExpressionKind(enum.Enum):
    """How a text is read."""

    BLOCK = "block"  # statements; the last one is an expression that gives the value
    TEXT = "text"  # {expressions} in a text
    EXECUTE = "execute"  # statements without a value


class SyntaxComplaint(NamedTuple):
    """Why a text cannot be run. `line` and `column` count from 1 within the text.

    `kind` is "syntax", or "no_value" for a block that does not end in an expression (TPV raises an
    AssertionError when such a block runs).
    """

    message: str
    line: int
    column: int
    kind: str = "syntax"


class Code:
    """A compiled text. Shared; never changed.

    `run(namespace)` gives its value; the namespace holds "__builtins__", and the code may add to
    it. `names`: the names that the code may read. `constant`: nothing has to be run, `value` is the
    value.
    """

    __slots__ = ("constant", "form", "names", "run", "syntax_error", "text", "value")

    def __init__(
        self,
        text: str,
        form: ExpressionKind,
        run: Run,
        *,
        names: frozenset[str] = frozenset(),
        syntax_error: SyntaxComplaint | None = None,
        constant: bool = False,
        value: Any = None,
    ) -> None:
        self.text = text
        self.form = form
        self.run = run
        self.syntax_error = syntax_error
        self.constant = constant
        self.value = value
        self.names = names

    def looks_at_its_names(self) -> str:
        """Return the function by which the code reads its own names; "" if there is none."""
        match = _LOOKS.search(self.text)
        return match[1] if match and match[1] in self.names else ""

    def __repr__(self) -> str:
        """Return the form and the start of the text."""
        return f"Code({self.form.value}, {visible(self.text[:60])})"


def constant(text: str, form: ExpressionKind, value: Any) -> Code:
    """Return a code whose value is known."""
    return Code(text, form, lambda _: value, constant=True, value=value)


class JobMappingException(Exception):
    """The job cannot be mapped; the text is the reason."""


class JobNotReadyException(Exception):
    """The job is to wait, and to be mapped again later."""


class TryNextDestinationOrFail(Exception):
    """The destination does not take the job; without another destination the job fails."""


class TryNextDestinationOrWait(Exception):
    """The destination does not take the job now; without another destination the job waits."""


class IncompatibleTagsException(Exception):
    """Tags that cannot be combined."""


FLOW_EXCEPTIONS = (
    JobMappingException,
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)
