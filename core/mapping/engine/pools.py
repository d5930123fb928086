"""Pools: how much one user may hold at once, over all jobs that a pool's tags select.

The input is a job with a destination, with its amounts before the destination's own rules, and the
amounts that the user holds in each pool. Jobs that can never fit are refused, and jobs that do not
fit now wait. Source: TPV 3.3's resource pools.
"""

from __future__ import annotations

from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.engine.destinations import amount_text
from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.engine.jobs import JobWithAmounts
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.entities import Entity, Pool
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest
from rowtui.core.mapping.model.sentences import amount_in_words


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


def _budget(pool: Pool, entity: Entity, field: str) -> Any:
    """Return the budget in a pool: that of tool, role or user, else the pool's. None: no limit."""
    found = getattr(entity, field)
    return getattr(pool, field) if found is None else found


def refuse_over_budget(
    configuration: Configuration,
    settled: JobWithAmounts,
    request: MappingRequest,
    facts: ClusterFacts,
) -> None:
    """Raises: StopMapping if the job does not fit its pools, ever or now."""
    if request.user is None:
        return
    entity = settled.plan.entity
    asked = Amounts(*map(_asked, AMOUNTS, settled.amounts))
    for pool in pools_of(configuration, entity):
        budget = Amounts(*(_budget(pool, entity, f"max_concurrent_{what}") for what in AMOUNTS))
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
        f"{amount_in_words(what, have)} of {amount_text(most)}"
        for what, have, most in zip(AMOUNTS, asked, budget, strict=True)
        if most is not None and have > most
    )
