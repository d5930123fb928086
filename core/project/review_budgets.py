"""What the hours of a plan are paid from: budgets of this project, and allocations of sites.

A budget stands in our own clusters.toml (`budget`). Against it counts what this project's jobs on
that cluster asked for, as long as their plans are on record: what they used is not known
everywhere, and a budget that is kept too well is the smaller harm.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeVar

from rowtui.core.clusters.model import BudgetLimit
from rowtui.core.errors import RowtuiError
from rowtui.core.project.review_views import Budget, Check, CheckState, Finding, ranges_of
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.model import Plan, PlannedJob, Step
from rowtui.core.text import Cost, visible

if TYPE_CHECKING:
    from rowtui.core.clusters.schedulers.slurm_allocations import Allocations

BUDGET, ALLOCATION = "budget", "allocation"
_NOT_SENT = (Step.PLANNED, Step.REJECTED, Step.ABANDONED)
_ACCOUNT = re.compile(r"^#SBATCH\s+(?:--account[= ]|-A\s*)(\S+)", re.MULTILINE)


def spent_on(
    clusters: Collection[str], journal: Journal, plan_of: Callable[[str], Plan]
) -> dict[str, Cost]:
    """What the jobs that were sent to these clusters asked for, by cluster. Waits for the disk.

    Plans that cannot be read any more are not counted.
    """
    spent = dict.fromkeys(clusters, Cost())
    for plan_id in journal.plan_ids():
        try:
            plan, latest = plan_of(plan_id), journal.latest(plan_id)
        except RowtuiError:
            continue
        for job in plan.jobs:
            entry = latest.get(job.token)
            if entry is not None and entry.step not in _NOT_SENT:
                before = spent.get(job.destination.cluster)
                if before is not None:
                    spent[job.destination.cluster] = before.plus(job.cost)
    return spent


def check_budget(
    plan: Plan,
    limits: Mapping[str, BudgetLimit],
    spent: Callable[[Collection[str]], Mapping[str, Cost]],
) -> Check:
    """The budgets of the clusters that the plan's jobs go to. Waits for the disk."""
    jobs = _by(plan, lambda job: job.destination.cluster)
    mine = {name: limits[name] for name in jobs if name in limits}
    if not mine:
        fix = "budget = { cpu_hours = 20000 } in ~/.config/rowtui/clusters.toml sets one"
        return Check(BUDGET, CheckState.NOT_OFFERED, "no budget is set", fix)
    already = spent(list(mine))
    budgets = []
    for name, limit in mine.items():
        for unit, whole, used in (
            ("CPU-hours", limit.cpu_hours, already[name].cpu_hours),
            ("GPU-hours", limit.gpu_hours, already[name].gpu_hours),
        ):
            if whole is not None:
                ranges = ranges_of(jobs[name])
                where = f"of this project on {visible(name)}"
                budgets.append(Budget(BUDGET, unit, whole - used, whole, ranges, where))
    return Check(BUDGET, CheckState.OK, budgets=tuple(budgets))


async def check_allocation(
    plan: Plan, ask: Callable[[str, Collection[str]], Awaitable[Allocations | str]]
) -> Check:
    """What sites gave to the accounts that jobs name. `ask`: a cluster's, or why it cannot be."""
    places = _by(plan, lambda job: (job.destination.cluster, account_of(job.script)))
    by_cluster: dict[str, set[str]] = {}
    for cluster, account in places:
        by_cluster.setdefault(cluster, set()).add(account)
    budgets: list[Budget] = []
    findings: list[Finding] = []
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
                findings.append(Finding(CheckState.OK, text))
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
        return Check(ALLOCATION, CheckState.NOT_OFFERED, text)
    text = "" if budgets else "no limit in hours"
    return Check(ALLOCATION, CheckState.OK, text, findings=tuple(findings), budgets=tuple(budgets))


def account_of(script: str) -> str:
    """The account that a script's header names, "" for none."""
    end = script.find("\n\n")
    match = _ACCOUNT.search(script, 0, end if end >= 0 else len(script))
    return match[1] if match else ""


_Key = TypeVar("_Key")


def _by(plan: Plan, key: Callable[[PlannedJob], _Key]) -> dict[_Key, list[int]]:
    found: dict[_Key, list[int]] = {}
    for at, job in enumerate(plan.jobs):
        found.setdefault(key(job), []).append(at)
    return found
