"""`rowtui show directories`: names, or an action's groups with status, job and values.

A value that a directory does not have is an error, as in Row; a directory whose value file is bad
is set aside: it is named with the reason, and in no group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowtui.cli.listing import Element, Listing
from rowtui.cli.project import action_not_found, chosen_positions, open_project
from rowtui.core.grouping.model import ENDED, Status
from rowtui.core.grouping.status import STATUS_OF, only_status, status_codes

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.project.project import Project

NEEDS_ACTION = (
    "completed",
    "submitted",
    "eligible",
    "waiting",
    "failed",
    "not_reached",
    "cancelled",
    "short",
    "no_header",
    "no_separate_groups",
    "value",
    "n_groups",
)


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the list, a table, or JSON."""
    if args.action is None:
        # 0 is a number of groups that the user gave, not an option that is missing.
        given = {name: getattr(args, name) for name in NEEDS_ACTION}
        used = [
            name for name, value in given.items() if not (value is False or value in (None, []))
        ]
        if used:
            option = "--" + used[0].replace("_", "-")
            return _usage(f"{option} needs --action <ACTION>")
    project = open_project(args, out)
    if args.action is None:
        return _print_names(args, project, out)
    if not project.workflow.named(args.action):
        raise action_not_found(args.action)
    statuses = [it for it in Status if getattr(args, it.name.lower())] or list(Status)
    among = chosen_positions(project, args.directories, out)
    elements = []
    for action in project.workflow.named(args.action):
        cut = project.cut(action, statuses, among)
        shown = len(cut) if args.n_groups is None else min(len(cut), args.n_groups)
        row = project.status_row(action, among)
        jobs = project.state.submitted.get(action.name, {})
        elements.append(Element(cut, shown, row, jobs, only_status(row, statuses)))
    if args.json:
        _print_json(args, project, elements, out)
    elif not any(element.shown for element in elements):
        out.print("No matches.")
    elif args.short:
        for element in elements:
            for names in element.names(project.state.directories):
                out.names(names, for_programs=True)
    else:
        listing = Listing(
            project.state.directories,
            elements,
            args.value,
            with_jobs=bool({Status.COMPLETED, Status.SUBMITTED} & set(statuses)),
            separate=not args.no_separate_groups,
        )
        listing.write(out, header=not args.no_header)
    return 0


def _usage(message: str) -> int:
    import sys

    sys.stderr.write(f"error: {message}\n\nFor more, try 'rowtui show directories --help'.\n")
    return 2


def _print_names(args: argparse.Namespace, project: Project, out: Output) -> int:
    directories = project.state.directories
    among = chosen_positions(project, args.directories, out)
    names: Any = (
        directories.names()
        if among is None
        else (directories.name(position) for position in sorted(among))
    )
    if args.json:
        import json

        bad = {directories.name(position): why for position, why in directories.bad.items()}
        out.print(json.dumps({"directories": list(names), "bad": bad}, indent=2))
    else:
        out.names(names)
    return 0


def _print_json(
    args: argparse.Namespace, project: Project, elements: list[Element], out: Output
) -> None:
    import json

    directories = project.state.directories
    ends = project.state.ends.get(args.action, {})

    def entry(element: Element, code: int, position: int) -> dict[str, Any]:
        status = STATUS_OF[code]
        job = element.submitted.get(position)
        end = ends.get(position)
        return {
            "name": directories.name(position),
            "status": status.value if status else None,
            "job": f"{job.cluster}/{job.job_id}" if job and job.job_id else None,
            "failure": end.reason if end and status is Status.FAILED else None,
            "reason": end.reason if end and status in ENDED else None,
            "value": directories.value(position),
        }

    groups = []
    for element in elements:
        codes = status_codes(element.row, len(directories))
        groups += [
            [entry(element, codes[position], position) for position in group.indices]
            for group in element.cut.page(0, element.shown)
        ]
    out.print(json.dumps({"action": args.action, "groups": groups}, indent=2))
