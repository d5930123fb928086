"""Lists of jobs that run one after another, each list in its own scheduler job with one lane.

The input is the jobs of a plan and lists of them. The result is the plan's jobs with each list in a
bundle of one lane, on any node: with the memory, CPUs and GPUs of the largest job in each respect,
and the total time. A job may depend on an earlier one of its list and begins only if that one ended
well. Jobs that cannot share are sent alone, with the reason. Source: Fastr's documentation,
ExecutionPlugin ("memory = max, cores = max, runtime = sum").
"""

from __future__ import annotations

import graphlib
import heapq
from collections import Counter
from collections.abc import Sequence

from rowtui.core.base.text import plural
from rowtui.core.submission.bundles.bundles import BundleLayout, with_bundles
from rowtui.core.submission.plan.dependencies import cannot_share, shared_options
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.plan.plan import PackedJobs
from rowtui.core.submission.sending.send import SubmissionCall, units_of

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
