"""`rowtui pack --compare`: the same jobs packed by every packer, and how long each took.

The jobs are planned once. The quality of a packing is measured against the best bound of any
packer, because all of them pack the same jobs on the same nodes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.cli.output.progress import busy_with
from rowtui.cli.pack.json import (
    ComparedDestinationJson,
    PackComparisonJson,
    PackerResultJson,
    packing_document,
)
from rowtui.cli.pack.parser import choice_of
from rowtui.cli.pack.text import (
    Cells,
    cut_last,
    head,
    print_packing,
    terminal_width,
)
from rowtui.cli.project.open import (
    chosen_actions,
    chosen_positions,
    open_project,
    planned,
    say_mapping_problems,
)
from rowtui.cli.submit.json import packed_of
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, price, priced, visible
from rowtui.core.packing.pack import installed_packers, packers
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.pack_views import PackChoice, PackedDestination, PackedPlan
from rowtui.core.project.planning.packing import PlanPacking
from rowtui.core.project.planning.plan_submission import pack_submission
from rowtui.core.submission.plan.model import Plan, above, count_jobs
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.model import Action


class Done(NamedTuple):
    """The result of one packer at one destination."""

    name: str
    summary: str
    there: PackedDestination

    @property
    def longest(self) -> int:
        """Return the seconds of the longest bundle."""
        return max((bundle.seconds for bundle in self.there.bundles), default=0)


class DestinationResults(NamedTuple):
    """The results of all packers at one destination. `bound`: no packing costs less."""

    done: list[Done]
    bound: float


def compare(
    args: argparse.Namespace,
    out: Output,
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int] | None,
) -> int:
    """Print a table for each destination, or JSON."""
    choice = choice_of(args) or PackChoice()
    project.packing = project.arrays = False  # plan single jobs, as packers expect them
    began = time.monotonic()
    plan = planned(args, project, actions, among, out)
    planning = time.monotonic() - began
    for sentence in plan.skipped:
        out.warn(sentence)
    places = _pack_by_each(project, plan, choice, out) if plan.jobs else []
    if args.json:
        out.json(_document(plan, places, planning, choice.budget))
        return 0
    if not plan.jobs:
        out.print("Nothing is eligible" + (" that has a place." if plan.skipped else "."))
        return 0
    width = terminal_width()
    for at, there in enumerate(places):
        if at:
            out.print()
        _print(there, out, width)
    if any(there.done[0].there.packed.jobs for there in places):
        out.print()
        out.print(
            f"Planning took {planning:.1f} s, once. Each packer may search for "
            f"{choice.budget:g} s more than it must (--search)."
        )
    return 0


def _pack_by_each(
    project: OpenProject, plan: Plan, choice: Any, out: Output
) -> list[DestinationResults]:
    installed = installed_packers()
    for left_out in installed.left_out:
        out.warn(f"{visible(left_out.name)}: {left_out.why} ({visible(left_out.hint)})")
    all_packers = packers(installed.packers)
    found: list[list[Done]] = []
    with busy_with(project, out, "Packing") as busy:
        for at, (name, summary) in enumerate(all_packers, 1):
            busy.title = f"Packing by {visible(name)} ({at} of {len(all_packers)})"
            packing = PlanPacking(project, choice._replace(packer=name), installed.packers)
            packed = packing(plan.jobs)
            there = packing.destinations(packed.jobs)
            found.append([Done(name, summary, each) for each in there])
    return [DestinationResults(list(done), _bound(done)) for done in zip(*found, strict=True)]


def _bound(done: Sequence[Done]) -> float:
    """Return the best bound, limited to the least cost, which rounding may exceed."""
    bound = max(one.there.packed.bound for one in done)
    return min(bound, *(one.there.packed.cost for one in done))


def _print(place_: DestinationResults, out: Output, width: int | None) -> None:
    first = place_.done[0].there
    if not first.packed.jobs:
        out.print(out.style(head(first.packed), "bold"))
    else:
        where = visible(str(first.packed.destination))
        out.print(out.style(f"{where}: {plural(first.packed.jobs, 'job')}", "bold"))
        unit = visible(first.packed.unit)
        columns = [
            TextColumn("Packer", style="bold"),
            TextColumn("Nodes", right=True),
            TextColumn(f"Cost ({unit})" if unit else "Cost", right=True),
            TextColumn("Above least", right=True),
            TextColumn("Longest", right=True),
            TextColumn("Took", right=True),
            TextColumn("Description", style="dim"),
        ]
        rows: list[Cells] = [_row(one, place_) for one in place_.done]
        out.lines(table_lines(columns, cut_last(columns, rows, width), out))
        if place_.bound > 0:
            out.print(f"No packing of them costs less than {priced(place_.bound, unit)}.")
    for left in first.left_alone:
        out.print(f"Alone: {plural(len(left.jobs), 'job')}: {visible(left.reason)}")


def _row(one: Done, place_: DestinationResults) -> Cells:
    packed = one.there.packed
    by = visible(one.name) + ("" if packed.packer == one.name else f" ({visible(packed.packer)})")
    if not packed.cost:
        gap = "0.0 %"
    else:
        gap = above(packed.cost, place_.bound) if place_.bound > 0 else "?"
    return [
        by,
        f"{packed.bundles:,}",
        price(packed.cost),
        gap,
        format_duration(one.longest),
        f"{one.there.took:.2f} s",
        visible(one.summary),
    ]


def _document(
    plan: Plan, places: Sequence[DestinationResults], planning: float, search: float
) -> PackComparisonJson:
    found = []
    for place in places:
        first = place.done[0].there
        packers = [
            PackerResultJson(
                one.name,
                one.summary,
                one.there.packed.packer,
                one.there.packed.bundles,
                packed_of(one.there.packed, plan).cost,
                one.there.packed._replace(bound=place.bound).gap,
                one.longest,
                round(one.there.took, 3),
            )
            for one in place.done
        ]
        found.append(
            ComparedDestinationJson(
                first.packed.destination,
                first.packed.jobs,
                first.packed.unit,
                packed_of(first.packed, plan).cost_alone,
                place.bound,
                packers,
                sum(len(left.jobs) for left in first.left_alone),
            )
        )
    return PackComparisonJson(round(planning, 3), search, found, plan.skipped)


# `rowtui pack`: how jobs would share nodes, on which node types, with cost and savings.


TOLD = "pack: "  # the prefix of packing warnings, which this command prints in its own lines


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the packing of all jobs that are ready. Nothing is submitted."""
    _refuse_what_does_not_count(args)
    project = open_project(args, out, errors=False)
    actions = chosen_actions(args, project, out, required=True)
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
    if args.json:
        out.json(packing_document(packed))
        return 0
    _print_pack(packed, out)
    return 0


def _refuse_what_does_not_count(args: argparse.Namespace) -> None:
    """Refuse options that another option would make ineffective. Raises: RowtuiError."""
    if args.compare and args.packer:
        raise RowtuiError("--compare packs by every packer", "leave --packer out")


def _print_pack(packed: PackedPlan, out: Output) -> None:
    if not packed.plan.jobs:
        out.print("Nothing is eligible" + (" that has a place." if packed.plan.skipped else "."))
        return
    width = terminal_width()
    for index, destination in enumerate(packed.destinations):
        if index:
            out.print()
        print_packing(destination, packed.plan.jobs, out, width)
    if any(destination.packed.jobs for destination in packed.destinations):
        out.print()
        out.print(f"In all {count_jobs(packed.plan.jobs)}.")
        out.note("'rowtui submit --pack' with the same options submits it, after asking.")
