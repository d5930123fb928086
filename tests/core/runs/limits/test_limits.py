"""What was confirmed is never exceeded, and who asks is told what to confirm."""

from __future__ import annotations

import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.runs.limits.limits import LimitKind, RunLimits, Spent, fits, is_confirmed
from rowtui.core.runs.limits.times import describe, parse_until
from rowtui.core.submission.plan.basis import PlacementBasis
from rowtui.core.submission.plan.charges import Balance, Money, bundle_prices, charges_of
from rowtui.core.submission.plan.model import InBundle, Packed, Plan, PlannedDestination, PlannedJob

ALPHA = PlannedDestination("alpha", "cpu")
BETA = PlannedDestination("beta", "gpu")


def job(
    number: int,
    hours: float = 1.0,
    cpus: int = 1,
    where: PlannedDestination = ALPHA,
    after: tuple[str, ...] = (),
    bundle: InBundle | None = None,
    gpus: int = 0,
) -> PlannedJob:
    return PlannedJob(
        f"t-{number}", "one-a", "one", 0, ("a",), where, "#!", "one-%j.out",
        1, cpus, gpus, None, int(hours * 3600),
        Cost(gpu_hours=gpus * hours) if gpus else Cost(cpus * hours),
        depends_on=after, bundle=bundle,
    )  # fmt: skip


def plan(*jobs: PlannedJob, packed: tuple[Packed, ...] = ()) -> Plan:
    return Plan("p" * 64, "2026", "me", "alpha", "slurm", jobs, Cost(), packed=packed)


def bundle(number: int, seconds: int = 3600, cpus: int = 8) -> InBundle:
    return InBundle(f"b-{number}", "small", cpus, None, 0, seconds, False, 0, seconds)


def test_without_limits_everything_may_go() -> None:
    whole = plan(job(0), job(1, where=BETA))

    found = fits(RunLimits(), Spent(), whole, 0.0)

    assert (found.jobs, found.left_out, found.breaches) == (whole.jobs, (), ())
    assert found.spent.cpu_hours == 2.0


def test_what_goes_into_a_pilot_was_paid_for_with_it() -> None:
    place = InBundle("x-pilot", "", 8, None, 0, 3600, False, 0, 600)
    requests = [job(n, bundle=place)._replace(token=f"x-pilot~{n}") for n in range(3)]
    limits = RunLimits(cpu_hours=1.0, jobs_in_queue=1, price=1.0, currency="EUR")
    spent = Spent(cpu_hours=1.0, jobs_in_queue=1)

    found = fits(limits, spent, plan(*requests), 0.0)

    assert (found.jobs, found.breaches, found.spent) == (tuple(requests), (), spent)
    # but not on a destination that nobody confirmed, nor after too many failures
    for other in (RunLimits(destinations=("beta",)), RunLimits(failures=0), RunLimits(until=-1.0)):
        assert fits(other, spent, plan(*requests), 0.0).jobs == ()


def test_a_job_behind_those_that_a_budget_holds_back_still_goes_into_its_pilot() -> None:
    place = InBundle("x-pilot", "", 8, None, 0, 3600, False, 0, 600)
    request = job(1, bundle=place)._replace(token="x-pilot~1")

    found = fits(RunLimits(cpu_hours=0.5), Spent(), plan(job(0), request), 0.0)

    assert found.jobs == (request,)


def test_a_destination_that_was_not_confirmed_is_named() -> None:
    whole = plan(job(0, where=BETA), job(1))

    found = fits(RunLimits(destinations=("alpha",)), Spent(), whole, 0.0)

    assert found.jobs == whole.jobs[1:]
    assert found.left_out == whole.jobs[:1]
    (breach,) = found.breaches
    assert breach.sentence == "1 job would go to beta/gpu, which was not confirmed"
    assert breach.confirm == "the destination beta/gpu"
    assert not breach.passes


@pytest.mark.parametrize(
    ("patterns", "where", "expected"),
    [
        (None, BETA, True),
        ((), BETA, False),
        (("beta",), BETA, True),
        (("beta/*",), BETA, True),
        (("beta/cpu*",), BETA, False),
        (("*/gpu", "alpha"), ALPHA, True),
        (("local/*",), PlannedDestination("local"), True),
        (("be",), BETA, False),
    ],
)
def test_destinations_are_patterns(
    patterns: tuple[str, ...] | None, where: PlannedDestination, expected: bool
) -> None:
    assert is_confirmed(where, patterns) is expected


def test_a_small_job_does_not_overtake_one_that_the_budget_holds_back() -> None:
    whole = plan(job(0, 2), job(1, 9), job(2, 1))

    found = fits(RunLimits(cpu_hours=10), Spent(), whole, 0.0)

    assert found.jobs == whole.jobs[:1]
    (breach,) = found.breaches
    assert breach.jobs == 2
    assert breach.sentence == "2 more jobs would bring it to 12 CPU-hours, of 10 confirmed"
    assert breach.confirm == "12 CPU-hours in all"


