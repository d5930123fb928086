"""A `Scheduler` for a simulated cluster."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import random
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryAnswer,
    DryVerdict,
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    QueueSnapshot,
    SubmitResult,
    Unreachable,
)
from rowtui.core.clusters.schedulers.measured import Measured
from rowtui.core.demo.simulation import ClusterSimulation, FastClock, SimulatedCluster, SimulatedJob
from rowtui.core.workflow.duration import format_duration

# Other users' jobs on the simulated clusters, in the format of squeue.
#
# Each job waits, runs and is followed by another job of the same user, so that the queue at any
# time depends only on the seed and the time.


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
        "M": format_duration(elapsed), "l": format_duration(one.limit),
        "S": int(start), "P": partition,
        "N": f"{partition[0]}{1 + one.number % 480:04}" if running else "",
        "r": "None" if running else one.reason, "k": "(null)", "u": one.user, "j": one.name,
    }  # fmt: skip
    return re.sub("%([A-Za-z])", lambda found: str(fields.get(found[1], "")), option) + "\n"


def answered(argv: Sequence[str], text: str) -> CommandResult:
    """Return the result of a command that succeeded."""
    return CommandResult(tuple(argv), 0, text.encode())


def unanswered(argv: Sequence[str], why: str) -> CommandResult:
    """Return the result of a command on a cluster that does not answer."""
    return CommandResult(tuple(argv), None, trouble=Trouble.UNREACHABLE, detail=why)


# The simulated world on disk: clusters keep their jobs when their engine ends.
#
# The whole world is written again at each step; an accepted job is added at once, before its id is
# returned. Only the engine's process of the same demo reads the files.


class _World(NamedTuple):
    simulation: ClusterSimulation
    now: float
    speed: int


class Kept:
    """The files of one demo. `lock`: held while the simulation is changed."""

    def __init__(self, root: Path) -> None:
        self._folder = root / ".demo"
        self._world, self._added = self._folder / "world", self._folder / "added"
        self.lock = threading.Lock()

    @property
    def there(self) -> bool:
        """Whether a demo was made here."""
        return self._world.exists()

    def save(self, simulation: ClusterSimulation, now: FastClock) -> None:
        """Write the whole world. Raises: OSError."""
        with self.lock:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            new = self._world.with_suffix(".new")
            new.write_bytes(pickle.dumps(_World(simulation, now(), now.speed)))
            os.replace(new, self._world)
            with contextlib.suppress(FileNotFoundError):
                self._added.unlink()

    def accept(
        self, simulation: ClusterSimulation, there: SimulatedCluster, spec: JobSpec, now: float
    ) -> int:
        """Submit a job to a cluster; return its id. Raises: OSError."""
        with self.lock:
            before = len(there.jobs)
            number = there.submit(spec, now)
            jobs = there.jobs[before:]
            work = {job.token: simulation.work.get(job.token) for job in jobs}
            if self.there:
                with self._added.open("ab") as added:
                    pickle.dump((there.machine.name, jobs, work), added)
        return number

    def load(
        self, steady: Callable[[], float] = time.monotonic
    ) -> tuple[ClusterSimulation, FastClock]:
        """Return the world as it was saved. Raises: OSError."""
        simulation, seconds, speed = pickle.loads(self._world.read_bytes())  # noqa: S301
        with contextlib.suppress(FileNotFoundError, EOFError), self._added.open("rb") as added:
            while True:
                self._add(simulation, *pickle.load(added))  # noqa: S301
        now = FastClock(speed, steady)
        now.skip(seconds)
        return simulation, now

    @staticmethod
    def _add(simulation: ClusterSimulation, name: str, jobs: Any, work: Any) -> None:
        there = simulation.clusters[name]
        known = {(job.id, job.task) for job in there.jobs}
        there.jobs += [job for job in jobs if (job.id, job.task) not in known]
        there.next_id = max(there.next_id, *(job.id for job in jobs))
        simulation.work |= {token: one for token, one in work.items() if one is not None}


NO_LOGIN = "the login has expired: log in again"


async def away(there: SimulatedCluster) -> str:
    """Wait as long as a cluster takes to answer; return why it does not answer, "" if it does."""
    await asyncio.sleep(there.slow)
    return there.down or ("" if there.logged_in else NO_LOGIN)


class SimulatedScheduler:
    """The scheduler of one simulated cluster. `now`: the time of the simulation."""

    kind = "slurm"
    immediate = False
    place = ""
    shared = True
    holds = True
    forgets = False
    at_once = 4

    def __init__(
        self,
        there: SimulatedCluster,
        now: Callable[[], float],
        clock: Callable[[], float] = time.time,
        accept: Callable[[SimulatedCluster, JobSpec, float], int] = SimulatedCluster.submit,
    ) -> None:
        self._there = there
        self._now = now
        self._clock = clock
        self._accept = accept

    @property
    def cluster(self) -> str:
        """Return the cluster's name."""
        return self._there.machine.name

    async def _away(self) -> str:
        return await away(self._there)

    async def submit(self, job: JobSpec) -> SubmitResult:
        """See `Scheduler`."""
        if why := await self._away():
            return Unreachable(why)
        return Accepted(self._accept(self._there, job, self._now()))

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """See `Scheduler`."""
        if why := await self._away():
            return DryAnswer(DryVerdict.NOT_TOLD, why)
        return DryAnswer(DryVerdict.TAKES, start=self._clock() + 900.0)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """See `Scheduler`."""
        if await self._away():
            return None
        found = {token: self._there.with_token(token) for token in tokens}
        return {token: tuple(map(self._seen, jobs)) for token, jobs in found.items() if jobs}

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """See `Scheduler`."""
        why = await self._away()
        if why:
            return QueueSnapshot(self.cluster, self._clock(), error=why)
        wanted = None if job_ids is None else set(job_ids)
        jobs = [it for it in self._there.jobs if wanted is None or it.id in wanted]
        return QueueSnapshot(self.cluster, self._clock(), tuple(map(self._seen, jobs)))

    def _seen(self, job: object) -> Job:
        assert isinstance(job, SimulatedJob)
        return self._there.seen(job, self._now(), self._clock())

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        """See `Scheduler`. Only the demo submits jobs here."""
        return None if await self._away() else {}

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """See `Scheduler`."""
        if why := await self._away():
            return tuple(JobAnswer(key, why) for key in jobs)
        for job in self._there.with_keys(jobs):
            if job.state.active:
                self._there.end(job, JobState.CANCELLED, self._now())
        return tuple(JobAnswer(key) for key in jobs)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """See `Scheduler`."""
        return await self._held(jobs, held=True)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """See `Scheduler`."""
        return await self._held(jobs, held=False)

    async def measured(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured]:
        """Return nothing: nothing runs, so nothing is used."""
        return {}

    async def measured_now(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured]:
        """Return nothing: nothing runs, so nothing is used."""
        return {}

    async def _held(self, jobs: Sequence[JobKey], *, held: bool) -> tuple[JobAnswer, ...]:
        if why := await self._away():
            return tuple(JobAnswer(key, why) for key in jobs)
        for job in self._there.with_keys(jobs):
            if job.state is JobState.PENDING:
                job.held = held
        return tuple(JobAnswer(key) for key in jobs)
