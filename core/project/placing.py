"""Job requests placed by the project's mapping files, those without a place set aside.

A job that may not run (a rule fails it, it waits, it has nowhere to go) is left out of the plan
with its reason; the others go on. Reasons are worked out once for jobs that were placed alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import JobRequest
from rowtui.core.mapping.decision import Placement
from rowtui.core.mapping.reasons import outcome_sentence, reasons, what_to_do
from rowtui.core.submission.placed import Placed, placed
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


class Mapped(NamedTuple):
    """The requests that have a place, their places, and a sentence for those that have none."""

    requests: tuple[JobRequest, ...]
    places: tuple[Placed, ...]
    left_out: tuple[str, ...]


def place_requests(project: Project, requests: Sequence[JobRequest]) -> Mapped:
    """Place them in their order. Raises: RowtuiError if no mapper can be made at all."""
    mapping = project.mapping
    mapping.ask_loads_if_read()
    mapping.count_in_use()
    why: dict[tuple[int, int], tuple[str, ...]] = {}
    kept: list[Placement] = []  # so that no other placement gets the identity of a known one
    chosen: list[JobRequest] = []
    places: list[Placed] = []
    left_out: dict[tuple[str, str], list[JobRequest]] = {}
    for request in requests:
        asked = mapping.request(request)  # it may look at the job's inputs: once
        decision, placement = mapping.placed(asked)
        if not placement.chosen:
            hint = what_to_do(placement)
            reason = outcome_sentence(placement) + (f"; {hint}" if hint else "")
            left_out.setdefault((request.action.name, reason), []).append(request)
            continue
        try:
            place = placed(request, placement, mapping.cluster_of(placement))
        except RowtuiError as error:
            reason = error.message + (f"; {error.hint}" if error.hint else "")
            left_out.setdefault((request.action.name, reason), []).append(request)
            continue
        mapping.hold(asked)
        key = (request.action.index, id(placement))
        if key not in why:
            kept.append(placement)
            why[key] = reasons(decision or mapping.decided(asked))
        chosen.append(request)
        places.append(
            place._replace(reasons=why[key], warnings=(*place.warnings, *placement.notices))
        )
    sentences = [
        _sentence(project, action, reason, those) for (action, reason), those in left_out.items()
    ]
    return Mapped(tuple(chosen), tuple(places), tuple(sentences))


def _sentence(project: Project, action: str, reason: str, requests: Sequence[JobRequest]) -> str:
    first = project.state.directories.name(requests[0].group.indices[0])
    jobs = plural(len(requests), "job")
    return f"{visible(action)}: {jobs} left out, from {visible(first)} on: {reason}"
