"""Errors and notices as values: what is wrong, where, and what to do about it.

Every error that the user can cause is raised as a `RowtuiError` or collected as a `Problem`; the
sentence is composed only where it is printed (`cli/output/output.py`, `tui/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One problem of one file.

    `line` and `column` count from 1; 0 means the whole file. `severity` is "error" (the affected
    part cannot be submitted) or "warning". `action` is the index of the affected action element in
    workflow.toml, or None.
    """

    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    severity: str = "error"
    action: int | None = None

    def __str__(self) -> str:
        """Return the compiler's form, `file:line:column: message (hint)`."""
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        return f"{place}: {self.message}" + (f"\n    {self.hint}" if self.hint else "")

    @property
    def sentence(self) -> str:
        """The message with its hint, on one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def as_document(self) -> ProblemJson:
        """Return the fields that documents have."""
        hint = self.hint or None
        return ProblemJson(self.file, self.line, self.column, self.severity, self.message, hint)


class ProblemJson(NamedTuple):
    """What is wrong with a file, and where. `line`, `column`: from 1; 0 if there is none."""

    file: str
    line: int
    column: int
    severity: str
    message: str
    hint: str | None


class ErrorJson(NamedTuple):
    """Why a command failed. `problems`: of a file, if that is the reason."""

    message: str
    hint: str | None
    problems: Sequence[Problem]


class FailedJson(NamedTuple):
    """What a command prints in place of its result if it fails before it has one."""

    error: ErrorJson


class RowtuiError(Exception):
    """An error that the user can understand and correct. `hint` describes what to do."""

    problems: tuple[Problem, ...] = ()

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, with the hint on a line of its own."""
        return self.message + (f"\n    {self.hint}" if self.hint else "")

    def as_document(self) -> FailedJson:
        """Return what a command prints that fails."""
        return FailedJson(ErrorJson(self.message, self.hint or None, self.problems))


class InvalidFileError(RowtuiError):
    """A file that the user wrote is invalid; `problems` has all its problems."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class WorkflowError(InvalidFileError):
    """workflow.toml is invalid."""


class NotSavedError(RowtuiError):
    """Something could not be written. Previously saved data is intact.

    `forbidden`: this user may not write there, or the file system is read-only.
    """

    def __init__(self, message: str, hint: str, *, forbidden: bool = False) -> None:
        super().__init__(message, hint)
        self.forbidden = forbidden


class NoProjectError(RowtuiError):
    """There is no workflow.toml here or in any parent folder."""


class IncomparableError(RowtuiError):
    """Values without an order, or a missing pointer, occurred in `include` or `sort_by`.

    `directories` are the names involved (one for include, two for a comparison). A comparison
    without order is an error also in sort_by, where Row panics.
    """

    def __init__(self, message: str, directories: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint)
        self.directories = directories
