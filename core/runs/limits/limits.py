"""The limits that the user confirmed for a network run, and which jobs of a plan keep within them.

Takes the limits, the amounts spent so far and a plan; gives the jobs that may be submitted, in the
plan's order, and a `Breach` for each limit that holds jobs back, with what the user would have to
confirm. Jobs do not overtake: once a budget holds a job back, later jobs wait as well. Amounts are
what jobs ask for, as in a plan: upper bounds of the use.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.document import Moment, TextOrNull
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, CostJson, amount, count, plural, time_text, visible
from rowtui.core.submission.plan.charges import (
    Balance,
    Charge,
    Money,
    bundle_prices,
    charges_of,
    exceeds,
)
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.submission.plan.model import Plan, PlannedDestination, PlannedJob

TRIES = 2  # a proposed budget pays for each job this many times
FAILURES_IN_A_ROW = 3  # of a network's samples; more are seldom coincidence
PROJECT_FAILURES_IN_A_ROW = 10  # of jobs that nothing retries

MOST_ALLOCATIONS = 8  # of a pool, if nothing else is confirmed


class RunLimits(NamedTuple):
    """What a run may charge without asking again; null: no limit. `price` is in `currency`.

    `jobs_in_queue`: of this run, pending and running. `destinations`: glob patterns of
    `cluster/partition`; a pattern without a slash means all of a cluster. `until`: nothing is
    submitted from then on. `failures`: failed jobs since these limits were confirmed;
    `failures_in_a_row`: failed jobs without a success between them. The run stops when one of these
    counts is reached. `over_budget`: jobs are submitted even if the budget of a cluster is
    exceeded. `allocations`: of a pool, at a time; null: a project's run has no pool. `retries`:
    attempts after the first ones, in the whole run.
    """

    cpu_hours: float | None = None
    price: float | None = None
    currency: TextOrNull = ""
    jobs_in_queue: int | None = None
    destinations: tuple[str, ...] | None = None
    until: Moment | None = None
    failures: int | None = None
    failures_in_a_row: int | None = None
    gpu_hours: float | None = None
    over_budget: bool = False
    allocations: int | None = None
    retries: int | None = None

    def is_full(self, spent: Spent) -> bool:
        """Whether no further job may be in the queue."""
        return self.jobs_in_queue is not None and spent.jobs_in_queue >= self.jobs_in_queue


class Spent(NamedTuple):
    """The upper bound of what a run has spent: what its submitted jobs asked for.

    `money` is by currency.
    """

    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    money: Mapping[str, float] = {}
    jobs_in_queue: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    retries: int = 0

    def as_document(self) -> ChargesJson:
        """Return the fields that documents have; a price in one currency is in the cost, too."""
        ((currency, price),) = self.money.items() if len(self.money) == 1 else (("", None),)
        charged = Cost(self.cpu_hours, self.gpu_hours).priced(price, currency)
        return ChargesJson(charged, self.money, *self[3:])


class ChargesJson(NamedTuple):
    """What the submitted jobs of a run ask for (`charged`; `prices` by currency), and failures."""

    charged: CostJson
    prices: Mapping[str, float]
    jobs_in_queue: int
    failures: int
    failures_in_a_row: int
    retries: int


class LimitKind(enum.Enum):
    """The kind of a limit."""

    CPU_HOURS = "cpu_hours"
    GPU_HOURS = "gpu_hours"
    MONEY = "money"
    UNPRICED = "unpriced"  # the cost is unknown, or known only in another currency
    JOBS_IN_QUEUE = "jobs_in_queue"
    RETRIES = "retries"
    DESTINATION = "destination"
    UNTIL = "until"
    FAILURES = "failures"
    FAILURES_IN_A_ROW = "failures_in_a_row"
    BUDGET = "budget"  # of a cluster, in clusters.toml


class Breach(NamedTuple):
    """Why jobs may not be submitted.

    `jobs`: how many jobs the limit holds back. `confirm`: what the user would allow. `passes`: the
    breach ends when running jobs end, so the user is not asked.
    """

    kind: LimitKind
    sentence: str
    confirm: str
    jobs: int
    passes: bool = False


class Fit(NamedTuple):
    """Which jobs of a plan may be submitted, in its order, and what is spent with them."""

    jobs: tuple[PlannedJob, ...]
    left_out: tuple[PlannedJob, ...]
    breaches: tuple[Breach, ...]
    spent: Spent


def fits(
    limits: RunLimits,
    spent: Spent,
    plan: Plan,
    now: float,
    money: Mapping[str, Money] | None = None,
    *,
    balances: Mapping[str, Balance] | None = None,
) -> Fit:
    """Return the first jobs of a plan that keep within the limits, and why the others do not.

    `now`: epoch seconds. `money`: what each job costs, by its token or its bundle's; without it,
    the prices of packing are used. `balances`: the budgets of clusters, by name. A bundle is
    submitted whole or not at all; tasks of an array are submitted one by one. A job is held back if
    its predecessor in the plan is held back.
    """
    units = tuple(charges_of(plan, bundle_prices(plan) if money is None else money))
    stops = _stops(limits, spent, plan, now)
    if stops:
        return Fit((), plan.jobs, stops, spent)
    left = {} if limits.over_budget else dict(balances or {})
    sent: list[PlannedJob] = []
    held: set[str] = set()
    # Keys are the kind and where the limit applies; for `LimitKind.BUDGET` a cluster and a unit.
    blocked: dict[_Limit, list[Charge]] = {}
    for unit in units:
        if any(token in held for job in unit.jobs for token in job.depends_on):
            held.update(job.token for job in unit.jobs)
            continue
        found = _holding(limits, spent, unit, left, blocked)
        if found:
            for limit in found:
                blocked.setdefault(limit, []).append(unit)
            held.update(job.token for job in unit.jobs)
            continue
        sent += unit.jobs
        spent = _with(spent, unit)
        cluster = unit.destination.cluster
        if cluster in left:
            left[cluster] = left[cluster].plus(unit.cost)
    left_out = tuple(job for job in plan.jobs if job.token in held)
    # Limits of a destination first, then those of the whole run, then budgets.
    order = sorted(blocked, key=lambda it: _ORDER.get(it.kind, 1))
    at_first = dict(balances or {})
    breaches = [
        _beyond_budget(limit, blocked[limit], at_first[limit.where], left[limit.where])
        if limit.kind is LimitKind.BUDGET
        else _breach(limit, blocked[limit], limits, spent)
        for limit in order
    ]
    return Fit(tuple(sent), left_out, tuple(breaches), spent)


class _Limit(NamedTuple):
    """One limit that holds jobs back. `where`: a destination, or the cluster of a budget."""

    kind: LimitKind
    where: str = ""
    unit: str = ""


_ORDER = {LimitKind.DESTINATION: 0, LimitKind.UNPRICED: 0, LimitKind.BUDGET: 2}
_OVERTAKEN = {*_ORDER, LimitKind.RETRIES}  # they hold some jobs back, and not those behind


def _holding(
    limits: RunLimits,
    spent: Spent,
    unit: Charge,
    balances: Mapping[str, Balance],
    blocked: Collection[_Limit],
) -> tuple[_Limit, ...]:
    """Return the limits that hold these jobs back.

    A limit that already holds back earlier jobs holds back these jobs as well.
    """
    found = _of_its_own(limits, unit)
    if found is not None:
        return (_Limit(*found),)
    if unit.paid:
        return ()
    if whole := tuple(it for it in blocked if it.kind not in _OVERTAKEN):
        return whole
    if over := _over(limits, spent, unit):
        return tuple(map(_Limit, over))
    cluster = unit.destination.cluster
    there = tuple(it for it in blocked if it.kind is LimitKind.BUDGET and it.where == cluster)
    if there or cluster not in balances:
        return there
    return tuple(_Limit(LimitKind.BUDGET, cluster, it) for it in balances[cluster].over(unit.cost))


def proposed_budget(asked: float, *, grows: bool) -> float | None:
    """Return the hours that the user is asked to allow for jobs that ask for `asked` hours.

    The result is twice the amount, because a failed job is submitted again, and so are directories
    of a group that the job did not reach. The result is None (no limit) where lists will add jobs,
    because the amounts of these jobs are not known yet.
    """
    return None if grows else TRIES * asked


def is_confirmed(destination: PlannedDestination, patterns: tuple[str, ...] | None) -> bool:
    """Whether jobs may go to this destination."""
    if patterns is None:
        return True
    whole = f"{destination.cluster}/{destination.partition}"
    return any(
        fnmatchcase(whole if "/" in pattern else destination.cluster, pattern)
        for pattern in patterns
    )


def _stops(limits: RunLimits, spent: Spent, plan: Plan, now: float) -> tuple[Breach, ...]:
    """Return the limits that hold back the whole plan; none for an empty plan."""
    if not plan.jobs:
        return ()
    again = "going on after these failures"
    found: list[tuple[LimitKind, str, str]] = []
    if limits.until is not None and now >= limits.until:
        sentence = f"nothing is to be sent after {time_text(limits.until)}"
        found.append((LimitKind.UNTIL, sentence, "a later time"))
    if limits.failures is not None and spent.failures >= limits.failures:
        failed = plural(spent.failures, "job")
        sentence = f"{failed} failed, and it stops at {count(limits.failures)}"
        found.append((LimitKind.FAILURES, sentence, again))
    if limits.failures_in_a_row is not None and spent.failures_in_a_row >= limits.failures_in_a_row:
        failed = f"the last {plural(spent.failures_in_a_row, 'job')} failed one after another"
        sentence = f"{failed}, and it stops at {count(limits.failures_in_a_row)}"
        found.append((LimitKind.FAILURES_IN_A_ROW, sentence, again))
    return tuple(Breach(*it, len(plan.jobs)) for it in found)


def _of_its_own(limits: RunLimits, unit: Charge) -> tuple[LimitKind, str] | None:
    """Return the limit that these jobs break independently of other jobs, and its destination."""
    where = str(unit.destination)
    if not is_confirmed(unit.destination, limits.destinations):
        return LimitKind.DESTINATION, where
    if unit.paid or limits.price is None:
        return None
    if unit.money is None or unit.money.currency != limits.currency:
        return LimitKind.UNPRICED, where
    return None


def _over(limits: RunLimits, spent: Spent, unit: Charge) -> tuple[LimitKind, ...]:
    """Return the limits of the run that these jobs would exceed."""
    after = _with(spent, unit)
    found = (
        (LimitKind.CPU_HOURS, after.cpu_hours, limits.cpu_hours),
        (LimitKind.GPU_HOURS, after.gpu_hours, limits.gpu_hours),
        (LimitKind.MONEY, after.money.get(limits.currency, 0.0), limits.price),
        (LimitKind.JOBS_IN_QUEUE, after.jobs_in_queue, limits.jobs_in_queue),
        (LimitKind.RETRIES, after.retries if unit.retries else 0, limits.retries),
    )
    return tuple(kind for kind, asked, allowed in found if exceeds(asked, allowed))


def _with(spent: Spent, unit: Charge) -> Spent:
    if unit.paid:
        return spent
    money = spent.money
    if unit.money is not None:
        currency = unit.money.currency
        money = {**money, currency: money.get(currency, 0.0) + unit.money.amount}
    return spent._replace(
        cpu_hours=spent.cpu_hours + unit.cost.cpu_hours,
        gpu_hours=spent.gpu_hours + unit.cost.gpu_hours,
        money=money,
        jobs_in_queue=spent.jobs_in_queue + 1,
        retries=spent.retries + unit.retries,
    )


def _breach(limit: _Limit, units: Sequence[Charge], limits: RunLimits, spent: Spent) -> Breach:
    if limit.kind in (LimitKind.DESTINATION, LimitKind.UNPRICED):
        return _elsewhere(limit, units, limits, sum(len(unit.jobs) for unit in units))
    return _budget(limit.kind, units, limits, spent)


def _elsewhere(limit: _Limit, units: Sequence[Charge], limits: RunLimits, jobs: int) -> Breach:
    kind, shown = limit.kind, visible(limit.where)
    whose = f"{plural(jobs, 'job')} would go to {shown}"
    if kind is LimitKind.DESTINATION:
        return Breach(kind, f"{whose}, which was not confirmed", f"the destination {shown}", jobs)
    money = units[0].money
    if money is None:
        text = "whose node types have no price"
    else:
        text = f"which is paid in {visible(money.currency)}, not {visible(limits.currency)}"
    return Breach(kind, f"{whose}, {text}", f"jobs on {shown} regardless of cost", jobs)


def _beyond_budget(
    limit: _Limit, units: Sequence[Charge], before: Balance, with_the_rest: Balance
) -> Breach:
    """Describe a budget that holds jobs back.

    `units`: the jobs that the budget holds back; `with_the_rest`: the balance after the submission
    of the jobs that fit.
    """
    asked = Cost.total(unit.cost for unit in units)
    after = with_the_rest.charged.plus(asked)
    name, unit, jobs = visible(limit.where), limit.unit, sum(len(unit.jobs) for unit in units)
    if unit == CPU_HOURS:
        whole, charged, total = before.cpu_hours, before.charged.cpu_hours, after.cpu_hours
    else:
        whole, charged, total = before.gpu_hours, before.charged.gpu_hours, after.gpu_hours
    sentence = (
        f"the budget of {name} is {amount(whole or 0.0)} {unit}, this project is charged "
        f"{amount(charged)}, and this plan would bring it to {amount(total)}"
    )
    return Breach(LimitKind.BUDGET, sentence, f"{amount(total)} {unit} on {name}", jobs)


def _budget(kind: LimitKind, units: Sequence[Charge], limits: RunLimits, spent: Spent) -> Breach:
    jobs = sum(len(unit.jobs) for unit in units)
    whose = f"{plural(jobs, 'more job')}"
    if kind is LimitKind.JOBS_IN_QUEUE:
        allowed = limits.jobs_in_queue or 0
        sentence = f"{whose} would be more than {count(allowed)} in the queue"
        return Breach(
            kind, sentence, f"more than {plural(allowed, 'job')} in the queue", jobs, True
        )
    if kind is LimitKind.MONEY:
        asked = sum(unit.money.amount for unit in units if unit.money is not None)
        total = spent.money.get(limits.currency, 0.0) + asked
        unit = f" {visible(limits.currency)}" if limits.currency else " in an unknown currency"
        most = limits.price or 0.0
    elif kind is LimitKind.RETRIES:
        total = float(spent.retries + sum(unit.retries for unit in units))
        unit, most = " retries", float(limits.retries or 0)
    elif kind is LimitKind.GPU_HOURS:
        total = spent.gpu_hours + sum(unit.cost.gpu_hours for unit in units)
        unit, most = f" {GPU_HOURS}", limits.gpu_hours or 0.0
    else:
        total = spent.cpu_hours + sum(unit.cost.cpu_hours for unit in units)
        unit, most = f" {CPU_HOURS}", limits.cpu_hours or 0.0
    sentence = f"{whose} would bring it to {amount(total)}{unit}, of {amount(most)} confirmed"
    return Breach(kind, sentence, f"{amount(total)}{unit} in all", jobs)


def with_currency(limits: RunLimits, cluster: Cluster) -> RunLimits:
    """Return the limits with the currency of the cluster, if money is limited and has none.

    Raises: RowtuiError if the cluster has no currency either.
    """
    if limits.price is None or limits.currency:
        return limits
    if not cluster.currency:
        raise RowtuiError(
            f"the currency of cluster {visible(cluster.name)} is unknown",
            "write it behind the amount, as in 20 EUR, or as `currency` in clusters.toml",
        )
    return limits._replace(currency=cluster.currency)
