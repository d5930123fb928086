"""Gather ready jobs that run one after another on one host, as one scheduler job.

Gathering gives the scheduler fewer jobs, and files stay where they are needed. A unit is made
within the limits that the user set; units are in the order of their first jobs. Source: Fastr's
documentation (group jobs to run on a single host; together they take memory = max, cores = max,
runtime = sum, and run sequentially).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from rowtui.core.network.definition.spec import Gather


def gather(
    ready: Sequence[int],
    limit: Gather,
    kind: Callable[[int], Hashable],
    seconds: Callable[[int], float],
    size: Callable[[int], int] = lambda _: 1,
) -> list[list[int]]:
    """Return units of jobs of the same kind, in the order of the ready jobs.

    `kind`: what jobs of one unit have in common (their action and the class of their destination);
    `seconds`: the maximum run time of a job; `size`: how many jobs it counts as (chains are
    several). A job that is longer than the limit is a unit by itself.
    """
    units: list[list[int]] = []
    rooms: dict[Hashable, _Room] = {}
    for job in ready:
        mine = kind(job)
        room = rooms.get(mine)
        if room is None or not room.has_room(seconds(job), limit, size(job)):
            rooms[mine] = room = _Room([], 0.0)
            units.append(room.jobs)
        room.take(job, seconds(job), size(job))
    return units


def gather_chains(
    ready: Sequence[int],
    limit: Gather,
    kind: Callable[[int], Hashable],
    seconds: Callable[[int], float],
    followers: Callable[[int], Sequence[tuple[int, int]]],
) -> list[list[int]]:
    """Return units that begin with a ready job and continue with jobs that wait only for the unit.

    A sample can so go through several nodes on one host. `followers` gives the waiting jobs that
    need a job, each with the number of dependencies that it still waits for (`JobGraph.followers`);
    `kind` is what a chain must have in common (the class of destination).
    """
    units: list[list[int]] = []
    for first in ready:
        room = _Room([], 0.0)
        room.take(first, seconds(first))
        met: Counter[int] = Counter()
        mine = kind(first)
        for job in room.jobs:  # the list grows during the loop
            for follower, unmet in followers(job):
                met[follower] += 1
                if (
                    met[follower] == unmet
                    and kind(follower) == mine
                    and room.has_room(seconds(follower), limit)
                ):
                    room.take(follower, seconds(follower))
        units.append(room.jobs)
    return units


class _Room:
    """A unit under construction."""

    def __init__(self, jobs: list[int], seconds: float) -> None:
        self.jobs = jobs
        self.seconds = seconds
        self.size = 0

    def has_room(self, seconds: float, limit: Gather, size: int = 1) -> bool:
        """Whether one more job fits."""
        if limit.size and self.size + size > limit.size:
            return False
        return not limit.walltime_seconds or self.seconds + seconds <= limit.walltime_seconds

    def take(self, job: int, seconds: float, size: int = 1) -> None:
        """Add one more job."""
        self.jobs.append(job)
        self.size += size
        self.seconds += seconds
