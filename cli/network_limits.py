"""What a run may spend: as options say, else as the jobs that are known now ask for.

Takes the command's arguments and a job graph; gives `Limits` that a person can say yes to.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.network.job_model import JobState
from rowtui.core.runs.left import Asked, as_carried_out
from rowtui.core.runs.limits import Limits, amount
from rowtui.core.runs.moments import parse_until

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.network.spec import Schedule
    from rowtui.core.project.project import Project
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.store import Run
    from rowtui.core.runs.views import NetworkView
    from rowtui.core.workflow.model import Action

FAILURES_IN_A_ROW = 3  # as many as show that something is wrong with all of them
_HOUR = 3600
_TO_DO = (JobState.WAITING, JobState.READY)
_LOST = (JobState.FAILED, JobState.CANCELLED)


class Work(NamedTuple):
    """What is left to send, and the most that it asks for. `grows`: lists will add more."""

    jobs: int
    core_hours: float
    gpu_hours: float
    grows: bool


def work_left(
    project: Project, view: NetworkView, execution: str, schedule: Schedule, *, anew: bool = False
) -> Work:
    """The jobs that nobody sent yet, as actions ask for them, in whatever groups they go.

    `anew`: for a new run, which tries again what failed before.
    """
    to_do = (*_TO_DO, *_LOST) if anew else _TO_DO
    asked = Asked()
    for node in view.nodes:
        left = sum(node.counts[state] for state in to_do) if node.counts else 0
        actions = project.workflow.named(node.action) if left else ()
        if not actions:
            continue
        # Elements of one name have disjoint directories: no job asks for more than the costliest.
        each = [_of_one(action, left) for action in actions]
        asked = Asked(
            asked.jobs + left,
            asked.core_hours + left * max(it.core_hours for it in each),
            asked.gpu_hours + left * max(it.gpu_hours for it in each),
            max(asked.cpus, *(it.cpus for it in each)),
            max(asked.gpus, *(it.gpus for it in each)),
            asked.hours + left * max(it.hours for it in each),
        )
    held = as_carried_out(asked, execution, schedule)
    grows = any(node.lists for node in view.nodes)
    return Work(held.jobs, held.core_hours, held.gpu_hours, grows)


def _of_one(action: Action, left: int) -> Asked:
    """What one directory asks for, in the group size where that is the most.

    What grows with a group grows with its size or its square: alone or in the largest is the most.
    """
    largest = min(left, action.group.maximum_size or left)
    resources = action.resources
    hours = {n: resources.walltime.total_seconds(n) / _HOUR / n for n in (1, largest)}
    return Asked(
        1,
        max(resources.total_cpus(n) * each for n, each in hours.items()),
        max(resources.total_gpus(n) * each for n, each in hours.items()),
        max(map(resources.total_cpus, hours)),
        max(map(resources.total_gpus, hours)),
        max(hours.values()),
    )


def chosen_limits(
    args: argparse.Namespace, project: Project, before: Limits | None, work: Work
) -> Limits:
    """What options say, over what was confirmed before; without either what the work asks for.

    Raises: RowtuiError.
    """
    limits = before
    if limits is None:
        limits = Limits(
            core_hours=work.core_hours,
            gpu_hours=work.gpu_hours or None,
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
    work = work_left(networks.project, networks.view(run.id), running.execution, schedule)
    needed = running.spent().core_hours + work.core_hours
    if needed > limits.core_hours:
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