def test_what_was_spent_before_counts() -> None:
    assert fits(RunLimits(cpu_hours=10), Spent(cpu_hours=9.0), plan(job(0, 1)), 0.0).breaches == ()
    assert fits(RunLimits(cpu_hours=10), Spent(cpu_hours=9.5), plan(job(0, 1)), 0.0).breaches


def test_a_job_goes_only_with_those_that_it_waits_for() -> None:
    whole = plan(job(0, where=BETA), job(1, after=("t-0",)), job(2, after=("t-1",)), job(3))

    found = fits(RunLimits(destinations=("alpha",)), Spent(), whole, 0.0)

    assert found.jobs == whole.jobs[3:]
    assert found.left_out == whole.jobs[:3]


def test_a_bundle_goes_whole_and_counts_once() -> None:
    packed = Packed(ALPHA, "best", 4, 2, 9.0, 3.0, 2.5, "EUR")
    whole = plan(
        job(0, bundle=bundle(0)), job(1, bundle=bundle(0)),
        job(2, bundle=bundle(1, cpus=4)), job(3, bundle=bundle(1, cpus=4)),
        packed=(packed,),
    )  # fmt: skip

    found = fits(RunLimits(price=2.5, currency="EUR", cpu_hours=100), Spent(), whole, 0.0)

    assert bundle_prices(whole) == {"b-0": Money(2.0, "EUR"), "b-1": Money(1.0, "EUR")}
    assert found.jobs == whole.jobs[:2]
    assert found.spent == Spent(cpu_hours=8.0, money={"EUR": 2.0}, jobs_in_queue=1)
    (breach,) = found.breaches
    assert breach.kind is LimitKind.MONEY
    assert breach.sentence == "2 more jobs would bring it to 3 EUR, of 2.50 confirmed"


def test_jobs_of_which_nobody_knows_the_price_need_a_word() -> None:
    limits = RunLimits(price=5.0, currency="EUR")

    (unknown,) = fits(limits, Spent(), plan(job(0)), 0.0).breaches
    (other,) = fits(limits, Spent(), plan(job(0)), 0.0, {"t-0": Money(1.0, "USD")}).breaches

    assert unknown.kind is other.kind is LimitKind.UNPRICED
    assert "have no price" in unknown.sentence
    assert "USD, not EUR" in other.sentence
    assert fits(limits, Spent(), plan(job(0)), 0.0, {"t-0": Money(1.0, "EUR")}).breaches == ()


def test_a_full_queue_passes_by_itself() -> None:
    (breach,) = fits(
        RunLimits(jobs_in_queue=2), Spent(jobs_in_queue=1), plan(job(0), job(1)), 0.0
    ).breaches

    assert breach.kind is LimitKind.JOBS_IN_QUEUE
    assert breach.passes
    assert breach.jobs == 1


@pytest.mark.parametrize(
    ("limits", "spent", "kind"),
    [
        (RunLimits(until=100.0), Spent(), LimitKind.UNTIL),
        (RunLimits(failures=3), Spent(failures=3), LimitKind.FAILURES),
        (RunLimits(failures_in_a_row=2), Spent(failures_in_a_row=2), LimitKind.FAILURES_IN_A_ROW),
    ],
)
def test_time_and_failures_stop_everything(
    limits: RunLimits, spent: Spent, kind: LimitKind
) -> None:
    found = fits(limits, spent, plan(job(0), job(1)), 100.0)

    assert found.jobs == ()
    assert [(it.kind, it.jobs) for it in found.breaches] == [(kind, 2)]
    assert fits(limits, Spent(), plan(job(0)), 99.0).breaches == ()
    assert fits(limits, spent, plan(), 100.0).breaches == ()


def test_gpus_have_a_budget_of_their_own() -> None:
    (breach,) = fits(RunLimits(gpu_hours=3), Spent(), plan(job(0, 2, gpus=2)), 0.0).breaches

    assert breach.sentence == "1 more job would bring it to 4 GPU-hours, of 3 confirmed"


def _cpus(one: PlannedJob) -> int:
    return 0 if one.gpus else one.cpus


