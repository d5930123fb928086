"""Which part of a plan a run may submit now: what its limits allow, or what the user confirms.

Takes a run and a plan; gives the part to submit, or the reason why the run pauses. What is allowed
comes first: the user is asked when only jobs outside the limits are left.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple

from rowtui.core.runs.limits.limits import Breach, Fit, RunLimits
from rowtui.core.runs.run import Run
from rowtui.core.submission.plan.charges import Money
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.model import Plan


class Permission(NamedTuple):
    """`part`: what may be submitted now, None if nothing. `pause`: why the run pauses, or "".

    `money`: the prices of the jobs and bundles of the whole plan, by their tokens. A part of a plan
    still holds the packing costs of all bundles, so that its prices cannot be computed from it.
    """

    part: Plan | None = None
    pause: str = ""
    money: Mapping[str, Money] = {}


async def permitted_part(
    run: Run,
    plan: Plan,
    fit: Callable[[], Awaitable[Fit]],
    ask: Ask | None,
    confirmed: Callable[[], None] | None = None,
    *,
    by_step: bool = False,
) -> Permission:
    """Compare a plan with the limits of its run, and ask the user if that is necessary.

    `fit` compares the plan with the run's present limits. `ask`: None if nobody can answer.
    `confirmed` is called after the user confirmed new limits. `by_step`: ask in any case.
    """
    found = await fit()
    asked = tuple(it for it in found.breaches if not it.passes)
    if by_step or (asked and not found.jobs):
        why = "; ".join(it.sentence for it in asked)
        if ask is None:
            return Permission(pause=why)
        answer = await ask(plan, asked)
        if answer.limits is not None:
            run.confirm(answer.limits, time.time())
            if confirmed is not None:
                confirmed()
            found = await fit()
        if answer.send:
            found = found._replace(jobs=plan.jobs, breaches=())
        why = "; ".join(it.sentence for it in found.breaches if not it.passes)
        if why or not (answer.send or answer.limits):
            return Permission(pause=why or "the plan was not confirmed")
    if not found.jobs:
        return Permission()  # places in the queue become free when jobs end
    return Permission(part_of(plan, frozenset(job.token for job in found.jobs)))


def part_of(plan: Plan, tokens: Collection[str]) -> Plan:
    """Return a plan of some of the jobs of a plan, in its order."""
    jobs = tuple(job for job in plan.jobs if job.token in tokens)
    if len(jobs) == len(plan.jobs):
        return plan
    cost = jobs[0].cost
    for job in jobs[1:]:
        cost = cost.plus(job.cost)
    part = plan._replace(jobs=jobs, cost=cost, id="")
    return part._replace(id=plan_id(part))


class PlanAnswer(NamedTuple):
    """The user's answer to a plan that the limits do not allow, or that must be confirmed.

    `send`: submit this plan once, unchanged. `limits`: the limits from now on, if not None. With
    neither, the run pauses.
    """

    send: bool = False
    limits: RunLimits | None = None


Ask = Callable[["Plan", tuple[Breach, ...]], Awaitable[PlanAnswer]]
