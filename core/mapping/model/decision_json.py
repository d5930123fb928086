"""Convert a decision to the JSON objects of `rowtui.core.base.json`.

The input is a `Decision` (and the load of partitions, if known); the output is dicts, lists and
JSON values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rowtui.core.clusters.model import PartitionLoad
from rowtui.core.mapping.engine.destinations import whole
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Contribution,
    Decision,
    LiftingChange,
    MappingOutcome,
    Placement,
    Refusal,
)
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts, MappingRequest, WhatIf
from rowtui.core.mapping.model.sentences import outcome_sentence, reasons, what_to_do

if TYPE_CHECKING:
    from rowtui.core.base.json.directories import AmountsJson, PlaceJson
    from rowtui.core.base.json.mapping import (
        CandidateJson,
        CheckJson,
        DecisionJson,
        OfferJson,
        OriginJson,
        PlacementJson,
        RefusalJson,
        RequestJson,
        ValueJson,
        WhatIfJson,
        WouldTakeJson,
    )

Loads: TypeAlias = Mapping[tuple[str, str], PartitionLoad]

DEEPEST = 50  # of nested values, as in YAML files, whose own limit is `yaml_text.DEEPEST`


def decision_data(decision: Decision, loads: Loads | None = None) -> DecisionJson:
    """Return the whole decision. `loads`: (cluster, partition) -> the load, where it is known."""
    known = loads or {}
    request, totals = decision.request, decision.request.totals
    chosen: PlaceJson | None = None
    for each in decision.candidates:
        if each.chosen:
            chosen = {"cluster": each.cluster, "partition": each.partition or None}
    return {
        "request": request_data(request),
        **placement_data(decision.chosen),
        "destination": chosen,
        "walltime_seconds": None if totals is None else totals.walltime_seconds,
        "matched": [
            {"pattern": each.pattern, "subject": each.subject, "origin": origin_data(each.origin)}
            for each in decision.matched
        ],
        "rules": [
            {
                "condition": each.condition,
                "matched": each.matched,
                "effect": each.effect,
                "origin": origin_data(each.origin),
            }
            for each in decision.rules
        ],
        "job": amounts_data(decision.job),
        "tags": [
            {"tag": tag, "strength": strength, "origin": origin_data(origin)}
            for strength, tag, origin in decision.tags
        ],
        "values": [contribution_data(each) for each in decision.contributions],
        "candidates": [candidate_data(each, known) for each in decision.candidates],
        "refusals": [refusal_data(each, known) for each in decision.refusals],
        "ranked_by": decision.ranked_by,
        "reasons": list(reasons(decision)),
    }


def request_data(request: MappingRequest) -> RequestJson:
    """Return the request."""
    user, totals = request.user, request.totals
    return {
        "action": request.tool_id,
        "user": None
        if user is None
        else {"name": user.name, "email": user.email, "roles": list(user.roles)},
        "declared": amounts_data(request.declared),
        "input_size": plain(request.input_size),
        "attempt": request.attempt,
        "cluster": request.cluster,
        "partition": request.partition,
        "walltime_seconds": None if totals is None else totals.walltime_seconds,
        "what_if": None if request.what_if is None else what_if_data(request.what_if),
    }


def what_if_data(what_if: WhatIf) -> WhatIfJson:
    """Return the hypothetical changes of the user's request."""
    return {
        **amounts_data(what_if.amounts),
        "walltime_seconds": what_if.walltime_seconds,
        "drop_tags": list(what_if.drop_tags),
        "add_tags": [{"tag": tag, "strength": strength} for tag, strength in what_if.add_tags],
    }


def placement_data(placement: Placement) -> PlacementJson:
    """Return where the job goes and with which values, or why nowhere."""
    return {
        "state": _state(placement.outcome),
        "outcome": placement.outcome.value,
        "reason": outcome_sentence(placement),
        "destination_id": placement.destination or None,
        "name": placement.name or None,
        "runner": placement.runner or None,
        **amounts_data(placement.amounts),
        "env": [plain(each) for each in placement.env],
        "params": plain(placement.params),
        "resubmit": plain(placement.resubmit),
        "handler_tags": plain(placement.handler_tags),
        "message": placement.message or None,
        "cause": placement.cause or None,
        "origin": None if placement.origin is None else origin_data(placement.origin),
        "hint": what_to_do(placement) or None,
        "notices": list(placement.notices),
    }


