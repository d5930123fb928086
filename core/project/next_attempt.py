"""Resources of the next attempt in place of the previous one, with the user's changes of them.

The input is the failed group and the requested change. The result is resources, and the sentence
that a plan shows. If the previous job ran on other directories, its amounts are scaled as its
action counts them: processes and times per directory where the action states them so. A change
is parsed from what the user writes (`2x`, `64G`, `04:00:00`); one that is suggested for the way in
which a job ended is applied only when the user asks for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.groups.model import JobRequest
from rowtui.core.project.failed_jobs import FailedGroup
from rowtui.core.submission.plan.apply_placement import PlacedRequest
from rowtui.core.submission.plan.outcome import (
    CANCELLED,
    LOST,
    NODE_FAILED,
    OUT_OF_MEMORY,
    PREEMPTED,
    TIME_LIMIT,
    WITHOUT_A_WORD,
)
from rowtui.core.submission.plan.planner import job_memory_mb
from rowtui.core.submission.scripts.parts import options_for
from rowtui.core.workflow.duration import DurationError, format_duration, parse_time
from rowtui.core.workflow.model import Resources

_MOST_TIMES = 1000.0
_MOST_MB = 2**40
_MOST_CPUS = 2**20
_TIMES = re.compile(r"[x*]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[x*]?", re.IGNORECASE)
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]*)?) ?([MGT])i?B?", re.IGNORECASE)
_UNITS = {"M": 1, "G": 1024, "T": 1024 * 1024}
_NAMED = 3  # failed jobs, or nodes, that a reason names
MOST_EXCLUDED = 32  # nodes
_MOST = 2.0**31  # MB, seconds or CPUs; more than any scheduler can count
_WORDS = {
    OUT_OF_MEMORY: "ran out of memory",
    TIME_LIMIT: "reached its time limit",
    NODE_FAILED: "lost its node",
    PREEMPTED: "was preempted",
    LOST: "was lost",
    CANCELLED: "was cancelled",
    WITHOUT_A_WORD: "ended without a word",
}


class Amount(NamedTuple):
    """An absolute amount or, if `times`, a multiple of what the job had."""

    value: float
    times: bool = False

    def of(self, had: float | None) -> float | None:
        """Return the resulting amount; None if it depends on an unknown previous amount."""
        if not self.times:
            return self.value
        return None if had is None else self.value * had


class AmountChange(NamedTuple):
    """The changed amounts of a whole job, in MB, seconds and CPUs. None or "": no change.

    `continues`: the job continues the one before, as the same attempt. `exclude`: it may not run
    where the one before failed, nor on nodes that stand out.
    """

    memory: Amount | None = None
    walltime: Amount | None = None
    cpus: Amount | None = None
    partition: str = ""
    cluster: str = ""
    continues: bool = False
    exclude: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether no field is changed."""
        return self == NO_CHANGE

    def __str__(self) -> str:
        """Return the change as text for the user, for example `memory 2x, time 04:00:00`."""
        words = [
            f"{name} {_words(name, amount)}"
            for name, amount in (
                ("memory", self.memory),
                ("time", self.walltime),
                ("CPUs", self.cpus),
            )
            if amount is not None
        ]
        words += [f"partition {visible(self.partition)}"] if self.partition else []
        words += [f"cluster {visible(self.cluster)}"] if self.cluster else []
        words += ["another node"] if self.exclude else []
        return ", ".join(words)


NO_CHANGE = AmountChange()
_SUGGESTED = {
    OUT_OF_MEMORY: AmountChange(memory=Amount(2.0, times=True)),
    TIME_LIMIT: AmountChange(walltime=Amount(1.5, times=True)),
}


def suggested_change(cause: str) -> AmountChange:
    """Return the change that helps a job that ended for this cause, if more of a resource helps."""
    return _SUGGESTED.get(cause, NO_CHANGE)


def parse_memory(text: str) -> Amount:
    """Parse `2x`, `64G`, `1.5T` or `500M`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    match = _MEMORY.fullmatch(text.strip())
    megabytes = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    if not 1 <= megabytes <= _MOST_MB:
        raise RowtuiError(f"'{visible(text)}' is no amount of memory", 'write it as "2x" or "64G"')
    return Amount(megabytes)


def parse_walltime(text: str) -> Amount:
    """Parse `2x`, `04:00:00`, `2 days, 12:00:00` or `PT90M`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    try:
        seconds = parse_time(text)
    except DurationError as error:
        raise RowtuiError(f"'{visible(text)}' is no time: {error}", error.hint) from None
    if not seconds:
        raise RowtuiError(f"'{visible(text)}' is no time: nothing ends at once")
    return Amount(float(seconds))


