"""Plug-ins for separate jobs, and for lists of jobs that run one after another in one job.

Both may continue along the graph. A list with room takes the jobs that wait only for the list. If a
network sets `ahead`, all jobs that wait only for planned jobs are planned as well. Source: Fastr's
documentation, ExecutionPlugin ("memory = max, cores = max, runtime = sum").
"""

from __future__ import annotations

import graphlib
import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from rowtui.core.base.text import plural
from rowtui.core.network.definition.spec import Gather
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.execution.execution import Execution, RoundWork
from rowtui.core.runs.execution.parts import MOST, Parts, take_back_scratch
from rowtui.core.runs.execution.rounds import Round, as_the_project_packs, keeps_order, tied
from rowtui.core.submission.bundles.bundles import BundleLayout, with_bundles
from rowtui.core.submission.plan.arrays import SubmissionCall, units_of
from rowtui.core.submission.plan.dependencies import cannot_share, shared_options
from rowtui.core.submission.plan.model import PackedJobs, PlannedJob

# Lists of jobs that run one after another, each list in its own scheduler job with one lane.
#
# The input is the jobs of a plan and lists of them. The result is the plan's jobs with each list in
# a bundle of one lane, on any node: with the memory, CPUs and GPUs of the largest job in each
# respect, and the total time. A job may depend on an earlier one of its list and begins only if
# that one ended well. Jobs that cannot share are sent alone, with the reason. Source: Fastr's
# documentation, ExecutionPlugin ("memory = max, cores = max, runtime = sum").


Units = Sequence[Sequence[PlannedJob]]


def one_after_another(jobs: Sequence[PlannedJob], units: Units) -> PackedJobs:
    """Return the jobs, each list in a bundle of one lane, and each job after its dependencies.

    The order in a list is kept, except for jobs that stand before one that they depend on. A job in
    two lists belongs to the first. Jobs that may not share with the others of their list (another
    destination, other options, options for a separate job), and lists that would wait for each
    other, are sent alone: `warnings` reports them.
    """
    where = {job.token: at for at, job in enumerate(jobs)}
    refused: Counter[str] = Counter()
    taken: set[str] = set()
    lists: list[list[int]] = []
    for unit in units:
        fresh = [job for job in unit if job.token in where and job.token not in taken]
        taken |= {job.token for job in fresh}
        lists += _sharing(fresh, where, refused)
    lists = [those for those in lists if len(those) > 1]
    while (stuck := _in_a_circle(jobs, lists)) is not None:
        refused["lists of jobs would wait for each other"] += len(lists[stuck])
        del lists[stuck]
    made = with_bundles(jobs, [_layout([jobs[at] for at in those], those) for those in lists])
    warnings = tuple(
        f"sequential: {plural(count, 'job goes', 'jobs go')} alone: {why}"
        for why, count in refused.items()
    )
    return PackedJobs(_after_what_they_need(made), warnings=warnings)


def _sharing(
    unit: Sequence[PlannedJob], where: dict[str, int], refused: Counter[str]
) -> list[list[int]]:
    """Return the positions of a list's jobs that may share, grouped by shared options; in order."""
    together: dict[object, list[PlannedJob]] = {}
    for job in unit:
        if why := cannot_share(job, waits=True):
            refused[why] += 1
        else:
            key = (job.destination, shared_options(job), job.node_type)
            together.setdefault(key, []).append(job)
    if len(together) > 1:
        most = max(together.values(), key=len)
        apart = sum(len(those) for those in together.values()) - len(most)
        refused["their list goes to several places, or with several options"] += apart
        return [[where[job.token] for job in _in_order(most)]]
    return [[where[job.token] for job in _in_order(those)] for those in together.values()]


def _in_order(jobs: Sequence[PlannedJob]) -> list[PlannedJob]:
    """Return the jobs in order, each after the jobs that it depends on."""
    return [job for unit in _sorted([SubmissionCall((job,)) for job in jobs]) for job in unit.jobs]


def _after_what_they_need(jobs: Sequence[PlannedJob]) -> tuple[PlannedJob, ...]:
    return tuple(job for unit in _sorted(units_of(jobs)) for job in unit.jobs)


