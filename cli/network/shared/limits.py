"""Shared steps of network commands: opening the network, its logs, and the limits of a run.

The limits come from the command's arguments, else from the estimated need of the known jobs; the
result is `RunLimits` for the user to confirm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

from rowtui.cli.output.output import Output
from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.find import NETWORK_FILE, has_network
from rowtui.core.project.project import Project
from rowtui.core.runs.limits.limits import TRIES, RunLimits, proposed_budget
from rowtui.core.runs.limits.spending import RemainingCost
from rowtui.core.runs.limits.texts import amount
from rowtui.core.runs.limits.times import parse_until
from rowtui.core.runs.networks import Networks
from rowtui.core.runs.store import Run, RunStore
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS
from rowtui.core.workflow.find import find_project


def open_network(args: argparse.Namespace, out: Output) -> Networks:
    """Return the network of this folder's project.

    Raises: RowtuiError if it has no network or run.
    """
    root = find_project(Path.cwd())
    if not has_network(root) and not RunStore(root).ids():
        raise RowtuiError(
            f"there is no {NETWORK_FILE} in {visible(str(root))}",
            "'rowtui network init' writes one to begin with",
        )
    project = open_project(args, out, errors=False)

    return Networks(project)


def logs_of(networks: Networks, jobs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the log of the newest job of each action in a directory."""
    wanted = set(jobs)
    if not wanted:
        return {}
    found: dict[tuple[str, str], str] = {}
    records = sorted(networks.project.jobs.records(), key=lambda it: it.submitted_at)
    for record in records:
        for directory in record.directories:
            key = (record.action, directory)
            if key in wanted and record.log_path:
                found[key] = record.log_path
    return found


FAILURES_IN_A_ROW = 3  # this many failures indicate a common cause


def chosen_limits(
    args: argparse.Namespace, project: Project, before: RunLimits | None, work: RemainingCost
) -> RunLimits:
    """Return the limits of the options, over the confirmed ones; without both, the estimated need.

    Raises: RowtuiError.
    """
    limits = before
    if limits is None:
        limits = RunLimits(
            cpu_hours=proposed_budget(work.cost.cpu_hours, grows=work.grows),
            gpu_hours=proposed_budget(work.cost.gpu_hours, grows=work.grows) or None,
            failures_in_a_row=FAILURES_IN_A_ROW,
        )
    return with_options(args, project, limits)


def with_options(args: argparse.Namespace, project: Project, limits: RunLimits) -> RunLimits:
    """Return these limits, changed by the options. Raises: RowtuiError."""
    given = {
        "cpu_hours": args.max_cpu_hours,
        "gpu_hours": args.max_gpu_hours,
        "jobs_in_queue": args.max_jobs,
        "failures": args.max_failures,
        "failures_in_a_row": args.max_failures_in_a_row,
    }
    if getattr(args, "over_budget", False):
        limits = limits._replace(over_budget=True)
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
    """Raise the limit of a run by the cost of jobs that run again, if too little remains."""
    limits = run.limits
    running = networks.running(run.id)
    if running is None:
        return
    work, spent = networks.left(run.id).cost, running.spent()
    wider = limits
    if limits.cpu_hours is not None and spent.cpu_hours + work.cpu_hours > limits.cpu_hours:
        most = spent.cpu_hours + TRIES * work.cpu_hours
        wider = wider._replace(cpu_hours=most)
        out.print(f"The limit of the run grows for that to {amount(most)} {CPU_HOURS}.")
    if limits.gpu_hours is not None and spent.gpu_hours + work.gpu_hours > limits.gpu_hours:
        most = spent.gpu_hours + TRIES * work.gpu_hours
        wider = wider._replace(gpu_hours=most)
        out.print(f"The limit of the run grows for that to {amount(most)} {GPU_HOURS}.")
    if wider != limits:
        run.confirm(wider, time.time())


def _currency(project: Project) -> str:
    """Return the default cluster's currency. Raises: RowtuiError if the cluster has none."""
    cluster = project.cluster
    if not cluster.currency:
        raise RowtuiError(
            f"the currency in which cluster {visible(cluster.name)} is paid is not known",
            "write it behind the amount, as in --max-cost 20EUR, or as `currency` in clusters.toml",
        )
    return cluster.currency