amounts = st.none() | st.floats(0, 50)
counts = st.none() | st.integers(0, 20)
jobs = st.lists(
    st.tuples(
        st.integers(0, 20), st.integers(1, 8), st.sampled_from((ALPHA, BETA)), st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=12,
)  # fmt: skip


@given(
    jobs,
    amounts,
    amounts,
    counts,
    st.sampled_from((None, ("alpha",), ("*/gpu",), ())),
    st.floats(0, 30),
)
def test_what_goes_keeps_within_every_limit_and_nothing_more_would(
    drawn: list[tuple[int, int, PlannedDestination, int, int]],
    cpu_hours: float | None,
    gpu_hours: float | None,
    queue: int | None,
    destinations: tuple[str, ...] | None,
    before: float,
) -> None:
    whole = plan(
        *(
            job(
                at, hours / 4, cpus, where, gpus=gpus,
                after=(f"t-{at - back}",) if 0 < back <= at else (),
            )
            for at, (hours, cpus, where, gpus, back) in enumerate(drawn)
        )
    )  # fmt: skip
    limits = RunLimits(
        cpu_hours, gpu_hours=gpu_hours, jobs_in_queue=queue, destinations=destinations
    )

    found = fits(limits, Spent(cpu_hours=before), whole, 0.0)

    sent = {it.token for it in found.jobs}
    assert tuple(it for it in whole.jobs if it.token in sent) == found.jobs
    assert tuple(it for it in whole.jobs if it.token not in sent) == found.left_out
    assert all(is_confirmed(it.destination, destinations) for it in found.jobs)
    assert all(sent.issuperset(it.depends_on) for it in found.jobs)
    # As in Row, a job with GPUs is charged GPU-hours and no CPU-hours.
    hours = before + sum(_cpus(it) * it.walltime_seconds / 3600 for it in found.jobs)
    gpus = sum(it.gpus * it.walltime_seconds / 3600 for it in found.jobs)
    assert not found.jobs or cpu_hours is None or hours <= cpu_hours + 1e-6
    assert not found.jobs or gpu_hours is None or gpus <= gpu_hours + 1e-6
    assert queue is None or len(sent) <= queue
    assert bool(found.left_out) == bool(found.breaches)
    # Of those that may go at all, the first that stays is one that no longer fits.
    free = [it for it in found.left_out if is_confirmed(it.destination, destinations)]
    first = next((it for it in free if sent.issuperset(it.depends_on)), None)
    if first is not None:
        own = first.walltime_seconds / 3600
        assert (
            (cpu_hours is not None and hours + _cpus(first) * own > cpu_hours)
            or (gpu_hours is not None and gpus + first.gpus * own > gpu_hours)
            or (queue is not None and len(sent) + 1 > queue)
        )


def test_a_budget_holds_back_what_goes_to_its_cluster_and_nothing_else() -> None:
    whole = plan(job(0, 2), job(1, 2), job(2, 1, where=BETA), job(3, 1, gpus=2))
    balances = {"alpha": Balance(4.0, None, Cost(1.0))}

    found = fits(RunLimits(), Spent(), whole, 0.0, balances=balances)

    assert [it.token for it in found.jobs] == ["t-0", "t-2"]
    (breach,) = found.breaches
    assert (breach.kind, breach.jobs, breach.passes) == (LimitKind.BUDGET, 2, False)
    assert breach.sentence == (
        "the budget of alpha is 4 CPU-hours, this project is charged 1, and this plan would bring "
        "it to 5"
    )
    allowed = RunLimits(over_budget=True)
    assert fits(allowed, Spent(), whole, 0.0, balances=balances).jobs == whole.jobs
    assert describe(allowed) == ("beyond the budgets of clusters",)


@given(
    jobs,
    st.none() | st.floats(0, 30),
    st.dictionaries(
        st.sampled_from(("alpha", "beta")),
        st.builds(
            Balance,
            st.none() | st.floats(0, 20),
            st.none() | st.floats(0, 10),
            st.builds(Cost, st.floats(0, 10), st.floats(0, 5)),
        ),
    ),
)
def test_no_budget_is_exceeded_and_no_other_cluster_waits_for_it(
    drawn: list[tuple[int, int, PlannedDestination, int, int]],
    cpu_hours: float | None,
    balances: dict[str, Balance],
) -> None:
    whole = plan(
        *(job(at, hours / 4, cpus, where, gpus=gpus) for at, (hours, cpus, where, gpus, _) in
          enumerate(drawn))
    )  # fmt: skip
    limits = RunLimits(cpu_hours)

    found = fits(limits, Spent(), whole, 0.0, balances=balances)

    assert sorted([*found.jobs, *found.left_out], key=whole.jobs.index) == list(whole.jobs)
    assert bool(found.left_out) == bool(found.breaches)
    sent = whole._replace(jobs=found.jobs)
    for name, balance in balances.items():
        mine = [it.cost for it in charges_of(sent) if it.destination.cluster == name]
        assert balance.over(Cost.total(mine)) == ()
    # A person who confirmed to exceed budgets is not held back by any.
    free = fits(limits._replace(over_budget=True), Spent(), whole, 0.0, balances=balances)
    assert free == fits(limits, Spent(), whole, 0.0)
    if cpu_hours is None:
        for name in {"alpha", "beta"} - balances.keys():
            assert not [it for it in found.left_out if it.destination.cluster == name]
        # The first job of a cluster that stays is one that its budget has too little for.
        for name in {it.destination.cluster for it in found.left_out}:
            first = next(it for it in found.left_out if it.destination.cluster == name)
            at = whole.jobs.index(first)
            before = [it for it in whole.jobs[:at] if it.destination.cluster == name]
            asked = charges_of(whole._replace(jobs=(*before, first)))
            assert balances[name].over(Cost.total(it.cost for it in asked))


def test_limits_are_told_line_by_line() -> None:
    limits = RunLimits(
        1500, 20, "EUR", 100, ("alpha/*", "b\x1beta"), None, 10, 1, 2.5
    )  # fmt: skip

    assert describe(limits) == (
        "at most 1,500 CPU-hours",
        "at most 2.50 GPU-hours",
        "at most 20 EUR",
        "at most 100 jobs in the queue",
        "only to alpha/*, b\\x1beta",
        "stops at 10 failed jobs",
        "stops at 1 failed job in a row",
    )
    assert describe(RunLimits()) == ()


NOW = datetime(2026, 11, 21, 17, 30).timestamp()  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18:00", datetime(2026, 11, 21, 18, 0)),  # noqa: DTZ001
        (" 9:15 ", datetime(2026, 11, 22, 9, 15)),  # noqa: DTZ001
        ("17:30", datetime(2026, 11, 22, 17, 30)),  # noqa: DTZ001
        ("2026-11-22", datetime(2026, 11, 23)),  # noqa: DTZ001
        ("2026-11-21", datetime(2026, 11, 22)),  # noqa: DTZ001
        ("2026-11-22 18:00", datetime(2026, 11, 22, 18)),  # noqa: DTZ001
        ("2026-11-22T18:00", datetime(2026, 11, 22, 18)),  # noqa: DTZ001
        ("+8h", datetime(2026, 11, 22, 1, 30)),  # noqa: DTZ001
        ("+ 1.5 hours", datetime(2026, 11, 21, 19, 0)),  # noqa: DTZ001
        ("+30min", datetime(2026, 11, 21, 18, 0)),  # noqa: DTZ001
        ("+2 days", datetime(2026, 11, 23, 17, 30)),  # noqa: DTZ001
    ],
)
def test_a_moment_is_what_people_mean(text: str, expected: datetime) -> None:
    assert parse_until(text, NOW) == expected.timestamp()


