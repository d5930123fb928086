"""What a run may spend: as options say, else what the jobs that are known now may need.

Takes the command's arguments and a job graph; gives `Limits` that a person can say yes to.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rowtui.core.errors import RowtuiError
from rowtui.core.runs.left import Left, work_left
from rowtui.core.runs.limits import TRIES, Limits, amount, proposed_budget
from rowtui.core.runs.moments import parse_until

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.project.project import Project
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.store import Run

FAILURES_IN_A_ROW = 3  # as many as show that something is wrong with all of them


def chosen_limits(
    args: argparse.Namespace, project: Project, before: Limits | None, work: Left
) -> Limits:
    """What options say, over what was confirmed before; without either what the work may need.

    Raises: RowtuiError.
    """
    limits = before
    if limits is None:
        limits = Limits(
            core_hours=proposed_budget(work.core_hours, grows=work.grows),
            gpu_hours=proposed_budget(work.gpu_hours, grows=work.grows) or None,
            failures_in_a_row=FAILURES_IN_A_ROW,
        )
    given = {
        "core_hours": args.max_core_hours,
        "gpu_hours": args.max_gpu_hours,
        "jobs_in_queue": args.max_jobs,
        "failures": args.max_failures,
        "failures_in_a_row": args.max_failures_in_a_row,
    }
    limits = limits._replace(**{name: value for name, value in given.items() if value is not None})
    if args.max_cost is not None:
        money, currency = args.max_cost
        limits = limits._replace(money=money, currency=currency or _currency(project))
    if args.to:
        names = (name.strip() for text in args.to for name in text.split(","))
        limits = limits._replace(destinations=tuple(name for name in names if name))
    if args.until is not None:
        limits = limits._replace(until=parse_until(args.until, time.time()))
    return limits


def raise_budget(networks: Networks, run: Run, out: Output) -> None:
    """Whoever has jobs run again allows what that costs, where the budget has too little left."""
    limits = run.limits
    running = networks.running(run.id)
    if running is None or limits.core_hours is None:
        return
    schedule = run.network.schedule
    work = work_left(
        networks.project.workflow, networks.view(run.id).nodes, running.execution, schedule
    )
    spent = running.spent().core_hours
    if spent + work.core_hours > limits.core_hours:
        needed = spent + TRIES * work.core_hours
        run.confirm(limits._replace(core_hours=needed), time.time())
        out.print(f"The budget grows for that to {amount(needed)} core-hours.")


def _currency(project: Project) -> str:
    """That of the cluster which jobs go to. Raises: RowtuiError if it has none."""
    cluster = project.cluster
    if not cluster.currency:
        raise RowtuiError(
            f"nobody says in which currency cluster {cluster.name} is paid",
            "write it behind the amount, as in --max-cost 20EUR, or as `currency` in clusters.toml",
        )
    return cluster.currency
