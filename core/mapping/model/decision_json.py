"""What `explain --json` prints: decisions of the mapper with the mapping files behind them.

Records of the mapper are parts of it as they are; here are the selections and sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rowtui.core.base.document import Flat, TextOrNull, plain
from rowtui.core.base.errors import Problem
from rowtui.core.mapping.files.places import FileTrust
from rowtui.core.mapping.model.decision import (
    Candidate,
    Contribution,
    Decision,
    JobTag,
    MappingOutcome,
    Matched,
    Placement,
    Refusal,
    RuleOutcome,
)
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts, MappingRequest, Person, WhatIf
from rowtui.core.mapping.model.sentences import outcome_sentence, reasons, what_to_do


class ShownRequest(NamedTuple):
    """What the mapper is asked about one job. `declared`: what the action asks for.

    `input_size`: of its declared inputs, GB (2^30 bytes).
    """

    action: str
    user: Person | None
    declared: Amounts
    input_size: float
    attempt: int
    cluster: str
    partition: str | None
    walltime_seconds: int | None
    what_if: WhatIf | None


class ShownPlacement(NamedTuple):
    """Where the mapper sends a job and with what, or why nowhere.

    `state`: placed, refused or waiting; `outcome`: the mapper's own word. `destination_id`: the id
    of the destination in the mapping files. `hint`: what the user can do. `cause`: the class of an
    exception in an expression. `params`, `env`, `resubmit`, `handler_tags`: as in the files.
    """

    state: Literal["placed", "refused", "waiting"]
    outcome: str
    reason: str
    destination_id: TextOrNull
    name: TextOrNull
    runner: TextOrNull
    amounts: Flat[Amounts]
    env: Sequence[Any]
    params: Mapping[str, Any]
    resubmit: Mapping[str, Any]
    handler_tags: Sequence[Any]
    message: TextOrNull
    cause: TextOrNull
    origin: Origin | None
    hint: TextOrNull
    notices: tuple[str, ...]


class PlaceJson(NamedTuple):
    """A cluster, and a partition of it; null for a scheduler without partitions."""

    cluster: str
    partition: TextOrNull


class ShownDecision(NamedTuple):
    """The mapper's answer for one job, with all that led to it.

    `destination`: null without a place. `job`: its amounts before a destination changed them.
    """

    request: ShownRequest
    placement: Flat[ShownPlacement]
    destination: PlaceJson | None
    walltime_seconds: int | None
    matched: tuple[Matched, ...]
    rules: tuple[RuleOutcome, ...]
    job: Amounts
    tags: tuple[JobTag, ...]
    values: tuple[Contribution, ...]
    candidates: tuple[Candidate, ...]
    refusals: tuple[Refusal, ...]
    ranked_by: str
    reasons: tuple[str, ...]


class GroupsDecision(NamedTuple):
    """A decision, and the groups that it holds for: `groups` are ranges of numbers from 1.

    `directory_count` and `first_directory` are of the first of these groups.
    """

    groups: Sequence[Sequence[int]]
    directory_count: int
    first_directory: str
    decision: Flat[ShownDecision]


class Explained(NamedTuple):
    """`explain`: where the jobs of an action go, and why.

    `about`: which directories the groups are made of. `group_count`: how many groups there are.
    `why_not`: the destination that was asked about.
    """

    action: str
    about: str
    group_count: int
    why_not: str | None
    files: Sequence[FileTrust]
    problems: Sequence[Problem]
    decisions: Sequence[GroupsDecision]


def shown_decision(decision: Decision) -> ShownDecision:
    """Return a decision with its reasons in sentences."""
    request, totals = decision.request, decision.request.totals
    places = [PlaceJson(it.cluster, it.partition) for it in decision.candidates if it.chosen]
    return ShownDecision(
        shown_request(request),
        shown_placement(decision.chosen),
        places[-1] if places else None,
        None if totals is None else totals.walltime_seconds,
        decision.matched,
        decision.rules,
        decision.job,
        decision.tags,
        decision.contributions,
        decision.candidates,
        decision.refusals,
        decision.ranked_by,
        reasons(decision),
    )


def shown_request(request: MappingRequest) -> ShownRequest:
    """Return what a request asks for."""
    return ShownRequest(
        request.tool_id,
        request.user,
        request.declared,
        plain(request.input_size),
        request.attempt,
        request.cluster,
        request.partition,
        None if request.totals is None else request.totals.walltime_seconds,
        request.what_if,
    )


def shown_placement(placement: Placement) -> ShownPlacement:
    """Return a placement with its reason in a sentence."""
    return ShownPlacement(
        _state(placement.outcome),
        placement.outcome.value,
        outcome_sentence(placement),
        placement.destination,
        placement.name,
        placement.runner,
        placement.amounts,
        plain(placement.env),
        plain(placement.params),
        plain(placement.resubmit),
        plain(placement.handler_tags),
        placement.message,
        placement.cause,
        placement.origin,
        what_to_do(placement),
        placement.notices,
    )


def _state(outcome: MappingOutcome) -> Literal["placed", "refused", "waiting"]:
    if outcome is MappingOutcome.CHOSEN:
        return "placed"
    return "waiting" if outcome in (MappingOutcome.WAITS, MappingOutcome.UNTRUSTED) else "refused"
