"""What a review says of a plan before it is sent: checks with findings, budgets, earlier scripts.

Values for screens and commands, bounded by the plan: a finding names its jobs by ranges of their
positions, so that whoever switches jobs off knows which findings are left.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple


class CheckState(enum.Enum):
    """How a check stands. The order is that of their weight."""

    OK = "ok"
    NOT_OFFERED = "not offered"
    PENDING = "pending"
    WARNING = "warning"
    FAILED = "failed"

    @property
    def weight(self) -> int:
        """The worst of several findings is the one with the greatest."""
        return list(CheckState).index(self)


Ranges = tuple[tuple[int, int], ...]
"""Positions of jobs in a plan: from, to (exclusive), in order."""


class Finding(NamedTuple):
    """One thing that a check found. `fix`: what a person can do; `jobs`: which it is about."""

    state: CheckState
    text: str
    fix: str = ""
    jobs: Ranges = ()


class Budget(NamedTuple):
    """Hours that may be spent, and what is left before this plan.

    `unit`: "CPU-hours" or "GPU-hours". `whole`: what there was at the beginning, None if that is
    not known. `jobs`: those that are paid from it. `where`: who keeps it, for a person.
    """

    name: str
    unit: str
    left: float
    whole: float | None
    jobs: Ranges
    where: str = ""


class Check(NamedTuple):
    """One check of a plan: what came of it as a whole, and everything that was found.

    `text`: what holds if nothing was found, or is going on, or why it is not offered.
    """

    name: str
    state: CheckState
    text: str = ""
    fix: str = ""
    findings: tuple[Finding, ...] = ()
    budgets: tuple[Budget, ...] = ()


NAMES = ("scripts", "dry check", "duplicates", "warnings", "budget", "allocation")
"""All checks, in the order in which they are shown."""


class ScriptAsked(NamedTuple):
    """Which earlier script somebody wants to compare with: of an action, or of a bundle.

    `size`: directories of the job, or requests of the bundle; of several, the one nearest to it is
    taken. `plan_id`: the plan that is looked at, which is not an earlier one.
    """

    action: str
    cluster: str
    scheduler: str
    size: int
    bundle: str | None = None  # the node type; None for a job
    plan_id: str = ""


class ScriptBefore(NamedTuple):
    """The script last submitted, and as what. `at`: epoch seconds; `job`: the scheduler's id."""

    script: str
    job: str
    cluster: str
    partition: str
    at: float
    directories: int


class Exported(NamedTuple):
    """What was written to a folder. `there`: names that are there already; then nothing was."""

    folder: str
    files: int
    there: tuple[str, ...] = ()


def ranges_of(positions: Iterable[int]) -> Ranges:
    """Ascending positions as ranges."""
    found: list[tuple[int, int]] = []
    for at in positions:
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return tuple(found)


def worst(states: Iterable[CheckState]) -> CheckState:
    """The one with the greatest weight; OK of none."""
    return max(states, key=lambda state: state.weight, default=CheckState.OK)
