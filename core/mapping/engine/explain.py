"""The decision for a job, with the smallest changes that would admit it where it is refused.

The input is a mapper and a request; the output is a `Decision` with all reasons. Each change is
tested: the same mapper runs again with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rowtui.core.base.text import in_words, visible
from rowtui.core.mapping.engine.destinations import DestinationOffer, amount_text, needs_its_amount
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.engine.watched import watched
from rowtui.core.mapping.model.decision import ConstraintCheck, Decision, LiftingChange, Refusal
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.request import (
    NOTHING_KNOWN,
    AddedTag,
    Amounts,
    ClusterFacts,
    MappingRequest,
    WhatIf,
)
from rowtui.core.mapping.model.sentences import amount_in_words, check_sides


def decide(
    mapper: Mapper,
    request: MappingRequest,
    facts: ClusterFacts = NOTHING_KNOWN,
    *,
    changes: bool = True,
) -> Decision:
    """Return the decision for a request, with every reason.

    `changes`: also compute the changes that would admit the job. Never raises for the contents of
    files.
    """
    decision = watched(mapper, request, facts)
    if not changes:
        return decision
    refusals = tuple(
        refusal._replace(changes=tuple(_admitting(mapper, refusal, request, facts, decision.job)))
        for refusal in decision.refusals
    )
    return decision._replace(refusals=refusals)


def _admitting(
    mapper: Mapper, refusal: Refusal, request: MappingRequest, facts: ClusterFacts, amounts: Amounts
) -> Iterator[LiftingChange]:
    """Yield single changes, or all of them together if no single change suffices."""
    singles = [
        (words, what_if)
        for check in refusal.failed
        for words, what_if in _remedies(
            mapper.all_offers[refusal.destination_id], check, amounts, request
        )
    ]
    single_works = False
    for words, what_if in singles:
        change = _tested(mapper, refusal.destination_id, request, facts, (words, what_if))
        if change is not None:
            single_works = True
            yield change
    if not single_works and len(singles) > 1:
        words = ", ".join(dict.fromkeys(words for words, _ in singles))
        whole = _together([what_if for _, what_if in singles])
        change = _tested(mapper, refusal.destination_id, request, facts, (words, whole))
        if change is not None:
            yield change


def _tested(
    mapper: Mapper,
    destination: str,
    request: MappingRequest,
    facts: ClusterFacts,
    remedy: tuple[str, WhatIf],
) -> LiftingChange | None:
    """Return the change if the mapper takes the destination when it runs with the change."""
    words, what_if = remedy
    asked = request._replace(what_if=_together([request.what_if or WhatIf(), what_if]))
    again = watched(mapper, asked, facts)
    for candidate in again.candidates:
        if candidate.destination_id == destination and candidate.rank and not candidate.passed_over:
            return LiftingChange(words, what_if, candidate.chosen)
    return None


_LIMITED = {"maximum_cpus_per_job": "cores", "maximum_gpus_per_job": "gpus"}
"""The amount that a limit of a partition applies to."""


def _remedies(
    offer: DestinationOffer, check: ConstraintCheck, amounts: Amounts, request: MappingRequest
) -> Iterator[tuple[str, WhatIf]]:
    """Yield possible remedies for one failed check: words and the change.

    CPUs and GPUs that each directory needs are not reduced: the job could not use the destination.
    """
    bound, _, rest = check.constraint.partition("_accepted_")
    needed = rest or _LIMITED.get(check.constraint, "")
    if bound.startswith("max") and needs_its_amount(needed, getattr(amounts, needed, 0), request):
        return
    if rest in AMOUNTS:
        yield _amount(rest, amounts, getattr(offer.entity, check.constraint))
    elif check.tag:
        yield from _tag_remedy(check)
    elif offer.partition is not None:
        partition = offer.partition
        if check.constraint == "maximum_cpus_per_job":
            yield _amount("cores", amounts, partition.maximum_cpus_per_job)
        elif check.constraint == "maximum_gpus_per_job":
            yield _amount("gpus", amounts, partition.maximum_gpus_per_job)
        elif check.constraint == "minimum_gpus_per_job":
            yield _amount("gpus", amounts, partition.minimum_gpus_per_job)
        elif check.constraint in {"require_cpus_multiple_of", "require_gpus_multiple_of"}:
            what = "cores" if "cpus" in check.constraint else "gpus"
            of = getattr(partition, check.constraint)
            asked = getattr(amounts, what) or 0
            yield _amount(what, amounts, max(1, -(-int(asked) // of)) * of)
        elif check.constraint == "maximum_walltime" and partition.maximum_walltime_seconds:
            limit = partition.maximum_walltime_seconds
            asked, _ = check_sides(check)
            words = f"{in_words(limit / 3600)} instead of {asked}"
            yield words, WhatIf(walltime_seconds=limit)


def _amount(what: str, amounts: Amounts, limit: Any) -> tuple[str, WhatIf]:
    asked = getattr(amounts, what)
    words = amount_in_words(what, limit)
    if asked is not None:
        words += f" instead of {amount_text(asked)}"
    return words, WhatIf(amounts=Amounts()._replace(**{what: limit}))


def _tag_remedy(check: ConstraintCheck) -> Iterator[tuple[str, WhatIf]]:
    shown = visible(check.tag)
    if "does not have" in check.asked:
        yield f"with the tag {shown}", WhatIf(add_tags=(AddedTag(check.tag, "accept"),))
        return
    yield f"without the tag {shown}", WhatIf(drop_tags=(check.tag,))


def _together(changes: Sequence[WhatIf]) -> WhatIf:
    amounts: dict[str, Any] = {}
    walltime = None
    for change in changes:
        amounts.update({k: v for k, v in change.amounts._asdict().items() if v is not None})
        walltime = change.walltime_seconds if change.walltime_seconds is not None else walltime
    return WhatIf(
        Amounts(**amounts),
        walltime,
        tuple(tag for change in changes for tag in change.drop_tags),
        tuple(tag for change in changes for tag in change.add_tags),
    )
