"""What the journal of a run says that jobs of a plan may cost, before they are sent.

Takes what is sent together (`units_of` the whole plan: a part of it does not know what its bundles
cost); gives the events. What was not sent after all is given back by the same amounts.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from rowtui.core.runs.limits import Unit
from rowtui.core.runs.model import NotSent, PlanSubmitted
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.model import Plan, Step


def submitted_events(plan_id: str, units: Iterable[Unit]) -> list[PlanSubmitted]:
    """What is written down before jobs of a plan are sent: one event for each currency.

    Jobs of which nobody knows the price go with the first.
    """
    by_currency: dict[str, list[Unit]] = {}
    unpriced: list[Unit] = []
    for unit in units:
        if unit.money is None:
            unpriced.append(unit)
        else:
            by_currency.setdefault(unit.money.currency, []).append(unit)
    if unpriced:
        currency = next(iter(by_currency), "")
        by_currency[currency] = [*by_currency.get(currency, ()), *unpriced]
    now = time.time()
    return [
        PlanSubmitted(
            now,
            plan_id,
            tuple(job.token for unit in those for job in unit.jobs),
            sum(unit.core_hours for unit in those),
            sum(unit.gpu_hours for unit in those),
            sum(unit.money.amount for unit in those if unit.money is not None),
            currency,
        )
        for currency, those in by_currency.items()
    ]


def not_sent_events(plan_id: str, units: Iterable[Unit], unsent: Collection[str]) -> list[NotSent]:
    """What is given back once a plan was carried out: whatever nothing at all was sent of.

    `unsent`: tokens. A bundle of which anything was sent costs what all of it does.
    """
    free = [it for it in units if all(job.token in unsent for job in it.jobs)]
    return [NotSent(*it) for it in submitted_events(plan_id, free)] if free else []


def unsent_of(plan: Plan, journal: Journal) -> frozenset[str]:
    """The tokens of a plan's jobs that no scheduler has taken, by the journal of submissions."""
    latest = journal.latest(plan.id)
    gone = (Step.REJECTED, Step.ABANDONED)
    return frozenset(
        job.token for job in plan.jobs if job.token not in latest or latest[job.token].step in gone
    )
