"""The synthetic project: its records as after a full scan, on simulated clusters.

Making 100,000 directories takes minutes on a busy disk, so they do not exist: the records list them
in the store's own form, and `DemoProject` never scans the workspace.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.polling.poll import Polled
from rowtui.core.clusters.schedulers.base import JobState, Scheduler
from rowtui.core.clusters.schedulers.slurm.commands import read_words
from rowtui.core.clusters.schedulers.slurm.parse import seconds_of
from rowtui.core.clusters.transports.login import Prompt
from rowtui.core.demo.scheduler import (
    NO_LOGIN,
    Kept,
    SimulatedScheduler,
    answered,
    away,
    squeue_of_all,
    unanswered,
)
from rowtui.core.demo.simulation import ClusterSimulation, FastClock, SimulatedCluster
from rowtui.core.demo.study import MACHINES, PLACES, SHARES, environment, write_files
from rowtui.core.project.context.connections import Connections
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.project import Progress, Project
from rowtui.core.project.usage import ProjectUsage
from rowtui.core.state.merge import build_directories
from rowtui.core.state.model import State
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.workflow.load import load_workflow
from rowtui.core.workspace.gather import Gathered, workflow_pointers
from rowtui.core.workspace.list import workspace_mtime_ns


def write_records(project: Project, directories: int, seed: int) -> None:
    """Write the records of `directories` directories, with much of their work done."""
    chance = random.Random(seed)
    found = Gathered()
    replicas = max(1, directories // 2000)
    for at in range(directories):
        temperature, rest = divmod(at, max(1, directories // 100))
        found.names.append(b"t%03d-%05d" % (temperature, rest))
        found.raw.append(
            b'{"pressure":%d,"replica":%d,"temperature":%d}'
            % (rest // replicas, rest % replicas, 250 + 5 * temperature)
        )
        found.stamps.append((1, 1))
    workflow = project.workflow
    directories_made = build_directories(
        found.names, found, value_file=workflow.value_file, pointers=workflow_pointers(workflow)
    )
    done = _completed(directories, chance)
    state = State(0, directories_made, done)
    workspace = workflow.workspace

    def begin(before: Stored) -> Stored:
        return before._replace(
            state=state,
            workspace_mtime_ns=workspace_mtime_ns(workspace),
            racy=False,
            value_file=workflow.value_file,
            products=workflow.products(),
            reread=False,
        )

    project.store.commit(begin)


def _completed(many: int, chance: random.Random) -> dict[str, int]:
    """Return the completed directories by action, fewer for each later action, with some holes."""
    done = {}
    every = (1 << many) - 1
    for action, share in SHARES:
        holes = bytearray(b"\xff" * ((many + 7) // 8))
        for _ in range(many // 400):
            holes[chance.randrange(len(holes))] = chance.choice((0xFB, 0x7F, 0xEE))
        every &= (1 << int(many * share)) - 1 & int.from_bytes(holes, "little")
        done[action] = every
    return done


class DemoReach(Connections):
    """The simulated clusters in place of connections."""

    def __init__(
        self, project: Project, simulation: ClusterSimulation, now: FastClock, kept: Kept
    ) -> None:
        super().__init__(project, project.root)
        self._kept = kept
        self._simulation = simulation
        self._now = now

    def scheduler(self, name: str) -> Scheduler | None:
        """See `Connections`."""
        there = self._simulation.clusters.get(name)
        if there is None:
            return None  # this machine's own queue is real, and no part of a demo
        if name not in self._schedulers:
            self._schedulers[name] = SimulatedScheduler(
                there, self._now, accept=partial(self._kept.accept, self._simulation)
            )
        return self._schedulers[name]

    def transport(self, cluster: Any) -> Transport:
        """Return a transport that leaves nearly all commands unanswered."""
        there = self._simulation.clusters.get(cluster.name)
        if there is not None:
            return SimulatedTransport(there, self._now)
        return super().transport(cluster)

    def connected(self, name: str, polled: Polled | None = None) -> bool:
        """See `Connections`."""
        there = self._simulation.clusters.get(name)
        return there is not None and there.logged_in and not there.down

    def login_needed(self, name: str) -> str:
        """See `Connections`."""
        there = self._simulation.clusters.get(name)
        return NO_LOGIN if there is not None and not there.logged_in else ""

    async def connect(self, name: str) -> None:
        """Ask for a password; any password is accepted. Raises: RowtuiError."""
        there = self._simulation.clusters.get(name)
        if there is None or there.logged_in:
            return
        self._wanted[name] += 1
        try:
            prompt = Prompt("This is a demo. Password (any):", machine=f"you@{name}.example.org")
            if await self._person(name).ask([prompt]) is None:
                raise RowtuiError(f"the login to {name} was cancelled")
        finally:
            self._wanted[name] -= 1
        there.logged_in = True


class SimulatedTransport:
    """A transport that runs no commands, and only returns all users' jobs."""

    def __init__(self, there: SimulatedCluster, now: FastClock) -> None:
        self._there = there
        self._now = now

    async def run(self, argv: Sequence[str], **_: Any) -> CommandResult:
        """Return the output of squeue; other commands get no answer."""
        if why := await away(self._there):
            return unanswered(argv, why)
        if argv[:2] == ["scontrol", "update"]:
            return self._changed(argv)
        if "squeue" not in argv or "-o" not in argv:
            return unanswered(argv, "this cluster is simulated: no command runs on it")
        partition = {place[0]: place[1] for place in PLACES}[self._there.machine.name]
        option = argv[argv.index("-o") + 1]
        text = squeue_of_all(self._there, partition, option, self._now(), time.time())
        return answered(argv, text)

    def _changed(self, argv: Sequence[str]) -> CommandResult:
        """Give waiting jobs another time limit, as `scontrol update` does."""
        asked = dict(word.split("=", 1) for word in argv[2:])
        limit = seconds_of(asked.get("TimeLimit", ""))
        if limit is None or len(asked) > 2:
            return unanswered(argv, "this cluster is simulated: it changes time limits alone")
        for job in self._there.with_keys(read_words(asked["JobId"])):
            if job.state is JobState.PENDING:
                job.spec = job.spec._replace(walltime_seconds=limit)
        return answered(argv, "")

    def __getattr__(self, name: str) -> Any:
        """Refuse all other operations."""
        raise RowtuiError("this cluster is simulated: nothing can be copied to it")


