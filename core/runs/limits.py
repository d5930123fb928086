"""What a person allowed a network run to spend, and which jobs of a plan keep within it.

Takes the limits, what was spent so far and a plan; gives the jobs that may be sent, in the plan's
order, and a `Breach` for each limit that keeps others back, with what a person would have to
confirm. Nothing overtakes: once a budget holds a job back, those behind it wait as well.
Amounts are what jobs ask for, as in a plan: the most that they can come to.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.runs.moments import parse_until, time_text
from rowtui.core.submission.pilot_model import is_in_pilot
from rowtui.core.text import count, plural, visible

if TYPE_CHECKING:
    from rowtui.core.submission.model import Destination, Plan, PlannedJob

__all__ = [
    "TRIES",
    "Breach",
    "Fit",
    "Kind",
    "Limits",
    "Money",
    "Spent",
    "Unit",
    "amount",
    "describe",
    "fits",
    "is_confirmed",
    "money_of",
    "parse_until",
    "proposed_budget",
    "time_text",
    "units_of",
    "unknown_clusters",
]

_HOUR = 3600
CORE_HOURS = "core-hours"  # the unit of a packed plan whose machines have no prices
TRIES = 2  # so often a proposed budget pays for each job
# What a float adds to a sum must not hold back the job that fills a budget exactly.
_NEARLY = 1e-9


class Limits(NamedTuple):
    """What may be spent without asking again. None: no limit.

    `money` is in `currency`. `jobs_in_queue`: of this run, pending and running. `destinations`:
    glob patterns of `cluster/partition`, one without a slash for all of a cluster. `until`: epoch
    seconds, nothing is sent from then on. `failures`: jobs that failed since these limits were
    confirmed, `failures_in_a_row` without one that ended well between them; reaching it stops.
    """

    core_hours: float | None = None
    money: float | None = None
    currency: str = ""
    jobs_in_queue: int | None = None
    destinations: tuple[str, ...] | None = None
    until: float | None = None
    failures: int | None = None
    failures_in_a_row: int | None = None
    gpu_hours: float | None = None


class Spent(NamedTuple):
    """What a run has spent, at most: what its submitted jobs asked for. `money` by currency."""

    core_hours: float = 0.0
    gpu_hours: float = 0.0
    money: Mapping[str, float] = {}
    jobs_in_queue: int = 0
    failures: int = 0
    failures_in_a_row: int = 0


class Money(NamedTuple):
    """What a job costs at most."""

    amount: float
    currency: str


class Kind(enum.Enum):
    """Which limit it is."""

    CORE_HOURS = "core_hours"
    GPU_HOURS = "gpu_hours"
    MONEY = "money"
    UNPRICED = "unpriced"  # nobody knows what it costs, or only in another currency
    JOBS_IN_QUEUE = "jobs_in_queue"
    DESTINATION = "destination"
    UNTIL = "until"
    FAILURES = "failures"
    FAILURES_IN_A_ROW = "failures_in_a_row"


class Breach(NamedTuple):
    """Why jobs may not be sent. `jobs`: how many it holds back. `confirm`: what would be allowed.

    `passes`: it ends by itself, when jobs end; nobody needs to be asked.
    """

    kind: Kind
    sentence: str
    confirm: str
    jobs: int
    passes: bool = False


class Fit(NamedTuple):
    """Which jobs of a plan may be sent: the jobs themselves, in its order, and what they take."""

    jobs: tuple[PlannedJob, ...]
    left_out: tuple[PlannedJob, ...]
    breaches: tuple[Breach, ...]
    spent: Spent


class Unit(NamedTuple):
    """Jobs that can only be sent together, and what they take: one job, or one bundle.

    `paid`: they go into a pilot, which was paid for when it was started.
    """

    jobs: tuple[PlannedJob, ...]
    core_hours: float
    gpu_hours: float
    money: Money | None
    paid: bool = False

    @property
    def destination(self) -> Destination:
        """Where they go."""
        return self.jobs[0].destination


def fits(
    limits: Limits,
    spent: Spent,
    plan: Plan,
    now: float,
    money: Mapping[str, Money] | None = None,
) -> Fit:
    """The first jobs of a plan that keep within the limits, and why the others do not.

    `now`: epoch seconds. `money`: what each job costs, by its token or its bundle's; without it
    what packing said (`money_of`). A bundle goes whole or not at all; tasks of an array one by one.
    A job whose predecessor in the plan is not sent is not sent.
    """
    units = tuple(units_of(plan, money_of(plan) if money is None else money))
    stops = _stops(limits, spent, plan, now)
    if stops:
        return Fit((), plan.jobs, stops, spent)
    sent: list[PlannedJob] = []
    held: set[str] = set()
    blocked: dict[Kind, _Blocked] = {}
    elsewhere: dict[tuple[Kind, str], _Blocked] = {}
    for unit in units:
        if any(token in held for job in unit.jobs for token in job.depends_on):
            held.update(job.token for job in unit.jobs)
            continue
        found = _of_its_own(limits, unit)
        if found is not None:
            elsewhere.setdefault(found, _Blocked([])).units.append(unit)
        elif not unit.paid and (blocked or (over := _over(limits, spent, unit))):
            kinds = tuple(blocked) or over
            for kind in kinds:
                blocked.setdefault(kind, _Blocked([])).units.append(unit)
        else:
            sent += unit.jobs
            spent = _with(spent, unit)
            continue
        held.update(job.token for job in unit.jobs)
    breaches = [
        *(_elsewhere(kind, name, it.units, limits) for (kind, name), it in elsewhere.items()),
        *(_budget(kind, it.units, limits, spent) for kind, it in blocked.items()),
    ]
    left_out = tuple(job for job in plan.jobs if job.token in held)
    return Fit(tuple(sent), left_out, tuple(breaches), spent)


class _Blocked(NamedTuple):
    units: list[Unit]


def proposed_budget(asked: float, *, grows: bool) -> float | None:
    """The hours that a person is asked to allow for jobs that ask for so many.

    Twice as many: a job that failed is sent again, and so are directories of a group that the job
    did not reach. None, no limit, where lists will add jobs: what these ask for is not known yet.
    """
    return None if grows else TRIES * asked


def units_of(plan: Plan, money: Mapping[str, Money]) -> Iterator[Unit]:
    """What is sent together, in the plan's order. `money`: by token of a job or of a bundle."""
    jobs = plan.jobs
    at = 0
    while at < len(jobs):
        job = jobs[at]
        end = at + 1
        if job.bundle is None:
            hours = job.walltime_seconds / _HOUR
            yield Unit((job,), job.cpus * hours, job.gpus * hours, money.get(job.token))
        elif is_in_pilot(job.token):
            yield Unit((job,), 0.0, 0.0, None, paid=True)
        else:
            token = job.bundle.token
            while end < len(jobs) and (other := jobs[end].bundle) and other.token == token:
                end += 1
            hours = job.bundle.seconds / _HOUR
            yield Unit(
                jobs[at:end], job.bundle.cpus * hours, job.bundle.gpus * hours, money.get(token)
            )
        at = end