def _state(outcome: MappingOutcome) -> Literal["placed", "refused", "waiting"]:
    if outcome is MappingOutcome.CHOSEN:
        return "placed"
    return "waiting" if outcome in (MappingOutcome.WAITS, MappingOutcome.UNTRUSTED) else "refused"


def contribution_data(contribution: Contribution) -> ValueJson:
    """Return one value, its origin, and the values that it replaced (nearest first)."""
    return {
        "field": contribution.field,
        "value": plain(contribution.value),
        "written": plain(contribution.written),
        "origin": origin_data(contribution.origin),
        "replaced": [
            {"written": plain(written), "origin": origin_data(origin)}
            for written, origin in contribution.replaced
        ],
    }


def candidate_data(candidate: Candidate, loads: Loads) -> CandidateJson:
    """Return a destination that takes the job. `rank` is null if a rank function left it out."""
    return {
        **_where(candidate, loads),
        "rank": candidate.rank or None,
        "score": candidate.score,
        "by_tag": [{"tag": tag, "points": points} for tag, points in candidate.by_tag],
        "chosen": candidate.chosen,
        "passed_over": candidate.tried or None,
        "checks": [check_data(each) for each in candidate.checks],
    }


def refusal_data(refusal: Refusal, loads: Loads) -> RefusalJson:
    """Return a destination that does not take the job."""
    return {
        **_where(refusal, loads),
        "failed": [check_data(each) for each in refusal.failed],
        "checks": [check_data(each) for each in refusal.checks],
        "changes": [_change(each) for each in refusal.changes],
    }


def _where(of: Candidate | Refusal, loads: Loads) -> OfferJson:
    load = loads.get((of.cluster, of.partition))
    return {
        "destination_id": of.destination,
        "cluster": of.cluster,
        "partition": of.partition or None,
        "origin": origin_data(of.origin),
        "expected_wait_seconds": None if load is None else plain(load.expected_wait),
        "free_cpus": None if load is None else load.free_cores,
        "pending_jobs": None if load is None else load.pending,
    }


def check_data(check: ConstraintCheck) -> CheckJson:
    """Return one constraint, with its request and its offer."""
    return {
        "constraint": check.constraint,
        "asked": check.asked,
        "offered": check.offered,
        "passed": check.passed,
        "hint": check.hint or None,
        "origin": None if check.origin is None else origin_data(check.origin),
    }


def _change(change: LiftingChange) -> WouldTakeJson:
    return {
        "words": change.words,
        "would_be_first": change.first,
        "what_if": what_if_data(change.what_if),
    }


def amounts_data(amounts: Amounts) -> AmountsJson:
    """Return amounts in the units of all JSON output; mapping files have memory in GB."""
    memory = _number(amounts.mem)
    return {
        "cpus": _number(amounts.cores),
        "memory_mb": None if memory is None else whole(memory * 1024),
        "gpus": _number(amounts.gpus),
    }


def _number(amount: Any) -> float | None:
    """Return an amount, or None if it is no finite number (dialect tpv3 does not check amounts)."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        return None
    return amount if math.isfinite(amount) else None


def origin_data(origin: Origin) -> OriginJson:
    """Return the origin of a value; line and column are from 1, or 0 for the whole file."""
    return {
        "kind": origin.kind,
        "id": origin.id,
        "rule": origin.rule,
        "file": origin.place.file,
        "line": origin.place.line,
        "column": origin.place.column,
    }


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value of a mapping file as JSON; values that JSON does not have become text."""
    if value is None or isinstance(value, (bool, int)) or type(value) is str:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:  # an object of a class that an expression defines
        return f"<{type(value).__name__}: {type(error).__name__}>"
