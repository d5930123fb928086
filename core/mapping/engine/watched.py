"""Run a mapping with notes, and collect the reasons of its result.

The input is a mapper and a request; the output is a `Decision`: which entities matched, the values
that each contributed, every rule, every destination with every check, and the order of trying.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rowtui.core.mapping.engine.destinations import checks
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.engine.notes import MappingNotes
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Contribution,
    Decision,
    DestinationLoad,
    JobTag,
    Placement,
    Refusal,
    Replaced,
    TagPoints,
)
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS, env_key
from rowtui.core.mapping.model.request import ClusterFacts, MappingRequest
from rowtui.core.mapping.model.tags import score

_Lanes = Sequence[tuple[Entity, Mapping[str, Any]]]
"""Each entity of a job with the amounts and bounds that were computed for it."""
LEFT_OUT = "left out by the rank function"


def watched(mapper: Mapper, request: MappingRequest, facts: ClusterFacts) -> Decision:
    """Return the decision for a request, without the changes that would lift a refusal.

    Never raises for the contents of files.
    """
    notes = MappingNotes()
    placement = mapper.watch(request, facts, notes)
    if notes.job is None:
        return Decision(request, placement, notes.entities, tuple(notes.rules))
    entity, amounts = notes.job
    candidates, refusals = _destinations(mapper, notes, request, facts)
    return Decision(
        request=request,
        chosen=placement,
        matched=notes.entities,
        rules=tuple(notes.rules),
        job=amounts,
        tags=tuple(
            JobTag(strength, tag, entity.whence(f"tags.{tag}"))
            for tag, strength in entity.tpv_tags.strengths().items()
        ),
        contributions=tuple(_contributions(notes, placement)),
        candidates=candidates,
        refusals=refusals,
        ranked_by=notes.by,
        entity_id=entity.id,
    )


def _destinations(
    mapper: Mapper, notes: MappingNotes, request: MappingRequest, facts: ClusterFacts
) -> tuple[tuple[Candidate, ...], tuple[Refusal, ...]]:
    assert notes.job is not None
    entity, amounts = notes.job
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
        load = DestinationLoad()
        if (known := facts.loads.get(where[1:])) is not None:
            load = DestinationLoad(known.expected_wait, known.free_cores, known.pending)
        # a rank function may name destinations that do not fit
        if failed and name not in notes.order:
            refusals.append(Refusal(*where, failed, found, offer.entity.origin, load=load))
            continue
        by_tag = score(offer.entity.tpv_dest_tags, entity.tpv_tags, mapper.dialect)
        rank = notes.order.index(name) + 1 if name in notes.order else None
        candidates.append(
            Candidate(
                *where,
                rank=rank,
                score=sum(points for _, points in by_tag),
                by_tag=tuple(map(TagPoints._make, by_tag)),
                checks=found,
                origin=offer.entity.origin,
                chosen=notes.turns.get(name) == "",
                passed_over=notes.turns.get(name, "") if rank else LEFT_OUT,
                load=load,
            )
        )
    candidates.sort(key=lambda each: (each.rank is None, each.rank))
    return tuple(candidates), tuple(refusals)


def _contributions(notes: MappingNotes, placement: Placement) -> Iterator[Contribution]:
    """Yield every value of a job."""
    assert notes.job is not None
    entity, amounts = notes.job
    lanes, final = notes.lanes, notes.final
    for name in AMOUNTS:
        yield from _of_amount(lanes, name, getattr(amounts, name))
    for name in BOUNDS:
        for entity, found in lanes:
            if name in found:
                yield _said(entity, name, found[name])
    entity = final or entity
    if final is not None and placement.chosen:
        for name in AMOUNTS:
            value = getattr(placement.amounts, name)
            if value != getattr(amounts, name):
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


def _of_amount(lanes: _Lanes, name: str, value: Any) -> Iterator[Contribution]:
    """Yield an amount with its origin: the entity whose value is used; the others were replaced."""
    having = [(entity, found[name]) for entity, found in lanes if name in found]
    if not having:
        return
    chosen = next((lane for lane in reversed(having) if lane[1] == value), having[-1])
    contribution = _said(chosen[0], name, value)
    others = tuple(
        Replaced(found, entity.whence(name)) for entity, found in having if entity is not chosen[0]
    )
    yield contribution._replace(replaced=others + contribution.replaced)


def _said(entity: Entity, field: str, value: Any) -> Contribution:
    chain = _chain(entity, field)
    if not chain:
        return Contribution(field, value, value, entity.origin)
    (written, origin), *others = chain
    return Contribution(field, value, written, origin, tuple(others))


def _chain(entity: Entity, field: str) -> list[Replaced]:
    """Return the origins of a value, nearest first, each once."""
    found: list[Replaced] = []
    for each in entity.said.get(field, ()):
        if all(origin != each.origin for _, origin in found):
            found.append(Replaced(each.value, each.origin))
    return found
