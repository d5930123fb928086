"""Checks of a plan before its submission, the schedulers' own verdict among them; all run at once.

The input is a project and a plan. The result is the checks of `review_views.NAMES`, first as
pending, then with their outcome. Nothing is submitted, no login prompts the user, and every wait
has a timeout. A check that cannot be made reports why and stops no other check.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import DryAnswer, DryVerdict, JobSpec, Scheduler
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.project.review.budgets import (
    ALLOCATION,
    BUDGET,
    check_allocation,
    check_budget,
)
from rowtui.core.project.review.script_diff import SCRIPTS, check_scripts
from rowtui.core.project.review.views import (
    NAMES,
    CheckState,
    PlanCheck,
    PlanFinding,
    Ranges,
    ranges_of,
    worst,
)
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.arrays import SubmissionCall, units_of
from rowtui.core.submission.plan.model import Plan, PlannedJob

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.kind import Allocations
    from rowtui.core.project.open_project import OpenProject


# The schedulers' own verdict on a plan, without submitting anything.
#
# One job of each kind is checked; kinds differ in destination, resources or header. If the plan has
# more kinds than are checked, the result reports that. No login is required.


DRY = "dry check"
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
    return spec._replace(
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
        return PlanCheck(DRY, CheckState.NOT_OFFERED, why)
    text = f"asked about {_of_kinds(len(asked), len(kinds))}"
    return PlanCheck(DRY, worst(it.state for it in findings), text, findings=findings)


def _of_kinds(asked: int, kinds: int) -> str:
    one = "one job of each kind" if kinds > 1 else "one job"
    return one if asked == kinds else f"{plural(asked, 'job')} of {kinds:,} kinds"


def _finding(kind: DryCheckKind, answer: DryAnswer, now: float) -> PlanFinding:
    place = visible(str(kind.unit.jobs[0].destination))
    if answer.verdict is DryVerdict.REFUSES:
        fix = "w shows other destinations; space leaves the job out"
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


DUPLICATES, WARNINGS = "duplicates", "warnings"
MOST_FINDINGS = 20
"""Most findings of one check that are listed; the rest is counted."""


def scheduler_kinds(project: OpenProject, plan: Plan) -> dict[str, str]:
    """Return the kind of scheduler of each cluster of a plan."""
    kinds = {plan.cluster: plan.scheduler}
    for name in {job.destination.cluster for job in plan.jobs} - {plan.cluster}:
        cluster = project.connections.known(name) or project.configured.named(name)
        kinds[name] = plan.scheduler if cluster is None else cluster.scheduler
    return kinds


async def review(project: OpenProject, plan: Plan) -> AsyncGenerator[PlanCheck, None]:
    """Yield the checks of a plan: first all as pending, then each when it is done.

    Closing the generator cancels the checks that are running.
    """
    for name in NAMES:
        yield PlanCheck(name, CheckState.PENDING, "…")
    kinds = scheduler_kinds(project, plan)
    work: dict[str, Awaitable[PlanCheck]] = {
        WARNINGS: asyncio.to_thread(check_warnings, plan),
        DUPLICATES: asyncio.to_thread(check_duplicates, project, plan),
        BUDGET: asyncio.to_thread(_budget, project, plan),
        SCRIPTS: check_scripts(plan, kinds),
        DRY: check_dry(plan, _way(project), kinds, project.root),
        ALLOCATION: check_allocation(plan, _allocations(project, kinds)),
    }
    tasks = [asyncio.ensure_future(_safely(name, one)) for name, one in work.items()]
    try:
        for done in asyncio.as_completed(tasks):
            yield await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _safely(name: str, work: Awaitable[PlanCheck]) -> PlanCheck:
    try:
        return await work
    except (RowtuiError, OSError) as error:
        return PlanCheck(
            name, CheckState.NOT_OFFERED, f"it could not be made: {visible(str(error))}"
        )


def check_warnings(plan: Plan) -> PlanCheck:
    """Return the warnings from the choice of destinations, each with its jobs."""
    about: dict[str, list[int]] = {}
    for at, job in enumerate(plan.jobs):
        for warning in job.warnings:
            about.setdefault(warning, []).append(at)
    fix = "w shows the reason; resources in workflow.toml, or mapping rules, change it"
    findings = [
        PlanFinding(CheckState.WARNING, text, fix, ranges_of(jobs)) for text, jobs in about.items()
    ]
    state = worst(it.state for it in findings)
    return PlanCheck(WARNINGS, state, "no warnings", findings=_bounded(findings))


def check_duplicates(project: OpenProject, plan: Plan) -> PlanCheck:
    """Find directories that are already submitted, or occur twice in the plan.

    Waits for the disk.
    """
    stored = project.store.load().stored
    state = project.state if stored is None else stored.state
    taken = {
        name: {state.directories.name(at): job for at, job in jobs.items()}
        for name, jobs in state.submitted.items()
        if any(job.action == name for job in plan.jobs)
    }
    seen: dict[tuple[str, str], int] = {}
    findings = []
    for at, job in enumerate(plan.jobs):
        there = taken.get(job.action, {})
        twice = [name for name in job.directories if (job.action, name) in seen]
        queued = [name for name in job.directories if name in there] if there else []
        if queued:
            label = f"{there[queued[0]].cluster}/{there[queued[0]].job_id}"
            text = f"job {at + 1}: {_some(queued)} submitted already ({visible(label)})"
            fix = "it would be skipped; r reads the project again"
            findings.append(PlanFinding(CheckState.WARNING, text, fix, ((at, at + 1),)))
        if twice:
            first = seen[job.action, twice[0]] + 1
            text = f"job {at + 1}: {_some(twice)} stand in job {first} too"
            findings.append(PlanFinding(CheckState.FAILED, text, "leave one out", ((at, at + 1),)))
        seen.update({(job.action, name): at for name in job.directories})
    many = plural(len(seen), "directory", "directories")
    text = f"none of {many} is queued already"
    return PlanCheck(
        DUPLICATES, worst(it.state for it in findings), text, findings=_bounded(findings)
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return visible(names[0]) + more


def _bounded(findings: list[PlanFinding]) -> tuple[PlanFinding, ...]:
    if len(findings) <= MOST_FINDINGS:
        return tuple(findings)
    rest = findings[MOST_FINDINGS - 1 :]
    jobs = ranges_of(sorted({at for it in rest for one in it.jobs for at in range(*one)}))
    state = worst(it.state for it in rest)
    more = PlanFinding(state, f"and {len(rest):,} more like these", "", jobs)
    return (*findings[: MOST_FINDINGS - 1], more)


def _budget(project: OpenProject, plan: Plan) -> PlanCheck:
    return check_budget(plan, project.balances_of(plan))


def _way(project: OpenProject) -> Callable[[str], Scheduler | str]:
    """Return a function that gives a cluster's scheduler, unless a login would be needed."""

    def way(name: str) -> Scheduler | str:
        if why := _not_now(project, name):
            return why
        scheduler = project.connections.scheduler(name)
        return scheduler or f"{visible(name)} cannot be asked from here"

    return way


def _not_now(project: OpenProject, name: str) -> str:
    cluster = project.connections.known(name)
    if (
        cluster is None
        or not project.connections.is_remote(cluster)
        or project.connections.connected(name)
    ):
        return ""
    return f"{visible(name)} is not connected: L logs in"


def _allocations(
    project: OpenProject, kinds: Mapping[str, str]
) -> Callable[[str, Collection[str]], Awaitable[Allocations | str]]:
    async def ask(name: str, accounts: Collection[str]) -> Allocations | str:
        if not (kind := kinds.get(name)):
            return "not offered"
        if not scheduler_kind(kind).keeps_accounts:
            return f"{visible(name)} keeps no accounts"
        if why := _not_now(project, name):
            return why
        cluster = project.connections.known(name)
        if cluster is None:
            return f"{visible(name)} cannot be asked from here"
        return await scheduler_kind(kind).allocations(
            project.connections.transport(cluster), accounts
        )

    return ask
