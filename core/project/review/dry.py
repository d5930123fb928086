"""The schedulers' own verdict on a plan, without submitting anything.

One job of each kind is checked; kinds differ in destination, resources or header. If the plan has
more kinds than are checked, the result reports that. No login is required.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import DryAnswer, DryVerdict, JobSpec, Scheduler
from rowtui.core.project.review.views import (
    CheckState,
    PlanCheck,
    PlanFinding,
    Ranges,
    ranges_of,
    worst,
)
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.model import Plan, PlannedJob
from rowtui.core.submission.sending.send import SubmissionCall, units_of

NAME = "dry check"
MOST_ASKED = 10
"""Most jobs for which schedulers are asked: each is a command on a login node."""

AT_ONCE = 2
PATIENCE = 60.0


class DryCheckKind(NamedTuple):
    """Jobs that get the same answer from a scheduler, and one of them (or a bundle, an array)."""

    unit: SubmissionCall
    jobs: Ranges


Way = Callable[[str], "Scheduler | str"]
"""A function that returns a cluster's scheduler, or why the cluster cannot be asked now."""


def kinds_of(plan: Plan) -> list[DryCheckKind]:
    """Return the kinds of jobs of a plan, in its order."""
    found: dict[tuple[object, ...], tuple[SubmissionCall, list[int]]] = {}
    at = 0
    for unit in units_of(plan.jobs):
        _, positions = found.setdefault(_key(unit), (unit, []))
        positions += range(at, at + len(unit.jobs))
        at += len(unit.jobs)
    return [DryCheckKind(unit, ranges_of(positions)) for unit, positions in found.values()]


def _key(unit: SubmissionCall) -> tuple[object, ...]:
    job, bundle = unit.jobs[0], unit.bundle
    if bundle is not None:
        size = (bundle.cpus, bundle.gpus, bundle.memory_mb, bundle.seconds, bundle.node_type)
        return (job.destination, *size)
    return (job.destination, job.cpus, job.gpus, job.memory_mb, job.walltime_seconds, _header(job))


def _header(job: PlannedJob) -> tuple[str, ...]:
    """Return the options of the script's header except the job name."""
    lines = []
    begin = job.script.find("\n") + 1
    while begin and job.script.startswith("#", begin):
        end = job.script.find("\n", begin)
        line = job.script[begin : end if end >= 0 else None]
        if line.startswith(("#SBATCH", "#$")) and "--job-name=" not in line:
            lines.append(line)
        begin = end + 1
    return tuple(lines)


def spec_of(unit: SubmissionCall, scheduler: str, root: Path) -> JobSpec:
    """Return the job as it would be submitted, but without dependencies."""
    first, bundle = unit.jobs[0], unit.bundle
    spec = JobSpec(
        token=first.token,
        name=first.name,
        script=first.script,
        workdir=root,
        log_path=first.log_path,
        cpus=first.cpus,
        gpus=first.gpus,
        memory_mb=first.memory_mb,
        walltime_seconds=first.walltime_seconds,
    )
    if bundle is None:
        return spec
    return replace(
        spec,
        script=bundle_script(unit.jobs, scheduler),
        cpus=bundle.cpus,
        gpus=bundle.gpus,
        memory_mb=bundle.memory_mb,
        walltime_seconds=bundle.seconds,
    )


async def check_dry(
    plan: Plan,
    way: Way,
    schedulers: Mapping[str, str],
    root: Path,
    clock: Callable[[], float] = time.time,
) -> PlanCheck:
    """Ask about one job of each kind. `schedulers`: the kind of scheduler by cluster."""
    kinds = await asyncio.to_thread(kinds_of, plan)
    asked = kinds[:MOST_ASKED]
    turns = asyncio.Semaphore(AT_ONCE)

    async def ask(kind: DryCheckKind) -> DryAnswer:
        cluster = kind.unit.cluster
        scheduler = way(cluster)
        if isinstance(scheduler, str):
            return DryAnswer(DryVerdict.NOT_TOLD, scheduler)
        try:
            spec = await asyncio.to_thread(
                spec_of, kind.unit, schedulers.get(cluster, plan.scheduler), root
            )
            async with turns, asyncio.timeout(PATIENCE):
                return await scheduler.test_only(spec)
        except TimeoutError:
            return DryAnswer(DryVerdict.NOT_TOLD, f"{cluster} gave no answer in {PATIENCE:.0f} s")
        except (RowtuiError, OSError, AttributeError) as error:
            return DryAnswer(DryVerdict.NOT_TOLD, str(error))

    answers = await asyncio.gather(*map(ask, asked))
    told = [_finding(kind, answer, clock()) for kind, answer in zip(asked, answers, strict=True)]
    findings = tuple(dict.fromkeys(told))
    if all(answer.verdict is DryVerdict.NOT_TOLD for answer in answers):
        why = "; ".join(dict.fromkeys(visible(answer.reason) for answer in answers))
        return PlanCheck(NAME, CheckState.NOT_OFFERED, why)
    text = f"asked about {_of_kinds(len(asked), len(kinds))}"
    return PlanCheck(NAME, worst(it.state for it in findings), text, findings=findings)


def _of_kinds(asked: int, kinds: int) -> str:
    one = "one job of each kind" if kinds > 1 else "one job"
    return one if asked == kinds else f"{plural(asked, 'job')} of {kinds:,} kinds"


def _finding(kind: DryCheckKind, answer: DryAnswer, now: float) -> PlanFinding:
    place = visible(str(kind.unit.jobs[0].destination))
    if answer.verdict is DryVerdict.REFUSES:
        fix = "w says where else it could go; space leaves it out"
        return PlanFinding(CheckState.FAILED, f"{place}: {visible(answer.reason)}", fix, kind.jobs)
    if answer.verdict is DryVerdict.NOT_TOLD:
        return PlanFinding(
            CheckState.NOT_OFFERED, f"{place}: {visible(answer.reason)}", "", kind.jobs
        )
    text = f"{place} takes it"
    if answer.start is not None:
        text += f", {_when(answer.start - now)}"
    return PlanFinding(CheckState.OK, text, "", kind.jobs)


def _when(seconds: float) -> str:
    """Return `starts at once` or `may start in 3 h`."""
    if seconds < 90:
        return "would start at once"
    if seconds < 5400:
        return f"may start in {seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"may start in {seconds / 3600:.0f} h"
    return f"may start in {seconds / 86400:.0f} days"


def starts(findings: Sequence[PlanFinding]) -> str:
    """Return the estimated start of the first job that has one; "" if none has."""
    return next((it.text for it in findings if "start" in it.text), "")