@pytest.mark.parametrize(
    "text",
    ["", "soon", "25:00", "18:60", "2026-13-01", "2026-11-20", "2020-01-01 10:00", "+", "+8",
     "+8 lightyears", "+8 moons", "+99999999999999999999d", "99999-01-01", "\x1b[2J"],
)  # fmt: skip
def test_what_is_no_moment_or_has_passed_is_refused(text: str) -> None:
    with pytest.raises(RowtuiError) as raised:
        parse_until(text, NOW)

    assert raised.value.hint
    assert "\x1b" not in str(raised.value)


@given(st.floats(0, 4e9))
def test_a_time_of_day_is_always_the_next_one(now: float) -> None:
    at = parse_until("18:00", now)

    assert now < at <= now + 86_400 + 7_200  # a day may have 25 hours
    assert time.localtime(at)[3:5] == (18, 0)


def attempt(number: int, attempt: int, continues: int = 0) -> PlannedJob:
    """A job that is this attempt, and the continuation of so many jobs."""
    basis = PlacementBasis(continues=continues).text
    return job(number)._replace(attempt=attempt, basis=basis)


def test_retries_beyond_their_limit_wait_and_first_attempts_go_on() -> None:
    whole = plan(attempt(0, 2), attempt(1, 1), attempt(2, 3), attempt(3, 1), attempt(4, 2, 7))

    found = fits(RunLimits(retries=3), Spent(retries=2), whole, 0.0)

    assert [it.token for it in found.jobs] == ["t-0", "t-1", "t-3", "t-4"]
    assert found.spent.retries == 3
    (breach,) = found.breaches
    assert (breach.kind, breach.passes) == (LimitKind.RETRIES, False)
    assert breach.sentence == "1 more job would bring it to 4 retries, of 3 confirmed"


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2))), st.integers(0, 9))
def test_no_more_retries_are_sent_than_confirmed(made: list[tuple[int, int]], most: int) -> None:
    whole = plan(*(attempt(at, *each) for at, each in enumerate(made)))

    found = fits(RunLimits(retries=most), Spent(), whole, 0.0)

    retries = [it for it in whole.jobs if it.is_retry]
    assert found.spent.retries == sum(it.is_retry for it in found.jobs) == min(most, len(retries))
    assert set(found.left_out) == set(retries[most:])
