"""Placement of job requests by the project's mapping files; requests without a place are set aside.

A job that may not run (a rule fails it, it has to wait, or no destination fits) is left out of the
plan with its reason; the other jobs are planned. Reasons are computed once for jobs with the same
placement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.groups.model import JobRequest
from rowtui.core.mapping.model.decision import Decision, Placement
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import MappingRequest, WhatIf
from rowtui.core.mapping.model.sentences import outcome_sentence, reasons, what_to_do
from rowtui.core.submission.plan.apply_placement import PlacedRequest, placed
from rowtui.core.submission.plan.basis import PlacementBasis
from rowtui.core.submission.plan.model import RefusedAt, RefusedWork

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


class Retry(NamedTuple):
    """The mapping input of a later attempt: the requested changes, and the previous parameters."""

    what_if: WhatIf | None = None
    partition: str = ""
    previous_params: Mapping[str, Any] | None = None

    def of(self, asked: MappingRequest) -> MappingRequest:
        """Return the job as mapping files see it."""
        partition = self.partition or asked.partition
        return asked._replace(
            what_if=self.what_if,
            partition=partition,
            previous_params=self.previous_params,
            state="resubmitted" if asked.attempt > 1 else asked.state,
        )


class Mapped(NamedTuple):
    """The requests that have a place, their places, and the refused requests.

    `numbers`: positions of the placed requests in the list that was given.
    """

    requests: tuple[JobRequest, ...]
    places: tuple[PlacedRequest, ...]
    refused: tuple[RefusedWork, ...]
    numbers: tuple[int, ...] = ()


def place_requests(
    project: OpenProject, requests: Sequence[JobRequest], retries: Sequence[Retry] | None = None
) -> Mapped:
    """Place the requests in their order. `retries`: one for each request of a later attempt.

    Raises: RowtuiError if no mapper can be made at all.
    """
    mapping = project.mapping
    mapping.ask_loads_if_read()
    mapping.count_in_use()
    why: dict[tuple[int, int], tuple[str, ...]] = {}
    # keeps each placement alive, so that no other placement gets the same `id()`
    kept: list[Placement] = []
    chosen: list[JobRequest] = []
    places: list[PlacedRequest] = []
    numbers: list[int] = []
    left_out: dict[tuple[str, str, str], list[JobRequest]] = {}
    places_of_faults: dict[tuple[str, str], str] = {}
    for number, request in enumerate(requests):
        asked = mapping.request(request)  # reads the job's inputs if needed, so it is called once
        if retries is not None:
            asked = retries[number].of(asked)
        decision, placement = mapping.placed(asked)
        if not placement.chosen:
            reason, hint = outcome_sentence(placement), what_to_do(placement)
            left_out.setdefault((request.action.name, reason, hint), []).append(request)
            continue
        try:
            place = placed(request, placement, mapping.cluster_of(placement))
        except RowtuiError as error:
            fault = (request.action.name, error.message)
            if fault not in places_of_faults:
                blamed = _origin_of(error.message, decision or mapping.decided(asked))
                places_of_faults[fault] = f" ({blamed})" if blamed else ""
            key = (fault[0], error.message + places_of_faults[fault], error.hint)
            left_out.setdefault(key, []).append(request)
            continue
        mapping.hold(asked)
        alike = (request.action.index, id(placement))
        if alike not in why:
            kept.append(placement)
            why[alike] = reasons(decision or mapping.decided(asked))
        chosen.append(request)
        numbers.append(number)
        places.append(
            place._replace(
                reasons=why[alike],
                warnings=(*place.warnings, *placement.notices),
                basis=PlacementBasis(placement.params, asked.previous_params),
            )
        )
    return Mapped(tuple(chosen), tuple(places), refused_requests(project, left_out), tuple(numbers))


def _origin_of(message: str, decision: Decision) -> Origin | None:
    """Return the origin of the value that an error names, None if it names none."""
    named = [
        each
        for each in decision.contributions
        if visible(each.field.partition(".")[2] or each.field) in message
    ]
    return max(named, key=lambda each: len(each.field)).origin if named else None


def refused_requests(
    project: OpenProject,
    left_out: Mapping[tuple[str, str, str], Sequence[JobRequest]],
    stage: RefusedAt = RefusedAt.MAPPING,
) -> tuple[RefusedWork, ...]:
    """Return the jobs that a plan leaves out, by action, reason and hint."""
    name = project.state.directories.name
    return tuple(
        RefusedWork(
            stage,
            action,
            tuple(tuple(map(name, request.group.indices)) for request in requests),
            reason,
            hint,
        )
        for (action, reason, hint), requests in left_out.items()
    )
