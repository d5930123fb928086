"""The journal events that charge a run for jobs of a plan before they are submitted.

Takes the units that are submitted together (`charges_of` a plan); gives the events. Jobs that were
not submitted are refunded by the same amounts.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence

from rowtui.core.runs.model import Event, NotSent, PlanSubmitted
from rowtui.core.submission.plan.charges import Charge
from rowtui.core.submission.plan.model import Plan, Step
from rowtui.core.submission.sending.journal import Journal

_GONE = (Step.REJECTED, Step.ABANDONED)


def submitted_events(plan_id: str, units: Iterable[Charge]) -> list[PlanSubmitted]:
    """Return the events to write before jobs of a plan are submitted, one for each currency.

    Jobs without a price are in the event of the first currency.
    """
    by_currency: dict[str, list[Charge]] = {}
    unpriced: list[Charge] = []
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
            sum(unit.cost.cpu_hours for unit in those),
            sum(unit.cost.gpu_hours for unit in those),
            sum(unit.money.amount for unit in those if unit.money is not None),
            currency,
        )
        for currency, those in by_currency.items()
    ]


def not_sent_events(
    plan_id: str, units: Iterable[Charge], unsent: Collection[str]
) -> list[NotSent]:
    """Return the refunds after a plan was carried out: the units without any submitted job.

    `unsent`: tokens. A partly submitted bundle is charged in full.
    """
    free = [it for it in units if all(job.token in unsent for job in it.jobs)]
    return [NotSent(*it) for it in submitted_events(plan_id, free)] if free else []


def unsent_of(plan: Plan, journal: Journal) -> frozenset[str]:
    """Return the tokens of a plan's jobs that no scheduler accepted, by the submission journal."""
    latest = journal.latest(plan.id)
    return frozenset(
        job.token for job in plan.jobs if job.token not in latest or latest[job.token].step in _GONE
    )


def given_up_of(plan_id: str, journal: Journal) -> frozenset[str]:
    """Return the tokens of a plan's jobs that never ran and never will, by the submission
    journal.
    """
    latest = journal.latest(plan_id)
    return frozenset(token for token, entry in latest.items() if entry.step in _GONE)


def never_begun(events: Sequence[Event], journal: Journal) -> list[NotSent]:
    """Return the refunds for the last plan if its driver was interrupted before it submitted any
    job.

    `events`: of the run; `journal`: of submissions, to which every job is written before
    submission.
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
