"""The simulated world on disk: clusters keep their jobs when their engine ends.

The whole world is written again at each step; an accepted job is added at once, before its id is
returned. Only the engine's process of the same demo reads the files.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.core.clusters.schedulers.base import JobSpec
from rowtui.core.demo.clock import FastClock
from rowtui.core.demo.simulation import SimulatedCluster, Simulation


class _World(NamedTuple):
    simulation: Simulation
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

    def save(self, simulation: Simulation, now: FastClock) -> None:
        """Write the whole world. Raises: OSError."""
        with self.lock:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            new = self._world.with_suffix(".new")
            new.write_bytes(pickle.dumps(_World(simulation, now(), now.speed)))
            os.replace(new, self._world)
            with contextlib.suppress(FileNotFoundError):
                self._added.unlink()

    def accept(
        self, simulation: Simulation, there: SimulatedCluster, spec: JobSpec, now: float
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

    def load(self, steady: Callable[[], float] = time.monotonic) -> tuple[Simulation, FastClock]:
        """Return the world as it was saved. Raises: OSError."""
        simulation, seconds, speed = pickle.loads(self._world.read_bytes())  # noqa: S301
        with contextlib.suppress(FileNotFoundError, EOFError), self._added.open("rb") as added:
            while True:
                self._add(simulation, *pickle.load(added))  # noqa: S301
        now = FastClock(speed, steady)
        now.skip(seconds)
        return simulation, now

    @staticmethod
    def _add(simulation: Simulation, name: str, jobs: Any, work: Any) -> None:
        there = simulation.clusters[name]
        known = {(job.id, job.task) for job in there.jobs}
        there.jobs += [job for job in jobs if (job.id, job.task) not in known]
        there.next_id = max(there.next_id, *(job.id for job in jobs))
        simulation.work |= {token: one for token, one in work.items() if one is not None}
