"""Simulated clusters: jobs wait with reasons, run, complete directories, and fail.

Deterministic: takes a seed, job specs and times of the simulation; gives jobs in the terms of
`Scheduler`, and the directories completed since the last step. No I/O and no clock of its own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import (
    Job,
    JobKey,
    JobSpec,
    JobState,
    array_of,
    task_token,
)
from rowtui.core.project.views.views import PlayedState

# The faults that can be injected into the large demo, in the words of `:demo`.


DOWN = "Connection refused"
SLOW_SECONDS = 8.0
KILL = "kill-engine"


def faults_of(clusters: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each fault with its effect."""
    found = []
    for name in clusters:
        found += [
            (f"fail {name}", f"{name} refuses every connection, or answers again"),
            (f"slow {name}", f"{name} takes {SLOW_SECONDS:g} s to answer, or is quick again"),
            (f"logout {name}", f"the login to {name} expires"),
        ]
    return (*found, (KILL, "the process of the engine is killed; it is started again"))


def known_faults(faults: Iterable[tuple[str, str]]) -> str:
    """Return the message for an unknown fault."""
    return "There are: " + ", ".join(known for known, _ in faults)


def played_state(clusters: Iterable[str], speed: int, said: str = "") -> PlayedState:
    """Return the state of a demo whose clock runs at this speed."""
    return PlayedState(f"DEMO ×{speed}", faults_of(clusters), said)


def inject(there: SimulatedCluster, what: str) -> str:
    """Inject a fault into a cluster; return what was done, "" for an unknown fault."""
    name = there.machine.name
    if what == "fail":
        there.down = "" if there.down else DOWN
        return f"{name} does not answer now." if there.down else f"{name} answers again."
    if what == "logout":
        there.logged_in = False
        return f"The login to {name} has expired."
    if what == "slow":
        quick = there.slow >= SLOW_SECONDS
        there.slow = there.machine.latency if quick else SLOW_SECONDS
        return f"{name} is quick again." if quick else f"{name} is slow now."
    return ""


# A clock that runs faster than real time by an adjustable factor.


SPEEDS = (1, 10, 60, 300, 1000)
SPEED = 60
"""The initial speed."""


class FastClock:
    """Seconds of the simulation. `steady`: the real clock. Changes of the speed cause no jumps."""

    def __init__(self, speed: int = SPEED, steady: Callable[[], float] = time.monotonic) -> None:
        self.speed = speed
        self._steady = steady
        self._then, self._base = steady(), 0.0

    def __call__(self) -> float:
        """Return the seconds of the simulation since it began."""
        return self._base + (self._steady() - self._then) * self.speed

    def skip(self, seconds: float) -> None:
        """Advance the clock at once."""
        self._base += seconds

    def faster(self) -> None:
        """Set the next higher speed."""
        self._go_at(SPEEDS[min(SPEEDS.index(self.speed) + 1, len(SPEEDS) - 1)])

    def slower(self) -> None:
        """Set the next lower speed."""
        self._go_at(SPEEDS[max(SPEEDS.index(self.speed) - 1, 0)])

    def _go_at(self, speed: int) -> None:
        self._base, self._then = self(), self._steady()
        self.speed = speed


KEPT_ENDED = 400
"""Ended jobs that a queue still lists."""

NODES = 12
"""Nodes of a cluster on which the demo's jobs run."""

SHARE_FAILED = 0.07
FAILURES: tuple[tuple[JobState, float, int | None], ...] = (
    (JobState.OUT_OF_MEMORY, 0.35, None),
    (JobState.TIMEOUT, 0.3, None),
    (JobState.FAILED, 0.25, 2),
    (JobState.NODE_FAIL, 0.1, None),
)
"""How jobs fail, and how often: state, share, exit code."""

_LAST_WORDS = {
    JobState.OUT_OF_MEMORY: "slurmstepd: error: Detected 1 oom_kill event in this step",
    JobState.TIMEOUT: "slurmstepd: error: *** JOB CANCELLED DUE TO TIME LIMIT ***",
    JobState.CANCELLED: "slurmstepd: error: *** JOB CANCELLED ***",
    JobState.FAILED: "simulate: the box is too small for this pressure (exit 2)",
    JobState.NODE_FAIL: "srun: error: Node failure",
}

WAITS = ("Priority", "Resources", "Priority", "QOSMaxCpuPerUserLimit", "AssocGrpCPUMinutesLimit")


