"""Prove that jobs run exactly once, whatever breaks: `python -m bench.chaos [--everything]`.

On a real Slurm behind a real sshd, jobs that count their own runs are submitted over SSH by one
rowtui while another one keeps asking what became of them, and at random moments of each seed
connections are cut, the login node stops listening, the controller freezes, or both; with
`--crashes` the controller is also killed and started again on the state that it had saved.
`--cluster` also takes `local` and `grid_engine`; with `--submitters 2` two submit at the same time.
Who sends gives up now and then and begins again with what is left. With `--bundles` most plans are
packed: up to 8 requests share a scheduler job, others go alone.

- `--damage`: files below .row/rowtui are deleted, Row's files and the usage of jobs are damaged,
  random bytes are put into Row's completions just before two new processes read them, and the clock
  is set; squeue shows only some of the jobs (odd seeds of Slurm), or journals of unfinished
  submissions are deleted too (the other seeds).
- `--disk`: the project has a small file system, which is full or read-only for a while. Needs root.
- `--journal`: the whole journal is removed once while jobs are queued (not where squeue lies).
- `--preempt`: jobs of another partition preempt all others (Slurm: PreemptMode=CANCEL in odd seeds,
  REQUEUE in even seeds).
- `--everything`: all of these and `--crashes`, as far as the cluster has them.

Three seeds of 100 jobs over SSH: `python -m bench.chaos --everything --seeds 3 --jobs 100`, and on
this machine with `--cluster local`.

Printed is a line for each seed; the exit code is 1 if any directory was lost or ran twice (as two
jobs: a requeued job runs again), a completed directory ceased to be one, a person had to delete a
file, an exception was no message, or anything stayed held or reserved. Only a seed whose journal
was removed may stop before its end, with a message that describes what the user can do.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.state.row.export import clean_row_files
from rowtui.core.submission.plan.model import JobStep

from bench.__main__ import machine
from bench.chaos_faults import Chaos, Counting, Outcome, Projects, own_namespace, small_disk
from bench.remote import (
    engine_projects,
    local_projects,
    remote_projects,
    runs_of,
)

RECONCILED = 0.4  # seconds between two looks
ADMINISTERED = 3.0
PORTION = (3, 25)  # jobs of one plan, so that there is sending for as long as there are faults
PACKED = PackChoice(budget=0.0)
RESTED = (0.0, 1.5)  # seconds between two plans
FAULTS = 25  # for 200 jobs, at most
PATIENCE = 300.0  # seconds after which a seed that does not come to its end has lost something
SETTLED = 120.0  # seconds for the last jobs: one that lost its controller may go on for a minute
STOPPED = 60.0  # seconds after the removal of a journal in which a seed may stay refused


def projects(cluster: str, preempt: str) -> AbstractContextManager[Projects]:
    """A cluster of this kind, and projects on it, while the block lasts."""
    if cluster == "local":
        return local_projects()
    return engine_projects() if cluster == "grid_engine" else remote_projects(preempt=preempt)


class Seed:
    """One project under one sequence of faults."""

    def __init__(self, here: Projects, outcome: Outcome, talk: Callable[[str], None]) -> None:
        self.here = here
        self.outcome = outcome
        self.talk = talk
        self.folder = here.make(
            seed_name(outcome),
            outcome.jobs,
            arrays=outcome.arrays,
            bundles=outcome.packs,
            preempted=bool(outcome.preempt),
        )
        self.senders = [here.open(self.folder) for _ in range(outcome.submitters)]
        self.watcher = here.open(self.folder)
        self.chance = random.Random(-outcome.seed - 1)
        self.names: set[str] = set()
        self.completed = 0  # the set of directories that were seen to be completed
        self.chaos: Chaos | None = None
        self.refusal = ""  # the message for which nothing was sent the last time
        self.worked_at = time.monotonic()  # when there was none

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

    @contextlib.contextmanager
    def contained(self, what: str) -> Iterator[None]:
        """Take a message as what a user would see, and any other exception as a defect."""
        try:
            yield
        except RowtuiError as error:
            self.talk(f"{what}: {error}")
            self.refusal = str(error) if error.hint else self.refusal
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{what}: {error!r} at {place.filename}:{place.lineno}"
            self.talk(text)
            if text not in self.outcome.errors:
                self.outcome.errors.append(text)

    def look(self, project: OpenProject, before: int) -> None:
        """Check that what was completed `before` the project was read still is.

        What the watcher finds in the store then has to stay completed, for every process.
        """
        now = project.status_row(project.workflow.actions[0]).completed
        if gone := (before & ~now).bit_count():
            text = f"{gone} of {before.bit_count()} completed directories are not any more"
            self.talk(text)
            self.outcome.forgotten.append(text)
            self.completed = now
        if project is self.watcher:
            self.completed |= now

    def known(self) -> int:
        """How many directories were seen to be completed."""
        return self.completed.bit_count()

    async def send(self, project: OpenProject) -> None:
        """Plan what can be submitted, and submit it, again and again."""
        while True:
            over = False
            with self.contained("not sent"):
                over = await self.send_portion(project)
                self.refusal = ""
            if over:
                return
            removed = self.chaos is not None and self.chaos.journal_removed
            if not self.refusal:
                self.worked_at = time.monotonic()
            if removed and time.monotonic() - self.worked_at > STOPPED:
                self.outcome.stopped = self.refusal
                return
            await asyncio.sleep(self.chance.uniform(*RESTED))

    async def send_portion(self, project: OpenProject) -> bool:
        """Submit some of what can be submitted; True if everything is complete."""
        before = self.completed
        await asyncio.to_thread(project.synchronise)
        self.look(project, before)
        for notice in project.take_notices():
            self.talk(notice)
        row = project.status_row(project.workflow.actions[0])
        if row.completed.bit_count() == self.outcome.jobs:
            return True
        if not row.eligible:
            return False
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
        async for step in project.jobs.submit(plan):
            if step.error:
                self.talk(step.error)
        return False

    def packs_now(self) -> bool:
        """Whether the next plan is packed: of one in ten each job goes alone."""
        return self.outcome.packs and self.chance.random() < 0.9

    async def look_after(self) -> None:
        """Ask what became of the jobs, and enter it."""
        while True:
            with self.contained("not asked"):
                await self.ask()
                before = self.completed
                await asyncio.to_thread(self.watcher.synchronise)
                if (stored := self.watcher.store.load().stored) is not None:
                    self.watcher.use(stored.state)  # not what could not be saved
                    self.look(self.watcher, before)
            await asyncio.sleep(RECONCILED)

    async def administer(self) -> None:
        """What administrators do, and who sees that a damaged file of Row's is the only one."""
        while True:
            await asyncio.sleep(ADMINISTERED)
            for node in await asyncio.to_thread(self.here.mend):
                self.talk(f"{node} was drained")
            with self.contained("not administered"):
                stored = self.watcher.store.load().stored
                if stored is not None and stored.row.jobs_unread and not await self.is_busy():
                    self.talk("a person deletes the damaged record of jobs")
                    self.outcome.by_hand += 1
                    with contextlib.suppress(OSError):  # no disk now: the next time
                        clean_row_files(
                            self.folder, directories=False, submitted=True, completed=False
                        )

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
        end = time.monotonic() + SETTLED
        while time.monotonic() < end:
            await self.ask()
            outcome.left = self.left_over()
            if not outcome.left or outcome.stopped:
                break
            await asyncio.sleep(RECONCILED)
        for name, runs in runs_of(self.folder).items():
            if not runs:
                outcome.lost.append(name)
            elif len(runs) > 1 and not (outcome.preempt and len(set(runs)) == 1):
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


