"""The resources of this machine for jobs (cores, memory and GPUs), and its name, boot and user.

The cores are the ones that this process may use: its CPU affinity and the CPU quotas of its control
groups (version 1 and 2), not all installed cores; the same for memory. The user may set other
values in ROWTUI_LOCAL_CORES, ROWTUI_LOCAL_MEMORY_MB and ROWTUI_LOCAL_GPUS.
"""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural

_CGROUPS = Path("/sys/fs/cgroup")


class Capacity(NamedTuple):
    """The resources that all jobs may use together. `gpus`: names for CUDA_VISIBLE_DEVICES."""

    cores: int
    memory_mb: int
    gpus: tuple[str, ...] = ()

    def refusal(self, cpus: int, memory_mb: int | None, gpus: int) -> str:
        """Return why a job with these amounts can never run on this machine; "" if it can."""
        if cpus > self.cores:
            return f"the job asks for {plural(cpus, 'CPU')}, this machine has {self.cores:,}"
        if (memory_mb or 0) > self.memory_mb:
            return (
                f"the job asks for {memory_mb:,} MiB of memory, "
                f"this machine has {self.memory_mb:,} MiB"
            )
        if gpus > len(self.gpus):
            has = f"{len(self.gpus):,}" if self.gpus else "none"
            return f"the job asks for {plural(gpus, 'GPU')}, this machine has {has}"
        return ""


def machine_capacity(environment: Mapping[str, str] | None = None) -> Capacity:
    """Return the capacity of this machine for this process.

    Raises: RowtuiError if one of the ROWTUI_LOCAL_... variables is not a number.
    """
    stated = os.environ if environment is None else environment
    cores = _stated(stated, "ROWTUI_LOCAL_CORES", 1)
    memory = _stated(stated, "ROWTUI_LOCAL_MEMORY_MB", 1)
    gpus = _stated(stated, "ROWTUI_LOCAL_GPUS", 0)
    return Capacity(
        cores=_usable_cores() if cores is None else cores,
        memory_mb=_usable_memory_mb() if memory is None else memory,
        gpus=_visible_gpus(stated) if gpus is None else tuple(map(str, range(gpus))),
    )


def boot_id() -> str:
    """Return a text that changes with every start of the machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def boot_time() -> float:
    """Return the seconds since this machine started, also those in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def host_name() -> str:
    """Return the machine's name, as one path component."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", os.uname().nodename).lstrip(".") or "localhost"


def user_name() -> str:
    """Return the user of this process, from the system, since `su` keeps the environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container without user names
        return str(os.getuid())


def _stated(environment: Mapping[str, str], name: str, least: int) -> int | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) < least:
        raise RowtuiError(
            f"{name} is {text!r}, which is not a whole number of at least {least}",
            f"Set {name} to a number, or unset it to use the machine's own number.",
        )
    return int(text)


def _usable_cores() -> int:
    cores = len(os.sched_getaffinity(0))
    for folder in _cgroup_folders("cpu"):
        quota, period = _numbers(folder / "cpu.max", 2)  # "max 100000" without a limit
        if quota is None:
            (quota,), (period,) = (
                _numbers(folder / "cpu.cfs_quota_us", 1),
                _numbers(folder / "cpu.cfs_period_us", 1),
            )
        if quota is not None and period and quota > 0:
            cores = min(cores, quota // period)
    return max(cores, 1)


def _usable_memory_mb() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for folder in _cgroup_folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            (limit,) = _numbers(folder / name, 1)
            if limit:
                memory = min(memory, limit)
    return max(memory >> 20, 1)


def _cgroup_folders(controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control groups, innermost first, up to the root."""
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = _CGROUPS / controller if controllers else _CGROUPS
        inner = PurePosixPath(path.lstrip("/"))
        for part in (inner, *inner.parents):
            yield base / part


def _numbers(path: Path, length: int) -> tuple[int | None, ...]:
    """Return the first `length` words of a file as numbers; None for each non-number."""
    try:
        words = path.read_text("ascii").split()
    except (OSError, UnicodeDecodeError):
        words = []
    numbers = [int(word) if word.lstrip("-").isdecimal() else None for word in words[:length]]
    return tuple(numbers + [None] * (length - len(numbers)))


def _visible_gpus(environment: Mapping[str, str]) -> tuple[str, ...]:
    chosen = environment.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        names = [name.strip() for name in chosen.split(",")]
        # CUDA itself stops at the first name that it cannot use, such as -1 or NoDevFiles.
        return tuple(name for name in names if name and name not in ("-1", "NoDevFiles"))
    try:
        nvidia = [name[6:] for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name)]
    except OSError:
        nvidia = []
    if nvidia:
        return tuple(sorted(nvidia, key=int))
    return tuple(map(str, range(_amd_gpus())))  # HIP reads CUDA_VISIBLE_DEVICES too


def _amd_gpus() -> int:
    number = 0
    for properties in Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties"):
        try:
            text = properties.read_text("ascii")
        except (OSError, UnicodeDecodeError):
            continue
        number += bool(re.search(r"^simd_count [1-9]", text, re.MULTILINE))
    return number
