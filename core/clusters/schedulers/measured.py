"""What an ended job used, as one source measured it, and how the sources are combined.

Every source may miss something, and none invents anything: accounting samples memory every half
minute, and a killed script reports nothing. Therefore the largest value counts, for CPU time and
memory. A job's script sees only the processes below it. If work ran elsewhere (in steps of srun, on
other nodes, in a container's daemon), what the script saw is no measurement.

The peak memory of a control group includes cached files. So it counts only if the scheduler's
accounts have no value, and only if the processes below the script are not known or explain less
than half of what the group held without the files that are still cached at the end.
A script measures wall time to a hundredth of a second, and accounts in whole seconds.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rowtui.core.base.lazy import pattern


class MeasuredBy(enum.IntEnum):
    """The source of a value, with the number that is stored for it.

    The table in docs/usage.md states what each source knows and misses; a test compares the names.
    """

    UNKNOWN = 0
    SCRIPT = 1
    GROUP = 2
    SCHEDULER = 3

    @property
    def words(self) -> str:
        """The source as text for the user."""
        return ("not measured", "job script", "control group", "scheduler")[self]


class MeasuredStep(NamedTuple):
    """One step of a job, such as what one srun started. None: unknown.

    `id`: `batch`, `0`, ...; `name`: what it runs; `wall`: seconds; `cpu`: seconds of all its tasks;
    `task_memory`: the peak of its largest task in KiB.
    """

    id: str
    name: str
    tasks: int | None = None
    wall: float | None = None
    cpu: float | None = None
    task_memory: int | None = None


class Measured(NamedTuple):
    """What a job used. None: unknown.

    `wall`, `cpu`, `gpu`: seconds (of all its CPUs, GPUs); `memory`, `gpu_memory`: peaks in KiB;
    `group_memory`: the peak of its control group in KiB, where it may count; `group_cpu`: seconds
    of that group; `node`: where it ran; `steps`: its parts, which are not stored. `cpu_seen`: the
    most CPU seconds that were seen while it ran: a smaller `cpu` of another source is too old.
    """

    by: MeasuredBy = MeasuredBy.UNKNOWN
    wall: float | None = None
    cpu: float | None = None
    memory: int | None = None
    group_memory: int | None = None
    gpu: float | None = None
    gpu_memory: int | None = None
    node: str = ""
    steps: tuple[MeasuredStep, ...] = ()
    group_cpu: float | None = None
    cpu_seen: float = 0.0


class Used(NamedTuple):
    """What a job used, from all sources; each value with its source. Units as in `Measured`."""

    wall: float | None = None
    cpu: float | None = None
    memory: int | None = None
    gpu: float | None = None
    gpu_memory: int | None = None
    node: str = ""
    wall_by: MeasuredBy = MeasuredBy.UNKNOWN
    cpu_by: MeasuredBy = MeasuredBy.UNKNOWN
    memory_by: MeasuredBy = MeasuredBy.UNKNOWN
    gpu_by: MeasuredBy = MeasuredBy.UNKNOWN


def combined(measurements: Iterable[Measured]) -> Used:
    """Return the values of several sources as one. The order of the sources does not matter."""
    ordered = sorted(measurements, key=lambda it: it.by)
    walls = [(it.wall, it.by) for it in ordered if it.wall is not None]
    cpus = [(it.cpu, it.by) for it in ordered]
    cpu, cpu_by = _largest([*cpus, *((it.group_cpu, MeasuredBy.GROUP) for it in ordered)])
    if cpu is not None and any(cpu < _ALMOST * it.cpu_seen for it in ordered):
        cpu, cpu_by = None, MeasuredBy.UNKNOWN
    memory, memory_by = _largest((it.memory, it.by) for it in ordered)
    group, _ = _largest((it.group_memory, it.by) for it in ordered)
    accounted = any(it.memory for it in ordered if it.by is MeasuredBy.SCHEDULER)
    if group and not accounted and group > (memory or 0):
        memory, memory_by = group, MeasuredBy.GROUP
    gpu, gpu_by = _largest((it.gpu, it.by) for it in ordered)
    gpu_memory, gpu_memory_by = _largest((it.gpu_memory, it.by) for it in ordered)
    wall, wall_by = walls[0] if walls else (None, MeasuredBy.UNKNOWN)
    return Used(
        wall,
        cpu,
        None if memory is None else int(memory),
        gpu,
        None if gpu_memory is None else int(gpu_memory),
        next((it.node for it in reversed(ordered) if it.node), ""),
        wall_by,
        cpu_by,
        memory_by,
        max(gpu_by, gpu_memory_by),
    )


def with_more(used: Used, more: Measured) -> Used:
    """Return what was known of a job together with another measurement."""
    is_group = used.memory_by is MeasuredBy.GROUP
    known = [
        Measured(used.wall_by, wall=used.wall),
        Measured(used.cpu_by, cpu=used.cpu),
        Measured(used.memory_by, group_memory=used.memory)
        if is_group
        else Measured(used.memory_by, memory=used.memory),
        Measured(used.gpu_by, gpu=used.gpu, gpu_memory=used.gpu_memory),
    ]
    return combined([*known, more])._replace(node=more.node or used.node)


def _largest(
    values: Iterable[tuple[float | None, MeasuredBy]],
) -> tuple[float | None, MeasuredBy]:
    found = [(value, by) for value, by in values if value is not None]
    return max(found, key=lambda it: it[0]) if found else (None, MeasuredBy.UNKNOWN)


def read_script_words(lines: Iterable[str], *, cut_short: bool = False) -> Measured | None:
    """Return what the last lines of an end marker say; None if the job measured nothing.

    The words are those of `fixed_part.py`: `began`, `ended` (seconds since the machine started),
    `user`, `system` (`0m1.5s`), `seen` (the most CPU time of running and ended processes, in 1/100
    seconds), `lag` (seconds from then to the end or stop), `sampled`, `children` (KiB),
    `group_memory`, `group_file` (bytes), `group_cpu` (nanoseconds), `outside` (`tree`: processes
    were not below the script; `group`: nor in its control group), `gpu_memory` (MiB), `gpu`
    (seconds) and `node`. Words that cannot be read count as unknown. `cut_short`: a signal ended
    the job or its command.
    """
    words: dict[str, str] = {}
    for line in lines:
        words.update(part.partition("=")[::2] for part in line.split() if "=" in part)
    if not words:
        return None
    began, ended = _number(words.get("began")), _number(words.get("ended"))
    outside = words.get("outside", "")
    if outside == "group":
        words = {name: word for name, word in words.items() if not name.startswith("group_")}
    wall = None if began is None or ended is None or ended < began else ended - began
    cpu = None if outside else _script_cpu(words, wall or 0.0, cut_short)
    group_cpu = _number(words.get("group_cpu"))
    # One exact number for the largest process, and one for all processes, but not always.
    sampled, largest = (_number(words.get(name)) or 0.0 for name in ("sampled", "children"))
    group, gpu_memory = _number(words.get("group_memory")), _number(words.get("gpu_memory"))
    cached = _number(words.get("group_file")) or 0.0
    # The sum counts pages that processes share once for each of them; their group counts them once.
    is_shared = group is not None and group / 1024 < sampled
    memory = 0 if outside else int(largest if is_shared else max(sampled, largest))
    if (
        group is not None
        and memory
        and not is_shared
        and (group - cached) / 1024 <= 2 * memory + _OVERHEAD
    ):
        group = None
    return Measured(
        MeasuredBy.SCRIPT,
        wall,
        cpu,
        memory or None,
        None if group is None else int(group / 1024),
        _number(words.get("gpu")),
        None if gpu_memory is None else int(gpu_memory * 1024),
        words.get("node", ""),
        group_cpu=None if group_cpu is None else group_cpu / 1e9,
        cpu_seen=(_number(words.get("seen")) or 0.0) / 100,
    )


def _script_cpu(words: Mapping[str, str], wall: float, cut_short: bool) -> float | None:
    """Return the CPU time of the processes below a script; None if part of it is not known.

    The kernel adds the CPU time of a process to its parent's when the parent waits for its end. A
    parent that dies first, as most do when a job is stopped, loses it. Then less is left at the end
    than was seen before, and what was seen counts if that was in the last twentieth of the job.
    """
    times = [_minutes(words.get(name, "")) for name in ("user", "system")]
    seen = _number(words.get("seen"))
    if None in times or (cut_short and seen is None):
        return None
    cpu, seen = sum(filter(None, times)), (seen or 0.0) / 100
    lag = _number(words.get("lag"))
    is_recent = lag is not None and lag <= (1 - _ALMOST) * wall
    return max(cpu, seen) if is_recent or cpu >= _ALMOST * seen else None


_ALMOST = 0.95
_OVERHEAD = 64 << 10  # KiB that a group holds besides processes and files: slurmstepd, the kernel

_NUMBER = pattern(r"[0-9]{1,19}(?:\.[0-9]{1,9})?", re.ASCII)
_MINUTES = pattern(r"([0-9]{1,12})m([0-9]{1,2}(?:\.[0-9]{1,9})?)s", re.ASCII)


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


def _minutes(text: str) -> float | None:
    match = _MINUTES.fullmatch(text)
    return None if match is None else int(match[1]) * 60 + float(match[2])
