"""What a job graph is told and what it answers: states, blocks of new jobs, changes.

A job's state follows from two things alone: what was said of the job itself (it is with a
scheduler, it is complete, it failed, a person cancelled it, its data is absent) and the states of
the jobs that it needs. So the same events in any order end in the same states. Of what was said of
a job itself, the strongest holds: complete before cancelled before failed before missing before
active. A job that is missing, or needs missing ones, and needs lost ones as well is cancelled:
failed beats missing. Source: Fastr's states of samples, where the worst of a sample's parts is its
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rowtui.core.errors import RowtuiError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = Sequence[int] | NDArray[Any]


class JobState(IntEnum):
    """Where a job of the graph is."""

    WAITING = 0  # for others
    READY = 1
    ACTIVE = 2  # with a scheduler
    COMPLETE = 3
    FAILED = 4  # by itself
    CANCELLED = 5  # something it needs is lost, or a person cancelled it
    MISSING = 6  # the data it would work on is known to be absent: a run succeeds without it


STATES: Final = len(JobState)

# What a state means to the jobs that need the one in it.
OPEN, GOOD, LOST, GONE = range(4)
KIND: Final = bytes((OPEN, OPEN, OPEN, GOOD, LOST, LOST, GONE))  # by state

# Of two things said of one job, the one with the higher number holds.
STRENGTH: Final = bytes((0, 0, 1, 5, 3, 4, 2))  # by state

MOST: Final = (1 << 31) - 1  # jobs and dependencies: they are counted in 32 bits


class JobGraphError(RowtuiError):
    """A job graph was asked for what it cannot do."""


@dataclass(frozen=True, slots=True)
class Block:
    """New jobs of one node. They get the next numbers of the graph, in order.

    Job i of the block needs `dependencies[starts[i]:starts[i + 1]]`, numbers of the whole graph:
    of jobs that are there, or that come earlier in the same extension. Without `starts` none needs
    anything. `slots[e]` belongs to `dependencies[e]`: -1 for one that must be complete, else the
    position of a slot of this block. Slot s is of the block's job `slot_jobs[s]`, which can do
    with `slot_least[s]` of the slot's members (with all of them, where it has fewer).
    """

    node: int
    count: int
    starts: Ints = ()
    dependencies: Ints = ()
    slots: Ints = ()
    slot_jobs: Ints = ()
    slot_least: Ints = ()


class Change(NamedTuple):
    """What followed from one event: numbers of jobs, each once, in no particular order.

    `ready` became ready, `cancelled` were cancelled (also by a person), `missing` became missing;
    `back` were cancelled or missing and are waiting, ready or active again. `stopped` are those of
    `cancelled` and `missing` that were with a scheduler: their submissions are to be taken back.
    """

    ready: list[int]
    cancelled: list[int]
    missing: list[int]
    back: list[int]
    stopped: list[int]


class Extended(NamedTuple):
    """The numbers of new jobs, for each block, and what followed at once."""

    jobs: tuple[range, ...]
    change: Change


class LeftOut(NamedTuple):
    """A member of a slot that is lost or missing. `slot` counts the slots of its job from 0."""

    job: int
    slot: int
    state: JobState


class Snapshot(NamedTuple):
    """All states at one moment, a byte for each job; `counts[node][state]` are of the same."""

    generation: int
    states: bytes
    counts: tuple[tuple[int, ...], ...]


class Edges(NamedTuple):
    """Dependencies as two columns: `jobs[e]` needs `needs[e]`."""

    needs: NDArray[Any]
    jobs: NDArray[Any]


def nothing() -> Change:
    """A change to be filled in."""
    return Change([], [], [], [], [])