class ClusterSpec(NamedTuple):
    """One simulated cluster.

    `most`: the demo's jobs that run at a time; `latency`: seconds until an answer; `others`: the
    share of the cores that other users take.
    """

    name: str
    cores: int
    most: int
    latency: float = 0.05
    expired: bool = False
    others: float = 0.3


class DemoWork(NamedTuple):
    """The work of one of the demo's jobs: an action on directories."""

    action: str
    directories: tuple[str, ...]


@dataclass
class SimulatedJob:
    """One scheduler job, or a task of an array. Times of the simulation; 0: not yet."""

    id: int
    spec: JobSpec
    task: int | None
    held: bool
    sent: float
    lasts: float
    ends_as: JobState
    exit_code: int | None
    reason: str
    begun: float = 0.0
    ended: float = 0.0
    told: int = 0  # directories that were completed and reported
    state: JobState = JobState.PENDING
    node: str = ""
    not_before: float = 0.0

    @property
    def token(self) -> str:
        """Return the token of the job or task."""
        return self.spec.token if self.task is None else task_token(self.spec.token, self.task)


@dataclass
class SimulatedCluster:
    """One queue. `down`: why it does not answer, "" if it does."""

    machine: ClusterSpec
    chance: random.Random
    next_id: int
    jobs: list[SimulatedJob] = field(default_factory=list)
    down: str = ""
    slow: float = 0.0
    logged_in: bool = True
    logs: list[tuple[str, str]] = field(default_factory=list)  # the output of jobs: path, text

    def submit(self, spec: JobSpec, now: float) -> int:
        """Accept a job; return its id."""
        self.next_id += self.chance.randint(1, 9)
        for task in spec.tasks or (None,):
            self.jobs.append(self._job(spec, task, now))
        return self.next_id

    def _job(self, spec: JobSpec, task: int | None, now: float) -> SimulatedJob:
        chance, limit = self.chance, float(spec.walltime_seconds or 3600)
        state, lasts = JobState.COMPLETED, limit * chance.uniform(0.3, 0.85)
        exit_code: int | None = 0
        if chance.random() < SHARE_FAILED:
            ((state, _, exit_code),) = chance.choices(FAILURES, [share for _, share, _ in FAILURES])
            lasts = limit if state is JobState.TIMEOUT else limit * chance.uniform(0.05, 0.6)
        return SimulatedJob(
            self.next_id, spec, task, spec.held, now, lasts, state, exit_code, chance.choice(WAITS)
        )

    def advance(self, now: float, work: Mapping[str, DemoWork]) -> dict[str, list[str]]:
        """End and start jobs; return the directories that were completed, by action."""
        completed: dict[str, list[str]] = {}
        for job in self.jobs:
            if job.state is JobState.RUNNING:
                self._run(job, now, work.get(job.token), completed)
        free = self.machine.cores * (1.0 - self.machine.others) - sum(
            job.spec.cpus for job in self.jobs if job.state is JobState.RUNNING
        )
        room = self.machine.most - sum(job.state is JobState.RUNNING for job in self.jobs)
        for job in self.jobs:
            waits = job.state is JobState.PENDING and not job.held
            due = now >= max(job.sent + 45, job.not_before)
            if waits and due and room > 0 and job.spec.cpus <= free and not self._depends(job):
                free -= job.spec.cpus
                room -= 1
                job.state, job.begun = JobState.RUNNING, now
                job.node = f"{self.machine.name[0]}{self.chance.randint(1, NODES):04}"
                self._say(job, f"job {job.id} on {job.node}, {job.spec.cpus} CPUs")
        ended = [job for job in self.jobs if not job.state.active]
        if len(ended) > KEPT_ENDED:
            old = {id(job) for job in ended[: len(ended) - KEPT_ENDED]}
            self.jobs = [job for job in self.jobs if id(job) not in old]
        return completed

    def _depends(self, job: SimulatedJob) -> bool:
        waits_for = {
            *job.spec.after,
            *(key.id for key in job.spec.after_tasks),
            job.spec.after_each,
        }
        if waits_for == {0}:
            return False
        return any(it.id in waits_for and it.state is not JobState.COMPLETED for it in self.jobs)

    def _run(
        self, job: SimulatedJob, now: float, work: DemoWork | None, completed: dict[str, list[str]]
    ) -> None:
        share = min(1.0, (now - job.begun) / job.lasts)
        if work is not None:
            many = len(work.directories)
            if job.ends_as is not JobState.COMPLETED:
                many = min(many - 1, int(many * 0.6))  # a failed job leaves some directories undone
            done = int(many * share)
            if done > job.told:
                completed.setdefault(work.action, []).extend(work.directories[job.told : done])
                for name in work.directories[job.told : done]:
                    self._say(job, f"{name}: done")
                job.told = done
        if share >= 1.0:
            self.end(job, job.ends_as, job.begun + job.lasts)

    def end(self, job: SimulatedJob, state: JobState, now: float) -> None:
        """End the job."""
        job.state, job.ended = state, now
        if state in _LAST_WORDS:
            self._say(job, _LAST_WORDS[state])

    def _say(self, job: SimulatedJob, text: str) -> None:
        self.logs.append((job.spec.log_path.replace("%j", str(job.id)), text))

    def seen(self, job: SimulatedJob, now: float, clock: float) -> Job:
        """Return the job as a queue shows it. `clock`: the caller's time in epoch seconds."""
        began = job.begun if job.state is not JobState.PENDING else 0.0
        elapsed = int((job.ended or now) - began) if began else 0
        waiting = job.state is JobState.PENDING
        reason = ("JobHeldUser" if job.held else job.reason) if waiting else ""
        if waiting and self._depends(job):
            reason = "Dependency"
        told_none = job.held or now < job.not_before
        return Job(
            id=job.id,
            state=JobState.HELD if waiting and job.held else job.state,
            name=job.spec.name,
            token=job.token,
            reason=reason,
            partition=_partition(job.spec.script),
            elapsed=elapsed,
            limit=job.spec.walltime_seconds,
            nodes=job.node,
            start_estimate=int(clock + 600 + job.id % 7000) if waiting and not told_none else None,
            exit_code=job.exit_code if not job.state.active else None,
            log_path=job.spec.log_path,
            task=job.task,
        )

    def with_keys(self, keys: Sequence[JobKey]) -> list[SimulatedJob]:
        """Return the jobs of these keys; an id alone means all tasks of an array."""
        wanted = set(keys)
        return [
            job
            for job in self.jobs
            if JobKey(job.id, job.task) in wanted or JobKey(job.id) in wanted
        ]

    def with_token(self, token: str) -> list[SimulatedJob]:
        """Return the jobs with this token, or of the array with this token."""
        return [
            job for job in self.jobs if job.token == token or array_of(job.token, job.task) == token
        ]


