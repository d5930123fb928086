"""Other users' jobs on the simulated clusters, in the format of squeue.

Each job waits, runs and is followed by another job of the same user, so that the queue at any time
depends only on the seed and the time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from rowtui.core.clusters.commands import CommandResult, Trouble
from rowtui.core.demo.simulation import SimulatedCluster

PEOPLE = ("amara", "bjorn", "chen", "dolores", "emeka", "farid", "greta", "hiro", "ines", "jonas")
WORK = ("lammps", "vasp-relax", "gromacs", "train", "wrf", "openfoam", "blast", "jupyter", "cp2k")
REASONS = ("Priority", "Priority", "Priority", "Resources", "AssocGrpCpuLimit", "Dependency")
CORES_OF_ONE = 60
"""Cores of a cluster for each job of other users."""


class _Stream(NamedTuple):
    """Jobs of one user, one after another. Seconds of the simulation."""

    number: int
    user: str
    name: str
    reason: str
    waits: int
    runs: int
    limit: int
    shift: int


def squeue_of_all(
    there: SimulatedCluster, partition: str, option: str, now: float, clock: float
) -> str:
    """Return the output of `squeue -o OPTION`. `now`: of the simulation; `clock`: epoch seconds."""
    chance = random.Random(there.machine.name)
    streams = [_stream(chance, at) for at in range(there.machine.cores // CORES_OF_ONE)]
    return "".join(_printed(one, partition, option, now, clock) for one in streams)


def _stream(chance: random.Random, at: int) -> _Stream:
    limit = chance.choice((3600, 14_400, 43_200, 86_400, 172_800))
    return _Stream(
        500_000 + at * 37, chance.choice(PEOPLE), chance.choice(WORK), chance.choice(REASONS),
        chance.randint(300, 4 * limit), int(limit * chance.uniform(0.2, 0.95)), limit,
        chance.randint(0, 5 * limit),
    )  # fmt: skip


def _printed(one: _Stream, partition: str, option: str, now: float, clock: float) -> str:
    turn, since = divmod(int(now) + one.shift, one.waits + one.runs)
    number, running = one.number + turn * 11, since >= one.waits
    elapsed = since - one.waits if running else 0
    start = clock - elapsed if running else clock + one.waits - since
    fields = {
        "A": number, "F": number, "K": "N/A", "T": "RUNNING" if running else "PENDING",
        "M": _duration(elapsed), "l": _duration(one.limit), "S": int(start), "P": partition,
        "N": f"{partition[0]}{1 + one.number % 480:04}" if running else "",
        "r": "None" if running else one.reason, "k": "(null)", "u": one.user, "j": one.name,
    }  # fmt: skip
    return re.sub("%([A-Za-z])", lambda found: str(fields.get(found[1], "")), option) + "\n"


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def answered(argv: Sequence[str], text: str) -> CommandResult:
    """Return the result of a command that succeeded."""
    return CommandResult(tuple(argv), 0, text.encode())


def unanswered(argv: Sequence[str], why: str) -> CommandResult:
    """Return the result of a command on a cluster that does not answer."""
    return CommandResult(tuple(argv), None, trouble=Trouble.UNREACHABLE, detail=why)
