"""Directories, groups, failures and explanations of placements as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowtui.core.base.document import document
from rowtui.core.base.json import VERSION, problem_data
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.engine.api.json.values import cost_of
from rowtui.core.groups.model import ENDED, Status
from rowtui.core.project.planning.asked import as_asked
from rowtui.core.submission.plan.outcome import read_old_end

if TYPE_CHECKING:
    from rowtui.core.base.json.directories import DirectoryJson, FailureJson, GroupJson
    from rowtui.core.groups.model import JobRequest
    from rowtui.core.project.planning.asked import AskedAmounts
    from rowtui.core.project.project import Project
    from rowtui.core.project.views.views import PlacementExplanation
    from rowtui.core.state.model import LastEnd, Submitted


def directory_of(
    project: Project,
    action: str,
    position: int,
    status: Status | None,
    submitted: Submitted | None = None,
) -> DirectoryJson:
    """One directory of an action. `submitted`: the job with which it is submitted."""
    directories = project.state.directories
    end = project.state.ends.get(action, {}).get(position) if status in ENDED else None
    return {
        "name": directories.name(position),
        "action": action,
        "status": None if status is None else status.value,
        "failed": failure_of(end) if end is not None and status is Status.FAILED else None,
        "reason": None if end is None else end.reason,
        "job": None
        if submitted is None
        else {
            "cluster": submitted.cluster,
            "id": job_label(submitted.job_id, submitted.token),
            "token": submitted.token or None,
        },
        "value": directories.value(position),
    }


def failure_of(end: LastEnd) -> FailureJson:
    """How the last job of a directory ended."""
    return failed_for(end.reason, job_label(end.job_id, end.token), end.cluster)


def failed_for(reason: str, job: str | None, cluster: str) -> FailureJson:
    """A failure by the reason on record."""
    found = read_old_end(None, reason)
    return {
        "exit_code": found.exit_code,
        "signal": found.signal or None,
        "reason": reason,
        "job": job,
        "cluster": cluster,
    }


def group_of(
    request: JobRequest, asked: AskedAmounts, number: int, directories: list[DirectoryJson]
) -> GroupJson:
    """A group and what its job asks for, as mapping files have it. `number`: from 1."""
    group = request.group
    if asked.refused:  # what the action itself asks for
        asked = as_asked(request)
    statuses = {it["status"] for it in directories}
    return {
        "action": group.action.name,
        "number": number,
        "directories": directories,
        "directory_count": len(group.indices),
        "status": statuses.pop() if len(statuses) == 1 else None,
        "processes": request.processes,
        "cpus": asked.cpus,
        "memory_mb": asked.memory_mb,
        "gpus": asked.gpus,
        "walltime_seconds": asked.walltime_seconds,
        "cost": cost_of(asked.cost),
    }


def explanation_of(explanation: PlacementExplanation, action: str, about: str) -> dict[str, Any]:
    """Return what `explain --json` prints of one group. `about`: which directories."""
    from rowtui.core.mapping.model.decision_json import Explained, GroupsDecision, shown_decision

    number, decision = explanation.group, explanation.decision
    these = (((number, number),), explanation.directories, explanation.first)
    explained = Explained(
        action,
        about,
        explanation.groups,
        None,
        explanation.files,
        [problem_data(each) for each in explanation.problems],
        [] if decision is None else [GroupsDecision(*these, shown_decision(decision))],
    )
    return {"version": VERSION, **document(explained)}
