"""Charges for the jobs of a plan, against the limits of a run and the budgets of clusters.

The input is a plan. The result is the units that are sent together, with the hours that each asks
for. As in Row, a job with GPUs is charged in GPU-hours, and the CPUs that go with the GPUs are not
charged; any other job is charged in CPU-hours. A pilot holds CPUs and GPUs for any job and is
charged for both. Amounts are the most that a job can use.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, CostJson
from rowtui.core.submission.bundles.pilot_model import is_in_pilot, is_pilot
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS, JobStep
from rowtui.core.submission.sending.journal import Journal

if TYPE_CHECKING:
    from rowtui.core.clusters.model import BudgetLimit
    from rowtui.core.submission.plan.model import Plan, PlannedDestination, PlannedJob

_HOUR = 3600
# Tolerance for rounding errors, so that a job that fills a budget exactly is not held back.
_NEARLY = 1e-9


class Money(NamedTuple):
    """The most that a job can cost."""

    amount: float
    currency: str


class Charge(NamedTuple):
    """Jobs that can only be sent together, with their charge: one job, or one bundle.

    `paid`: the jobs go into a pilot, which was charged when it was sent.
    """

    jobs: tuple[PlannedJob, ...]
    cost: Cost
    money: Money | None = None
    paid: bool = False

    @property
    def price(self) -> CostJson:
        """Return the cost in hours and, where a node type has a price, in money."""
        return self.cost.priced(*(self.money or (None, "")))

    @property
    def retries(self) -> int:
        """Return how many of the jobs are attempts after the first."""
        return sum(job.is_retry for job in self.jobs)

    @property
    def destination(self) -> PlannedDestination:
        """Return the destination of the jobs."""
        return self.jobs[0].destination


class Balance(NamedTuple):
    """The budget of a cluster in hours (None: no limit), and the amount charged so far."""

    cpu_hours: float | None
    gpu_hours: float | None
    charged: Cost = Cost()

    def plus(self, cost: Cost) -> Balance:
        """Return the balance after this charge."""
        return self._replace(charged=self.charged.plus(cost))

    def over(self, cost: Cost) -> tuple[str, ...]:
        """Return the units (`CPU_HOURS`, `GPU_HOURS`) in which this charge exceeds the budget."""
        after = self.charged.plus(cost)
        asked = (
            (CPU_HOURS, cost.cpu_hours, after.cpu_hours, self.cpu_hours),
            (GPU_HOURS, cost.gpu_hours, after.gpu_hours, self.gpu_hours),
        )
        return tuple(
            unit for unit, more, total, allowed in asked if more > 0 and exceeds(total, allowed)
        )


def exceeds(asked: float, allowed: float | None) -> bool:
    """Whether an amount is more than allowed (None: no limit), beyond rounding errors."""
    return allowed is not None and asked > allowed + _NEARLY * max(1.0, abs(allowed))


def charges_of(plan: Plan, money: Mapping[str, Money] | None = None) -> Iterator[Charge]:
    """Return the units that are sent together, in the plan's order.

    `money`: by token of a job or of a bundle; a bundle counts once.
    """
    money = money or {}
    jobs = plan.jobs
    at = 0
    while at < len(jobs):
        job = jobs[at]
        end = at + 1
        if job.bundle is None:
            cost = job.cost
            if is_pilot(job.token):
                cost = held_cost(job.cpus, job.gpus, job.walltime_seconds)
            yield Charge((job,), cost, money.get(job.token))
        elif is_in_pilot(job.token):
            yield Charge((job,), Cost(), paid=True)
        else:
            bundle = job.bundle
            while end < len(jobs) and (other := jobs[end].bundle) and other.token == bundle.token:
                end += 1
            free = _with_gpus(jobs[at:end])
            cost = held_cost(max(0, bundle.cpus - free), bundle.gpus, bundle.seconds)
            yield Charge(jobs[at:end], cost, money.get(bundle.token))
        at = end


def bundle_prices(plan: Plan) -> dict[str, Money]:
    """Return the prices of bundles by token: packing costs, shared in proportion to CPU-hours.

    Jobs outside bundles, and jobs on nodes without a price, are left out. The plan must be as it
    was packed: a part of the plan still holds the packing costs of all its bundles.
    """
    prices = {it.destination: it for it in plan.packed if it.unit != CPU_HOURS}
    bundles = [
        (bundle, it.destination)
        for it in charges_of(plan)
        if (bundle := it.jobs[0].bundle) is not None and not it.paid
    ]
    hours: dict[PlannedDestination, float] = {}
    for bundle, there in bundles:
        hours[there] = hours.get(there, 0.0) + bundle.cpus * bundle.seconds
    found = {}
    for bundle, there in bundles:
        packed = prices.get(there)
        if packed is not None:
            share = bundle.cpus * bundle.seconds / (hours[there] or 1.0)
            found[bundle.token] = Money(packed.cost * share, packed.unit)
    return found


def bundle_charges(plan: Plan) -> dict[str, Charge]:
    """Return what the bundles of a plan are charged, with their prices, by their tokens."""
    return {
        bundle.token: charge
        for charge in charges_of(plan, bundle_prices(plan))
        if (bundle := charge.jobs[0].bundle) is not None
    }


def cost_in(unit: str, value: float, hours: Cost) -> CostJson:
    """Return a cost that packing counts in `unit` for documents. `hours`: of the same jobs."""
    if unit == CPU_HOURS:
        return Cost(value, hours.gpu_hours).as_document()
    return hours.priced(value, unit)


def _with_gpus(jobs: Sequence[PlannedJob]) -> int:
    """Return the CPUs of a bundle that go with its GPUs: in each lane, the most of any GPU job."""
    lanes: dict[int, int] = {}
    for job in jobs:
        if job.gpus and job.bundle is not None:
            lane = job.bundle.lane
            lanes[lane] = max(job.cpus, lanes.get(lane, 0))
    return sum(lanes.values())


def held_cost(cpus: int, gpus: int, seconds: int) -> Cost:
    """Return what these CPUs and GPUs cost while they are held, used or not."""
    hours = seconds / _HOUR
    return Cost(cpus * hours, gpus * hours)


_NOT_SENT = (JobStep.PLANNED, JobStep.REJECTED, JobStep.ABANDONED)


class DatedCharge(NamedTuple):
    """What the jobs asked for that were sent to a cluster in one hour. `at`: its beginning."""

    cluster: str
    at: float
    cost: Cost


class ChargedHours:
    """Computes the hours that the jobs of one project are charged on clusters. Waits for the disk.

    A plan is read only once after all of its jobs have ended.
    """

    def __init__(self, journal: Journal, plan_of: Callable[[str], Plan]) -> None:
        self._journal, self._plan_of = journal, plan_of
        self._done: dict[str, list[DatedCharge]] = {}  # by plan id

    def dated(self) -> Iterator[DatedCharge]:
        """Yield what the jobs that were sent asked for. Plans that can no longer be read are left
        out.
        """
        done = frozenset(self._journal.done_plan_ids())
        for plan_id in self._journal.plan_ids():
            found = self._done.get(plan_id)
            if found is None:
                try:
                    found = self._of_plan(plan_id)
                except RowtuiError:
                    continue
                if plan_id in done:
                    self._done[plan_id] = found
            yield from found

    def on(self, clusters: Collection[str]) -> dict[str, Cost]:
        """Return what the jobs that were sent to these clusters asked for, by cluster."""
        charged = dict.fromkeys(clusters, Cost())
        for charge in self.dated():
            if charge.cluster in charged:
                charged[charge.cluster] = charged[charge.cluster].plus(charge.cost)
        return charged

    def balances(self, limits: Mapping[str, BudgetLimit]) -> dict[str, Balance]:
        """Return these budgets, by cluster, with what is charged against each."""
        charged = self.on(limits)
        return {
            name: Balance(limit.cpu_hours, limit.gpu_hours, charged[name])
            for name, limit in limits.items()
        }

    def _of_plan(self, plan_id: str) -> list[DatedCharge]:
        plan, latest = self._plan_of(plan_id), self._journal.latest(plan_id)
        sent = {token for token, entry in latest.items() if entry.step not in _NOT_SENT}
        times: dict[str, float] = {}
        for entry in self._journal.entries(plan_id):
            times.setdefault(entry.token, entry.at // _HOUR * _HOUR)
        found: dict[tuple[str, float], Cost] = {}
        for charge in charges_of(plan):
            if tokens := [job.token for job in charge.jobs if job.token in sent]:
                key = charge.destination.cluster, times[tokens[0]]
                found[key] = found.get(key, Cost()).plus(charge.cost)
        return [DatedCharge(*key, cost) for key, cost in found.items()]
