"""Results of the review of a plan: checks, findings, budgets, earlier scripts.

These values for screens and commands are bounded by the plan. A finding names its jobs by ranges of
positions, so that a screen on which the user excludes jobs can show the findings that remain.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple


class CheckState(enum.Enum):
    """State of a check, in the order of severity."""

    OK = "ok"
    NOT_OFFERED = "not offered"
    PENDING = "pending"
    WARNING = "warning"
    FAILED = "failed"

    @property
    def weight(self) -> int:
        """Return the severity; the worst of several findings has the greatest."""
        return list(CheckState).index(self)


Ranges = tuple[tuple[int, int], ...]
"""Positions of jobs in a plan as (from, to) with `to` exclusive, in order."""


class PlanFinding(NamedTuple):
    """One finding of a check. `fix`: what the user can do; `jobs`: the affected jobs."""

    state: CheckState
    text: str
    fix: str = ""
    jobs: Ranges = ()


class Budget(NamedTuple):
    """Hours that may be spent, and how many remain before this plan.

    `unit`: "CPU-hours" or "GPU-hours". `whole`: the initial amount, None if unknown. `jobs`: the
    jobs that are charged to the budget. `where`: text for the user that names where the budget is
    kept.
    """

    name: str
    unit: str
    left: float
    whole: float | None
    jobs: Ranges
    where: str = ""


class PlanCheck(NamedTuple):
    """One check of a plan: its overall result and all findings.

    `text`: the result without findings, the progress, or why the check is not offered.
    """

    name: str
    state: CheckState
    text: str = ""
    fix: str = ""
    findings: tuple[PlanFinding, ...] = ()
    budgets: tuple[Budget, ...] = ()


NAMES = ("scripts", "dry check", "duplicates", "warnings", "budget", "allocation")
"""All checks, in the order in which they are shown."""


class ScriptAsked(NamedTuple):
    """The request for an earlier script to compare with: of an action, or of a bundle.

    `size`: directories of the job, or requests of the bundle; the earlier script of the nearest
    size is used. `plan_id`: the current plan, which does not count as an earlier one.
    """

    action: str
    cluster: str
    scheduler: str
    size: int
    bundle: str | None = None  # the node type; None for a job
    plan_id: str = ""


class ScriptBefore(NamedTuple):
    """The script last submitted, and its job. `at`: epoch seconds; `job`: the scheduler's id."""

    script: str
    job: str
    cluster: str
    partition: str
    at: float
    directories: int


class ExportedFiles(NamedTuple):
    """The files written to a folder.

    `there`: names that exist already; if any, nothing was written.
    """

    folder: str
    files: int
    there: tuple[str, ...] = ()


def ranges_of(positions: Iterable[int]) -> Ranges:
    """Return ascending positions as ranges."""
    found: list[tuple[int, int]] = []
    for at in positions:
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return tuple(found)


def worst(states: Iterable[CheckState]) -> CheckState:
    """Return the state with the greatest weight; OK for an empty input."""
    return max(states, key=lambda state: state.weight, default=CheckState.OK)
