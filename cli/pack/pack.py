"""`rowtui pack`: how jobs would share nodes, on which node types, with cost and savings."""

from __future__ import annotations

import argparse

from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import busy_with
from rowtui.cli.pack.choice import choice_of
from rowtui.cli.pack.compare import compare
from rowtui.cli.pack.simulation import simulate_packing
from rowtui.cli.pack.text import print_packing, terminal_width
from rowtui.cli.project.open import (
    chosen_actions,
    chosen_positions,
    open_project,
    say_mapping_problems,
)
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.api.json.packing import packing_of
from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
from rowtui.core.project.planning.plan import pack_submission
from rowtui.core.submission.plan.model import count_jobs

TOLD = "pack: "  # the prefix of packing warnings, which this command prints in its own lines


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the packing of all jobs that are ready. Nothing is submitted."""
    _refuse_what_does_not_count(args)
    project = open_project(args, out, errors=False)
    actions = chosen_actions(args, project, out)
    if not actions and not args.json:
        return 0
    among = chosen_positions(project, args.directories, out)
    choice = choice_of(args) or PackChoice()
    if args.compare:
        return compare(args, out, project, actions, among)
    with busy_with(project, out, "Planning and packing"):
        packed = pack_submission(project, actions, choice, among, limit=args.n)
    say_mapping_problems(project, out)
    for sentence in packed.plan.skipped:
        out.warn(sentence)
    for sentence in packed.plan.warnings:
        if not sentence.startswith(TOLD):
            out.warn(sentence)
    if args.simulate:
        return simulate_packing(args, out, packed)
    if args.json:
        out.json(packing_of(packed))
        return 0
    _print(packed, out)
    return 0


def _refuse_what_does_not_count(args: argparse.Namespace) -> None:
    """Refuse options that another option would make ineffective. Raises: RowtuiError."""
    if args.compare and args.packer:
        raise RowtuiError("--compare packs by every packer", "leave --packer out")
    for option in ("per_hour", "failures", "spread", "seed"):
        if getattr(args, option) and not args.simulate:
            name = "--" + option.replace("_", "-")
            raise RowtuiError(f"{name} belongs to --simulate", "add --simulate, or leave it out")


def _print(packed: PackedPlan, out: Output) -> None:
    if not packed.plan.jobs:
        out.print("Nothing is eligible" + (" that has a place." if packed.plan.skipped else "."))
        return
    width = terminal_width()
    for number, destination in enumerate(packed.destinations):
        if number:
            out.print()
        print_packing(destination, packed.plan.jobs, out, width)
    if any(destination.packed.jobs for destination in packed.destinations):
        out.print()
        out.print(f"In all {count_jobs(packed.plan.jobs)}.")
        out.note("'rowtui submit --pack' with the same options submits it, after asking.")
