"""The JSON of `show status` and `show directories`; loaded only for `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.cli.output.output import Output
from rowtui.cli.show.listing import Element
from rowtui.core.base.json import VERSION
from rowtui.core.base.json import directories as to
from rowtui.core.engine.api.json.directories import directory_of, group_of
from rowtui.core.engine.api.json.values import bad_of, cost_of
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import STATUS_OF, StatusCounts, status_codes
from rowtui.core.project.project import Project


def print_status(
    project: Project,
    rows: Sequence[tuple[ActionStatus, StatusCounts]],
    out: Output,
    waiting: int | None = None,
) -> None:
    """Print the status. `waiting`: waiting network jobs, None without a network."""
    document: to.StatusJson = {
        "version": VERSION,
        "project": str(project.root),
        "directories": len(project.state.directories),
        "bad": bad_of(project),
        "actions": [
            {
                "name": row.action.name,
                "index": row.action.index,
                "completed": counts.completed,
                "submitted": counts.submitted,
                "eligible": counts.eligible,
                "waiting": counts.waiting,
                "failed": counts.failed,
                "not_reached": counts.not_reached,
                "cancelled": counts.cancelled,
                "remaining_cost": cost_of(row.remaining_cost),
                "problem": row.problem or None,
            }
            for row, counts in rows
        ],
        "network": None if waiting is None else {"waiting": waiting},
    }
    out.json(document)


def print_names(project: Project, names: Sequence[str], out: Output) -> None:
    """Print the names of directories, and the directories that cannot be used."""
    found: to.DirectoryNamesJson = {
        "version": VERSION,
        "directories": list(names),
        "bad": bad_of(project),
    }
    out.json(found)


def print_groups(project: Project, action: str, elements: Sequence[Element], out: Output) -> None:
    """Print the groups of an action, with the status of each directory."""
    from rowtui.core.groups.form import job_requests
    from rowtui.core.project.planning.asked import shown_amounts
    from rowtui.core.project.planning.plan_submission import counted_on

    def entry(element: Element, code: int, position: int) -> to.DirectoryJson:
        job = element.submitted.get(position)
        return directory_of(project, action, position, STATUS_OF[code], job)

    groups: list[to.GroupJson] = []
    for element in elements:
        codes = status_codes(element.row, len(project.state.directories))
        requests = counted_on(project, job_requests(element.cut.page(0, element.shown)))
        for request, asked in zip(requests, shown_amounts(project, requests), strict=True):
            entries = [
                entry(element, codes[position], position) for position in request.group.indices
            ]
            groups.append(group_of(request, asked, len(groups) + 1, entries))
    document: to.GroupsJson = {"version": VERSION, "action": action, "groups": groups}
    out.json(document)
