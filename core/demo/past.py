"""What happened in the large demo before anybody looks: three days of jobs, by the real engine.

Jobs are planned and submitted as anybody's are, the simulation goes through the days at once, and
in the end the journals get the times at which it happened there.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from rowtui.core.demo.simulation import FAILURES, SimulatedJob, Work

if TYPE_CHECKING:
    from rowtui.core.demo.project import DemoProject
    from rowtui.core.submission.journal import Journal
    from rowtui.core.submission.model import Plan

HOUR = 3600.0
WAITED = 52 * HOUR
"""How long some jobs have been waiting when the others are sent."""

LASTED = 25 * HOUR
"""Of which the bars of the last day are made."""

STAYS = 24 * HOUR
"""How long those that waited so long wait on."""

RUSH, EVENLY = HOUR / 2, 0.6
"""In the last half hour come all jobs but this share."""

APART = 11.0
"""Between jobs that were sent one after another."""

STEP = 300.0
FAILS = 7
"""Every so manieth job fails, each time in another way."""

STUCK = "QOSMaxCpuPerUserLimit"
LEFT = 2_000.0
"""CPU-hours that are left where most of them went: some jobs, and not all that are eligible."""


async def make_past(project: DemoProject, jobs: int, clock: float) -> None:
    """Let jobs wait, be under way, have ended and have failed. `clock`: now, in epoch seconds."""
    simulation, now = project.simulation, project.now
    project.synchronise()
    for name in simulation.clusters:  # else they get their numbers in another order each time
        vars(project.reach.scheduler(name))["at_once"] = 1
    equilibrate, sample, analyze, render, _ = project.workflow.actions
    stuck = await _sent(project, project.plan([sample], limit=max(1, jobs // 10)))
    begin = now()
    for at, job in enumerate(stuck):
        job.sent = begin + at * APART
        job.reason, job.not_before = STUCK, WAITED + LASTED + STAYS
    now.skip(WAITED)
    for action in (equilibrate, sample, analyze, render):
        sent = await _sent(project, project.plan([action], limit=jobs))
        for at, job in enumerate(sent):
            job.sent = begin + WAITED + _when(at / len(sent)) + action.index * APART
            if at % FAILS == FAILS - 1:
                job.ends_as, _, job.exit_code = FAILURES[at // FAILS % len(FAILURES)]
    completed: dict[str, list[str]] = {}
    until = now() + LASTED
    while now() < until:
        now.skip(STEP)
        for name, names in simulation.advance(now()).items():
            completed.setdefault(name, []).extend(names)
    project.stage(completed)
    await project.jobs.ask()
    project.take_notices()
    _tell_when(project, clock)


def _when(share: float) -> float:
    """Seconds after which this share of the jobs is sent: many at the end wait or run still."""
    evenly, rest = LASTED - RUSH, max(0.0, share - EVENLY) / (1.0 - EVENLY)
    return evenly * min(1.0, share / EVENLY) + RUSH * rest


async def _sent(project: DemoProject, plan: Plan) -> list[SimulatedJob]:
    know(project, plan)
    async for _ in project.jobs.submit(plan):
        pass
    tokens = {job.token: at for at, job in enumerate(plan.jobs)}
    clusters = project.simulation.clusters.values()
    found = [job for there in clusters for job in there.jobs if job.token in tokens]
    return sorted(found, key=lambda job: tokens[job.token])


def know(project: DemoProject, plan: Plan) -> None:
    """What a plan's jobs will do. A bundle is one job that does the work of all of them."""
    work = project.simulation.work
    for job in plan.jobs:
        work[job.token] = Work(job.action, job.directories)
        if job.bundle is not None:
            before = work.get(job.bundle.token, Work(job.action, ()))
            work[job.bundle.token] = Work(job.action, before.directories + job.directories)


def _tell_when(project: DemoProject, clock: float) -> None:
    """Put the times of the simulation into the journals."""
    begin = clock - project.now()
    jobs = {job.token: job for there in project.simulation.clusters.values() for job in there.jobs}
    journal: Journal = project.jobs.journal
    for path in (*journal.folder.glob("*.jsonl"), *journal.folder.glob("done/*.jsonl")):
        lines, last = [], 0.0
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            job = jobs.get(entry["token"])
            if job is not None:
                at = job.ended if entry["step"] == "ended" else max(0.0, job.sent)
                entry["at"] = round(begin + at, 3)
                last = max(last, entry["at"])
            lines.append(json.dumps(entry, separators=(",", ":")) + "\n")
        path.write_text("".join(lines))
        os.utime(path, (last, last))


def spent(project: DemoProject, cluster: str) -> float:
    """CPU-hours that jobs of the past asked for."""
    from rowtui.core.project.review_budgets import spent_on

    jobs = project.jobs
    return spent_on([cluster], jobs.journal, jobs.plan)[cluster].cpu_hours
