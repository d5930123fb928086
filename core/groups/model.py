"""Groups, job requests and the status of every directory, as values."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import Cost

if TYPE_CHECKING:
    from rowtui.core.state.model import DirectorySet
    from rowtui.core.workflow.model import Action


class Status(enum.Enum):
    """The status of a directory for an action; the first that holds, in this order.

    FAILED, NOT_REACHED and CANCELLED are not in Row: the directory is eligible, and its last job
    ended in this way (`Outcome`).
    """

    COMPLETED = "completed"
    SUBMITTED = "submitted"
    FAILED = "failed"
    NOT_REACHED = "not reached"
    CANCELLED = "cancelled"
    ELIGIBLE = "eligible"
    WAITING = "waiting"

    @property
    def eligible(self) -> bool:
        """Whether such a directory is eligible, however its last job ended."""
        return self is Status.ELIGIBLE or self in ENDED


ENDED = frozenset({Status.FAILED, Status.NOT_REACHED, Status.CANCELLED})
"""Statuses of eligible directories that show how the last job ended."""


class Group(NamedTuple):
    """An ordered list of directories that one job will process. `indices` are positions."""

    action: Action
    indices: tuple[int, ...]


class JobRequest(NamedTuple):
    """An action on a group with its total resources, before a destination is chosen.

    Units: processes, CPUs and GPUs are counts for the whole job; `walltime_seconds` is for the
    whole job too. `requires`: paths in the workspace that must exist when the job runs (os.fsdecode
    form).
    """

    group: Group
    processes: int
    cpus: int
    gpus: int
    walltime_seconds: int
    cost: Cost
    attempt: int = 1
    depends_on: tuple[int, ...] = ()  # indices into the same list of requests
    requires: tuple[str, ...] = ()

    @property
    def action(self) -> Action:
        """The action that will run."""
        return self.group.action


class ActionStatus(NamedTuple):
    """The directories of one action element by status, as sets, and the remaining cost.

    The first four sets never overlap. `eligible` includes `failed`, `not_reached` and `cancelled`:
    such a directory may be submitted again, as in Row. `problem` is not empty if the action's
    directories could not be determined (for example because of an incomparable include); the sets
    are then empty.
    """

    action: Action
    completed: DirectorySet = 0
    submitted: DirectorySet = 0
    eligible: DirectorySet = 0
    waiting: DirectorySet = 0
    failed: DirectorySet = 0
    not_reached: DirectorySet = 0
    cancelled: DirectorySet = 0
    remaining_cost: Cost = Cost()
    problem: str = ""

    def members(self, status: Status) -> DirectorySet:
        """Return the set for one status. ELIGIBLE includes the directories in `ended`."""
        sets = {
            Status.COMPLETED: self.completed,
            Status.SUBMITTED: self.submitted,
            Status.ELIGIBLE: self.eligible,
            Status.WAITING: self.waiting,
            Status.FAILED: self.failed,
            Status.NOT_REACHED: self.not_reached,
            Status.CANCELLED: self.cancelled,
        }
        return sets[status]

    @property
    def ended(self) -> DirectorySet:
        """The eligible directories whose last job ended without completing them."""
        return self.failed | self.not_reached | self.cancelled

    def status_of(self, position: int) -> Status | None:
        """Return the status of one directory; None if the action does not include it."""
        for status in Status:
            if self.members(status) >> position & 1:
                return status
        return None


class StatusTable(NamedTuple):
    """One row for each action element, in file order. `directories` is their number."""

    rows: tuple[ActionStatus, ...]
    directories: int
    bad: int = 0


class RankedColumn(NamedTuple):
    """A column for sorting: `codes`, the rank of each code (None: the code), and their number."""

    codes: Sequence[int]
    ranks: Sequence[int] | None
    width: int
