"""Make one entity with amounts from the entities of a job: rules, combining, evaluating.

`Lanes` are the entities whose rules run one after another: in TPV 3 a single entity, already
combined; in the dialect `seed` the entities of tool, role and user, each evaluated before they are
combined (the lower amount takes precedence). The resulting entity depends only on the rules that
applied, so each result is computed once (`JobPlan`). Source: TPV's documentation, "Operations".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from rowtui.core.mapping.code.expressions import compile_rank
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.engine.destinations import DestinationOffer, Scored, suited
from rowtui.core.mapping.engine.evaluate import (
    EVALUATED,
    Evaluator,
    Namespace,
    Program,
    StopMapping,
    amounts_program,
    clamped,
    higher,
    lower,
    run_amounts,
)
from rowtui.core.mapping.engine.namespace import update
from rowtui.core.mapping.engine.notes import MappingNotes
from rowtui.core.mapping.engine.rules import RuleState, run_rules
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Entity, combine
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.mapping.model.tags import IncompatibleTagsError

_WHAT_IF = Origin("what-if", "")


class JobPlan:
    """A job after its rules: its needs, and the destinations that suit its tags.

    Shared, never changed.
    """

    __slots__ = (
        "destinations",
        "entity",
        "for_destinations",
        "lanes",
        "programs",
        "rank",
        "suited",
    )

    def __init__(
        self,
        lanes: Sequence[Entity],
        entity: Entity,
        offers: Sequence[DestinationOffer],
        dialect: Dialect,
    ) -> None:
        self.lanes = tuple(lanes)
        self.entity = entity
        self.programs: tuple[Program, ...] = tuple(
            amounts_program(lane) for lane in (lanes if dialect.early else (entity,))
        )
        self.suited: tuple[Scored, ...] = suited(entity, offers, dialect)
        # Rank functions read the scores repeatedly.
        entity.scores = {each.offer.entity.id: each.score for each in self.suited}
        self.rank: Code | None = compile_rank(entity.rank) if entity.rank else None
        self.for_destinations = _as_evaluated(entity) if dialect.early else entity
        self.destinations: dict[str, Any] = {}


def _as_evaluated(entity: Entity) -> Entity:
    """Return the entity for laying a destination over it: amounts are evaluated, bounds removed."""
    new = entity.shallow()
    for name in BOUNDS:
        setattr(new, name, None)
    for name in AMOUNTS:
        setattr(new, name, EVALUATED)
    return new


class JobWithAmounts(NamedTuple):
    """A job with its amounts."""

    plan: JobPlan
    amounts: Amounts


class Lanes:
    """The entities shared by similar jobs, before their rules."""

    def __init__(
        self, entities: Sequence[Entity], offers: Sequence[DestinationOffer], evaluator: Evaluator
    ) -> None:
        """Raises: StopMapping if the entities contradict each other."""
        self.evaluator = evaluator
        self.offers = offers
        dialect = evaluator.dialect
        whole = combined(entities, dialect)
        self.context = whole.context
        self.states = tuple(
            RuleState.start(entity) for entity in (entities if dialect.early else (whole,))
        )
        self._plans: dict[tuple[int, ...], JobPlan] = {}

    def settle(
        self, namespace: Namespace, what_if: WhatIf | None, notes: MappingNotes | None
    ) -> JobWithAmounts:
        """Run the rules and compute the amounts. Raises: StopMapping, TryNextError."""
        states = [
            run_rules(state, namespace, self.evaluator, notes, announce=True)
            for state in self.states
        ]
        plan = self._plan(states, what_if)
        entity = plan.entity
        namespace["entity"] = namespace["self"] = entity
        update(namespace, entity.context)
        amounts = self._amounts(plan, namespace, notes)
        if self.evaluator.dialect.early:
            namespace["entity"] = namespace["self"] = _with(entity, amounts)
        return JobWithAmounts(plan, amounts)

    def _plan(self, states: Sequence[RuleState], what_if: WhatIf | None) -> JobPlan:
        entities = [state.entity for state in states]
        if what_if is not None:
            return self._new_plan(_changed(entities, what_if))
        if not all(state.shared for state in states):
            return self._new_plan(entities)
        key = tuple(map(id, entities))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._new_plan(entities)
        return plan

    def _new_plan(self, entities: Sequence[Entity]) -> JobPlan:
        dialect = self.evaluator.dialect
        whole = combined(entities, dialect)
        if whole.rules:
            whole = whole.shallow()
            whole.rules = {}
        return JobPlan(entities, whole, self.offers, dialect)

    def _amounts(self, plan: JobPlan, namespace: Namespace, notes: MappingNotes | None) -> Amounts:
        evaluator, none = self.evaluator, Amounts()
        if not evaluator.dialect.early:
            found = run_amounts(plan.programs[0], namespace, evaluator, none, clamp=True)
            if notes is not None:
                notes.lanes.append((plan.entity, found))
            return Amounts(found.get("gpus"), found.get("cores"), found.get("mem"))
        whole: dict[str, Any] = {}
        for entity, program in zip(plan.lanes, plan.programs, strict=True):
            own = namespace if len(plan.lanes) == 1 else dict(namespace)
            found = run_amounts(program, own, evaluator, none, clamp=False)
            if notes is not None:
                notes.lanes.append((entity, found))
            for name, value in found.items():
                choose = higher if name.startswith("min_") else lower
                whole[name] = namespace[name] = choose(whole.get(name), value)
        for name in AMOUNTS:
            if name in whole:
                value = clamped(name, whole[name], whole, evaluator.dialect)
                whole[name] = namespace[name] = value
        return Amounts(whole.get("gpus"), whole.get("cores"), whole.get("mem"))


def combined(entities: Sequence[Entity], dialect: Dialect) -> Entity:
    """Return user over role over tool. Raises: StopMapping if their tags contradict each other."""
    try:
        return reduce(lambda under, over: combine(over, under, dialect), entities)
    except IncompatibleTagsError as error:
        sides = [each for each in entities if error.tag in each.tpv_tags.strengths()]
        text = "; ".join(str(each.whence(f"tags.{error.tag}")) for each in sides)
        raise StopMapping(
            MappingOutcome.INCOMPATIBLE,
            f"{error.message}: {text}",
            sides[-1].whence(f"tags.{error.tag}") if sides else None,
            "IncompatibleTagsException",
        ) from error


def _with(entity: Entity, amounts: Amounts) -> Entity:
    new = entity.shallow()
    new.gpus, new.cores, new.mem = amounts
    return new


def _changed(entities: Sequence[Entity], what_if: WhatIf) -> list[Entity]:
    """Return the entities with the hypothetical changes of the user."""
    changed = [entity.private() for entity in entities]
    for name in AMOUNTS:
        value = getattr(what_if.amounts, name)
        if value is None:
            continue
        for entity in changed:
            setattr(entity, f"min_{name}", None)
            setattr(entity, f"max_{name}", None)
        for entity in [each for each in changed if getattr(each, name) is not None] or changed[:1]:
            setattr(entity, name, value)
            entity.note(name, value, _WHAT_IF)
    for tag in what_if.drop_tags:
        for entity in changed:
            entity.tpv_tags.drop(tag)
    for tag, strength in what_if.add_tags:
        for entity in changed:
            entity.tpv_tags.drop(tag)
        changed[0].tpv_tags.put(strength, tag)
        changed[0].note(f"tags.{tag}", strength, _WHAT_IF)
    return changed