def seed_name(outcome: Outcome) -> str:
    """The name of the folder of a seed's project."""
    return f"seed-{outcome.seed}"


def endure(here: Projects, outcome: Outcome, *, faults: int, talk: Callable[[str], None]) -> None:
    """One seed, from its first fault to the count of its runs."""
    began = time.monotonic()
    seed = Seed(here, outcome, talk)

    async def all_of_it() -> None:
        chaos = Chaos(here, seed.folder, outcome, faults, seed.known, talk)
        with chaos as seed.chaos, Counting() as counting:
            await seed.run()
            outcome.faults = dict(chaos.happened)
            outcome.sent_again = counting.again
        outcome.seconds = round(time.monotonic() - began, 1)
        await seed.count()

    asyncio.run(all_of_it())


HEAD = (
    "| seed | faults | arrays | once | lost | twice | forgotten | left | errors | by hand "
    "| stopped | sent again | planned again | seconds |\n" + "|--:" * 14 + "|"
)


def line(outcome: Outcome) -> str:
    """One row of the table."""
    figures: Sequence[object] = (
        outcome.seed,
        ", ".join(f"{kind} {count}" for kind, count in sorted(outcome.faults.items()) if count),
        f"{outcome.packed} in {outcome.bundles}" if outcome.packs else "yes" * outcome.arrays,
        outcome.once,
        len(outcome.lost),
        len(outcome.twice),
        len(outcome.forgotten),
        len(outcome.left),
        len(outcome.errors),
        outcome.by_hand,
        "yes" * bool(outcome.stopped),
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
    parser.add_argument("--cluster", choices=("slurm", "local", "grid_engine"), default="slurm")
    parser.add_argument(
        "--damage",
        action="store_true",
        help="delete rowtui's files, damage Row's, set the clock, contradict (slurm)",
    )
    parser.add_argument("--disk", action="store_true", help="full or read-only (as root)")
    parser.add_argument("--journal", action="store_true", help="remove it once")
    parser.add_argument("--preempt", action="store_true", help="preempt jobs (slurm)")
    parser.add_argument("--everything", action="store_true", help="all of these faults")
    parser.add_argument("--submitters", type=int, default=1, help="at the same time")
    parser.add_argument("--both", action="store_true", help="all seeds without crashes, then with")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--save", help="the name of a file in bench/results")
    parser.add_argument("--verbose", action="store_true", help="print what is said meanwhile")
    given = parser.parse_args()
    if given.everything:
        given.damage = given.disk = given.journal = given.preempt = given.crashes = True
    if given.disk:
        own_namespace()
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
    slurm = given.cluster == "slurm"
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
                disk=given.disk,
                journal=given.journal,
                preempt=("REQUEUE", "CANCEL")[seed % 2] * (given.preempt and slurm),
                submitters=given.submitters,
            )
            with projects(given.cluster, outcome.preempt) as here, contextlib.ExitStack() as disk:
                if outcome.disk:
                    disk.enter_context(small_disk(here.work / seed_name(outcome)))
                endure(here, outcome, faults=max(1, FAULTS * given.jobs // 200), talk=talk)
            put(line(outcome))
            notes = (*outcome.lost, *outcome.twice, *outcome.forgotten, *outcome.left)
            for what in (*notes, *outcome.errors, outcome.stopped):
                if what:
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