def _partition(script: str) -> str:
    for line in script.splitlines():
        if line.startswith("#SBATCH --partition="):
            return line.partition("=")[2].strip()
    return ""


class ClusterSimulation:
    """All clusters, and the work of the jobs on them."""

    def __init__(self, machines: Sequence[ClusterSpec], seed: int) -> None:
        self.work: dict[str, DemoWork] = {}
        self.clusters = {
            machine.name: SimulatedCluster(
                machine,
                random.Random(f"{seed} {machine.name}"),
                10_000 * (at + 3),
                slow=machine.latency,
                logged_in=not machine.expired,
            )
            for at, machine in enumerate(machines)
        }

    def advance(self, now: float) -> dict[str, list[str]]:
        """Advance all clusters to this time; return the completed directories by action."""
        completed: dict[str, list[str]] = {}
        for cluster in self.clusters.values():
            for action, names in cluster.advance(now, self.work).items():
                completed.setdefault(action, []).extend(names)
        return completed

    def at_their_best(self) -> None:
        """Make all clusters answer at once."""
        for cluster in self.clusters.values():
            cluster.slow, cluster.logged_in, cluster.down = 0.0, True, ""

    def as_they_are(self) -> None:
        """Restore each cluster's latency and login state."""
        for cluster in self.clusters.values():
            cluster.slow = cluster.machine.latency
            cluster.logged_in = not cluster.machine.expired

    def take_logs(self) -> dict[str, str]:
        """Return the output of jobs since the last call, by the path of their log."""
        found: dict[str, list[str]] = {}
        for cluster in self.clusters.values():
            for path, text in cluster.logs:
                found.setdefault(path, []).append(text)
            cluster.logs.clear()
        return {path: "\n".join(texts) + "\n" for path, texts in found.items()}
