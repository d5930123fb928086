"""Errors and notices as values: what is wrong, where, and what to do about it.

Everything that a person can cause is raised as a `RowtuiError` or collected as a `Problem`;
the sentence is put together only at the edge that prints it (`cli/output.py`, `tui/`).
"""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """One thing wrong in one file.

    `line` and `column` count from 1; 0 means that the whole file is meant. `severity` is "error"
    (nothing can be submitted for what it concerns) or "warning". `action` is the index of the
    action element in workflow.toml that it concerns, or None.
    """

    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    severity: str = "error"
    action: int | None = None

    def __str__(self) -> str:
        """The compiler's form, `file:line:column: message (hint)`."""
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        return f"{place}: {self.message}" + (f"\n    {self.hint}" if self.hint else "")


class RowtuiError(Exception):
    """An error that a person can understand and mend. `hint` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """The message, with the hint on a line of its own."""
        return self.message + (f"\n    {self.hint}" if self.hint else "")


class InvalidFileError(RowtuiError):
    """A file that a person wrote cannot be used; `problems` has all its problems at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class WorkflowError(InvalidFileError):
    """workflow.toml cannot be used."""


class NoProjectError(RowtuiError):
    """No workflow.toml here or in any parent folder."""


class IncomparableError(RowtuiError):
    """Values that have no order, or a missing pointer, met in `include` or `sort_by`.

    `directories` are the names involved (one for include, two for a comparison). A comparison
    without order is an error also in sort_by, where Row panics.
    """

    def __init__(self, message: str, directories: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint)
        self.directories = directories
