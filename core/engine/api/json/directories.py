"""Failures of directories and explanations of placements as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowtui.core.base.document import document
from rowtui.core.base.json import VERSION, problem_data
from rowtui.core.submission.plan.outcome import read_old_end

if TYPE_CHECKING:
    from rowtui.core.base.json.directories import FailureJson
    from rowtui.core.project.views.views import PlacementExplanation


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
