"""What a running job has used up to now, against what it requested, in words."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.text import memory
from rowtui.core.clusters.schedulers.measured import Measured, Used
from rowtui.core.workflow.duration import format_duration

NEAR = 0.9
"""The share of a limit from which a job is near it."""


class UsageNow(NamedTuple):
    """One job. `at`: when it was measured, epoch seconds. None: unknown, or nothing requested.

    `wall`, `walltime`: seconds; `cpu`: seconds of all CPUs; `memory_kib`, `memory_limit_kib`: of
    the whole job. `running`: else the job has ended, and these are its final values. `problem`: why
    nothing was measured.
    """

    at: float
    wall: float | None = None
    walltime: float | None = None
    cpu: float | None = None
    cpus: int = 1
    memory_kib: int | None = None
    memory_limit_kib: int | None = None
    running: bool = True
    problem: str = ""

    def measured(self, now: Measured | Used) -> UsageNow:
        """Return this job with the values of a measurement."""
        wall = self.wall if now.wall is None else now.wall
        return self._replace(wall=wall, cpu=now.cpu, memory_kib=now.memory)

    @property
    def memory_share(self) -> float | None:
        """Memory by its limit; None if one of them is unknown."""
        return _share(self.memory_kib, self.memory_limit_kib)

    @property
    def cpus_used(self) -> float | None:
        """How many CPUs worked, on average since the start."""
        return None if self.cpu is None or not self.wall else self.cpu / self.wall

    @property
    def near(self) -> tuple[str, ...]:
        """The limits that a running job is near: `memory`, `time`."""
        shares = (("memory", self.memory_share), ("time", _share(self.wall, self.walltime)))
        found = tuple(name for name, share in shares if share is not None and share >= NEAR)
        return found if self.running else ()

    @property
    def words(self) -> str:
        """Return `memory 3.1 of 4 GB (78%), CPU 7.6 of 8, time 02:00:00 of 12:00:00`.

        Unknown values are left out; "" if nothing is known.
        """
        parts = []
        if self.memory_kib is not None:
            parts.append(f"memory {_amounts(self.memory_kib, self.memory_limit_kib)}")
        if self.cpus_used is not None:
            parts.append(f"CPU {self.cpus_used:.1f} of {self.cpus}")
        if self.wall is not None:
            of = "" if self.walltime is None else f" of {format_duration(self.walltime)}"
            parts.append(f"time {format_duration(self.wall)}{of}")
        return ", ".join(parts)

    @property
    def warning(self) -> str:
        """Return `near its limit of memory`, or "" for a job that is not near a limit."""
        return f"near its limit of {' and '.join(self.near)}" if self.near else ""


def _amounts(used: int, limit: int | None) -> str:
    text = memory(used / 1024)
    if not limit:
        return text
    of = memory(limit / 1024)
    unit = text.rpartition(" ")[2]
    if of.endswith(unit):
        text = text.removesuffix(f" {unit}")
    return f"{text} of {of} ({used / limit:.0%})"


def _share(used: float | None, of: float | None) -> float | None:
    return None if used is None or not of else used / of
