"""Job requests placed by the project's mapping files, those without a place set aside.

A job that may not run (a rule fails it, it waits, it has nowhere to go) is left out of the plan
with its reason; the others go on. Reasons are worked out once for jobs that were placed alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import JobRequest
from rowtui.core.mapping.decision import Placement
from rowtui.core.mapping.reasons import outcome_sentence, reasons, what_to_do
from rowtui.core.mapping.request import MappingRequest, WhatIf
from rowtui.core.submission.basis import Basis
from rowtui.core.submission.placed import Placed, placed
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


class Retry(NamedTuple):
    """What a later attempt is mapped with: what was asked for, and the parameters before."""

    what_if: WhatIf | None = None
    partition: str = ""
    previous_params: Mapping[str, Any] | None = None

    def of(self, asked: MappingRequest) -> MappingRequest:
        """The job as mapping files see it."""
        partition = self.partition or asked.partition
        return asked._replace(
            what_if=self.what_if,
            partition=partition,
            previous_params=self.previous_params,
            state="resubmitted" if asked.attempt > 1 else asked.state,
        )


class Mapped(NamedTuple):
    """The requests that have a place, their places, and a sentence for those that have none.

    `numbers`: which of the requests that were given have one.
    """

    requests: tuple[JobRequest, ...]
    places: tuple[Placed, ...]
    left_out: tuple[str, ...]
    numbers: tuple[int, ...] = ()


def place_requests(
    project: Project, requests: Sequence[JobRequest], retries: Sequence[Retry] | None = None
) -> Mapped:
    """Place them in their order; `retries`: one for each, where they are tried again.

    Raises: RowtuiError if no mapper can be made at all.
    """
    mapping = project.mapping
    mapping.ask_loads_if_read()
    mapping.count_in_use()
    why: dict[tuple[int, int], tuple[str, ...]] = {}
    kept: list[Placement] = []  # so that no other placement gets the identity of a known one
    chosen: list[JobRequest] = []
    places: list[Placed] = []
    numbers: list[int] = []
    left_out: dict[tuple[str, str], list[JobRequest]] = {}
    for number, request in enumerate(requests):
        asked = mapping.request(request)  # it may look at the job's inputs: once
        if retries is not None:
            asked = retries[number].of(asked)
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
        numbers.append(number)
        places.append(
            place._replace(
                reasons=why[key],
                warnings=(*place.warnings, *placement.notices),
                basis=Basis(placement.params, asked.previous_params),
            )
        )
    sentences = left_out_sentences(project, left_out)
    return Mapped(tuple(chosen), tuple(places), sentences, tuple(numbers))


def left_out_sentences(
    project: Project, left_out: Mapping[tuple[str, str], Sequence[JobRequest]]
) -> tuple[str, ...]:
    """A sentence for each (action, reason) with the jobs that it keeps from being sent."""
    return tuple(
        _sentence(project, action, reason, those) for (action, reason), those in left_out.items()
    )


def _sentence(project: Project, action: str, reason: str, requests: Sequence[JobRequest]) -> str:
    first = project.state.directories.name(requests[0].group.indices[0])
    jobs = plural(len(requests), "job")
    return f"{visible(action)}: {jobs} left out, from {visible(first)} on: {reason}"
