"""What a policy would cost: small cases by hand, and what holds for all of them."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.packing.model import InstanceType, ResourceAmounts
from rowtui.core.packing.online.model import Order, Policy

from tests.core.packing.arriving_jobs import (
    Arrival,
    Faults,
    PackingSimulation,
    compare,
    pilots,
    simulate,
    usual_policies,
)

HOUR = 3600
SMALL = InstanceType("small", ResourceAmounts(2, 8), 1.0, boot_seconds=60)
LARGE = InstanceType("large", ResourceAmounts(8, 64), 3.0, boot_seconds=120)
TYPES = (SMALL, LARGE)


def arrival(at: float, cpus: int = 1, seconds: float = HOUR, hint: str = "") -> Arrival:
    return Arrival(at, ResourceAmounts(cpus, 1), seconds, hint)


def test_an_instance_is_paid_from_its_allocation_to_its_release() -> None:
    found = simulate(TYPES, [arrival(0)])

    assert found.cost == pytest.approx(1.0 * (60 + HOUR) / HOUR)
    assert found.makespan == 60 + HOUR
    (use,) = found.types
    assert (use.node_type, use.peak, use.total) == ("small", 1, 1)
    assert use.hours == pytest.approx((60 + HOUR) / HOUR)


def test_a_job_waits_until_its_instance_has_booted() -> None:
    found = simulate(TYPES, [arrival(0), arrival(30), arrival(100, 8)])

    assert found.mean_wait == pytest.approx((60 + 30 + 120) / 3)
    assert found.p95_wait == 120


def test_utilisation_is_the_share_that_jobs_had_of_what_was_paid() -> None:
    node_type = InstanceType("n", ResourceAmounts(4, 100, 2, 0), 1.0)

    found = simulate((node_type,), [arrival(0, 3, 100), arrival(0, 1, 50)])

    assert found.utilisation.cpus == pytest.approx((3 * 100 + 1 * 50) / (4 * 100))
    assert found.utilisation.memory == pytest.approx((100 + 50) / (100 * 100))
    assert found.utilisation.gpus == 0
    assert found.utilisation.disk == 0


def test_jobs_wait_for_one_another_where_there_may_be_only_one_instance() -> None:
    found = simulate((SMALL._replace(at_most=1),), [arrival(0, 2, 100) for _ in range(3)])

    assert found.makespan == 60 + 300
    assert found.mean_wait == pytest.approx((60 + 160 + 260) / 3)
    assert (found.peak, found.instances) == (1, 1)


def test_an_instance_that_is_kept_saves_a_boot_and_costs_its_time() -> None:
    jobs = [arrival(0, 2, 100), arrival(200, 2, 100)]

    found = compare((SMALL,), jobs, {"at once": Policy(), "kept": Policy(grace_seconds=60)})

    assert [each.instances for each in found.values()] == [2, 1]
    assert found["at once"].cost == pytest.approx(2 * 160 / HOUR)
    assert found["kept"].cost == pytest.approx((300 + 60) / HOUR)
    assert found["kept"].mean_wait < found["at once"].mean_wait


def test_a_job_that_loses_its_instance_begins_anew_on_another() -> None:
    faults = Faults(per_instance_hour=0.3, seed=3)

    found = simulate(TYPES, [arrival(n * 10) for n in range(60)], faults=faults)

    assert found.ended == 60
    assert found.lost > 0
    assert found.restarts > 0
    assert found.cost > simulate(TYPES, [arrival(n * 10) for n in range(60)]).cost


def test_what_a_lost_instance_had_done_of_a_job_does_not_count() -> None:
    faults = Faults(per_instance_hour=0.5, seed=1)
    chance = random.Random(faults.seed)
    first, second = (chance.expovariate(faults.per_instance_hour / HOUR) for _ in range(2))
    assert 60 < first < HOUR  # it is lost while the job runs there, and the second is not
    assert second > 60 + HOUR

    found = simulate(TYPES, [arrival(0)], faults=faults)

    assert found.restarts == 1
    assert found.makespan == pytest.approx(first + 60 + HOUR)
    assert found.mean_wait == pytest.approx(first + 60)
    assert found.cost == pytest.approx((first + 60 + HOUR) / HOUR)


def test_a_boot_that_fails_is_paid_and_tried_again() -> None:
    found = simulate((SMALL,), [arrival(0, 2) for _ in range(40)], faults=Faults(boots=0.5))

    assert found.ended == 40
    assert found.instances == 40 + found.lost
    assert found.restarts == 0  # nothing ran yet
    assert found.cost == pytest.approx((40 * HOUR + found.instances * 60) / HOUR)


def test_where_nothing_ever_boots_jobs_are_given_up_at_last() -> None:
    found = simulate(TYPES, [arrival(0), arrival(0, 8)], faults=Faults(boots=1.0))

    assert found.ended == 0
    assert found.refused == (("it lost its instance 21 times", 2),)


def test_where_everything_fails_at_once_it_ends_all_the_same() -> None:
    quick = SMALL._replace(boot_seconds=0)

    found = simulate((quick,), [arrival(0)], faults=Faults(per_instance_hour=1e12, boots=1.0))

    assert found.refused[0][1] == 1


def test_jobs_that_fit_nowhere_are_counted_with_their_reason() -> None:
    found = simulate(TYPES, [arrival(0), arrival(0, 99), arrival(5, 99)])

    assert found.ended == 1
    ((reason, number),) = found.refused
    assert "needs 99 CPUs" in reason
    assert number == 2


def test_nothing_arrives_and_nothing_is_paid() -> None:
    found = simulate(TYPES, [])

    assert (found.cost, found.makespan, found.mean_wait, found.types) == (0, 0, 0, ())


def test_a_job_that_never_ends_and_an_instance_that_is_never_released_stop_nothing() -> None:
    found = simulate(TYPES, [arrival(0), arrival(0, 8, math.inf)], Policy(grace_seconds=math.inf))

    assert (found.ended, found.not_ended) == (1, 1)
    assert math.isfinite(found.cost)


def test_arrivals_may_be_given_in_any_order() -> None:
    jobs = [arrival(at * 7 % 100, at % 8 + 1, 50) for at in range(40)]

    assert simulate(TYPES, jobs) == simulate(TYPES, sorted(jobs))


def test_a_job_that_takes_no_time_ends_as_it_starts() -> None:
    found = simulate((SMALL._replace(boot_seconds=0),), [arrival(5, 1, 0), arrival(5, 1, 0)])

    assert (found.ended, found.makespan, found.cost) == (2, 0, 0)


def test_pilots_are_few_instances_that_are_refilled() -> None:
    jobs = [arrival(0, 1, 100 + n % 7) for n in range(100)]

    found = simulate(TYPES, jobs, pilots(TYPES, jobs, 2))

    assert [(use.node_type, use.peak) for use in found.types] == [("small", 2)]
    assert found.ended == 100
    assert found.makespan > simulate(TYPES, jobs).makespan


def test_pilots_are_of_the_types_that_a_packing_has_in_its_proportions() -> None:
    jobs = [*(arrival(0, 8, 100) for _ in range(30)), *(arrival(0, 2, 100) for _ in range(10))]

    policy = pilots((*TYPES, InstanceType("never", ResourceAmounts(9, 99), 9.0)), jobs, 8)

    assert dict(policy.limits) == {"large": 6, "small": 2, "never": 0}


def test_pilots_are_cheaper_than_the_seed_where_run_times_are_unequal() -> None:
    chance = random.Random(2)
    jobs = [
        arrival(0, chance.choice((1, 1, 2, 3, 8)), chance.lognormvariate(8, 1)) for _ in range(1000)
    ]

    found = compare(TYPES, jobs, {"seed": Policy(), "pilots": pilots(TYPES, jobs, 30)})

    assert found["pilots"].cost < 0.95 * found["seed"].cost


def test_jobs_that_fit_nowhere_need_no_pilot() -> None:
    jobs = [arrival(0, 99), arrival(0, 1, hint="none"), arrival(0, 4, hint="small")]

    assert pilots(TYPES, jobs, 3).limits == ()
    assert dict(pilots(TYPES, [*jobs, arrival(0, hint="large")], 3).limits) == {
        "small": 0,
        "large": 3,
    }


def test_a_limit_of_the_catalogue_holds_also_for_pilots() -> None:
    jobs = [arrival(0, 2, 100) for _ in range(10)]

    found = simulate((SMALL._replace(at_most=1),), jobs, Policy(limits=(("small", 5),)))

    assert (found.peak, found.ended) == (1, 10)


def test_every_usual_policy_runs_all_jobs() -> None:
    chance = random.Random(1)
    jobs = [arrival(chance.randint(0, 500), chance.randint(1, 8), 100) for _ in range(100)]

    found = compare(TYPES, jobs, usual_policies(TYPES, jobs, machines=5))

    assert len(found) == 5
    assert {each.ended for each in found.values()} == {100}
    assert found["5 pilots"].peak <= 6
    assert found["first come, first served"].policy.order is Order.ARRIVAL


@given(st.integers(0, 10**9))
def test_what_is_counted_adds_up_whatever_happens(seed: int) -> None:
    chance = random.Random(seed)
    types = tuple(
        InstanceType(
            f"t{n}",
            ResourceAmounts(*(chance.randint(1, 6) for _ in range(4))),
            chance.choice((0.0, 1.0, 2.5)),
            chance.choice((None, 1, 3)),
            chance.choice((0, 10)),
        )
        for n in range(chance.randint(1, 3))
    )
    jobs = [
        Arrival(
            chance.choice((0, chance.randint(0, 300))),
            ResourceAmounts(*(chance.randint(0, 6) for _ in range(4))),
            chance.randint(0, 100),
            chance.choice(("", "", "t0")),
        )
        for _ in range(40)
    ]
    policy = Policy(
        chance.choice((0, 20)),
        chance.choice(list(Order)),
        chance.random() < 0.5,
        chance.choice((None, 2)),
        3,
    )
    faults = Faults(chance.choice((0, 20)), chance.choice((0, 0.2)), seed)

    found = simulate(types, jobs, policy, faults)

    assert found == simulate(types, jobs, policy, faults)
    assert found.ended + sum(number for _, number in found.refused) == found.jobs == 40
    assert found.not_ended == 0
    assert all(0 <= share <= 1 + 1e-9 for share in found.utilisation)
    assert found.cost == pytest.approx(sum(each.cost for each in found.types))
    check_lowest(found, types, jobs)


def check_lowest(
    found: PackingSimulation, types: tuple[InstanceType, ...], jobs: list[Arrival]
) -> None:
    """Each job that ended ran for its time, on something that was paid."""
    if found.ended == len(jobs):
        assert found.makespan >= max(job.seconds for job in jobs)
        for resource in range(4):
            paid = sum(
                use.hours * HOUR * each.amounts[resource]
                for use in found.types
                for each in types
                if each.name == use.node_type
            )
            asked = sum(job.amounts[resource] * job.seconds for job in jobs)
            assert paid >= asked - 1e-6