def money_of(plan: Plan) -> dict[str, Money]:
    """What bundles cost, by their tokens: what packing said of each destination, shared out by
    core-hours. Nothing of jobs that are in no bundle, or whose machines have no price.

    Only of a plan as it was packed: a part of it does not know what its bundles cost.
    """
    prices = {packed.destination: packed for packed in plan.packed if packed.unit != CORE_HOURS}
    bundles = [unit for unit in units_of(plan, {}) if unit.jobs[0].bundle is not None]
    hours: dict[Destination, float] = {}
    for unit in bundles:
        hours[unit.destination] = hours.get(unit.destination, 0.0) + unit.core_hours
    found = {}
    for unit in bundles:
        packed, bundle = prices.get(unit.destination), unit.jobs[0].bundle
        if packed is not None and bundle is not None:
            share = unit.core_hours / (hours[unit.destination] or 1.0)
            found[bundle.token] = Money(packed.cost * share, packed.unit)
    return found


def is_confirmed(destination: Destination, patterns: tuple[str, ...] | None) -> bool:
    """Whether jobs may go there."""
    if patterns is None:
        return True
    whole = f"{destination.cluster}/{destination.partition}"
    return any(
        fnmatchcase(whole if "/" in pattern else destination.cluster, pattern)
        for pattern in patterns
    )


def unknown_clusters(patterns: Iterable[str], known: Collection[str]) -> str:
    """Which patterns of destinations fit no cluster, with the known names; "" if each fits one."""
    names = [pattern.partition("/")[0] for pattern in patterns]
    wrong = [name for name in names if not any(fnmatchcase(one, name) for one in known)]
    if not wrong:
        return ""
    shown = " or ".join(f"'{visible(name)}'" for name in dict.fromkeys(wrong))
    return f"there is no cluster {shown}; known: {', '.join(map(visible, sorted(known)))}"


def _stops(limits: Limits, spent: Spent, plan: Plan, now: float) -> tuple[Breach, ...]:
    """What keeps everything back. An empty plan is held back by nothing."""
    jobs = len(plan.jobs)
    found: list[Breach] = []
    if not jobs:
        return ()
    if limits.until is not None and now >= limits.until:
        found.append(
            Breach(
                Kind.UNTIL,
                f"nothing is to be sent after {time_text(limits.until)}",
                "a later time",
                jobs,
            )
        )
    if limits.failures is not None and spent.failures >= limits.failures:
        found.append(
            Breach(
                Kind.FAILURES,
                f"{plural(spent.failures, 'job')} failed, and it stops at {count(limits.failures)}",
                "going on after these failures",
                jobs,
            )
        )
    if limits.failures_in_a_row is not None and spent.failures_in_a_row >= limits.failures_in_a_row:
        found.append(
            Breach(
                Kind.FAILURES_IN_A_ROW,
                f"the last {plural(spent.failures_in_a_row, 'job')} failed one after another, and "
                f"it stops at {count(limits.failures_in_a_row)}",
                "going on after these failures",
                jobs,
            )
        )
    return tuple(found)


