"""What the command line prints with `--json` where it is no record (see `core/base/document.py`).

Each field has one name and one unit. `core/engine/api/json/` and the commands make the values.
Units, unless a docstring states others: memory in MB (2^20 bytes), durations in seconds
(`..._seconds`), times as ISO 8601 in UTC (`..._at`), costs in hours of one CPU or one GPU.
A field without a value is null; no field is left out unless it is `NotRequired`.
`docs/make_schema.py` writes these types and records as JSON Schemas (docs/schema/).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem

VERSION = 1


class ProblemJson(TypedDict):
    """What is wrong with a file, and where. `line`, `column`: from 1; 0 if there is none."""

    file: str
    line: int
    column: int
    severity: str
    message: str
    hint: str | None


def problem_data(problem: Problem) -> ProblemJson:
    """Return a problem of a file, and its place."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint or None,
    }


class ErrorJson(TypedDict):
    """Why a command failed. `problems`: of a file, if that is the reason."""

    message: str
    hint: str | None
    problems: list[ProblemJson]


class FailedJson(TypedDict):
    """What a command prints in place of its result if it fails before it has one."""

    version: int
    error: ErrorJson
