"""Run the same mapping again with a watcher, and collect the reasons of its result.

The input is a mapper and a request; the output is a `Decision`: which entities matched, the values
that each contributed, every rule, every destination with every check, the order of trying, and for
each refused destination the smallest changes that would admit the job, each tested on the mapper
itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.engine.destinations import (
    DestinationOffer,
    amount_text,
    checks,
    needs_its_amount,
)
from rowtui.core.mapping.engine.jobs import JobWithAmounts
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Contribution,
    Decision,
    LiftingChange,
    Matched,
    Placement,
    Refusal,
    RuleOutcome,
)
from rowtui.core.mapping.model.entities import Entity, Rule
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS, Origin, env_key
from rowtui.core.mapping.model.request import (
    NOTHING_KNOWN,
    Amounts,
    ClusterFacts,
    MappingRequest,
    WhatIf,
)
from rowtui.core.mapping.model.tags import score
from rowtui.core.workflow.duration import format_duration

LEFT_OUT = "left out by the rank function"


class _Notes:
    """Records the calls of the mapper. See `mapper.Watcher`."""

    def __init__(self) -> None:
        self.entities: tuple[Matched, ...] = ()
        self.begin()

    def begin(self) -> None:
        self.rules: list[RuleOutcome] = []
        self.lanes: list[tuple[Entity, dict[str, Any]]] = []
        self.job: JobWithAmounts | None = None
        self.order: list[str] = []
        self.by = "score"
        self.turns: dict[str, str] = {}
        self.final: Entity | None = None

    def matched(self, matched: Sequence[Matched]) -> None:
        self.entities = tuple(matched)

    def rule(self, rule: Rule, matched: bool, before: Entity, after: Entity) -> None:
        condition = str(rule.if_condition).strip()
        effect = _effect(rule) if matched else ""
        self.rules.append(RuleOutcome(rule.origin, condition, matched, effect))

    def lane(self, entity: Entity, found: dict[str, Any]) -> None:
        self.lanes.append((entity, dict(found)))

    def settled(self, settled: JobWithAmounts) -> None:
        self.job = settled

    def ranked(self, destinations: Sequence[str], by: str) -> None:
        self.order = list(dict.fromkeys(destinations))
        self.by = by

    def tried(self, destination: str, why_not: str) -> None:
        self.turns[destination] = why_not

    def laid(self, entity: Entity) -> None:
        self.final = entity


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
    notes = _Notes()
    placement = mapper.watch(request, facts, notes)
    if notes.job is None:
        return Decision(request, placement, notes.entities, tuple(notes.rules))
    entity, amounts = notes.job.plan.entity, notes.job.amounts
    candidates, refusals = _destinations(mapper, notes, request, facts)
    if changes:
        refusals = tuple(
            refusal._replace(changes=tuple(_admitting(mapper, refusal, request, facts, amounts)))
            for refusal in refusals
        )
    return Decision(
        request=request,
        chosen=placement,
        matched=notes.entities,
        rules=tuple(notes.rules),
        job=amounts,
        tags=tuple(
            (strength, tag, entity.whence(f"tags.{tag}"))
            for tag, strength in entity.tpv_tags.strengths().items()
        ),
        contributions=tuple(_contributions(notes, placement)),
        candidates=candidates,
        refusals=refusals,
        ranked_by=notes.by,
        entity_id=entity.id,
    )


def _effect(rule: Rule) -> str:
    """Return the effect of a rule in few words."""
    parts = ["runs code"] if rule.execute else []
    parts += ["fails the job"] if rule.fail else []
    for field in rule.said:
        name, _, key = field.partition(".")
        if name not in {"if_condition", "execute", "fail"}:
            value = rule.said[field][0].value
            parts.append(f"{value}s {key}" if name == "tags" else f"{field} = {value}")
    return visible(", ".join(parts))


# Destinations


def _destinations(
    mapper: Mapper, notes: _Notes, request: MappingRequest, facts: ClusterFacts
) -> tuple[tuple[Candidate, ...], tuple[Refusal, ...]]:
    assert notes.job is not None
    entity, amounts = notes.job.plan.entity, notes.job.amounts
    candidates, refusals = [], []
    for name, offer in mapper.all_offers.items():
        if offer.entity.abstract:
            continue
        found = checks(offer, entity, amounts, request, facts)
        sealed = mapper.sealed.get(name)
        if sealed is not None:
            found = (ConstraintCheck("trust", "trusted code", sealed.message, False), *found)
        failed = tuple(check for check in found if not check.passed)
        where = (name, offer.entity.runner or "", offer.partition_name)
        # a rank function may name destinations that do not fit
        if failed and name not in notes.order:
            refusals.append(Refusal(*where, failed, found, offer.entity.origin))
            continue
        by_tag = score(offer.entity.tpv_dest_tags, entity.tpv_tags, mapper.dialect)
        rank = notes.order.index(name) + 1 if name in notes.order else 0
        candidates.append(
            Candidate(
                *where,
                rank=rank,
                score=sum(points for _, points in by_tag),
                by_tag=by_tag,
                checks=found,
                origin=offer.entity.origin,
                chosen=notes.turns.get(name) == "",
                tried=notes.turns.get(name, "") if rank else LEFT_OUT,
            )
        )
    candidates.sort(key=lambda each: (each.rank == 0, each.rank))
    return tuple(candidates), tuple(refusals)


# Changes that would admit a job where it is refused


def _admitting(
    mapper: Mapper, refusal: Refusal, request: MappingRequest, facts: ClusterFacts, amounts: Amounts
) -> Iterator[LiftingChange]:
    """Yield single changes, or all of them together if no single change suffices."""
    singles = [
        (words, what_if)
        for check in refusal.failed
        for words, what_if in _remedies(
            mapper.all_offers[refusal.destination], check, amounts, request
        )
    ]
    single_works = False
    for words, what_if in singles:
        change = _tested(mapper, refusal.destination, request, facts, (words, what_if))
        if change is not None:
            single_works = True
            yield change
    if not single_works and len(singles) > 1:
        words = " and ".join(dict.fromkeys(words for words, _ in singles))
        whole = _together([what_if for _, what_if in singles])
        change = _tested(mapper, refusal.destination, request, facts, (words, whole))
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
    again = decide(mapper, asked, facts, changes=False)
    for candidate in again.candidates:
        if candidate.destination == destination and candidate.rank and not candidate.tried:
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
            words = f"walltime {check.asked} -> {format_duration(limit)}"
            yield words, WhatIf(walltime_seconds=limit)


def _amount(what: str, amounts: Amounts, limit: Any) -> tuple[str, WhatIf]:
    asked = getattr(amounts, what)
    shown = "not set" if asked is None else amount_text(asked)
    words = f"{what} {shown} -> {amount_text(limit)}"
    return words, WhatIf(amounts=Amounts()._replace(**{what: limit}))


def _tag_remedy(check: ConstraintCheck) -> Iterator[tuple[str, WhatIf]]:
    shown = visible(check.tag)
    if "does not have" in check.asked:
        yield f"accept tag {shown}", WhatIf(add_tags=((check.tag, "accept"),))
        return
    strength = check.asked.split()[2].removesuffix("s")
    words = {"require": "required", "prefer": "preferred", "accept": "accepted"}
    yield f"drop {words.get(strength, 'rejected')} tag {shown}", WhatIf(drop_tags=(check.tag,))


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


# Contributions


def _contributions(notes: _Notes, placement: Placement) -> Iterator[Contribution]:
    assert notes.job is not None
    for name in AMOUNTS:
        yield from _of_amount(notes, name, getattr(notes.job.amounts, name))
    for name in BOUNDS:
        for entity, found in notes.lanes:
            if name in found:
                yield _said(entity, name, found[name])
    entity = notes.final or notes.job.plan.entity
    if notes.final is not None and placement.chosen:
        for name in AMOUNTS:
            value = getattr(placement.amounts, name)
            if value != getattr(notes.job.amounts, name):
                yield _said(entity, name, value)._replace(field=f"{name} there")
    params = placement.params if placement.chosen else entity.params
    for key, value in params.items():
        yield _said(entity, f"params.{key}", value)
    for entry in placement.env if placement.chosen else entity.env:
        yield _said(entity, f"env.{env_key(entry)}", entry.get("value", dict(entry)))
    for key, value in entity.context.items():
        yield _said(entity, f"context.{key}", value)
    if entity.rank:
        yield _said(entity, "rank", entity.rank)


def _of_amount(notes: _Notes, name: str, value: Any) -> Iterator[Contribution]:
    """Yield an amount with its origin: the entity whose value is used; the others were replaced."""
    lanes = [(entity, found[name]) for entity, found in notes.lanes if name in found]
    if not lanes:
        return
    chosen = next((lane for lane in reversed(lanes) if lane[1] == value), lanes[-1])
    contribution = _said(chosen[0], name, value)
    others = tuple(
        (found, entity.whence(name)) for entity, found in lanes if entity is not chosen[0]
    )
    yield contribution._replace(replaced=others + contribution.replaced)


def _said(entity: Entity, field: str, value: Any) -> Contribution:
    chain = _chain(entity, field)
    if not chain:
        return Contribution(field, value, value, entity.origin)
    (written, origin), *others = chain
    return Contribution(field, value, written, origin, tuple(others))


def _chain(entity: Entity, field: str) -> list[tuple[Any, Origin]]:
    """Return the origins of a value, nearest first, each once."""
    found: list[tuple[Any, Origin]] = []
    for said in entity.said.get(field, ()):
        if all(origin != said.origin for _, origin in found):
            found.append((said.value, said.origin))
    return found