def _of_its_own(limits: Limits, unit: Unit) -> tuple[Kind, str] | None:
    """What holds back these jobs whatever the others take, and where it does."""
    where = str(unit.destination)
    if not is_confirmed(unit.destination, limits.destinations):
        return Kind.DESTINATION, where
    if unit.paid or limits.money is None:
        return None
    if unit.money is None or unit.money.currency != limits.currency:
        return Kind.UNPRICED, where
    return None


def _over(limits: Limits, spent: Spent, unit: Unit) -> tuple[Kind, ...]:
    """The budgets that these jobs would go beyond."""
    after = _with(spent, unit)
    found = (
        (Kind.CORE_HOURS, after.core_hours, limits.core_hours),
        (Kind.GPU_HOURS, after.gpu_hours, limits.gpu_hours),
        (Kind.MONEY, after.money.get(limits.currency, 0.0), limits.money),
        (Kind.JOBS_IN_QUEUE, after.jobs_in_queue, limits.jobs_in_queue),
    )
    return tuple(
        kind
        for kind, asked, allowed in found
        if allowed is not None and asked > allowed + _NEARLY * max(1.0, abs(allowed))
    )


def _with(spent: Spent, unit: Unit) -> Spent:
    if unit.paid:
        return spent
    money = spent.money
    if unit.money is not None:
        currency = unit.money.currency
        money = {**money, currency: money.get(currency, 0.0) + unit.money.amount}
    return spent._replace(
        core_hours=spent.core_hours + unit.core_hours,
        gpu_hours=spent.gpu_hours + unit.gpu_hours,
        money=money,
        jobs_in_queue=spent.jobs_in_queue + 1,
    )


def _elsewhere(kind: Kind, where: str, units: list[Unit], limits: Limits) -> Breach:
    jobs = sum(len(unit.jobs) for unit in units)
    shown = visible(where)
    whose = f"{plural(jobs, 'job')} would go to {shown}"
    if kind is Kind.DESTINATION:
        return Breach(kind, f"{whose}, which was not confirmed", f"the destination {shown}", jobs)
    money = units[0].money
    if money is None:
        said = "and nobody says what that costs"
    else:
        said = f"which is paid in {visible(money.currency)}, not {visible(limits.currency)}"
    return Breach(kind, f"{whose}, {said}", f"jobs on {shown} whatever they cost", jobs)


def _budget(kind: Kind, units: list[Unit], limits: Limits, spent: Spent) -> Breach:
    jobs = sum(len(unit.jobs) for unit in units)
    whose = f"{plural(jobs, 'more job')}"
    if kind is Kind.JOBS_IN_QUEUE:
        allowed = limits.jobs_in_queue or 0
        sentence = f"{whose} would be more than {count(allowed)} in the queue"
        return Breach(
            kind, sentence, f"more than {plural(allowed, 'job')} in the queue", jobs, True
        )
    if kind is Kind.MONEY:
        asked = sum(unit.money.amount for unit in units if unit.money is not None)
        total = spent.money.get(limits.currency, 0.0) + asked
        unit, most = f" {visible(limits.currency)}".rstrip(), limits.money or 0.0
    elif kind is Kind.GPU_HOURS:
        total = spent.gpu_hours + sum(unit.gpu_hours for unit in units)
        unit, most = " GPU-hours", limits.gpu_hours or 0.0
    else:
        total = spent.core_hours + sum(unit.core_hours for unit in units)
        unit, most = " core-hours", limits.core_hours or 0.0
    sentence = f"{whose} would bring it to {amount(total)}{unit}, of {amount(most)} confirmed"
    return Breach(kind, sentence, f"{amount(total)}{unit} in all", jobs)


# Texts


def describe(limits: Limits) -> tuple[str, ...]:
    """What is allowed, a line for each limit; what has none is not in it."""
    lines = []
    if limits.core_hours is not None:
        lines.append(f"at most {amount(limits.core_hours)} core-hours")
    if limits.gpu_hours is not None:
        lines.append(f"at most {amount(limits.gpu_hours)} GPU-hours")
    if limits.money is not None:
        lines.append(f"at most {amount(limits.money)} {visible(limits.currency)}".rstrip())
    if limits.jobs_in_queue is not None:
        lines.append(f"at most {plural(limits.jobs_in_queue, 'job')} in the queue")
    if limits.destinations is not None:
        named = ", ".join(map(visible, limits.destinations))
        lines.append(f"only to {named}" if named else "to no destination")
    if limits.until is not None:
        lines.append(f"until {time_text(limits.until)}")
    if limits.failures is not None:
        lines.append(f"stops at {plural(limits.failures, 'failed job')}")
    if limits.failures_in_a_row is not None:
        lines.append(f"stops at {plural(limits.failures_in_a_row, 'failed job')} in a row")
    return tuple(lines)


def amount(number: float) -> str:
    """An amount with thousands commas and as many decimals as say something: 1,234 or 0.25."""
    if number >= 100 or number == int(number):
        return f"{math.ceil(number - _NEARLY):,}"
    return f"{number:.2f}" if number >= 0.01 else f"{number:.2g}"
