"""A plan without the jobs that the user excluded: a separate plan with its own id.

The input is a plan and tokens; the result is the remaining plan. Jobs that depend on excluded jobs
are excluded as well, and the plan reports that. Bundles and arrays keep their size and numbers:
their remaining jobs run where they would have run. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, plural
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import Plan, PlannedJob

Related = Mapping[str, tuple[str, ...]]
"""Token -> tokens."""


def dependents_of(jobs: Iterable[PlannedJob]) -> Related:
    """Return the direct dependents of each job. A job without dependents is not a key."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        for token in job.depends_on:
            found.setdefault(token, []).append(job.token)
    return {token: tuple(others) for token, others in found.items()}


def closure(tokens: Iterable[str], related: Related) -> set[str]:
    """Return these tokens, and all tokens that are related to them over any number of steps."""
    seen = set(tokens)
    todo = list(seen)
    while todo:
        for other in related.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def without(plan: Plan, tokens: Collection[str]) -> Plan:
    """Return the plan without these jobs and their dependents; itself if it has none of them.

    Raises: RowtuiError if no job remains.
    """
    known = {job.token for job in plan.jobs}
    chosen = known.intersection(tokens)
    if not chosen:
        return plan
    gone = closure(chosen, dependents_of(plan.jobs))
    jobs = tuple(job for job in plan.jobs if job.token not in gone)
    if not jobs:
        raise RowtuiError("every job of the plan is switched off", "switch on what is to be sent")
    cost = Cost()
    for job in jobs:
        cost = cost.plus(job.cost)
    followed = len(gone) - len(chosen)
    said = f"left out by hand: {plural(len(chosen), 'job')}"
    if followed:
        said += f", and {followed:,} that depend on them"
    changed = {job.destination for job in plan.jobs if job.token in gone and job.bundle is not None}
    actions = {job.action for job in jobs}
    silent = {job.action for job in plan.jobs} - actions
    left = replace(
        plan,
        id="",
        jobs=jobs,
        cost=cost,
        warnings=tuple(it for it in plan.warnings if not _is_about(it, silent)),
        skipped=(*plan.skipped, said),
        # the packing's savings were computed for all jobs of the destination
        packed=tuple(one for one in plan.packed if one.destination not in changed),
    )
    return replace(left, id=plan_id(left))


def _is_about(warning: str, actions: Collection[str]) -> bool:
    return any(warning.startswith(f"{action}: ") for action in actions)
