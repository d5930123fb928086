"""Prove that jobs run exactly once, whatever breaks: `python -m bench.chaos [--crashes]`.

On a real Slurm behind a real sshd, jobs that count their own runs are submitted over SSH by one
rowtui while another one keeps asking what became of them, and at random moments of each seed
connections are cut, the login node stops listening, the controller freezes, or both; with
`--crashes` the controller is also killed and started again on the state that it had saved. With
`--bundles` most plans are packed: up to 8 requests share a scheduler job, others go alone. With
`--damage` files below .row/rowtui are deleted, Row's files and the usage of jobs are damaged, and
the clock is set; squeue shows only some of the jobs (odd seeds), or journals of unfinished
submissions are deleted too (even seeds). `--cluster` also takes `local` and `grid_engine`; with
`--submitters 2` two submit at the same time. Who sends gives up now and then and begins again with
what is left.
Printed is a line for each seed; the exit code is 1 if any directory was lost or ran twice, or
anything stayed held or reserved.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import Job, JobSpec, SubmitResult
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.project import Project
from rowtui.core.state.row.export import clean_row_files
from rowtui.core.submission.plan.model import JobStep

from bench.__main__ import machine
from bench.remote import (
    ProjectsHere,
    RemoteProjects,
    engine_projects,
    local_projects,
    remote_projects,
    runs_of,
)

Projects = RemoteProjects | ProjectsHere
CLUSTERS = {
    "slurm": remote_projects,
    "local": local_projects,
    "grid_engine": engine_projects,
}

RECONCILED = 0.4  # seconds between two looks
ADMINISTERED = 3.0
BETWEEN_FAULTS = (0.2, 1.5)  # seconds of peace, at least and at most
FROZEN = (0.3, 3.5)  # seconds; clients give up after 2 (MessageTimeout)
DEAF = (0.1, 1.0)  # seconds without a listener
DEAD = (0.0, 1.0)  # seconds without a controller
PORTION = (3, 25)  # jobs of one plan, so that there is sending for as long as there are faults
PACKED = PackChoice(budget=0.0)
RESTED = (0.0, 1.5)  # seconds between two plans
LOST_SHARE = 0.1  # of rowtui's files, each time
FAULTS = 25  # for 200 jobs, at most
PATIENCE = 300.0  # seconds after which a seed that does not come to its end has lost something


@dataclass
class Outcome:
    """What became of the directories of one seed, and what was done to them."""

    seed: int
    arrays: bool
    crashes: bool
    jobs: int
    packs: bool = False
    cluster: str = "slurm"
    damage: bool = False
    submitters: int = 1
    bundles: int = 0  # that were planned
    packed: int = 0  # requests in them
    faults: dict[str, int] = field(default_factory=dict)
    once: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # what stayed held, waiting or reserved
    sent_again: int = 0  # submissions of a job or array after its first
    planned_again: int = 0  # jobs given back or failed, and planned anew
    plans: int = 0
    seconds: float = 0.0

    @property
    def well(self) -> bool:
        """Whether every directory ran exactly once and nothing is left over."""
        return self.once == self.jobs and not (self.lost or self.twice or self.left)


class Clock:
    """The clock of this process, which may be wrong."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._right = time.time
        time.time = self  # type: ignore[assignment]

    def __call__(self) -> float:
        return self._right() + self.offset


CLOCK = Clock()


