"""`--check`: the checks of a plan, as the dashboard's view Submit shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.cli.loop import run as run_async
from rowtui.core.base.text import Cost, visible
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import GPU_HOURS

if TYPE_CHECKING:
    from rowtui.cli.output.output import Output
    from rowtui.core.project.project import Project
    from rowtui.core.project.review.views import Budget, Check
    from rowtui.core.submission.plan.model import Plan

_MARKS = {"ok": "✓", "warning": "▲", "failed": "✗", "not offered": "–"}
_STYLES = {"ok": "green", "warning": "yellow", "failed": "red bold", "not offered": "dim"}


def say_checks(project: Project, plan: Plan, out: Output) -> bool:
    """Print a line for each check and each finding; return whether none failed."""
    from rowtui.core.runs.limits.limits import NEARLY, amount

    checks = run_async(_checks(project, plan))
    good = True
    for check in checks:
        over = [budget for budget in check.budgets if _left(plan, budget) < -NEARLY]
        state = "failed" if over else check.state.value
        good = good and state != "failed"
        text = visible(check.text)
        if state == "not offered":
            text = f"not offered: {text}"
        elif check.findings and state != "ok":
            text = ""
        mark = out.style(_MARKS[state], _STYLES[state])
        out.print(f"{mark} {check.name:<11}{text}".rstrip())
        for finding in check.findings:
            out.print(f"    {visible(finding.text)}" + (f" ({finding.fix})" if finding.fix else ""))
        for budget in check.budgets:
            unit = budget.unit
            left = f"{amount(budget.left)} → {amount(_left(plan, budget))} {unit}"
            out.print(f"    {visible(budget.name)} {visible(budget.where)}: {left}")
    return good


async def _checks(project: Project, plan: Plan) -> list[Check]:
    from rowtui.core.project.review.review import review
    from rowtui.core.project.review.views import NAMES

    found = {check.name: check async for check in review(project, plan)}
    return [found[name] for name in NAMES if name in found]


def _left(plan: Plan, budget: Budget) -> float:
    """Return what the plan leaves of the budget."""
    paid = {plan.jobs[at].token for first, last in budget.jobs for at in range(first, last)}
    charges = (it.cost for it in charges_of(plan) if it.jobs[0].token in paid)
    cost = Cost.total(charges)
    return budget.left - (cost.gpu_hours if budget.unit == GPU_HOURS else cost.cpu_hours)