class DemoUsage(ProjectUsage):
    """The usage of simulated jobs, at the times that their clusters give."""

    project: DemoProject

    def note(self, ended: Iterable[JobRecord]) -> None:
        """See `ProjectUsage`."""
        super().note(map(self._dated, ended))

    def _dated(self, ended: JobRecord) -> JobRecord:
        for there in self.project.simulation.clusters.values():
            for job in there.with_token(ended.token):
                end = ended.end and ended.end._replace(ended_at=self._at(job.ended))
                return ended._replace(end=end, submitted_at=self._at(job.sent))
        return ended

    def _at(self, seconds: float) -> float:
        return self.project.clock() - self.project.now() + seconds


class DemoProject(OpenProject):
    """A project whose directories are only in its records, on simulated clusters.

    `clock`: returns epoch seconds.
    """

    simulation: ClusterSimulation
    now: FastClock
    kept: Kept
    clock: Callable[[], float]

    @cached_property
    def usage(self) -> ProjectUsage:
        """Return the usage of the jobs, by the clock of the demo."""
        return DemoUsage(self, self.job_table, lambda: self.jobs.queues.looks)

    @cached_property
    def connections(self) -> Connections:
        """Return the simulated clusters."""
        return DemoReach(self, self.simulation, self.now, self.kept)

    def synchronise(
        self,
        *,
        full: bool = False,
        check_values: bool = False,
        export: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Take staged completions; the directories do not exist and are not scanned."""
        super().synchronise(export=False, progress=progress)

    def close(self) -> None:
        """Do nothing: Row's own files are not written."""

    def stage(self, completed: Mapping[str, Sequence[str]]) -> None:
        """Stage the logs and completions of simulated jobs as real jobs leave them."""
        for path, text in self.simulation.take_logs().items():
            with (self.root / path).open("a") as log:
                log.write(text)
        if completed:
            stage_completions(self.root, completed)

    def save(self) -> None:
        """Save the simulated clusters for another engine. Raises: OSError."""
        self.kept.save(self.simulation, self.now)


def make_project(root: Path, directories: int, seed: int, now: FastClock) -> DemoProject:
    """Make the project in a folder that is empty or does not exist. Raises: RowtuiError."""
    if root.exists() and any(root.iterdir()):
        raise RowtuiError(f"{root} is not empty", "name a folder that does not exist yet")
    root.mkdir(parents=True, exist_ok=True)
    write_files(root)
    project = _opened(root, ClusterSimulation(MACHINES, seed), now)
    write_records(project, directories, seed)
    return project


def opened_again(root: Path, steady: Callable[[], float] = time.monotonic) -> DemoProject:
    """Open a demo in its last saved state. Raises: RowtuiError, OSError."""
    simulation, now = Kept(root).load(steady)
    return _opened(root, simulation, now)


def _opened(root: Path, simulation: ClusterSimulation, now: FastClock) -> DemoProject:
    project = DemoProject(load_workflow(root), Store(root), "anvil", environment=environment(root))
    project.simulation, project.now, project.kept = simulation, now, Kept(root)
    project.clock = time.time
    return project
