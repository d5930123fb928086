"""`rowtui show directories`: names, or an action's groups with status, job and values.

A missing value of a directory is an error, as in Row. A directory whose value file is bad is set
aside: it is named with the reason, and is in no group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowtui.cli.project.open import action_not_found, chosen_positions, open_project
from rowtui.cli.show.listing import DirectoryTable, Element
from rowtui.core.groups.model import Status
from rowtui.core.groups.status import STATUS_OF, only_status, status_codes

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.base.json import directories as to
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
        # 0 is a number of groups that the user gave, not a missing option.
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
        listing = DirectoryTable(
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

        from rowtui.core.base.json import VERSION
        from rowtui.core.engine.api.json.values import bad_of

        found: to.DirectoryNamesJson = {
            "version": VERSION,
            "directories": list(names),
            "bad": bad_of(project),
        }
        out.print(json.dumps(found, indent=2))
    else:
        out.names(names)
    return 0


def _print_json(
    args: argparse.Namespace, project: Project, elements: list[Element], out: Output
) -> None:
    import json

    from rowtui.core.base.json import VERSION
    from rowtui.core.engine.api.json.directories import directory_of, group_of
    from rowtui.core.groups.request import job_requests
    from rowtui.core.project.planning.asked import shown_amounts
    from rowtui.core.project.planning.plan import counted_on

    def entry(element: Element, code: int, position: int) -> to.DirectoryJson:
        job = element.submitted.get(position)
        return directory_of(project, args.action, position, STATUS_OF[code], job)

    groups: list[to.GroupJson] = []
    for element in elements:
        codes = status_codes(element.row, len(project.state.directories))
        requests = counted_on(project, job_requests(element.cut.page(0, element.shown)))
        for request, asked in zip(requests, shown_amounts(project, requests), strict=True):
            entries = [
                entry(element, codes[position], position) for position in request.group.indices
            ]
            groups.append(group_of(request, asked, len(groups) + 1, entries))
    document: to.GroupsJson = {"version": VERSION, "action": args.action, "groups": groups}
    out.print(json.dumps(document, indent=2))
