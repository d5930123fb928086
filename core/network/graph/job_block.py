"""Blocks of new jobs as checked arrays, and the effect of their dependencies on their states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rowtui.core.network.graph.job_model import (
    GONE,
    GOOD,
    KIND,
    LOST,
    OPEN,
    Block,
    JobGraphError,
)

if TYPE_CHECKING:
    from rowtui.core.network.graph.job_model import Ints

Int32 = NDArray[np.int32]

_KIND = np.frombuffer(KIND, np.uint8)


@dataclass(frozen=True, slots=True)
class NewJobs:
    """A block as arrays. The job at position `owner[e]` of the block needs `needs[e]`.

    `slots[e]` is the position of a slot of the block, or -1.
    """

    first: int
    count: int
    starts: Int32
    needs: Int32
    owner: Int32
    slots: Int32
    slot_jobs: Int32
    slot_least: Int32


class SlotCounts(NamedTuple):
    """For each slot of a block: its members, and how many of them are lost or gone."""

    members: Int32
    lost: Int32
    gone: Int32


class Outlook(NamedTuple):
    """The dependencies of each job of a block, counted.

    `unmet`: dependencies that the job waits for. `lost`, `gone`: dependencies and slots that are
    lost or gone.
    """

    unmet: Int32
    lost: Int32
    gone: Int32
    slots: SlotCounts


def new_jobs(block: Block, first: int) -> NewJobs:
    """Return the block as checked arrays, with its jobs numbered from `first` on.

    Raises: JobGraphError.
    """
    count = block.count
    needs = _ints(block.dependencies)
    starts = _ints(block.starts) if len(block.starts) else np.zeros(count + 1, np.int32)
    slots = _ints(block.slots) if len(block.slots) else np.full(len(needs), -1, np.int32)
    slot_jobs, slot_least = _ints(block.slot_jobs), _ints(block.slot_least)
    if block.node < 0 or count < 0:
        raise JobGraphError(f"a block of {count} jobs of node {block.node} is none")
    if (
        len(starts) != count + 1
        or starts[0] != 0
        or starts[-1] != len(needs)
        or (count and int(np.diff(starts).min()) < 0)
    ):
        raise JobGraphError(
            f"the starts of a block of {count} jobs do not fit its {len(needs)} dependencies"
        )
    owner = np.repeat(np.arange(count, dtype=np.int32), np.diff(starts))
    if len(needs):
        wrong = (needs < 0) | (needs >= owner + first)
        if wrong.any():
            edge = int(wrong.argmax())
            raise JobGraphError(
                f"new job {first + int(owner[edge])} cannot need {int(needs[edge])}",
                "new jobs can need those that are there, or that come before them",
            )
    _check_slots(slots, owner, slot_jobs, slot_least, count)
    return NewJobs(first, count, starts, needs, owner, slots, slot_jobs, slot_least)


def _check_slots(
    slots: Int32, owner: Int32, slot_jobs: Int32, slot_least: Int32, count: int
) -> None:
    if len(slots) != len(owner) or len(slot_jobs) != len(slot_least):
        raise JobGraphError("the slots of a block do not fit its dependencies")
    if len(slot_jobs) and not (
        int(slot_jobs.min()) >= 0 and int(slot_jobs.max()) < count and int(slot_least.min()) >= 0
    ):
        raise JobGraphError("a slot of a block is of no job of it, or asks for less than nothing")
    if not len(slots):
        return
    if int(slots.min()) < -1 or int(slots.max()) >= len(slot_jobs):
        raise JobGraphError("a dependency of a block is in a slot that the block does not have")
    tolerant = slots >= 0
    if (slot_jobs[slots[tolerant]] != owner[tolerant]).any():
        raise JobGraphError("a dependency of a block is in a slot of another job")


def outlook(jobs: NewJobs, states: NDArray[np.uint8]) -> Outlook:
    """Count the dependencies of new jobs by the states of earlier jobs; new jobs count as open."""
    known = np.zeros(len(jobs.needs), np.uint8)
    earlier = jobs.needs < jobs.first
    known[earlier] = _KIND[states[jobs.needs[earlier]]]
    strict = jobs.slots < 0
    if strict.all():
        unmet = _number(jobs, known != GOOD) if known.any() else np.diff(jobs.starts)
    else:
        unmet = _number(jobs, np.where(strict, known != GOOD, known == OPEN))
    lost = _number(jobs, strict & (known == LOST))
    gone = _number(jobs, strict & (known == GONE))
    counts = _slot_counts(jobs, known)
    left = counts.members - counts.lost - counts.gone
    broken = left < np.minimum(jobs.slot_least, counts.members)
    lost += _bincount(jobs.slot_jobs[broken & (counts.lost > 0)], jobs.count)
    gone += _bincount(jobs.slot_jobs[broken & (counts.lost == 0)], jobs.count)
    return Outlook(unmet.astype(np.int32), lost, gone, counts)


def _slot_counts(jobs: NewJobs, known: NDArray[np.uint8]) -> SlotCounts:
    number = len(jobs.slot_jobs)
    tolerant = jobs.slots >= 0
    slots, known = jobs.slots[tolerant], known[tolerant]
    return SlotCounts(
        _bincount(slots, number),
        _bincount(slots[known == LOST], number),
        _bincount(slots[known == GONE], number),
    )


def _number(jobs: NewJobs, which: NDArray[np.bool_]) -> Int32:
    """Return how many dependencies of each job are in `which`."""
    return _bincount(jobs.owner[which], jobs.count)


def _bincount(positions: Int32, number: int) -> Int32:
    return np.bincount(positions, minlength=number).astype(np.int32)


def _ints(numbers: Ints) -> Int32:
    """Return numbers as 32-bit integers. Raises: JobGraphError if one does not fit."""
    array: NDArray[Any] = np.asarray(numbers)
    if array.dtype == np.int32:
        return array
    if not array.size:
        return np.zeros(0, np.int32)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise JobGraphError("a block is made of whole numbers")
    if int(array.min()) < -(1 << 31) or int(array.max()) >= 1 << 31:
        raise JobGraphError("a number of a block does not fit 32 bits")
    return array.astype(np.int32)