class Chaos:
    """Faults at random moments, in a thread, until there were enough or all is done."""

    def __init__(self, here: Projects, folder: Path, outcome: Outcome, faults: int) -> None:
        self.here = here
        self.folder = folder
        seed, crashes = outcome.seed, outcome.crashes
        self.chance = random.Random(seed)
        self.left = faults
        self.done = threading.Event()
        self.happened: Counter[str] = Counter()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self.kinds: list[Callable[[], None]] = []
        # The journal of an unfinished submission and the queue are the two witnesses of what was
        # sent. A seed takes one of them away, never both.
        self.contradicts = isinstance(here, RemoteProjects) and seed % 2 == 1
        if isinstance(here, RemoteProjects):
            self.kinds += [self.cut, self.deafen, self.freeze, self.both]
            self.kinds += [self.crash] * crashes
        if outcome.damage:
            self.kinds += [self.lose, self.damage_rows, self.damage_usage, self.set_clock]
            self.kinds += [self.contradict] * self.contradicts

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._thread.join()
        CLOCK.offset = 0.0
        if isinstance(self.here, RemoteProjects):
            self.here.login.clean()
            if self.here.cluster.controller.alive:
                self.here.cluster.continue_controller()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while self.left and not self.done.wait(self.chance.uniform(*BETWEEN_FAULTS)):
                fault = self.chance.choice(self.kinds)
                self.happened[fault.__name__] += 1
                self.left -= 1
                fault()
        except BaseException as error:
            self.error = error

    @property
    def remote(self) -> RemoteProjects:
        assert isinstance(self.here, RemoteProjects)
        return self.here

    def cut(self) -> None:
        self.remote.login.cut()

    def deafen(self) -> None:
        self.remote.login.kill()
        if self.chance.random() < 0.5:
            self.remote.login.cut()
        time.sleep(self.chance.uniform(*DEAF))
        self.remote.login.restart()

    def freeze(self, *, cut: bool = False) -> None:
        controller = self.remote.cluster.controller
        seconds = self.chance.uniform(*FROZEN)
        controller.stop()
        if cut:
            time.sleep(seconds * self.chance.random())
            self.remote.login.cut()
        time.sleep(seconds)
        controller.go_on()

    def both(self) -> None:
        self.freeze(cut=True)

    def crash(self) -> None:
        cluster = self.remote.cluster
        cluster.kill_controller()
        time.sleep(self.chance.uniform(*DEAD))
        cluster._start_controller(fresh=False)  # the nodes go on meanwhile

    def lose(self) -> None:
        """Delete some of rowtui's own files.

        Open journals only where squeue is right: without both nothing shows what was sent.
        """
        ours = self.folder / ".row/rowtui"
        for path in sorted(path for path in ours.rglob("*") if not path.is_dir()):
            if self.contradicts and path.parent == ours / "journal":
                continue
            if self.chance.random() < LOST_SHARE:
                path.unlink(missing_ok=True)

    def damage_rows(self) -> None:
        """Cut one of Row's files, empty it, or put other bytes or a folder in its place."""
        name = self.chance.choice(["completed.postcard", "submitted.postcard", "directories.json"])
        path = self.folder / ".row" / name
        try:
            data = path.read_bytes()
            how = self.chance.randrange(4)
            if how == 3:
                path.unlink()
                path.mkdir()
            else:
                path.write_bytes((data[: len(data) // 2], b"", self.chance.randbytes(50))[how])
        except OSError:
            pass  # it is not there right now

    def damage_usage(self) -> None:
        """Cut a file of what jobs used, empty it, put other bytes in it, or remove them all."""
        for path in sorted((self.folder / ".row/rowtui/usage").glob("*")):
            try:
                data = path.read_bytes()
                how = self.chance.randrange(4)
                if how == 3:
                    path.unlink()
                else:
                    path.write_bytes((data[: len(data) // 2], b"", self.chance.randbytes(80))[how])
            except OSError:
                pass  # it is not there right now

    def set_clock(self) -> None:
        """Set this machine's clock, as rowtui sees it."""
        CLOCK.offset = self.chance.choice([0.0, -86400.0, -120.0, 30.0, 3600.0, 30 * 86400.0])

    def contradict(self) -> None:
        """For a while squeue shows only some of the jobs, and says that these are all."""
        original = SlurmScheduler._jobs

        async def some(scheduler: SlurmScheduler, *options: str) -> tuple[list[Job], str]:
            jobs, complaints = await original(scheduler, *options)
            return [job for job in jobs if self.chance.random() < 0.5], complaints

        SlurmScheduler._jobs = some  # type: ignore[method-assign]
        time.sleep(self.chance.uniform(*FROZEN))
        SlurmScheduler._jobs = original  # type: ignore[method-assign]


class Counting:
    """Counts how often each job or array was handed to Slurm."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()
        original = SlurmScheduler.submit

        async def submit(scheduler: SlurmScheduler, job: JobSpec) -> SubmitResult:
            self.sent[job.token] += 1
            return await original(scheduler, job)

        self._restore = lambda: setattr(SlurmScheduler, "submit", original)
        SlurmScheduler.submit = submit  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    @property
    def again(self) -> int:
        return sum(count - 1 for count in self.sent.values())


class Seed:
    """One project under one sequence of faults."""

    def __init__(self, here: Projects, outcome: Outcome, talk: Callable[[str], None]) -> None:
        self.here = here
        self.outcome = outcome
        self.talk = talk
        self.folder = here.make(
            f"seed-{outcome.seed}", outcome.jobs, arrays=outcome.arrays, bundles=outcome.packs
        )
        self.senders = [here.open(self.folder) for _ in range(outcome.submitters)]
        self.watcher = here.open(self.folder)
        self.chance = random.Random(-outcome.seed - 1)
        self.names: set[str] = set()

    async def run(self) -> None:
        """Send everything, and look after it, until it is complete."""
        try:
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                others = [
                    group.create_task(work) for work in (self.look_after(), self.administer())
                ]
                senders = [group.create_task(self.send(one)) for one in self.senders]
                await asyncio.wait(senders)
                for other in others:
                    other.cancel()
        except TimeoutError:
            self.talk("gave up: not everything is complete")

    async def send(self, project: Project) -> None:
        """Plan what can be submitted, and submit it, again and again."""
        while True:
            # What ran is complete, even where the job could not say so before it was killed.
            try:
                await asyncio.to_thread(project.synchronise, full=True)
            except RowtuiError as error:
                self.talk(f"not read: {error}")
                await asyncio.sleep(RECONCILED)
                continue
            for notice in project.take_notices():
                self.talk(notice)
            row = project.status_row(project.workflow.actions[0])
            if row.completed.bit_count() == self.outcome.jobs:
                return
            if not row.eligible:
                await asyncio.sleep(RECONCILED)
                continue
            project.packing = PACKED if self.packs_now() else False
            plan = plan_submission(
                project, project.workflow.actions, limit=self.chance.randint(*PORTION)
            )
            self.outcome.plans += 1
            bundles = [job.bundle.token for job in plan.jobs if job.bundle is not None]
            self.outcome.bundles += len(set(bundles))
            self.outcome.packed += len(bundles)
            for job in plan.jobs:
                self.outcome.planned_again += job.directories[0] in self.names
                self.names.update(job.directories)
            try:
                async for step in project.jobs.submit(plan):
                    if step.error:
                        self.talk(step.error)
            except RowtuiError as error:
                self.talk(f"not sent: {error}")
            await asyncio.sleep(self.chance.uniform(*RESTED))

    def packs_now(self) -> bool:
        """Whether the next plan is packed: of one in ten each job goes alone."""
        return self.outcome.packs and self.chance.random() < 0.9

    async def look_after(self) -> None:
        """Ask what became of the jobs, and enter it."""
        while True:
            try:
                await self.ask()
            except RowtuiError as error:  # records were lost while they were used
                self.talk(f"not asked: {error}")
            await asyncio.sleep(RECONCILED)

    async def administer(self) -> None:
        """What administrators do, and who sees that a damaged file of Row's is the only one."""
        while True:
            await asyncio.sleep(ADMINISTERED)
            for node in await asyncio.to_thread(self.here.mend):
                self.talk(f"{node} was drained")
            stored = self.watcher.store.load().stored
            if stored is not None and stored.row.jobs_unread and not await self.is_busy():
                self.talk("a person deletes the damaged record of jobs")
                clean_row_files(self.folder, directories=False, submitted=True, completed=False)

    async def is_busy(self) -> bool:
        """Whether any job is in the queue, or that cannot be asked."""
        scheduler = self.watcher.connections.scheduler(self.watcher.cluster.name)
        assert scheduler is not None
        snapshot = await scheduler.queue()
        return bool(snapshot.error) or any(job.state.active for job in snapshot.jobs)

    async def ask(self) -> None:
        jobs = self.watcher.jobs
        await jobs.entered(await jobs.queues.ask(may_send=True))
        for notice in self.watcher.take_notices():
            self.talk(notice)

    async def count(self) -> None:
        """How often each directory ran, once all have had their chance to run again."""
        outcome = self.outcome
        end = time.monotonic() + 60
        while time.monotonic() < end:
            await self.ask()
            outcome.left = self.left_over()
            if not outcome.left:
                break
            await asyncio.sleep(RECONCILED)
        for name, runs in runs_of(self.folder).items():
            if not runs:
                outcome.lost.append(name)
            elif len(runs) > 1:
                outcome.twice.append(f"{name}: {', '.join(runs)}")
            else:
                outcome.once += 1
        self.here.cancel_all()
        for sender in self.senders:
            await sender.let_go()
        await self.watcher.let_go()

    def left_over(self) -> list[str]:
        """What is still held or waiting, reserved or open."""
        left = self.here.waiting()
        self.watcher.synchronise()
        for records in self.watcher.state.submitted.values():
            left += [f"{at} is reserved by {record}" for at, record in records.items()]
        journal = self.watcher.jobs.journal
        for plan_id in journal.open_plan_ids():
            left += [
                f"{entry.token} is {entry.step.value} ({entry.detail})"
                for entry in journal.latest(plan_id).values()
                if entry.step not in (JobStep.ENDED, JobStep.ABANDONED, JobStep.REJECTED)
            ]
        return left


def endure(here: Projects, outcome: Outcome, *, faults: int, talk: Callable[[str], None]) -> None:
    """One seed, from its first fault to the count of its runs."""
    began = time.monotonic()
    seed = Seed(here, outcome, talk)

    async def all_of_it() -> None:
        with Chaos(here, seed.folder, outcome, faults) as chaos, Counting() as counting:
            await seed.run()
            outcome.faults = dict(chaos.happened)
            outcome.sent_again = counting.again
        outcome.seconds = round(time.monotonic() - began, 1)
        await seed.count()

    asyncio.run(all_of_it())


HEAD = (
    "| seed | faults | cut | deaf | frozen | both | killed | files lost | Row's damaged "
    "| usage damaged | clock set | contradicted | arrays | once | lost | twice | left "
    "| sent again | planned again | seconds |\n" + "|--:" * 20 + "|"
)


def line(outcome: Outcome) -> str:
    """One row of the table."""
    kinds = ("cut", "deafen", "freeze", "both", "crash")
    kinds += ("lose", "damage_rows", "damage_usage", "set_clock", "contradict")
    figures: Sequence[object] = (
        outcome.seed,
        sum(outcome.faults.values()),
        *(outcome.faults.get(kind, 0) for kind in kinds),
        f"{outcome.packed} in {outcome.bundles}" if outcome.packs else "yes" * outcome.arrays,
        outcome.once,
        len(outcome.lost),
        len(outcome.twice),
        len(outcome.left),
        outcome.sent_again,
        outcome.planned_again,
        f"{outcome.seconds:.0f}",
    )
    return "| " + " | ".join(map(str, figures)) + " |"


def main() -> int:
    """Every seed, a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--crashes", action="store_true", help="kill the controller, too")
    parser.add_argument("--bundles", action="store_true", help="most plans are packed")
    parser.add_argument("--cluster", choices=CLUSTERS, default="slurm")
    parser.add_argument(
        "--damage",
        action="store_true",
        help="delete rowtui's files, damage Row's, set the clock, contradict (slurm)",
    )
    parser.add_argument("--submitters", type=int, default=1, help="at the same time")
    parser.add_argument("--both", action="store_true", help="all seeds without crashes, then with")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--save", help="the name of a file in bench/results")
    parser.add_argument("--verbose", action="store_true", help="print what is said meanwhile")
    given = parser.parse_args()
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    outcomes: list[Outcome] = []
    lines: list[str] = []
    began = time.monotonic()

    def put(text: str) -> None:
        lines.append(text)
        print(text, flush=True)

    def talk(text: str) -> None:
        if given.verbose:
            print(f"{time.monotonic() - began:8.2f} {text}", file=sys.stderr, flush=True)

    put(f"# {machine()}")
    for crashes in (False, True) if given.both else (given.crashes,):
        head = HEAD.replace("arrays", "packed") if given.bundles else HEAD
        put(f"\n### {'With' if crashes else 'Without'} crashes of the controller\n\n{head}")
        for seed in range(given.first, given.first + given.seeds):
            outcome = Outcome(
                seed,
                arrays=seed % 3 == 0 and not given.bundles,
                crashes=crashes,
                jobs=given.jobs,
                packs=given.bundles,
                cluster=given.cluster,
                damage=given.damage,
                submitters=given.submitters,
            )
            with CLUSTERS[given.cluster]() as here:
                endure(here, outcome, faults=max(1, FAULTS * given.jobs // 200), talk=talk)
            put(line(outcome))
            for what in (*outcome.lost, *outcome.twice, *outcome.left):
                print(f"  {what}", file=sys.stderr, flush=True)
            outcomes.append(outcome)
    jobs, once = sum(it.jobs for it in outcomes), sum(it.once for it in outcomes)
    lost, twice = (sum(len(names) for names in kind) for kind in (
        [it.lost for it in outcomes], [it.twice for it in outcomes]
    ))  # fmt: skip
    put(f"\n{jobs:,} directories: {once:,} ran once, {lost} never, {twice} more than once.")
    if given.json:
        given.json.write_text(json.dumps([asdict(it) for it in outcomes], indent=1) + "\n")
    if given.save:
        (Path(__file__).parent / "results" / given.save).write_text("\n".join([*lines, ""]))
    return 0 if all(outcome.well for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