def parse_cpus(text: str) -> Amount:
    """Parse `8` or `2x`. Raises: RowtuiError."""
    times = _times(text)
    if times is not None:
        return times
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _MOST_CPUS):
        raise RowtuiError(f"'{visible(text)}' is no number of CPUs", 'write it as "8" or "2x"')
    return Amount(float(text))


def _times(text: str) -> Amount | None:
    """Parse a multiple: `2x`, `x2` and `*2` are the same."""
    stripped = text.strip()
    match = _TIMES.fullmatch(stripped)
    if match is None or stripped.isdecimal() or match[0] == match[1]:
        return None
    times = float(match[1])
    if not 0 < times <= _MOST_TIMES:
        raise RowtuiError(f"'{visible(text)}' is no factor", 'write it as "1.5x"')
    return Amount(times, times=True)


def _words(name: str, amount: Amount) -> str:
    if amount.times:
        return f"{amount.value:g}x"
    if name == "memory":
        return memory_text(amount.value)
    return format_duration(int(amount.value)) if name == "time" else f"{amount.value:g}"


def memory_text(megabytes: float) -> str:
    """Format a memory size, for example `4 GB`, `1.5 GB` or `500 MB`."""
    if megabytes >= 1024 and round(megabytes / 1024, 2) * 1024 == megabytes:
        return f"{megabytes / 1024:g} GB"
    return f"{megabytes:,.0f} MB"


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
                f"the earlier {what} of the job is unknown, and cannot be multiplied",
                "give an amount",
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
    delay = kind_of(cluster).delay_option(math.ceil(seconds))
    if not delay:
        warnings.append(f"{visible(cluster.name)} does not keep the rule's delay of {seconds:g} s")
        return request
    return with_option(request, cluster, delay)


def with_option(request: JobRequest, cluster: Cluster, option: str) -> JobRequest:
    """Return the request with one more option in the header of its script."""
    options = options_for(request.action, cluster.name)
    options = options._replace(custom=(*options.custom, option))
    submit_options = {**request.action.submit_options, cluster.name: options}
    action = request.action._replace(submit_options=submit_options)
    return request._replace(group=request.group._replace(action=action))


def excluded_nodes(names: Iterable[str], place: PlacedRequest) -> tuple[str, ...]:
    """Return the names that are names of nodes, each once; of too many the last ones.

    One node stays where the number of nodes of the partition is known.
    """
    nodes = place.partition.nodes if place.partition is not None else None
    most = MOST_EXCLUDED if nodes is None else min(MOST_EXCLUDED, nodes - 1)
    form = kind_of(place.cluster).node_form
    found = [*dict.fromkeys(it for it in names if re.fullmatch(form, it))]
    return tuple(found[max(0, len(found) - most) :])


def nodes_text(nodes: Sequence[str]) -> str:
    """Return `not on n1, n2`: the nodes on which the next attempt may not run."""
    more = f" and {len(nodes) - _NAMED:,} more" if len(nodes) > _NAMED else ""
    return f"not on {', '.join(nodes[-_NAMED:])}{more}" if nodes else "but none could be excluded"


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
    number = f"attempt {place.request.attempt}"
    if place.basis.continues:
        number += f", continuation {place.basis.continues:,}"
    return f"{number}: {who} {what}; {changed}"


def _differences(failed: FailedGroup, place: PlacedRequest) -> list[str]:
    """Return how the next attempt differs from the previous one."""
    before = failed.planned
    if before is None:
        return ["the earlier request is no longer on record"]
    had, request = had_before(failed), place.request
    found = []
    memory = job_memory_mb(
        request, place.partition if kind_of(place.cluster).has_partitions else None
    )
    if memory != had.memory_mb and (memory is None or not _close(memory, had.memory_mb)):
        found.append(f"memory {_memory(had.memory_mb)} -> {_memory(memory)}")
    earlier, later = _limits(had, place)
    if later != earlier:
        words = f"{format_duration(earlier)} -> {format_duration(later)}"
        found.append(f"time {words}")
    if request.cpus != round(had.cpus or 0):
        found.append(f"CPUs {had.cpus or 0:g} -> {request.cpus}")
    partition = (
        place.partition.name if place.partition and kind_of(place.cluster).has_partitions else ""
    )
    there = f"{place.cluster.name}/{partition}" if partition else place.cluster.name
    if there != str(before.destination):
        found.append(f"{visible(str(before.destination))} -> {visible(there)}")
    return found


def _limits(had: Had, place: PlacedRequest) -> tuple[int, int]:
    """Return the limits of both attempts, in seconds, as the next one's scheduler applies them."""
    limit = kind_of(place.cluster).limit
    earlier = math.ceil((had.walltime_seconds or 0) - 1e-6)
    return limit(earlier), limit(place.request.walltime_seconds)


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
        earlier, later = _limits(had, place)
        return later > earlier
    return failed.cause not in (OUT_OF_MEMORY, TIME_LIMIT)