def _sorted(units: Sequence[SubmissionCall]) -> list[SubmissionCall]:
    """Return the units in order, each after the units it depends on; a cycle comes last."""
    needs = _needs(units)
    waits = [len(those) for those in needs]
    followers: dict[int, list[int]] = {}
    for number, those in enumerate(needs):
        for it in those:
            followers.setdefault(it, []).append(number)
    ready = [number for number, count in enumerate(waits) if not count]
    order: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for follower in followers.get(number, ()):
            waits[follower] -= 1
            if not waits[follower]:
                heapq.heappush(ready, follower)
    order += [number for number, count in enumerate(waits) if count]
    return [units[number] for number in order]


def _needs(units: Sequence[SubmissionCall]) -> list[set[int]]:
    home = {job.token: number for number, unit in enumerate(units) for job in unit.jobs}
    return [
        {home[it] for job in unit.jobs for it in job.depends_on if it in home} - {number}
        for number, unit in enumerate(units)
    ]


def _in_a_circle(jobs: Sequence[PlannedJob], lists: Sequence[Sequence[int]]) -> int | None:
    """Return one of the lists that waits for itself through other jobs; None if there is none."""
    listed = {at for those in lists for at in those}
    units = [SubmissionCall(tuple(jobs[at] for at in those)) for those in lists]
    units += [SubmissionCall((job,)) for at, job in enumerate(jobs) if at not in listed]
    try:
        graphlib.TopologicalSorter(dict(enumerate(_needs(units)))).prepare()
    except graphlib.CycleError as error:
        return next((number for number in error.args[1] if number < len(lists)), None)
    return None


def _layout(jobs: Sequence[PlannedJob], positions: Sequence[int]) -> BundleLayout:
    memories = [job.memory_mb for job in jobs if job.memory_mb is not None]
    return BundleLayout(
        node_type=jobs[0].node_type,
        cpus=max(job.cpus for job in jobs),
        memory_mb=max(memories, default=None),
        gpus=max(job.gpus for job in jobs),
        whole_node=False,
        lanes=(tuple(positions),),
        seconds=(tuple(max(1, job.walltime_seconds) for job in jobs),),
    )


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
    summary = "each group is a job of its own, packed as configured"

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
        jobs = (job for number in numbers for job in parts.all[number].jobs)
        if take_back_scratch(work.running, jobs) is None:
            return self._planned(work)

        def pack(jobs: tuple[PlannedJob, ...]) -> PackedJobs:
            found = tied(parts, jobs, units, lambda job: schedule.ahead and order(job))
            packed = one_after_another(found.jobs, found.lanes)
            return with_scratch(packed, parts, work)

        return work.plan(parts, numbers, pack)


def with_scratch(packed: PackedJobs, parts: Parts, work: RoundWork) -> PackedJobs:
    """Return the jobs; in lists, those of nodes with `scratch` make products on the list's machine.

    Products stay there if only jobs of the same list need them; others are copied.
    """
    growth, graph = work.running.growth, work.running.graph
    nodes = growth.flow.network.nodes
    if work.project.copies.known() or not any(node.scratch for node in nodes):
        return packed
    usual = {node.name for node in nodes if not node.scratch}
    shared = {sink.source for sink in growth.flow.network.sinks}
    shared |= {link.source for node in nodes for link in node.links if link.expand}
    jobs_of = {job.token: parts.all[parts.number(job)].jobs for job in packed.jobs if job.bundle}
    list_of = {it: token.partition("~")[0] for token, those in jobs_of.items() for it in those}

    def script(job: PlannedJob) -> str:
        mine = {growth.where(it).node for it in jobs_of.get(job.token, ())}
        if not mine or mine & usual:
            return job.script
        others = {other for it in jobs_of[job.token] for other in graph.dependents(it)}
        others = {it for it in others if graph.state(it) is not GraphJobState.COMPLETED}
        here = {list_of.get(it) for it in others} == {list_of[jobs_of[job.token][0]]}
        how = "link" if here and shared.isdisjoint(mine) else "copy"
        line = f"\nrowtui_token={job.token}\n"
        return job.script.replace(line, f"{line}rowtui_scratch={how}\n", 1)

    return packed._replace(jobs=tuple(it._replace(script=script(it)) for it in packed.jobs))


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
