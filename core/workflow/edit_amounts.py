"""Compute the settings of an action with which one of its jobs gets certain totals.

The input is the current resources and the number of directories of the job; the output is the few
settings of workflow.toml that are needed, and the resources with them. Row multiplies these
settings: processes per directory and times per directory keep their form. Amounts that do not
divide evenly are rounded down, so that a destination which takes the totals takes the job too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural
from rowtui.core.workflow.model import Resources

Key = tuple[str, ...]
"""Of `action.resources`: `("walltime", "per_submission")`."""

_MB_PER_GB = 1024
_NEARLY = 1e-6  # 0.3 GB are 307.2 MB, which floating-point numbers cannot represent exactly
_MOST = 2.0**53


class Totals(NamedTuple):
    """The totals of one whole job. Memory in GB, time in seconds; None: unchanged."""

    cores: Any = None
    gpus: Any = None
    mem: Any = None
    walltime: int | None = None


class Settings(NamedTuple):
    """The keys to set (times in seconds; None: remove the key), and the resulting resources."""

    keys: Mapping[Key, int | None]
    resources: Resources


class EditRefusedError(RowtuiError):
    """workflow.toml cannot express the change; the message contains the reason."""


def settings_for(resources: Resources, directories: int, totals: Totals) -> Settings:
    """Return the settings with which a job on this number of directories gets these totals.

    Raises: EditRefusedError if no whole numbers give these totals.
    """
    keys: dict[Key, int | None] = {}
    if totals.cores is not None:
        resources = _with_cores(resources, directories, totals, keys)
    if totals.gpus is not None:
        resources = _with_gpus(resources, directories, totals.gpus, keys)
    if totals.mem is not None:
        resources = _with_memory(resources, directories, totals.mem, keys)
    if totals.walltime is not None:
        resources = _with_walltime(resources, directories, totals.walltime, keys)
    return Settings(keys, resources)


def _whole(value: Any, what: str) -> int:
    number = float(value)
    if not number.is_integer() or not 0 <= number <= _MOST:
        raise EditRefusedError(f"workflow.toml has no words for {value:g} {what}")
    return int(number)


def _with_cores(
    resources: Resources, directories: int, totals: Totals, keys: dict[Key, int | None]
) -> Resources:
    """Change the threads, or else the processes, since the command may depend on the processes."""
    cores = _whole(totals.cores, "cores")
    if cores == resources.total_cpus(directories):
        return resources
    gpus_stay = not resources.gpus_per_process or totals.gpus is not None
    ways = [_threads, _processes] if gpus_stay else [_threads]
    for way in ways:
        if (found := way(resources, directories, cores)) is not None:
            key, value, changed = found
            keys[key] = value
            return changed
    processes = resources.processes.total(directories)
    raise EditRefusedError(
        f"{plural(cores, 'CPU')} cannot be shared out evenly among "
        f"{plural(processes, 'process', 'processes')} with whole threads"
    )


def _threads(
    resources: Resources, directories: int, cores: int
) -> tuple[Key, int, Resources] | None:
    processes = resources.processes.total(directories)
    if not cores or not processes or cores % processes:
        return None
    threads = cores // processes
    return ("threads_per_process",), threads, resources._replace(threads_per_process=threads)


def _processes(
    resources: Resources, directories: int, cores: int
) -> tuple[Key, int, Resources] | None:
    per_directory = resources.processes.per_directory
    each = (resources.threads_per_process or 1) * (directories if per_directory else 1)
    if not cores or not each or cores % each:
        return None
    processes = resources.processes._replace(value=cores // each)
    key = ("processes", _per(per_directory))
    return key, processes.value, resources._replace(processes=processes)


def _per(directory: bool) -> str:
    return "per_directory" if directory else "per_submission"


def _with_gpus(
    resources: Resources, directories: int, asked: Any, keys: dict[Key, int | None]
) -> Resources:
    gpus = _whole(asked, "GPUs")
    if gpus == resources.total_gpus(directories):
        return resources
    processes = resources.processes.total(directories)
    if not processes or gpus % processes:
        raise EditRefusedError(
            f"{plural(gpus, 'GPU')} cannot be shared out evenly among "
            f"{plural(processes, 'process', 'processes')}"
        )
    each = gpus // processes or None  # Row does not accept 0 here
    keys[("gpus_per_process",)] = each
    return resources._replace(gpus_per_process=each)


def _with_memory(
    resources: Resources, directories: int, asked: Any, keys: dict[Key, int | None]
) -> Resources:
    """Set the memory per GPU if the job has GPUs, else per CPU: the other key is not used."""
    gpus = resources.total_gpus(directories)
    of = gpus or resources.total_cpus(directories)
    total = float(asked) * _MB_PER_GB
    if not of or not 0 <= total <= _MOST:
        raise EditRefusedError(f"workflow.toml has no words for {asked:g} GB")
    each = math.floor(total / of + _NEARLY)
    if each < 1:
        raise EditRefusedError(f"{asked:g} GB are less than 1 MB for each of its {of:,} CPUs")
    name = "memory_per_gpu_mb" if gpus else "memory_per_cpu_mb"
    if getattr(resources, name) == each:
        return resources
    keys[(name,)] = each
    if gpus:
        return resources._replace(memory_per_gpu_mb=each)
    return resources._replace(memory_per_cpu_mb=each)


def _with_walltime(
    resources: Resources, directories: int, asked: int, keys: dict[Key, int | None]
) -> Resources:
    walltime = resources.walltime
    if asked == walltime.total_seconds(directories):
        return resources
    seconds = asked // max(1, directories) if walltime.per_directory else asked
    if seconds < 1:
        raise EditRefusedError("that is less than a second for each directory")
    keys[("walltime", _per(walltime.per_directory))] = seconds
    return resources._replace(walltime=walltime._replace(seconds=seconds))
