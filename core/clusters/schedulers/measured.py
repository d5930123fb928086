"""What an ended job used, as one source measured it, and how the sources are combined.

Every source may miss something, and none invents anything: accounting samples memory every half
minute, a job's script does not see processes that srun starts, and a killed script reports nothing.
Therefore the largest value counts, for CPU time and memory. Only the peak memory of a control group
is the other way round, because it includes the cache of files: it counts if nothing else is known.
A script measures wall time to a hundredth of a second, and accounts in whole seconds.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import NamedTuple


class MeasuredBy(enum.IntEnum):
    """The source of a value, with the number that is stored for it."""

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
    `group_memory`: the peak of its control group in KiB; `node`: where it ran; `steps`: its parts,
    which are not stored.
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
    cpu, cpu_by = _largest((it.cpu, it.by) for it in ordered)
    memory, memory_by = _largest((it.memory, it.by) for it in ordered)
    if not memory:
        memory, _ = _largest((it.group_memory, it.by) for it in ordered)
        memory_by = MeasuredBy.GROUP if memory else MeasuredBy.UNKNOWN
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


def read_script_words(lines: Iterable[str]) -> Measured | None:
    """Return what the last lines of an end marker say; None if the job measured nothing.

    The words are those of `fixed_part.py`: `began`, `ended` (seconds since the machine started),
    `user`, `system` (`0m1.5s`), `sampled`, `children` (KiB), `group_memory` (bytes), `group_cpu`
    (nanoseconds), `gpu_memory` (MiB), `gpu` (seconds) and `node`. Words that cannot be read count
    as unknown.
    """
    words: dict[str, str] = {}
    for line in lines:
        words.update(part.partition("=")[::2] for part in line.split() if "=" in part)
    if not words:
        return None
    began, ended = _number(words.get("began")), _number(words.get("ended"))
    times = [_minutes(words.get(name, "")) for name in ("user", "system")]
    cpu = None if None in times else sum(filter(None, times))
    group_cpu = _number(words.get("group_cpu"))
    if group_cpu is not None:
        cpu = max(cpu or 0.0, group_cpu / 1e9)
    peaks = [_number(words.get(name)) for name in ("sampled", "children")]
    group, gpu_memory = _number(words.get("group_memory")), _number(words.get("gpu_memory"))
    return Measured(
        MeasuredBy.SCRIPT,
        None if began is None or ended is None or ended < began else ended - began,
        cpu,
        # One exact number for the largest process, and one for all processes, but not always.
        int(max(peak for peak in peaks if peak is not None)) if any(peaks) else None,
        None if group is None else int(group / 1024),
        _number(words.get("gpu")),
        None if gpu_memory is None else int(gpu_memory * 1024),
        words.get("node", ""),
    )


_NUMBER = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,9})?", re.ASCII)
_MINUTES = re.compile(r"([0-9]{1,12})m([0-9]{1,2}(?:\.[0-9]{1,9})?)s", re.ASCII)


def _number(text: str | None) -> float | None:
    return float(text) if text and _NUMBER.fullmatch(text) else None


def _minutes(text: str) -> float | None:
    match = _MINUTES.fullmatch(text)
    return None if match is None else int(match[1]) * 60 + float(match[2])
