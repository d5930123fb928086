"""The snapshot of a project for screens, and the words that announce changes.

A snapshot has a generation number: a screen with an older generation requests its pages again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.project.views.mapping_trust import UntrustedFile
    from rowtui.core.project.views.needs import FailureCause
    from rowtui.core.runs.service import RunStanding


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """One row of the status screen. Counts are directories.

    `failed`, `not_reached` and `cancelled` are part of `eligible`: how the last job there ended.
    """

    index: int
    name: str
    command: str
    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int
    remaining_cost: Cost
    products: tuple[str, ...]
    previous_actions: tuple[str, ...]
    resources: str  # "4 processes, 2 threads each, 01:00:00 per directory"
    grouping: str  # "sort by /T, split, at most 100"
    problem: str = ""
    not_reached: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        """Return how many directories the action includes."""
        return self.completed + self.submitted + self.eligible + self.waiting


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """The project as a whole at one generation. `at`: epoch seconds of the synchronisation."""

    generation: int
    at: float
    root: str
    cluster: str
    cluster_because: str
    scheduler: str
    directories: int
    bad: tuple[tuple[str, str], ...]  # (name, reason), the first few
    bad_count: int
    actions: tuple[ActionSummary, ...]
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    failures: tuple[FailureCause, ...] = ()
    untrusted: tuple[UntrustedFile, ...] = ()
    run: RunStanding | None = None


ENGINE_LOST = "engine lost"  # words of `changes`; the first one is followed by ": " and the reason
ENGINE_BACK = "engine back"
TERMINAL_NOTICE = "terminal: "  # prefix of a word whose rest is written to the user's terminal
