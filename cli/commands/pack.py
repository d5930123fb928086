"""`rowtui pack`: how jobs would share nodes, on which, and what that costs and saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rowtui.cli.pack_choice import choice_of
from rowtui.cli.project import chosen_positions, open_project, say_mapping_problems
from rowtui.core.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output import Output
    from rowtui.core.project.pack_views import PackedDestination, PackedPlan
    from rowtui.core.project.project import Project
    from rowtui.core.workflow.model import Action

VERSION = 1


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the packing of everything that is ready. Nothing is submitted."""
    from rowtui.core.grouping.select import matching_actions
    from rowtui.core.project.pack_views import PackChoice

    project = open_project(args, out, errors=False)
    actions = matching_actions(project.workflow, args.action)
    if not actions:
        out.warn(f"No actions match '{visible(args.action)}'.")
        if not args.json:
            return 0
    among = chosen_positions(project, args.directories, out)
    choice = choice_of(args) or PackChoice()
    if args.compare:
        return _compare(args, out, project, actions, among)
    packed = project.pack(actions, choice, among, limit=args.n)
    say_mapping_problems(project, out)
    if args.simulate:
        from rowtui.cli.pack_simulation import simulate

        return simulate(args, out, packed)
    for sentence in packed.plan.skipped:
        out.warn(sentence)
    if args.json:
        out.print(json.dumps(pack_json(packed), indent=2))
        return 0
    if not packed.plan.jobs:
        out.print("Nothing is eligible.")
        return 0
    from rowtui.cli.pack_text import print_packing

    for number, destination in enumerate(packed.destinations):
        if number:
            out.print()
        print_packing(destination, packed.plan.jobs, out)
    if any(destination.packed.jobs for destination in packed.destinations):
        out.print()
        out.note("'rowtui submit --pack' submits it, after asking.")
    return 0


def _compare(
    args: argparse.Namespace,
    out: Output,
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None,
) -> int:
    """A line for each packer and destination."""
    from rowtui.cli.pack_text import amount, quality
    from rowtui.cli.table import Column, table_lines
    from rowtui.core.project.pack_views import PackChoice

    choice = choice_of(args) or PackChoice()
    rows = []
    told: list[dict[str, Any]] = []
    first = project.pack(actions, choice, among, limit=args.n)
    for name, summary in first.packers:
        packed = project.pack(actions, choice._replace(packer=name), among, limit=args.n)
        for destination in packed.destinations:
            done = destination.packed
            told.append({"packer": name, "summary": summary, **_destination_json(destination)})
            rows.append(
                [
                    name,
                    str(done.destination),
                    f"{done.bundles:,}",
                    amount(done.cost, done.unit),
                    quality(destination),
                    f"{destination.took:.2f} s",
                    summary,
                ]
            )
    if args.json:
        for entry in told:
            entry.pop("bundles")
        out.print(json.dumps({"version": VERSION, "packers": told}, indent=2))
        return 0
    columns = [
        Column("Packer", style="bold"),
        Column("Destination", style="cyan"),
        Column("Nodes", right=True),
        Column("Cost", right=True),
        Column("Quality"),
        Column("Took", right=True),
        Column("What it does", style="dim"),
    ]
    out.lines(table_lines(columns, rows, out))
    return 0


def pack_json(packed: PackedPlan) -> dict[str, Any]:
    """The packing as values (docs/formats.md): memory in MB, times in seconds, prices by the hour.

    Jobs are named by their tokens, as in `rowtui plan --json`.
    """
    jobs = packed.plan.jobs
    destinations = []
    for destination in packed.destinations:
        told = _destination_json(destination)
        for bundle, lanes in zip(told["bundles"], destination.bundles, strict=True):
            for lane, view in zip(bundle["lanes"], lanes.lanes, strict=True):
                lane["jobs"] = [
                    {
                        "token": jobs[at].token,
                        "action": jobs[at].action,
                        "directories": list(jobs[at].directories),
                        "seconds": seconds,
                    }
                    for at, seconds in zip(view.jobs, view.seconds, strict=True)
                ]
        told["alone"] = [
            {"jobs": [jobs[at].token for at in left.jobs], "reason": left.reason}
            for left in destination.left_alone
        ]
        destinations.append(told)
    return {
        "version": VERSION,
        "plan": packed.plan.id,
        "packers": [{"name": name, "summary": text} for name, text in packed.packers],
        "destinations": destinations,
        "skipped": list(packed.plan.skipped),
    }


def _destination_json(destination: PackedDestination) -> dict[str, Any]:
    done = destination.packed
    used = destination.used_of()
    return {
        "destination": {
            "cluster": done.destination.cluster,
            "partition": done.destination.partition,
        },
        "packer": done.packer,
        "jobs": done.jobs,
        "nodes": done.bundles,
        "cost": done.cost,
        "cost_alone": done.alone,
        "bound": done.bound,
        "gap": destination.gap,
        "proven": destination.proven,
        "unit": done.unit,
        "seconds": round(destination.took, 3),
        "used": used._asdict(),
        "node_types": [
            {
                "name": kind.name,
                **kind.amounts._asdict(),
                "price": kind.price,
                "priced": kind.priced,
                "at_most": kind.at_most,
                "boot_seconds": kind.boot_seconds,
                "longest_seconds": kind.longest_seconds,
                "whole_node": kind.whole_node,
                "source": kind.source,
                "used": destination.used_of(number)._asdict(),
            }
            for number, kind in enumerate(destination.node_types)
        ],
        "bundles": [
            {
                "token": bundle.token or None,
                "node_type": destination.node_types[bundle.node_type].name,
                **bundle.used._asdict(),
                "seconds": bundle.seconds,
                "cost": bundle.cost,
                "lanes": [lane.amounts._asdict() for lane in bundle.lanes],
            }
            for bundle in destination.bundles
        ],
    }
