"""The online engine: what it answers to events, checked by a bookkeeper who knows no tricks."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.model import InstanceType, ResourceAmounts
from rowtui.core.packing.online.engine import Online
from rowtui.core.packing.online.model import (
    Action,
    Allocate,
    Event,
    Ignored,
    InstanceLost,
    InstanceReady,
    JobEnds,
    JobsArrive,
    OnlineState,
    Order,
    Policy,
    Refuse,
    ReleaseInstance,
    Start,
    TimePasses,
)
from rowtui.core.packing.seed import Instance, NowhereError, SeedJob, schedule

from tests.core.packing.test_seed import without_ended

SMALL = InstanceType("small", ResourceAmounts(2, 8), 0.1)
LARGE = InstanceType("large", ResourceAmounts(8, 64), 0.5)
GPU = InstanceType("gpu", ResourceAmounts(8, 64, 2), 3.0)
TYPES = (SMALL, LARGE, GPU)


def job(name: str, cpus: int = 1, memory: int = 1, gpus: int = 0, hint: str = "") -> SeedJob:
    return SeedJob(name, ResourceAmounts(cpus, memory, gpus), hint)


def arrive(*jobs: SeedJob) -> JobsArrive:
    return JobsArrive(jobs)


def limited(node_type: InstanceType, at_most: int) -> InstanceType:
    return node_type._replace(at_most=at_most)


# -- one thing at a time -------------------------------------------------------------------------


def test_a_job_starts_when_its_instance_is_ready_and_not_before() -> None:
    engine = Online(TYPES)

    assert engine.step(0, arrive(job("a"))) == [Allocate(0, "small")]
    assert engine.step(60, InstanceReady(0)) == [Start("a", 0)]


def test_a_job_starts_at_once_where_there_is_room() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("a")), InstanceReady(0))

    assert engine.step(1, arrive(job("b"))) == [Start("b", 0)]


def test_an_instance_that_boots_takes_further_jobs() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("a")))

    assert engine.step(1, arrive(job("b"))) == []
    assert engine.step(60, InstanceReady(0)) == [Start("a", 0), Start("b", 0)]


def test_an_empty_instance_is_released_at_once_without_a_grace_period() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("a"), job("b")), InstanceReady(0))

    assert engine.step(5, JobEnds("a")) == []
    assert engine.step(6, JobEnds("b")) == [ReleaseInstance(0)]
    assert engine.state().instances == ()


def test_an_empty_instance_is_kept_for_the_grace_period() -> None:
    engine = Online(TYPES, Policy(grace_seconds=100))
    engine.step(0, arrive(job("a")), InstanceReady(0))
    assert engine.step(10, JobEnds("a")) == []

    assert engine.next_release == 110
    assert engine.step(109, TimePasses()) == []
    assert engine.step(110, TimePasses()) == [ReleaseInstance(0)]
    assert engine.next_release is None


def test_a_job_within_the_grace_period_saves_the_instance() -> None:
    engine = Online(TYPES, Policy(grace_seconds=100))
    engine.step(0, arrive(job("a")), InstanceReady(0))
    engine.step(10, JobEnds("a"))

    assert engine.step(50, arrive(job("b"))) == [Start("b", 0)]
    assert engine.step(500, TimePasses()) == []
    assert engine.step(600, JobEnds("b")) == []
    assert engine.next_release == 700


def test_a_job_that_arrives_when_another_ends_takes_its_room() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("a", 2)), InstanceReady(0))

    assert engine.step(10, JobEnds("a"), arrive(job("b", 2))) == [Start("b", 0)]


def test_jobs_of_a_lost_instance_are_placed_again_before_those_who_wait() -> None:
    engine = Online((limited(SMALL, 1),))
    engine.step(0, arrive(job("a", 2)), InstanceReady(0))
    engine.step(1, arrive(job("b", 2)))

    assert engine.step(2, InstanceLost(0)) == [Allocate(1, "small")]
    assert engine.step(3, InstanceReady(1)) == [Start("a", 1)]
    assert [each.job.id for each in engine.state().waiting] == ["b"]


def test_a_job_of_a_lost_instance_goes_before_an_older_one_that_never_ran() -> None:
    engine = Online((limited(LARGE, 1),))
    engine.step(0, arrive(job("first", 4)), InstanceReady(0))
    engine.step(1, arrive(job("older", 6)))
    engine.step(2, arrive(job("younger", 4)))
    engine.step(3, JobEnds("first"))

    assert engine.step(4, InstanceLost(0), InstanceReady(1)) == [
        Allocate(1, "large"),
        Start("younger", 1),
    ]


def test_jobs_of_a_lost_instance_take_the_room_that_there_is() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("big", 8)), arrive(job("a")), InstanceReady(0), InstanceReady(1))
    engine.step(1, JobEnds("big"), arrive(job("c", 5)))

    assert engine.step(2, InstanceLost(1)) == [Start("a", 0)]


def test_an_instance_that_never_booted_is_as_good_as_lost() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("a")))

    assert engine.step(60, InstanceLost(0)) == [Allocate(1, "small")]


def test_a_job_that_loses_its_instance_too_often_is_refused() -> None:
    engine = Online(TYPES, Policy(most_restarts=2))
    engine.step(0, arrive(job("a")))
    engine.step(1, InstanceLost(0))
    engine.step(2, InstanceLost(1))

    (refused,) = engine.step(3, InstanceLost(2))

    assert refused == Refuse("a", "it lost its instance 3 times")
    assert engine.state().jobs == ()


def test_a_job_that_fits_nowhere_is_refused_and_the_others_go_on() -> None:
    engine = Online(TYPES)

    refused, allocated = engine.step(0, arrive(job("huge", 9), job("fine")))

    assert isinstance(refused, Refuse)
    assert refused.job == "huge"
    assert "needs 9 CPUs" in refused.reason
    assert refused.unplaced is not None
    assert refused.unplaced.nearest == "gpu"
    assert allocated == Allocate(0, "small")


def test_a_hint_that_does_not_satisfy_is_refused_with_what_would_do() -> None:
    (refused,) = Online(TYPES).step(0, arrive(job("j", 4, hint="small")))

    assert isinstance(refused, Refuse)
    assert "needs 4 CPUs, a small has 2" in refused.reason
    assert "large would do" in refused.reason


def test_a_hint_for_a_type_that_does_not_exist_is_refused_with_a_near_name() -> None:
    (refused,) = Online(TYPES).step(0, arrive(job("j", hint="smal")))

    assert isinstance(refused, Refuse)
    assert "did you mean small" in refused.reason


def test_a_type_of_which_there_may_be_none_is_not_there() -> None:
    engine = Online((limited(SMALL, 0), LARGE))

    assert engine.step(0, arrive(job("a"))) == [Allocate(0, "large")]
    (refused,) = engine.step(1, arrive(job("b", hint="small")))
    assert isinstance(refused, Refuse)
    assert "there may be no small" in refused.reason


def test_a_hinted_job_shares_only_with_instances_of_its_type() -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("big", 8), job("a", hint="gpu")), InstanceReady(0), InstanceReady(1))

    assert engine.step(1, JobEnds("big"), arrive(job("b", hint="large"))) == [Start("b", 1)]
    assert engine.step(2, arrive(job("c", hint="gpu"), job("d", hint="small"))) == [
        Start("c", 0),
        Allocate(2, "small"),
    ]


def test_the_next_cheapest_type_is_taken_when_there_may_be_no_more_of_a_type() -> None:
    engine = Online((limited(SMALL, 1), LARGE))
    engine.step(0, arrive(job("a", 2)))

    assert engine.step(1, arrive(job("b", 2))) == [Allocate(1, "large")]


def test_a_job_waits_visibly_when_there_may_be_no_more_of_any_type_that_holds_it() -> None:
    engine = Online((limited(SMALL, 1), limited(LARGE, 1)))
    engine.step(0, arrive(job("a", 2), job("b", 8)), InstanceReady(0), InstanceReady(1))

    assert engine.step(1, arrive(job("c", 2))) == []

    (waiting,) = engine.state().waiting
    assert waiting.job.id == "c"
    assert waiting.waits == "all that there may be are in use: 1 small, 1 large"
    assert engine.step(2, JobEnds("b")) == [Start("c", 0)]
    assert engine.state().waiting == ()


def test_a_job_that_waits_gets_an_instance_when_another_is_released() -> None:
    engine = Online(TYPES, Policy(most_instances=1, grace_seconds=1000))
    engine.step(0, arrive(job("a")), InstanceReady(0))
    assert engine.step(1, arrive(job("big", 8))) == []
    assert engine.state().waiting[0].waits == "all 1 instance that there may be are in use"

    # It stands in the way, so it is not kept for its grace period.
    assert engine.step(2, JobEnds("a")) == [ReleaseInstance(0), Allocate(1, "large")]


def test_a_small_job_overtakes_a_large_one_that_has_no_room() -> None:
    engine = Online((limited(LARGE, 1),))
    engine.step(0, arrive(job("a", 4), job("b", 4)), InstanceReady(0))
    engine.step(1, arrive(job("large", 8)))
    engine.step(2, arrive(job("small", 3)))

    assert engine.step(3, JobEnds("a")) == [Start("small", 0)]


def test_first_come_first_served_lets_the_older_go_first_whatever_it_costs() -> None:
    for order, first in ((Order.ARRIVAL, "cheap"), (Order.DEAREST_FIRST, "dear")):
        engine = Online((limited(SMALL, 1), limited(LARGE, 1)), Policy(order=order))
        engine.step(0, arrive(job("x", 8), job("y", 2)), InstanceReady(0), InstanceReady(1))
        engine.step(1, arrive(job("cheap", 2)))
        engine.step(2, arrive(job("dear", 7)))
        (started,) = engine.step(3, JobEnds("x"))
        assert started == Start(first, 0)


def test_jobs_may_move_to_a_ready_instance_while_theirs_boots() -> None:
    engine = Online((SMALL,), Policy(bind_while_booting=False))
    engine.step(0, arrive(job("a", 2)), InstanceReady(0))
    assert engine.step(1, arrive(job("b", 2))) == [Allocate(1, "small")]

    assert engine.step(2, JobEnds("a")) == [Start("b", 0), ReleaseInstance(1)]


def test_jobs_stay_with_an_instance_that_boots_if_the_policy_is_the_seeds() -> None:
    engine = Online((SMALL,))
    engine.step(0, arrive(job("a", 2)), InstanceReady(0))
    engine.step(1, arrive(job("b", 2)))

    assert engine.step(2, JobEnds("a")) == [ReleaseInstance(0)]
    assert engine.step(3, InstanceReady(1)) == [Start("b", 1)]


def test_a_job_that_waits_takes_the_place_of_one_that_moved() -> None:
    engine = Online((limited(SMALL, 2),), Policy(bind_while_booting=False))
    engine.step(0, arrive(job("a", 2)), InstanceReady(0))
    engine.step(1, arrive(job("b", 2)))
    engine.step(2, arrive(job("c", 2)))

    assert engine.step(3, JobEnds("a")) == [Start("b", 0)]
    assert engine.step(4, InstanceReady(1)) == [Start("c", 1)]


@pytest.mark.parametrize(
    "event",
    [JobEnds("nobody"), InstanceReady(7), InstanceLost(7), InstanceReady(0), arrive(job("a"))],
)
def test_what_cannot_be_is_said_and_changes_nothing(event: Event) -> None:
    engine = Online(TYPES)
    engine.step(0, arrive(job("a")), InstanceReady(0))
    before = engine.state()

    (ignored,) = engine.step(0, event)

    assert isinstance(ignored, Ignored)
    assert engine.state() == before


def test_a_job_that_nobody_wants_any_more_leaves_wherever_it_is() -> None:
    engine = Online((limited(SMALL, 1),))
    engine.step(0, arrive(job("a", 2), job("b", 2)))

    assert engine.step(1, JobEnds("b")) == []
    assert engine.step(2, JobEnds("a")) == [ReleaseInstance(0)]
    assert engine.state().jobs == ()


def test_without_node_types_every_job_is_refused() -> None:
    (refused,) = Online(()).step(0, arrive(job("a")))

    assert isinstance(refused, Refuse)


def test_jobs_without_any_need_are_all_on_one_instance() -> None:
    engine = Online((InstanceType("nothing", ResourceAmounts(), 0.0),))

    actions = engine.step(0, arrive(*(SeedJob(str(n), ResourceAmounts()) for n in range(100))))

    assert actions == [Allocate(0, "nothing")]


def test_amounts_beyond_all_measure_are_compared_like_others() -> None:
    engine = Online((InstanceType("n", ResourceAmounts(2**62, 2**62), 1.0),))

    assert engine.step(0, arrive(job("a", 2**62, 2**62))) == [Allocate(0, "n")]
    (refused,) = engine.step(0, arrive(job("b", 2**62 + 1)))
    assert isinstance(refused, Refuse)


def test_a_policy_without_instances_is_none() -> None:
    with pytest.raises(ValueError, match="one instance"):
        Policy(most_instances=0)


# -- whatever happens ----------------------------------------------------------------------------


class Bookkeeper:
    """Believes nothing: keeps what the actions amount to, and objects to what cannot be."""

    def __init__(self, node_types: tuple[InstanceType, ...], policy: Policy) -> None:
        self.types = {each.name: each for each in node_types}
        self.policy = policy
        self.jobs: dict[str, SeedJob] = {}
        self.there: dict[int, str] = {}
        self.ready: set[int] = set()
        self.runs: dict[str, int] = {}  # job -> instance
        self.over: Counter[str] = Counter()

    def told(self, event: Event) -> None:
        if isinstance(event, JobsArrive):
            self.jobs |= {each.id: each for each in event.jobs}
        elif isinstance(event, JobEnds):
            self.runs.pop(event.job, None)
            self.over[event.job] += 1
        elif isinstance(event, InstanceReady):
            self.ready.add(event.instance)
        elif isinstance(event, InstanceLost):
            del self.there[event.instance]
            self.ready.discard(event.instance)
            self.runs = {one: at for one, at in self.runs.items() if at != event.instance}

    def asked(self, action: Action) -> None:
        assert not isinstance(action, Ignored), action
        if isinstance(action, Allocate):
            assert action.instance not in self.there
            self.there[action.instance] = action.node_type
        elif isinstance(action, Start):
            assert action.instance in self.ready
            assert action.job not in self.runs
            assert not self.over[action.job]
            hint = self.jobs[action.job].hint
            assert hint in {"", self.there[action.instance]}
            self.runs[action.job] = action.instance
        elif isinstance(action, ReleaseInstance):
            assert action.instance not in self.runs.values()
            del self.there[action.instance]
            self.ready.discard(action.instance)
        else:
            self.over[action.job] += 1
        self.check_amounts()

    def check_amounts(self) -> None:
        """No instance is over-committed, there are never more than there may be."""
        room = {number: self.types[name].amounts for number, name in self.there.items()}
        for name, number in self.runs.items():
            room[number] = room[number].plus(self.jobs[name].amounts, -1)
        assert all(min(each) >= 0 for each in room.values())
        for name, number_of in Counter(self.there.values()).items():
            at_most = self.types[name].at_most
            assert at_most is None or number_of <= at_most
        assert self.policy.most_instances is None or len(self.there) <= self.policy.most_instances

    def check_state(self, state: OnlineState) -> None:
        """The state says the same, and nothing waits that would have a place."""
        assert {each.number: each.node_type for each in state.instances} == self.there
        assert {each.number for each in state.instances if each.ready} == self.ready
        ready = self.ready
        where = {each.job.id: each.instance for each in state.jobs}
        assert {name: at for name, at in where.items() if at in ready} == self.runs
        assert set(where) == {name for name in self.jobs if not self.over[name]}
        room = {number: self.types[name].amounts for number, name in self.there.items()}
        for name, at in where.items():
            if at is not None:
                room[at] = room[at].plus(self.jobs[name].amounts, -1)
        assert all(min(each) >= 0 for each in room.values())
        for each in state.jobs:
            assert bool(each.waits) == (each.instance is None)
            if each.instance is None:
                for number, left in room.items():
                    if each.job.hint in {"", self.there[number]}:
                        assert not each.job.amounts.fits(left)


POLICIES = (
    Policy(),
    Policy(grace_seconds=3),
    Policy(order=Order.ARRIVAL, most_instances=3),
    Policy(bind_while_booting=False),
    Policy(bind_while_booting=False, grace_seconds=2, most_instances=4, most_restarts=2),
)


def random_types(chance: random.Random) -> tuple[InstanceType, ...]:
    return tuple(
        InstanceType(
            f"t{number}",
            ResourceAmounts(*(chance.randint(0, 6) for _ in range(4))),
            chance.choice((0.0, 1.0, 1.0, 2.5)),
            chance.choice((None, None, 0, 1, 2)),
        )
        for number in range(chance.randint(1, 4))
    )


def random_job(chance: random.Random, name: str, types: tuple[InstanceType, ...]) -> SeedJob:
    like = chance.choice(types)
    amounts = ResourceAmounts(*(chance.randint(0, amount) for amount in like.amounts))
    return SeedJob(name, amounts, like.name if chance.random() < 0.2 else "")


def live(seed: int, policy: Policy, resumed_at: int = -1) -> tuple[list[Action], Bookkeeper]:
    """A life of random events with everything checked, until every job is over."""
    chance = random.Random(seed)
    types = random_types(chance)
    engine, books = Online(types, policy), Bookkeeper(types, policy)
    said: list[Action] = []
    at, coming, turn = 0.0, 30, 0
    while True:
        if turn == resumed_at:
            engine = Online(types, policy, engine.state())
        turn += 1
        at += chance.choice((0, 1, 1, 2))
        events: list[Event] = []
        booting = sorted(set(books.there) - books.ready)
        running = sorted(books.runs)
        draw = chance.random()
        if draw < 0.3 and coming:
            number = min(coming, chance.choice((1, 1, 2, 5)))
            jobs = [random_job(chance, f"j{coming - n}", types) for n in range(number)]
            coming -= number
            events.append(JobsArrive(tuple(jobs)))
        elif draw < 0.5 and booting:
            events.append(InstanceReady(chance.choice(booting)))
        elif draw < 0.9 and running:
            events.append(JobEnds(chance.choice(running)))
        elif draw < 0.93 and books.there and turn < 500:
            events.append(InstanceLost(chance.choice(sorted(books.there))))
        else:
            events.append(TimePasses())
        for event in events:
            books.told(event)
        for action in engine.step(at, *events):
            books.asked(action)
            said.append(action)
        state = engine.state()
        books.check_state(state)
        due = engine.next_release
        assert due is None or due > at
        if not coming and not state.jobs:
            return said, books
        assert turn < 5000, "it goes on for ever"


@given(st.integers(0, 10**9), st.sampled_from(POLICIES))
def test_nothing_is_ever_over_committed_and_every_job_is_over_once(
    seed: int, policy: Policy
) -> None:
    _, books = live(seed, policy)

    assert books.over == Counter(dict.fromkeys(books.jobs, 1))
    assert len(books.jobs) == 30


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(POLICIES), st.integers(0, 60))
def test_an_engine_that_begins_with_the_state_of_another_goes_on_just_the_same(
    seed: int, policy: Policy, turn: int
) -> None:
    said, _ = live(seed, policy)

    assert live(seed, policy)[0] == said
    assert live(seed, policy, resumed_at=turn)[0] == said


def placed(engine: Online) -> list[tuple[int, str, list[str]]]:
    return [(each.number, each.node_type, list(each.jobs)) for each in engine.state().instances]


def seeds(instances: tuple[Instance, ...]) -> list[tuple[int, str, list[str]]]:
    return [(each.number, each.node_type.name, [j.id for j in each.jobs]) for each in instances]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**9))
def test_what_arrives_at_once_is_placed_as_the_seed_places_it(seed: int) -> None:
    chance = random.Random(seed)
    types = tuple(each._replace(at_most=None) for each in random_types(chance))
    jobs = [random_job(chance, f"j{n}", types) for n in range(chance.randint(0, 40))]
    engine = Online(types)

    engine.step(0, JobsArrive(tuple(jobs)))

    assert placed(engine) == seeds(schedule((), jobs, types))


@given(st.integers(0, 10**9))
def test_while_jobs_arrive_and_end_it_places_them_as_the_seed_does_each_time(seed: int) -> None:
    chance = random.Random(seed)
    types = tuple(each._replace(at_most=None) for each in random_types(chance))
    engine = Online(types)
    instances: tuple[Instance, ...] = ()
    for turn in range(25):
        jobs = [random_job(chance, f"{turn}.{n}", types) for n in range(chance.randint(0, 4))]
        there = [each.id for instance in instances for each in instance.jobs]
        ended = set(chance.sample(there, chance.randint(0, len(there))))
        engine.step(turn, *(JobEnds(name) for name in sorted(ended)), JobsArrive(tuple(jobs)))
        instances = schedule(without_ended(instances, ended), jobs, types)
        # Only the numbers differ: ours are never used again.
        assert [each[1:] for each in placed(engine)] == [each[1:] for each in seeds(instances)]


def test_what_the_seed_calls_an_error_is_refused() -> None:
    jobs = [job("fine"), job("huge", 99)]

    with pytest.raises(NowhereError):
        schedule((), jobs, TYPES)
    refused = [each for each in Online(TYPES).step(0, arrive(*jobs)) if isinstance(each, Refuse)]
    assert [each.job for each in refused] == ["huge"]
