"""The past of the large demo: three days of jobs, made by the real engine.

Jobs are planned and submitted as usual, the simulation skips through the days, and at the end the
journals get the simulated times.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from rowtui.core.demo.simulation import FAILURES, DemoWork, SimulatedJob
from rowtui.core.project.planning.plan import plan_submission
from rowtui.core.project.review.budgets import ChargedHours

if TYPE_CHECKING:
    from rowtui.core.demo.project import DemoProject
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.submission.sending.journal import Journal

HOUR = 3600.0
WAITED = 52 * HOUR
"""How long some jobs have been waiting when the others are submitted."""

LASTED = 25 * HOUR
"""The period of the other jobs, which the bars of the last day show."""

STAYS = 24 * HOUR
"""How much longer the waiting jobs stay in the queue."""

RUSH, EVENLY = HOUR / 2, 0.6
"""All jobs but this share are submitted in the last half hour."""

APART = 11.0
"""Seconds between jobs that were submitted one after another."""

STEP = 300.0
FAILS = 7
"""One job in this many fails, with alternating causes."""

STUCK = "QOSMaxCpuPerUserLimit"
LEFT = 2_000.0
"""CPU-hours left on the most used cluster: enough for some of the eligible jobs, not for all."""


async def make_past(project: DemoProject, jobs: int, clock: float) -> None:
    """Make waiting, running, ended and failed jobs. `clock`: now, in epoch seconds."""
    simulation, now = project.simulation, project.now
    project.synchronise()
    for name in simulation.clusters:  # otherwise the order of job numbers would vary
        vars(project.reach.scheduler(name))["at_once"] = 1
    equilibrate, sample, analyze, render, _ = project.workflow.actions
    stuck = await _sent(project, plan_submission(project, [sample], limit=max(1, jobs // 10)))
    begin = now()
    for at, job in enumerate(stuck):
        job.sent = begin + at * APART
        job.reason, job.not_before = STUCK, WAITED + LASTED + STAYS
    now.skip(WAITED)
    for action in (equilibrate, sample, analyze, render):
        sent = await _sent(project, plan_submission(project, [action], limit=jobs))
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
    """Return when this share of the jobs is submitted, in seconds; many at the end wait or run."""
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
    """Register the work of a plan's jobs.

    A bundle is one job that does the work of all its jobs.
    """
    work = project.simulation.work
    for job in plan.jobs:
        work[job.token] = DemoWork(job.action, job.directories)
        if job.bundle is not None:
            before = work.get(job.bundle.token, DemoWork(job.action, ()))
            work[job.bundle.token] = DemoWork(job.action, before.directories + job.directories)


def _tell_when(project: DemoProject, clock: float) -> None:
    """Write the times of the simulation into the journals."""
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
    """Return the CPU-hours that jobs of the past asked for."""
    jobs = project.jobs
    return ChargedHours(jobs.journal, jobs.plan).on([cluster])[cluster].cpu_hours
