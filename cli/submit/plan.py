"""`rowtui plan`: the jobs to submit, where each would go and why, and its cost."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output, TextColumn, ranges, table_lines
from rowtui.cli.output.transfers import conflict_errors, planned_transfers, say_transfers
from rowtui.cli.project.open import chosen_actions, chosen_positions, open_project, planned
from rowtui.cli.submit.sending import print_plan, say_packing, scripts_of
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import count, full_cost, plural
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.sizing.measured import expected_cost
from rowtui.core.submission.plan.model import Plan, PlannedJob, count_jobs
from rowtui.core.workflow.duration import format_duration

if TYPE_CHECKING:
    from rowtui.core.project.views.views import TransferView


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the plan as a table with its reasons, or as JSON. Nothing is submitted."""
    project = open_project(args, out, errors=False)
    actions = chosen_actions(args, project, out, required=True)
    if not actions and not args.json:
        return 0
    among = chosen_positions(project, args.directories, out)
    if args.diff or args.pool is not None:
        from rowtui.cli.submit.review import show_instead

        return show_instead(args, project, actions, among, out)
    plan = planned(args, project, actions, among, out)
    transfers, untold = _transfers(project, plan)
    conflicts = conflict_errors(transfers)
    if args.json:
        expected = expected_cost(project, plan)
        print_plan(plan, out, scripts=args.scripts, transfers=transfers, expected=expected)
        _say_errors(conflicts, untold, out)
        return 1 if conflicts else 0
    for sentence in (*plan.skipped, *plan.warnings):
        out.warn(sentence)
    if not plan.jobs:
        out.print("Nothing is eligible" + (" that has a place." if plan.skipped else "."))
        return 0
    bundles = _bundle_numbers(plan)
    columns = [
        TextColumn("Job", right=True),
        *[TextColumn("Bundle", right=True)] * bool(bundles),
        TextColumn("Action", style="bold"),
        TextColumn("Directories", right=True),
        TextColumn("CPUs", right=True),
        TextColumn("GPUs", right=True),
        TextColumn("Time", right=True),
        TextColumn("Destination", style="cyan"),
        TextColumn("Cost", right=True, style="italic dim"),
    ]
    rows = [_cells(at, job, bundles) for at, job in enumerate(plan.jobs, 1)]
    out.lines(table_lines(columns, rows, out))
    out.print()
    out.print(f"{count_jobs(plan.jobs)} may cost up to {full_cost(plan.cost)}.")
    if (expected := expected_cost(project, plan)) is not None:
        basis = f"the median time of {plural(expected.jobs, 'measured job')}"
        out.print(f"Expected cost: {full_cost(expected.cost)}, from {basis}.")
    say_packing(plan, out)
    say_transfers(transfers, out)
    _say_errors(conflicts, untold, out)
    _print_reasons(plan.jobs, out)
    good = True
    if args.check:
        from rowtui.cli.submit.review import say_checks

        out.print()
        good = say_checks(project, plan, out)
    if args.scripts:
        for title, script in scripts_of(project, plan):
            out.print()
            out.print(out.style(f"# {title}", "dim"))
            out.text(script)
    return 1 if conflicts or not good else 0


def _transfers(
    project: OpenProject, plan: Plan
) -> tuple[tuple[TransferView, ...], RowtuiError | None]:
    """Return the copies that the plan would make, and the error if they cannot be determined."""
    try:
        return planned_transfers(project, plan), None
    except RowtuiError as error:
        return (), error


def _say_errors(conflicts: Sequence[RowtuiError], untold: RowtuiError | None, out: Output) -> None:
    for error in conflicts:
        out.error(str(error))
    if untold is not None:
        out.warn(f"The files to copy before submission cannot be listed: {untold}")


def _bundle_numbers(plan: Plan) -> dict[str, str]:
    """Return the bundles by their tokens, numbered in the plan's order from 1."""
    tokens = dict.fromkeys(job.bundle.token for job in plan.jobs if job.bundle is not None)
    return {token: count(number) for number, token in enumerate(tokens, 1)}


def _cells(number: int, job: PlannedJob, bundles: dict[str, str]) -> list[str]:
    bundle = "" if job.bundle is None else bundles[job.bundle.token]
    return [
        count(number),
        *[bundle] * bool(bundles),
        job.action,
        count(len(job.directories)),
        count(job.cpus),
        count(job.gpus),
        format_duration(job.walltime_seconds),
        str(job.destination),
        full_cost(job.cost),
    ]


def _print_reasons(jobs: tuple[PlannedJob, ...], out: Output) -> None:
    """Print each reason once, with the jobs that it applies to."""
    parts: dict[tuple[str, ...], list[int]] = {}
    for number, job in enumerate(jobs, 1):
        sentences = (*(f"warning: {text}" for text in job.warnings), *job.reasons)
        if sentences:
            parts.setdefault(sentences, []).append(number)
    for sentences, numbers in parts.items():
        out.print()
        which = f"Job {numbers[0]}" if len(numbers) == 1 else f"Jobs {ranges(numbers)}"
        out.print(f"{which}:")
        out.lines(f"  {sentence}" for sentence in sentences)
