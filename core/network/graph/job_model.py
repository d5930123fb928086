"""The types of a job graph: states, blocks of new jobs, changes.

A job's state follows from two things alone: the events of the job itself (it is submitted, it is
completed, it failed, the user cancelled it, its data is absent) and the states of its dependencies.
The same events in any order therefore end in the same states. Of the events of a job itself, the
strongest holds: completed before cancelled before failed before skipped before submitted. A job
that is skipped, or has skipped dependencies, and also has lost ones is blocked: failed beats
skipped.
Source: Fastr's states of samples, where the worst state of a sample's parts is the sample's state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rowtui.core.base.errors import RowtuiError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = Sequence[int] | NDArray[Any]


class GraphJobState(IntEnum):
    """The state of a job of the graph, in the words of directories (`Status`)."""

    WAITING = 0  # for other jobs
    ELIGIBLE = 1
    SUBMITTED = 2  # to a scheduler
    COMPLETED = 3
    FAILED = 4  # by itself
    CANCELLED = 5  # by the user
    SKIPPED = 6  # its input data is known to be absent: a run succeeds without it
    BLOCKED = 7  # a job that it needs failed, was cancelled, or is blocked itself


STATES: Final = len(GraphJobState)

# The meaning of a job's state for its dependents.
OPEN, GOOD, LOST, GONE = range(4)
KIND: Final = bytes((OPEN, OPEN, OPEN, GOOD, LOST, LOST, GONE, LOST))  # by state

LOST_STATES: Final = tuple(state for state in GraphJobState if KIND[state] == LOST)

# Of two events of one job, the one with the higher number holds.
STRENGTH: Final = bytes((0, 0, 1, 5, 3, 4, 2, 0))  # by state

MOST: Final = (1 << 31) - 1  # jobs and dependencies: they are counted in 32 bits


class JobGraphError(RowtuiError):
    """A request that a job graph cannot fulfil."""


@dataclass(frozen=True, slots=True)
class JobBlock:
    """New jobs of one node. They get the next numbers of the graph, in order.

    Job i of the block needs `dependencies[starts[i]:starts[i + 1]]`, numbers of the whole graph: of
    existing jobs, or of earlier jobs in the same extension. Without `starts` the jobs have no
    dependencies. `slots[e]` belongs to `dependencies[e]`: -1 for a strict dependency, otherwise the
    position of a slot of this block. Slot s belongs to the block's job `slot_jobs[s]`, which needs
    only `slot_least[s]` of the slot's members (all of them, if the slot has fewer).
    """

    node: int
    count: int
    starts: Ints = ()
    dependencies: Ints = ()
    slots: Ints = ()
    slot_jobs: Ints = ()
    slot_least: Ints = ()


class GraphChange(NamedTuple):
    """The consequences of one event: numbers of jobs, each once, in no particular order.

    `ready` became eligible, `cancelled` were cancelled or are blocked, `skipped` became skipped;
    `back` were cancelled, blocked or skipped and are waiting, eligible or submitted again.
    `stopped` are the jobs of `cancelled` and `skipped` that were submitted: their scheduler jobs
    have to be cancelled.
    """

    ready: list[int]
    cancelled: list[int]
    skipped: list[int]
    back: list[int]
    stopped: list[int]


class Extended(NamedTuple):
    """The numbers of new jobs, for each block, and the immediate consequences."""

    jobs: tuple[range, ...]
    change: GraphChange


class LostMember(NamedTuple):
    """A member of a slot that is lost or skipped. `slot` counts the slots of its job from 0."""

    job: int
    slot: int
    state: GraphJobState


class GraphSnapshot(NamedTuple):
    """All states at one moment, a byte for each job, with their `counts[node][state]`."""

    generation: int
    states: bytes
    counts: tuple[tuple[int, ...], ...]


class DependencyColumns(NamedTuple):
    """Dependencies as two columns: `jobs[e]` needs `needs[e]`."""

    needs: NDArray[Any]
    jobs: NDArray[Any]


def nothing() -> GraphChange:
    """Return an empty change."""
    return GraphChange([], [], [], [], [])
