"""Checks of a plan before its submission; all run concurrently and are reported as they end.

The input is a project and a plan. The result is the checks of `review_views.NAMES`, first as
pending, then with their outcome. Nothing is submitted, no login prompts the user, and every wait
has a timeout. A check that cannot be made reports why and stops no other check.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.project.review.budgets import (
    ALLOCATION,
    BUDGET,
    balances_of,
    check_allocation,
    check_budget,
)
from rowtui.core.project.review.dry import NAME as DRY
from rowtui.core.project.review.dry import check_dry
from rowtui.core.project.review.script_diff import NAME as SCRIPTS
from rowtui.core.project.review.script_diff import check_scripts
from rowtui.core.project.review.views import (
    NAMES,
    CheckState,
    PlanCheck,
    PlanFinding,
    ranges_of,
    worst,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.base import Scheduler
    from rowtui.core.clusters.schedulers.kind import Allocations
    from rowtui.core.project.project import Project
    from rowtui.core.submission.plan.model import Plan

DUPLICATES, WARNINGS = "duplicates", "warnings"
MOST_FINDINGS = 20
"""Most findings of one check that are listed; the rest is counted."""


def scheduler_kinds(project: Project, plan: Plan) -> dict[str, str]:
    """Return the kind of scheduler of each cluster of a plan."""
    kinds = {plan.cluster: plan.scheduler}
    for name in {job.destination.cluster for job in plan.jobs} - {plan.cluster}:
        cluster = project.reach.known(name) or project.configured.named(name)
        kinds[name] = plan.scheduler if cluster is None else cluster.scheduler
    return kinds


async def review(project: Project, plan: Plan) -> AsyncGenerator[PlanCheck, None]:
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
    fix = "w says why; resources in workflow.toml, or mapping rules, change it"
    findings = [
        PlanFinding(CheckState.WARNING, text, fix, ranges_of(jobs)) for text, jobs in about.items()
    ]
    state = worst(it.state for it in findings)
    return PlanCheck(WARNINGS, state, "no warnings", findings=_bounded(findings))


def check_duplicates(project: Project, plan: Plan) -> PlanCheck:
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


def _budget(project: Project, plan: Plan) -> PlanCheck:
    return check_budget(plan, balances_of(project, plan))


def _way(project: Project) -> Callable[[str], Scheduler | str]:
    """Return a function that gives a cluster's scheduler, unless a login would be needed."""

    def way(name: str) -> Scheduler | str:
        if why := _not_now(project, name):
            return why
        scheduler = project.reach.scheduler(name)
        return scheduler or f"{visible(name)} cannot be asked from here"

    return way


def _not_now(project: Project, name: str) -> str:
    cluster = project.reach.known(name)
    if cluster is None or not project.reach.is_remote(cluster) or project.reach.connected(name):
        return ""
    return f"{visible(name)} is not connected: L logs in"


def _allocations(
    project: Project, kinds: Mapping[str, str]
) -> Callable[[str, Collection[str]], Awaitable[Allocations | str]]:
    async def ask(name: str, accounts: Collection[str]) -> Allocations | str:
        if not (kind := kinds.get(name)):
            return "not offered"
        if not scheduler_kind(kind).keeps_accounts:
            return f"{visible(name)} keeps no accounts"
        if why := _not_now(project, name):
            return why
        cluster = project.reach.known(name)
        if cluster is None:
            return f"{visible(name)} cannot be asked from here"
        return await scheduler_kind(kind).allocations(project.reach.transport(cluster), accounts)

    return ask
