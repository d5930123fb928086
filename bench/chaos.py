"""Prove that jobs run exactly once, whatever breaks: `python -m bench.chaos [--crashes]`.

On a real Slurm behind a real sshd, jobs that count their own runs are submitted over SSH by one
rowtui while another one keeps asking what became of them, and at random moments of each seed
connections are cut, the login node stops listening, the controller freezes, or both; with
`--crashes` the controller is also killed and started again on the state that it had saved. With
`--bundles` most plans are packed: up to 8 requests share a scheduler job, others go alone. Who
sends gives up now and then and begins again with what is left. Printed is a line for each seed;
the exit code is 1 if any directory was lost or ran twice, or anything stayed held or reserved.
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

from rowtui.core.clusters.schedulers.base import JobSpec, SubmitResult
from rowtui.core.clusters.schedulers.slurm import SlurmScheduler
from rowtui.core.errors import RowtuiError
from rowtui.core.project.pack_views import PackChoice
from rowtui.core.submission.model import Step

from bench.__main__ import machine
from bench.remote import RemoteProjects, remote_projects, runs_of

RECONCILED = 0.4  # seconds between two looks
ADMINISTERED = 3.0
BETWEEN_FAULTS = (0.2, 1.5)  # seconds of peace, at least and at most
FROZEN = (0.3, 3.5)  # seconds; clients give up after 2 (MessageTimeout)
DEAF = (0.1, 1.0)  # seconds without a listener
DEAD = (0.0, 1.0)  # seconds without a controller
PORTION = (3, 25)  # jobs of one plan, so that there is sending for as long as there are faults
PACKED = PackChoice(budget=0.0)
RESTED = (0.0, 1.5)  # seconds between two plans
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


class Chaos:
    """Faults at random moments, in a thread, until there were enough or all is done."""

    def __init__(self, here: RemoteProjects, seed: int, faults: int, crashes: bool) -> None:
        self.here = here
        self.chance = random.Random(seed)
        self.left = faults
        self.done = threading.Event()
        self.happened: Counter[str] = Counter()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self.kinds: list[Callable[[], None]] = [self.cut, self.deafen, self.freeze, self.both]
        if crashes:
            self.kinds.append(self.crash)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._thread.join()
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

    def cut(self) -> None:
        self.here.login.cut()

    def deafen(self) -> None:
        self.here.login.kill()
        if self.chance.random() < 0.5:
            self.here.login.cut()
        time.sleep(self.chance.uniform(*DEAF))
        self.here.login.restart()

    def freeze(self, *, cut: bool = False) -> None:
        controller = self.here.cluster.controller
        seconds = self.chance.uniform(*FROZEN)
        controller.stop()
        if cut:
            time.sleep(seconds * self.chance.random())
            self.here.login.cut()
        time.sleep(seconds)
        controller.go_on()

    def both(self) -> None:
        self.freeze(cut=True)

    def crash(self) -> None:
        cluster = self.here.cluster
        cluster.kill_controller()
        time.sleep(self.chance.uniform(*DEAD))
        cluster._start_controller(fresh=False)  # the nodes go on meanwhile


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

    def __init__(self, here: RemoteProjects, outcome: Outcome, talk: Callable[[str], None]) -> None:
        self.here = here
        self.outcome = outcome
        self.talk = talk
        self.folder = here.make(
            f"seed-{outcome.seed}", outcome.jobs, arrays=outcome.arrays, bundles=outcome.packs
        )
        self.sender = here.open(self.folder)
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
                await self.send()
                for other in others:
                    other.cancel()
        except TimeoutError:
            self.talk("gave up: not everything is complete")

    async def send(self) -> None:
        """Plan what can be submitted, and submit it, again and again."""
        project = self.sender
        while True:
            # What ran is complete, even where the job could not say so before it was killed.
            await asyncio.to_thread(project.synchronise, full=True)
            row = project.status_row(project.workflow.actions[0])
            if row.completed.bit_count() == self.outcome.jobs:
                return
            if not row.eligible:
                await asyncio.sleep(RECONCILED)
                continue
            project.packing = PACKED if self.packs_now() else False
            plan = project.plan(project.workflow.actions, limit=self.chance.randint(*PORTION))
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
            await self.ask()
            await asyncio.sleep(RECONCILED)

    async def administer(self) -> None:
        """What administrators do: Slurm drains nodes that a crash left with strange jobs."""
        cluster = self.here.cluster
        while True:
            await asyncio.sleep(ADMINISTERED)
            drained = await asyncio.to_thread(
                cluster.run, "sinfo -h -N -t drain,down -o %N", check=False
            )
            for node in sorted(set(drained.stdout.split())):
                self.talk(f"{node} was drained")
                words = f"scontrol update nodename={node} state=resume"
                await asyncio.to_thread(cluster.run, words, check=False)

    async def ask(self) -> None:
        jobs = self.watcher.jobs
        await jobs.entered(await jobs.queues.ask(may_send=True))
        for notice in self.watcher.take_notices():
            self.talk(notice)

    async def count(self) -> None:
        """How often each directory ran, once all have had their chance to run again."""
        cluster, outcome = self.here.cluster, self.outcome
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
        cluster.run(f"scancel -u {cluster.user}", check=False)
        await self.sender.let_go()
        await self.watcher.let_go()

    def left_over(self) -> list[str]:
        """What is still held or waiting, reserved or open."""
        queue = self.here.cluster.run("squeue -h -t PD -o '%i %T %r %k'", check=False).stdout
        left = queue.splitlines()
        self.watcher.synchronise()
        for records in self.watcher.state.submitted.values():
            left += [f"{at} is reserved by {record}" for at, record in records.items()]
        journal = self.watcher.jobs.journal
        for plan_id in journal.open_plan_ids():
            left += [
                f"{entry.token} is {entry.step.value} ({entry.detail})"
                for entry in journal.latest(plan_id).values()
                if entry.step not in (Step.ENDED, Step.ABANDONED, Step.REJECTED)
            ]
        return left


def endure(
    here: RemoteProjects, outcome: Outcome, *, faults: int, talk: Callable[[str], None]
) -> None:
    """One seed, from its first fault to the count of its runs."""
    began = time.monotonic()
    seed = Seed(here, outcome, talk)

    async def all_of_it() -> None:
        with Chaos(here, outcome.seed, faults, outcome.crashes) as chaos, Counting() as counting:
            await seed.run()
            outcome.faults = dict(chaos.happened)
            outcome.sent_again = counting.again
        outcome.seconds = round(time.monotonic() - began, 1)
        await seed.count()

    asyncio.run(all_of_it())


HEAD = (
    "| seed | faults | cut | deaf | frozen | both | killed | arrays | once | lost | twice | left "
    "| sent again | planned again | seconds |\n" + "|--:" * 15 + "|"
)


def line(outcome: Outcome) -> str:
    """One row of the table."""
    kinds = ("cut", "deafen", "freeze", "both", "crash")
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
            )
            with remote_projects() as here:
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
