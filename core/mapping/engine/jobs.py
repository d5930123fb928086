"""Make one entity with amounts from the entities of a job: rules, combining, evaluating.

`Lanes` are the entities whose rules run one after another: in TPV 3 a single entity, already
combined; in the dialect `seed` the entities of tool, role and user, each evaluated before they are
combined (the lower amount takes precedence). The resulting entity depends only on the rules that
applied, so each result is computed once (`JobPlan`). Source: TPV's documentation, "Operations".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.expressions import compile_rank
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.engine.destinations import DestinationOffer, Scored, amount_text, suited
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
from rowtui.core.mapping.engine.rules import RuleState, RuleWatcher, run_rules
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Entity, Pool, combine
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS, Origin
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest, WhatIf
from rowtui.core.mapping.model.tags import IncompatibleTagsError

_WHAT_IF = Origin("what-if", "")


class JobWatcher(RuleWatcher, Protocol):
    """Receives the steps by which a job gets its amounts."""

    def lane(self, entity: Entity, found: dict[str, Any]) -> None:
        """Receive the amounts and bounds of one entity."""


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
        self, namespace: Namespace, what_if: WhatIf | None, watcher: JobWatcher | None
    ) -> JobWithAmounts:
        """Run the rules and compute the amounts. Raises: StopMapping, TryNextError."""
        states = [
            run_rules(state, namespace, self.evaluator, watcher, announce=True)
            for state in self.states
        ]
        plan = self._plan(states, what_if)
        entity = plan.entity
        namespace["entity"] = namespace["self"] = entity
        update(namespace, entity.context)
        amounts = self._amounts(plan, namespace, watcher)
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

    def _amounts(self, plan: JobPlan, namespace: Namespace, watcher: JobWatcher | None) -> Amounts:
        evaluator, none = self.evaluator, Amounts()
        if not evaluator.dialect.early:
            found = run_amounts(plan.programs[0], namespace, evaluator, none, clamp=True)
            if watcher is not None:
                watcher.lane(plan.entity, found)
            return Amounts(found.get("gpus"), found.get("cores"), found.get("mem"))
        whole: dict[str, Any] = {}
        for entity, program in zip(plan.lanes, plan.programs, strict=True):
            own = namespace if len(plan.lanes) == 1 else dict(namespace)
            found = run_amounts(program, own, evaluator, none, clamp=False)
            if watcher is not None:
                watcher.lane(entity, found)
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
        said = "; ".join(str(each.whence(f"tags.{error.tag}")) for each in sides)
        raise StopMapping(
            MappingOutcome.INCOMPATIBLE,
            f"{error.message}: {said}",
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


# Pools: how much one user may hold at once, over all jobs that a pool's tags select.
#
# The input is a job with a destination, with its amounts before the destination's own rules, and
# the amounts that the user holds in each pool. Jobs that can never fit are refused, and jobs that
# do not fit now wait. Source: TPV 3.3's resource pools.


def pools_of(configuration: Configuration, entity: Entity) -> list[Pool]:
    """Return the pools of a job, by name: pools whose required tags it has and no rejected tag."""
    tags = {*entity.tpv_tags.require, *entity.tpv_tags.prefer, *entity.tpv_tags.accept}
    return [
        pool
        for _, pool in sorted(configuration.of_kind("pools").items())
        if not pool.abstract
        and tags.issuperset(pool.tpv_dest_tags.require)
        and tags.isdisjoint(pool.tpv_dest_tags.reject)
    ]


def budget_of(pool: Pool, entity: Entity) -> Amounts:
    """Return the budget in a pool: that of tool, role or user, else the pool's. None: no limit."""
    return Amounts(*(_budget(pool, entity, f"max_concurrent_{what}") for what in AMOUNTS))


def _budget(pool: Pool, entity: Entity, field: str) -> Any:
    said = getattr(entity, field)
    return getattr(pool, field) if said is None else said


def refuse_over_budget(
    configuration: Configuration,
    settled: JobWithAmounts,
    request: MappingRequest,
    facts: ClusterFacts,
) -> None:
    """Raises: StopMapping if the job does not fit its pools, ever or now."""
    if request.user is None:
        return
    asked = Amounts(*map(_asked, AMOUNTS, settled.amounts))
    for pool in pools_of(configuration, settled.plan.entity):
        budget = budget_of(pool, settled.plan.entity)
        over = _over(asked, budget)
        name = visible(pool.id)
        if over:
            ceiling = Amounts(*(pool.oversize.get(f"hard_max_{what}") for what in AMOUNTS))
            if not pool.oversize.get("max_concurrent") or _over(asked, ceiling):
                message = f"the job asks for {over}, more than pool {name} ever lets one user have"
                raise StopMapping(
                    MappingOutcome.FAILED, message, pool.origin, "JobMappingException"
                )
            continue  # the scheduler limits how many of these jobs run at once
        held = facts.in_use.get(pool.id, Amounts())
        total = Amounts(*(have + (now or 0) for have, now in zip(asked, held, strict=True)))
        over = _over(total, budget)
        if over:
            message = f"pool {name} has no room for it now: that would make {over}"
            raise StopMapping(MappingOutcome.WAITS, message, pool.origin, "JobNotReadyException")


def _asked(what: str, amount: Any) -> float:
    """Return an amount as a number. Raises: StopMapping (dialect tpv3 does not check earlier)."""
    try:
        return float(amount or 0)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{what} is {visible(repr(amount)[:60])}, which is not a number"
        raise StopMapping(MappingOutcome.ERROR, message, None, type(error).__name__) from error


def _over(asked: Amounts, budget: Amounts) -> str:
    """Return the amounts that exceed a budget, in words; "" if there are none."""
    return ", ".join(
        f"{what} {amount_text(have)} of {amount_text(most)}"
        for what, have, most in zip(AMOUNTS, asked, budget, strict=True)
        if most is not None and have > most
    )
