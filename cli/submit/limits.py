"""The limits of a run from the options of a command, over the confirmed or the proposed ones."""

from __future__ import annotations

import argparse
import time

from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.limits.limits import (
    FAILURES_IN_A_ROW,
    MOST_ALLOCATIONS,
    RunLimits,
    proposed_budget,
    with_currency,
)
from rowtui.core.runs.limits.spending import RemainingCost
from rowtui.core.runs.limits.times import parse_until


def chosen_limits(
    args: argparse.Namespace,
    project: OpenProject,
    before: RunLimits | None,
    work: RemainingCost,
    in_a_row: int = FAILURES_IN_A_ROW,
) -> RunLimits:
    """Return the limits of the options, over the confirmed ones; without both, the estimated need.

    `in_a_row`: the limit of failures in a row of a new run. Raises: RowtuiError.
    """
    limits = before
    if limits is None:
        limits = RunLimits(
            cpu_hours=proposed_budget(work.cost.cpu_hours, grows=work.grows),
            gpu_hours=proposed_budget(work.cost.gpu_hours, grows=work.grows) or None,
            failures_in_a_row=in_a_row,
        )
    return with_options(args, project, limits)


def with_options(args: argparse.Namespace, project: OpenProject, limits: RunLimits) -> RunLimits:
    """Return these limits, changed by the options. Raises: RowtuiError."""
    pool = getattr(args, "pool", None)
    given = {
        "cpu_hours": args.max_cpu_hours,
        "gpu_hours": args.max_gpu_hours,
        "jobs_in_queue": args.max_jobs,
        "allocations": MOST_ALLOCATIONS if pool == 0 else pool,
        "failures": args.max_failures,
        "failures_in_a_row": args.max_failures_in_a_row,
        "retries": args.max_retries,
    }
    if getattr(args, "over_budget", False):
        limits = limits._replace(over_budget=True)
    limits = limits._replace(**{name: value for name, value in given.items() if value is not None})
    if args.max_cost is not None:
        money, currency = args.max_cost
        limits = with_currency(limits._replace(price=money, currency=currency), project.cluster)
    if args.to:
        names = (name.strip() for text in args.to for name in text.split(","))
        limits = limits._replace(destinations=tuple(name for name in names if name))
    if args.until is not None:
        limits = limits._replace(until=parse_until(args.until, time.time()))
    return limits
