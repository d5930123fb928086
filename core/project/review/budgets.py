"""Checks of a plan's hours against budgets of this project and allocations of sites.

A budget is set in rowtui's own clusters.toml (`budget`). The budget is charged with the hours that
this project's jobs on the cluster asked for, as long as their plans are on record. Used hours are
not known everywhere, and a budget that counts too much does less harm than one that counts too
little.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeVar

from rowtui.core.base.text import visible
from rowtui.core.project.review.views import Budget, CheckState, PlanCheck, PlanFinding, ranges_of
from rowtui.core.submission.plan.charges import Balance
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS, Plan, PlannedJob

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.kind import Allocations

BUDGET, ALLOCATION = "budget", "allocation"
_ACCOUNT = re.compile(r"^#SBATCH\s+(?:--account[= ]|-A\s*)(\S+)", re.MULTILINE)


def check_budget(plan: Plan, balances: Mapping[str, Balance]) -> PlanCheck:
    """Check the budgets of the clusters of a plan's jobs: see `OpenProject.balances_of`."""
    if not balances:
        fix = "budget = { cpu_hours = 20000 } in ~/.config/rowtui/clusters.toml sets one"
        return PlanCheck(BUDGET, CheckState.NOT_OFFERED, "no budget is set", fix)
    jobs = _by(plan, lambda job: job.destination.cluster)
    budgets = []
    for name, balance in balances.items():
        for unit, whole, charged in (
            (CPU_HOURS, balance.cpu_hours, balance.charged.cpu_hours),
            (GPU_HOURS, balance.gpu_hours, balance.charged.gpu_hours),
        ):
            if whole is not None:
                ranges = ranges_of(jobs[name])
                where = f"of this project on {visible(name)}"
                budgets.append(Budget(BUDGET, unit, whole - charged, whole, ranges, where))
    return PlanCheck(BUDGET, CheckState.OK, budgets=tuple(budgets))


async def check_allocation(
    plan: Plan, ask: Callable[[str, Collection[str]], Awaitable[Allocations | str]]
) -> PlanCheck:
    """Check the allocations of the accounts that jobs name.

    `ask`: returns the allocations on a cluster, or why the cluster cannot be asked.
    """
    places = _by(plan, lambda job: (job.destination.cluster, account_of(job.script)))
    by_cluster: dict[str, set[str]] = {}
    for cluster, account in places:
        by_cluster.setdefault(cluster, set()).add(account)
    budgets: list[Budget] = []
    findings: list[PlanFinding] = []
    why = []
    for cluster, accounts in by_cluster.items():
        answer = await ask(cluster, accounts)
        if isinstance(answer, str):
            why.append(answer)
            continue
        if answer.why:
            why.append(f"{visible(cluster)}: {answer.why}")
        for account, share in answer.shares.items():
            if share is not None:
                text = f"{visible(account)} on {visible(cluster)}: fair share {share:.2f}"
                findings.append(PlanFinding(CheckState.OK, text))
        for limit in answer.found:
            positions = [
                at
                for (there, account), those in places.items()
                if there == cluster and (account or answer.default) == limit.account
                for at in those
            ]
            name = visible(limit.account) + (f" ({visible(limit.user)})" if limit.user else "")
            left, ranges = limit.whole - limit.used, ranges_of(sorted(positions))
            budgets.append(
                Budget(name, limit.unit, left, limit.whole, ranges, f"on {visible(cluster)}")
            )
    if not (budgets or findings):
        text = "; ".join(dict.fromkeys(why)) or "no account has a limit in hours"
        return PlanCheck(ALLOCATION, CheckState.NOT_OFFERED, text)
    text = "" if budgets else "no limit in hours"
    return PlanCheck(
        ALLOCATION, CheckState.OK, text, findings=tuple(findings), budgets=tuple(budgets)
    )


def account_of(script: str) -> str:
    """Return the account that a script's header names, "" for none."""
    end = script.find("\n\n")
    match = _ACCOUNT.search(script, 0, end if end >= 0 else len(script))
    return match[1] if match else ""


_Key = TypeVar("_Key")


def _by(plan: Plan, key: Callable[[PlannedJob], _Key]) -> dict[_Key, list[int]]:
    found: dict[_Key, list[int]] = {}
    for at, job in enumerate(plan.jobs):
        found.setdefault(key(job), []).append(at)
    return found
