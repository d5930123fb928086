"""`rowtui show directories`: names, or an action's groups with status, job and values.

A missing value of a directory is an error, as in Row. A directory whose value file is bad is set
aside: it is named with the reason, and is in no group.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rowtui.cli.output.output import Output
from rowtui.cli.project.open import action_not_found, chosen_positions, open_project
from rowtui.cli.show.listing import DirectoryTable, Element
from rowtui.core.groups.model import Status
from rowtui.core.groups.status import only_status
from rowtui.core.project.open_project import OpenProject

if TYPE_CHECKING:
    import argparse


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
    elements = list(listed(project, args.action, statuses, among, args.n_groups))
    if args.json:
        from rowtui.cli.show.json import groups_document

        out.json(groups_document(project, args.action, elements))
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


def listed(
    project: OpenProject,
    name: str,
    statuses: Sequence[Status] = tuple(Status),
    among: Sequence[int] | None = None,
    most: int | None = None,
) -> Iterator[Element]:
    """Yield the elements of an action with their groups of these statuses; `most`: of each."""
    for action in project.workflow.named(name):
        cut = project.cut(action, statuses, among)
        shown = len(cut) if most is None else min(len(cut), most)
        row = project.status_row(action, among)
        jobs = project.state.submitted.get(action.name, {})
        yield Element(cut, shown, row, jobs, only_status(row, statuses))


def _usage(message: str) -> int:
    sys.stderr.write(f"error: {message}\n\nFor more, try 'rowtui show directories --help'.\n")
    return 2


def _print_names(args: argparse.Namespace, project: OpenProject, out: Output) -> int:
    directories = project.state.directories
    among = chosen_positions(project, args.directories, out)
    names: Any = (
        directories.names()
        if among is None
        else (directories.name(position) for position in sorted(among))
    )
    if args.json:
        from rowtui.cli.show.json import DirectoryNames

        out.json(DirectoryNames(list(names), project.state.set_aside))
    else:
        out.names(names)
    return 0
