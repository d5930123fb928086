"""A decision as plain data for JSON, with names of keys that stay.

Takes a `Decision` (and what is known of how busy partitions are); gives dicts, lists and values
that JSON has. Source: docs/formats.md, "explain --json".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from rowtui.core.clusters.model import PartitionLoad
from rowtui.core.errors import Problem
from rowtui.core.mapping.decision import (
    Candidate,
    Change,
    Check,
    Contribution,
    Decision,
    Placement,
    Refusal,
)
from rowtui.core.mapping.origin import Origin
from rowtui.core.mapping.reasons import outcome_sentence, reasons, what_to_do
from rowtui.core.mapping.request import Amounts, MappingRequest, WhatIf

Data: TypeAlias = dict[str, Any]
Loads: TypeAlias = Mapping[tuple[str, str], PartitionLoad]

DEEPEST = 50  # of nested values; YAML itself is read no deeper than 100


def decision_data(decision: Decision, loads: Loads | None = None) -> Data:
    """The whole decision. `loads`: (cluster, partition) -> how busy it is, where that is known."""
    known = loads or {}
    return {
        "request": request_data(decision.request),
        "outcome": placement_data(decision.chosen),
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


def request_data(request: MappingRequest) -> Data:
    """What was asked."""
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


def what_if_data(what_if: WhatIf) -> Data:
    """The changes that someone wonders about."""
    return {
        **amounts_data(what_if.amounts),
        "walltime_seconds": what_if.walltime_seconds,
        "drop_tags": list(what_if.drop_tags),
        "add_tags": [{"tag": tag, "strength": strength} for tag, strength in what_if.add_tags],
    }


def placement_data(placement: Placement) -> Data:
    """Where the job goes and with what, or why nowhere."""
    return {
        "status": placement.outcome.value,
        "sentence": outcome_sentence(placement),
        "destination": placement.destination,
        "name": placement.name,
        "runner": placement.runner,
        **amounts_data(placement.amounts),
        "env": [plain(each) for each in placement.env],
        "params": plain(placement.params),
        "resubmit": plain(placement.resubmit),
        "handler_tags": plain(placement.handler_tags),
        "message": placement.message,
        "cause": placement.cause,
        "origin": None if placement.origin is None else origin_data(placement.origin),
        "what_to_do": what_to_do(placement),
        "notices": list(placement.notices),
    }


def contribution_data(contribution: Contribution) -> Data:
    """One value, who said it, and what it replaced (nearest first)."""
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


def candidate_data(candidate: Candidate, loads: Loads) -> Data:
    """A destination that takes the job. `rank` null: a rank function left it out."""
    return {
        **_where(candidate, loads),
        "rank": candidate.rank or None,
        "score": candidate.score,
        "by_tag": [{"tag": tag, "points": points} for tag, points in candidate.by_tag],
        "chosen": candidate.chosen,
        "passed_over": candidate.tried,
        "checks": [check_data(each) for each in candidate.checks],
    }


def refusal_data(refusal: Refusal, loads: Loads) -> Data:
    """A destination that does not take the job."""
    return {
        **_where(refusal, loads),
        "failed": [check_data(each) for each in refusal.failed],
        "checks": [check_data(each) for each in refusal.checks],
        "changes": [_change(each) for each in refusal.changes],
    }


def _where(of: Candidate | Refusal, loads: Loads) -> Data:
    load = loads.get((of.cluster, of.partition))
    return {
        "destination": of.destination,
        "cluster": of.cluster,
        "partition": of.partition,
        "origin": origin_data(of.origin),
        "expected_wait_seconds": None if load is None else plain(load.expected_wait),
        "free_cores": None if load is None else load.free_cores,
        "pending_jobs": None if load is None else load.pending,
    }


def check_data(check: Check) -> Data:
    """One constraint, asked against offered."""
    return {
        "constraint": check.constraint,
        "asked": check.asked,
        "offered": check.offered,
        "passed": check.passed,
        "hint": check.hint,
        "origin": None if check.origin is None else origin_data(check.origin),
    }


def _change(change: Change) -> Data:
    return {
        "words": change.words,
        "would_be_first": change.first,
        "what_if": what_if_data(change.what_if),
    }


def amounts_data(amounts: Amounts) -> Data:
    """cores, mem (GB) and gpus; null where nobody says."""
    return {
        "cores": plain(amounts.cores),
        "mem": plain(amounts.mem),
        "gpus": plain(amounts.gpus),
    }


def origin_data(origin: Origin) -> Data:
    """Who said it and where it is written; line and column from 1, 0 for the whole file."""
    return {
        "kind": origin.kind,
        "id": origin.id,
        "rule": origin.rule,
        "file": origin.place.file,
        "line": origin.place.line,
        "column": origin.place.column,
    }


def problem_data(problem: Problem) -> Data:
    """What is wrong with a file, and where."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
    }


def plain(value: Any, depth: int = 0) -> Any:
    """A value of a mapping file as JSON has it; what JSON does not have becomes text."""
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
    except Exception as error:  # an object of somebody's expression
        return f"<{type(value).__name__}: {type(error).__name__}>"
