"""What the journal of a run says that jobs of a plan may cost, before they are sent.

Takes what is sent together (`units_of` the whole plan: a part of it does not know what its bundles
cost); gives the events. What was not sent after all is given back by the same amounts.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence

from rowtui.core.runs.limits import Unit
from rowtui.core.runs.model import Event, NotSent, PlanSubmitted
from rowtui.core.submission.journal import Journal
from rowtui.core.submission.model import Plan, Step

_GONE = (Step.REJECTED, Step.ABANDONED)


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
    return frozenset(
        job.token for job in plan.jobs if job.token not in latest or latest[job.token].step in _GONE
    )


def given_up_of(plan_id: str, journal: Journal) -> frozenset[str]:
    """The tokens of a plan's jobs that never ran and never will, by the journal of submissions."""
    latest = journal.latest(plan_id)
    return frozenset(token for token, entry in latest.items() if entry.step in _GONE)


def never_begun(events: Sequence[Event], journal: Journal) -> list[NotSent]:
    """What is given back of the last plan, if its driver was cut off before it sent any job of it.

    `events`: of the run; `journal`: of submissions, where every job is before it is sent.
    """
    charged = [it for it in events if isinstance(it, PlanSubmitted | NotSent)]
    if not charged or not isinstance(charged[-1], PlanSubmitted):
        return []
    plan_id = charged[-1].plan_id
    latest = journal.latest(plan_id)
    theirs = [it for it in charged if it.plan_id == plan_id]
    sent = {token for token, entry in latest.items() if entry.step not in _GONE}
    if any(isinstance(it, NotSent) or sent.intersection(it.jobs) for it in theirs):
        return []
    return [NotSent(*it) for it in theirs]
