"""Limits, costs and amounts as text for the user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.runs.limits.times import time_text
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS

if TYPE_CHECKING:
    from rowtui.core.runs.limits.limits import RunLimits


NEARLY = 1e-9  # rounding errors of sums below this are not shown


def describe(limits: RunLimits) -> tuple[str, ...]:
    """Return a line for each limit; a limit that is not set has no line."""
    lines = []
    if limits.cpu_hours is not None:
        lines.append(f"at most {amount(limits.cpu_hours)} CPU-hours")
    if limits.gpu_hours is not None:
        lines.append(f"at most {amount(limits.gpu_hours)} GPU-hours")
    if limits.money is not None:
        lines.append(f"at most {money_text(limits.money, limits.currency)}")
    if limits.jobs_in_queue is not None:
        lines.append(f"at most {plural(limits.jobs_in_queue, 'job')} in the queue")
    if limits.destinations is not None:
        named = ", ".join(map(visible, limits.destinations))
        lines.append(f"only to {named}" if named else "to no destination")
    if limits.until is not None:
        lines.append(f"until {time_text(limits.until)}")
    if limits.failures is not None:
        lines.append(f"stops at {plural(limits.failures, 'failed job')}")
    if limits.failures_in_a_row is not None:
        lines.append(f"stops at {plural(limits.failures_in_a_row, 'failed job')} in a row")
    if limits.over_budget:
        lines.append("beyond the budgets of clusters")
    return tuple(lines)


def cost_text(cost: Cost) -> str:
    """Return a cost with its units: `0.90 CPU-hours and 2 GPU-hours`."""
    cpus, gpus = f"{amount(cost.cpu_hours)} {CPU_HOURS}", f"{amount(cost.gpu_hours)} {GPU_HOURS}"
    if cost.gpu_hours and cost.cpu_hours:
        return f"{cpus} and {gpus}"
    return gpus if cost.gpu_hours else cpus


def money_text(money: float, currency: str) -> str:
    """Return an amount of money, followed by `in an unknown currency` where prices have none."""
    return f"{amount(money)} {visible(currency) if currency else 'in an unknown currency'}"


def amount(number: float) -> str:
    """Format an amount with thousands commas and significant decimals: 1,234 or 0.25."""
    if abs(number) < NEARLY:
        return "0"
    if number < 0:
        return f"-{amount(-number)}"
    if number >= 100 or number == int(number):
        return f"{math.ceil(number - NEARLY):,}"
    if number >= 0.01:
        return f"{number:.2f}"
    return f"{number:.2g}" if number >= 0.0001 else "<0.0001"
