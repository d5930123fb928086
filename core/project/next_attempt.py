"""Resources of the next attempt in place of the previous one: amounts, delay, and an explanation.

The input is the failed group and the requested change. The result is resources, and the sentence
that a plan shows. If the previous job ran on other directories, its amounts are scaled as its
action counts them: processes and times per directory where the action states them so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.groups.model import JobRequest
from rowtui.core.project.change import Amount, memory_text
from rowtui.core.project.failed_jobs import FailedGroup
from rowtui.core.submission.plan.apply_placement import PlacedRequest
from rowtui.core.submission.plan.plan import job_memory_mb
from rowtui.core.submission.reconcile.ending import (
    CANCELLED,
    LOST,
    NODE_FAILED,
    OUT_OF_MEMORY,
    TIME_LIMIT,
    WITHOUT_A_WORD,
)
from rowtui.core.submission.scripts.header import options_for
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.model import Resources

_NAMED = 3  # failed jobs that a reason names


_MOST = 2.0**31  # MB, seconds or CPUs; more than any scheduler can count


_WORDS = {
    OUT_OF_MEMORY: "ran out of memory",
    TIME_LIMIT: "reached its time limit",
    NODE_FAILED: "lost its node",
    LOST: "was lost",
    CANCELLED: "was cancelled",
    WITHOUT_A_WORD: "ended without a word",
}


class Had(NamedTuple):
    """Amounts of the previous job, scaled to these directories."""

    cpus: float | None = None
    memory_mb: float | None = None
    walltime_seconds: float | None = None


def had_before(failed: FailedGroup) -> Had:
    """Return the failed job's amounts, as if it had run on the directories of this group alone."""
    planned = failed.planned
    if planned is None:
        return Had()
    resources, count = failed.group.action.resources, len(failed.group.indices)
    processes = max(1, resources.processes.total(count)) / max(1, planned.processes)
    directories = 1.0
    if resources.walltime.per_directory:
        directories = count / len(planned.directories)
    return Had(
        planned.cpus * processes,
        None if planned.memory_mb is None else planned.memory_mb * processes,
        planned.walltime_seconds * directories,
    )


def amount_asked(
    what: str, change: Amount | None, had: float | None, asked: float | None, units: int
) -> int | None:
    """Return the job's new amount, rounded up; None to keep the amount that the files state."""
    if change is None:
        amount = None if asked is None else asked * units
    else:
        amount = change.of(had)
        if amount is None:
            raise RowtuiError(
                f"how much {what} it had is not known, so it cannot be multiplied",
                "say how much it is to get",
            )
    if amount is None:
        return None
    if amount >= _MOST:
        raise RowtuiError(f"{amount:g} is more {what} than any scheduler counts")
    return max(1, math.ceil(amount - 1e-6))


def with_amounts(
    resources: Resources, directories: int, processes: int, cpus: int | None, memory: int | None
) -> Resources:
    """Return the resources with these CPUs and MB for the whole job; None: no change."""
    if cpus is not None:
        resources = resources._replace(threads_per_process=cpus // processes)
    if memory is not None:
        gpus = resources.total_gpus(directories)
        each = -(-memory // (gpus or max(1, resources.total_cpus(directories))))
        if gpus:
            return resources._replace(memory_per_gpu_mb=each)
        return resources._replace(memory_per_cpu_mb=each)
    return resources


def delayed(
    request: JobRequest, cluster: Cluster, seconds: float, warnings: list[str]
) -> JobRequest:
    """Return the request with a rule's delay as its earliest start, if the cluster allows that."""
    delay = cluster.kind.delay_option(math.ceil(seconds))
    if not delay:
        warnings.append(f"{visible(cluster.name)} does not keep the rule's delay of {seconds:g} s")
        return request
    options = options_for(request.action, cluster.name)
    options = options._replace(custom=(*options.custom, delay))
    submit_options = {**request.action.submit_options, cluster.name: options}
    action = request.action._replace(submit_options=submit_options)
    return request._replace(group=request.group._replace(action=action))


def attempt_reason(failed: FailedGroup, place: PlacedRequest) -> str:
    """Return a reason such as `attempt 2: job 123 ran out of memory; memory 4 GB -> 8 GB`."""
    names = [f"job {visible(name)}" for name in failed.jobs[:_NAMED]]
    if len(failed.jobs) > _NAMED:
        names.append(f"{len(failed.jobs) - _NAMED:,} more")
    who = ", ".join(names) or "its last job"
    what = _WORDS.get(failed.cause, f"failed: {visible(failed.cause)}")
    if len(failed.jobs) > 1:  # with several jobs, each is named
        what = f"failed: {visible(failed.cause)}"
    changed = "; ".join(_differences(failed, place)) or "the same again"
    return f"attempt {place.request.attempt}: {who} {what}; {changed}"


def _differences(failed: FailedGroup, place: PlacedRequest) -> list[str]:
    """Return how the next attempt differs from the previous one."""
    before = failed.planned
    if before is None:
        return ["what it had is no longer on record"]
    had, request = had_before(failed), place.request
    found = []
    memory = job_memory_mb(request, place.partition if place.cluster.has_partitions else None)
    if memory != had.memory_mb and (memory is None or not _close(memory, had.memory_mb)):
        found.append(f"memory {_memory(had.memory_mb)} -> {_memory(memory)}")
    seconds = math.ceil((had.walltime_seconds or 0) - 1e-6)
    if request.walltime_seconds != seconds:
        words = f"{format_duration(seconds)} -> {format_duration(request.walltime_seconds)}"
        found.append(f"time {words}")
    if request.cpus != round(had.cpus or 0):
        found.append(f"CPUs {had.cpus or 0:g} -> {request.cpus}")
    partition = place.partition.name if place.partition and place.cluster.has_partitions else ""
    there = f"{place.cluster.name}/{partition}" if partition else place.cluster.name
    if there != str(before.destination):
        found.append(f"{visible(str(before.destination))} -> {visible(there)}")
    return found


def _close(now: float, had: float | None) -> bool:
    """Whether two amounts in MB are equal except for rounding, which is done for each CPU."""
    return had is not None and abs(now - had) <= max(1.0, had / 1000)


def _memory(megabytes: float | None) -> str:
    return "not stated" if megabytes is None else memory_text(math.ceil(megabytes))


def has_more(failed: FailedGroup, place: PlacedRequest) -> bool:
    """Whether the job gets more of the resource that it lacked, if that resource is known."""
    had = had_before(failed)
    if failed.cause == OUT_OF_MEMORY:
        memory = job_memory_mb(place.request, place.partition)
        return memory is not None and had.memory_mb is not None and memory > had.memory_mb + 1
    if failed.cause == TIME_LIMIT and had.walltime_seconds is not None:
        return place.request.walltime_seconds > had.walltime_seconds + 1e-6
    return failed.cause not in (OUT_OF_MEMORY, TIME_LIMIT)
