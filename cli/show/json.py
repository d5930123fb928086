"""The JSON of `show status` and `show directories`; loaded only for `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rowtui.cli.show.listing import Element
from rowtui.core.base.document import Flat, TextOrNull
from rowtui.core.base.text import Cost
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import ENDED, ActionStatus, JobRequest, Status
from rowtui.core.groups.status import STATUS_OF, StatusCounts, status_codes
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.asked import AskedAmounts, as_asked, shown_amounts
from rowtui.core.submission.plan.outcome import FailureJson, failure_json


class ShownAction(NamedTuple):
    """Directories of an action by status. `completed`, `submitted`, `eligible` and `waiting` add up
    to all of them; `failed`, `not_reached` and `cancelled` are parts of `eligible`.

    `problem`: why they cannot be counted.
    """

    name: str
    index: int  # type: ignore[assignment]  # not `tuple.index`, which nothing calls
    counts: Flat[StatusCounts]
    remaining_cost: Cost
    problem: TextOrNull


class WaitingInNetwork(NamedTuple):
    """How many jobs of a network wait for inputs: most of them have no directory yet."""

    waiting: int


class ShownStatus(NamedTuple):
    """`show status`. `bad`: directories that are set aside, by name, and why.

    `network`: of a project with network.toml.
    """

    project: str
    directories: int
    bad: Mapping[str, str]
    actions: Sequence[ShownAction]
    network: WaitingInNetwork | None


class DirectoryNames(NamedTuple):
    """`show directories` without an action: names. `bad`: as in `ShownStatus`."""

    directories: Sequence[str]
    bad: Mapping[str, str]


class JobReference(NamedTuple):
    """A job by name. `id`: `12`, a task `12_3`, a request of a bundle `12.3`; null: no id yet.

    `token`: rowtui's own name of the job; null for a job that Row submitted.
    """

    cluster: str
    id: str | None
    token: TextOrNull


class ShownDirectory(NamedTuple):
    """A directory and its status for an action.

    `status`: completed, submitted, eligible, waiting; failed, not reached or cancelled for an
    eligible directory whose last job ended so, with the `reason`. `job`: the job with which the
    directory is submitted. `value`: its JSON value.
    """

    name: str
    action: str
    status: Status | None
    failed: FailureJson | None
    reason: str | None
    job: JobReference | None
    value: Any


class ShownGroup(NamedTuple):
    """Directories that one job processes, in order, and what the action asks for that job.

    `number`: from 1. `status`: that of all its directories, null if they differ. Amounts are those
    of workflow.toml: the mapper may change them. `memory_mb`: null where the action states none.
    """

    action: str
    number: int
    directories: Sequence[ShownDirectory]
    directory_count: int
    status: Status | None
    processes: int
    cpus: int
    memory_mb: int | None
    gpus: int
    walltime_seconds: int
    cost: Cost


class ShownGroups(NamedTuple):
    """`show directories --action`: the groups of an action, with their directories."""

    action: str
    groups: Sequence[ShownGroup]


def status_document(
    project: OpenProject, rows: Sequence[tuple[ActionStatus, StatusCounts]]
) -> ShownStatus:
    """The status of these actions, with the waiting jobs of a network."""
    actions = [
        ShownAction(row.action.name, row.action.index, counts, row.remaining_cost, row.problem)
        for row, counts in rows
    ]
    network = None if project.network is None else WaitingInNetwork(project.network.waiting())
    found = len(project.state.directories)
    return ShownStatus(str(project.root), found, project.state.set_aside, actions, network)


def groups_document(project: OpenProject, action: str, elements: Sequence[Element]) -> ShownGroups:
    """The groups of an action, with the status of each directory."""
    from rowtui.core.project.planning.plan_submission import counted_on

    groups: list[ShownGroup] = []
    mapping = project.mapping_in_use() if elements else None
    for element in elements:
        codes = status_codes(element.row, len(project.state.directories))
        requests = counted_on(project, job_requests(element.cut.page(0, element.shown)))
        for request, asked in zip(requests, shown_amounts(project, mapping, requests), strict=True):
            directories = [
                _directory(project, element, position, STATUS_OF[codes[position]])
                for position in request.group.indices
            ]
            groups.append(_group(request, asked, len(groups) + 1, directories))
    return ShownGroups(action, groups)


def _directory(
    project: OpenProject, element: Element, position: int, status: Status | None
) -> ShownDirectory:
    action = element.row.action.name
    end = project.state.ends.get(action, {}).get(position) if status in ENDED else None
    failed = None
    if end is not None and status is Status.FAILED:
        failed = failure_json(end.reason, end)
    job = None
    if (submitted := element.submitted.get(position)) is not None:
        label = job_label(submitted.job_id, submitted.token)
        job = JobReference(submitted.cluster, label, submitted.token)
    directories = project.state.directories
    return ShownDirectory(
        directories.name(position),
        action,
        status,
        failed,
        None if end is None else end.reason,
        job,
        directories.value(position),
    )


def _group(
    request: JobRequest, asked: AskedAmounts, number: int, directories: Sequence[ShownDirectory]
) -> ShownGroup:
    group = request.group
    if asked.refused:  # what the action itself asks for
        asked = as_asked(request)
    statuses = {it.status for it in directories}
    return ShownGroup(
        group.action.name,
        number,
        directories,
        len(group.indices),
        statuses.pop() if len(statuses) == 1 else None,
        request.processes,
        *asked[:5],
    )
