"""Plug-ins for separate jobs, and for lists of jobs that run one after another in one job.

Both may continue along the graph. A list with room takes the jobs that wait only for the list. If a
network sets `ahead`, all jobs that wait only for planned jobs are planned as well. Source: Fastr's
documentation, ExecutionPlugin ("memory = max, cores = max, runtime = sum").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from rowtui.core.network.definition.spec import Gather
from rowtui.core.runs.execution.execution import Execution, RoundWork
from rowtui.core.runs.execution.parts import MOST, Parts
from rowtui.core.runs.execution.rounds import Round, as_the_project_packs, keeps_order, tied
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.plan.plan import PackedJobs
from rowtui.core.submission.plan.sequential import one_after_another

# Gather ready jobs that run one after another on one host, as one scheduler job.
#
# Gathering gives the scheduler fewer jobs, and files stay where they are needed. A unit is made
# within the limits that the user set; units are in the order of their first jobs. Source: Fastr's
# documentation (group jobs to run on a single host; together they take memory = max, cores = max,
# runtime = sum, and run sequentially).


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


Unit = list[int]  # numbers of parts


class SeparateJobs(Execution):
    """Each group as a scheduler job of its own, or packed by the project's settings."""

    name = "jobs"
    summary = "each group is a job of its own, packed as the project says"

    async def plan(self, work: RoundWork) -> Round:
        """See `ExecutionPlugin`."""
        return await work.in_turn(lambda: self._planned(work))

    def _planned(self, work: RoundWork) -> Round:
        if work.queue_is_full:
            return Round(None)
        parts = work.parts()
        if not work.schedule.ahead or not waves(parts):
            return work.plan(parts)
        project = work.project

        def pack(jobs: tuple[PlannedJob, ...]) -> PackedJobs:
            found = tied(parts, jobs, (), keeps_order(project))
            return as_the_project_packs(project, found.jobs)

        return work.plan(parts, pack=pack)


class SequentialLists(Execution):
    """Lists within the limits of `gather`, each as one scheduler job."""

    name = "sequential"
    summary = "lists of jobs run one after another in one scheduler job, sample by sample"

    async def plan(self, work: RoundWork) -> Round:
        """See `ExecutionPlugin`."""
        return await work.in_turn(lambda: self._planned(work))

    def _planned(self, work: RoundWork) -> Round:
        if work.queue_is_full:
            return Round(None)
        parts, schedule = work.parts(), work.schedule
        ready = range(len(parts))
        units = lists(parts, schedule.gather)
        if schedule.ahead:
            waves(parts)
            listed = {it for unit in units for it in unit}
            rest = [[it] for it in range(len(parts)) if it not in listed]
            units += _together(rest, parts, schedule.gather)
        numbers = sorted({*ready, *(it for unit in units for it in unit)})
        order = keeps_order(work.project)

        def pack(jobs: tuple[PlannedJob, ...]) -> PackedJobs:
            found = tied(parts, jobs, units, lambda job: schedule.ahead and order(job))
            return one_after_another(found.jobs, found.lanes)

        return work.plan(parts, numbers, pack)


def waves(parts: Parts) -> list[Unit]:
    """Add all jobs that wait only for parts; return the new ones, wave by wave."""
    chain = parts.chain()
    found: list[Unit] = []
    wave = chain.after(range(len(parts)))
    while wave:
        found.append(wave)
        if parts.directories >= MOST:
            break
        wave = chain.after(wave)
    return found


def lists(parts: Parts, limit: Gather) -> list[Unit]:
    """Return lists to run one after another: samples with the nodes that follow, as room allows.

    Each list ends with the jobs that collect all of its samples.
    """
    ready = range(len(parts))
    chains = [_onwards([number], parts, limit) for number in ready]
    return [_onwards(unit, parts, limit) for unit in _together(chains, parts, limit)]


def _onwards(unit: Unit, parts: Parts, limit: Gather) -> Unit:
    """Return a unit extended by the jobs that wait only for the unit, as far as there is room."""
    first, rest = unit[0], unit[1:]
    room = Gather(
        max(1, limit.size - len(rest)) if limit.size else 0,
        max(1, limit.walltime_seconds - _seconds(rest, parts)) if limit.walltime_seconds else 0,
    )
    chain = parts.chain()

    def followers(number: int) -> Sequence[tuple[int, int]]:
        taken = unit if number == first else [number]
        return [(fresh, 1) for fresh in chain.after(taken)]

    (found,) = gather_chains(
        [first], room, lambda _: None, lambda it: _seconds([it], parts), followers
    )
    return [*unit, *found[1:]]


def _together(units: Sequence[Unit], parts: Parts, limit: Gather) -> list[Unit]:
    """Join units of the same kind, within the limit."""

    def kind(at: int) -> Hashable:
        return tuple(sorted({parts.all[number].group.action.index for number in units[at]}))

    joined = gather(
        range(len(units)),
        limit,
        kind,
        lambda at: _seconds(units[at], parts),
        lambda at: len(units[at]),
    )
    return [[number for at in those for number in units[at]] for those in joined]


def _seconds(numbers: Sequence[int], parts: Parts) -> int:
    return sum(parts.all[number].request.walltime_seconds for number in numbers)
