"""The loop for requests that arrive: the text's loop step by step, with time and limits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.packing.arriving import OpenNode, not_needed, schedule
from rowtui.core.packing.model import Demand, InstanceType, ResourceAmounts

from tests.core.packing.seed_loop import Instance, SeedJob, suitable
from tests.core.packing.seed_loop import schedule as by_the_text

TYPES = (
    InstanceType("small", ResourceAmounts(2, 8), 0.1, longest_seconds=100),
    InstanceType("wide", ResourceAmounts(8, 16), 0.35),
    InstanceType("large", ResourceAmounts(8, 64), 0.5),
    InstanceType("gpu", ResourceAmounts(8, 64, 2), 3.0, at_most=1),
)
PLAIN = tuple(kind._replace(longest_seconds=None, at_most=None) for kind in TYPES)
AMOUNTS = st.builds(ResourceAmounts, st.integers(1, 8), st.integers(0, 16), st.integers(0, 2))
DEMANDS = st.builds(Demand, AMOUNTS, st.integers(1, 200), st.sampled_from(["", "", "wide", "gpu"]))


def one(cpus: int, memory: int = 0, seconds: int = 1, hint: str = "") -> Demand:
    return Demand(ResourceAmounts(cpus, memory), seconds, hint)


@settings(max_examples=150)
@given(st.data())
def test_each_time_it_does_what_the_text_says(data: st.DataObject) -> None:
    """Jobs arrive and end several times; rooms, choices and releases are those of the text."""
    instances: tuple[Instance, ...] = ()
    for turn in range(data.draw(st.integers(1, 4))):
        ended = data.draw(st.sets(st.integers(0, 30)), label="ended")
        instances = tuple(
            each._replace(jobs=tuple(it for at, it in enumerate(each.jobs) if at not in ended))
            for each in instances
        )
        demands = [it for it in data.draw(st.lists(DEMANDS, max_size=12)) if _fits(it)]
        jobs = [SeedJob(f"{turn}.{at}", it.amounts, it.hint) for at, it in enumerate(demands)]
        nodes = [OpenNode(it.node_type.name, it.room) for it in instances]
        found = schedule(nodes, demands, PLAIN)
        assert (found.waiting, found.nowhere) == ((), ())

        numbered = {it.number: at for at, it in enumerate(instances)}
        instances = by_the_text(instances, jobs, PLAIN)
        fresh = [it for it in instances if it.number not in numbered]
        places = numbered | {it.number: len(nodes) + at for at, it in enumerate(fresh)}
        assert [PLAIN[at].name for at in found.opened] == [it.node_type.name for it in fresh]
        expected = {job.id: places[it.number] for it in instances for job in it.jobs}
        assert {jobs[at].id: place for at, place in found.places.items()} == {
            job.id: expected[job.id] for job in jobs
        }


def _fits(demand: Demand) -> bool:
    return bool(suitable(demand.amounts, demand.hint, PLAIN))


@settings(max_examples=150)
@given(st.lists(DEMANDS, max_size=20), st.none() | st.integers(0, 3))
def test_nothing_is_lost_or_placed_where_it_has_no_room_or_time(
    demands: list[Demand], further: int | None
) -> None:
    open_now = [OpenNode("wide", ResourceAmounts(5, 9), 60)]
    found = schedule(open_now, demands, TYPES, further)
    every = [*found.places, *found.waiting, *found.nowhere]
    assert sorted(every) == list(range(len(demands)))
    assert further is None or len(found.opened) <= further
    names = ["wide", *(TYPES[at].name for at in found.opened)]
    assert names.count("gpu") <= 1
    longest = [60, *(TYPES[at].longest_seconds or 10_000 for at in found.opened)]
    free = [open_now[0].free, *(TYPES[at].amounts for at in found.opened)]
    for number, at in found.places.items():
        asked = demands[number]
        assert asked.amounts.fits(free[at])
        assert asked.hint in ("", names[at])
        assert asked.seconds <= longest[at]
        free[at] = free[at].plus(asked.amounts, -1)
    # what waits has no room, and what may still be opened does not hold it
    for number in found.waiting:
        nodes = map(OpenNode, names, free, longest)
        assert not any(node.suits(demands[number]) for node in nodes)


def test_a_long_request_goes_where_it_has_the_time() -> None:
    short = OpenNode("wide", ResourceAmounts(8, 16), 50)
    assert schedule([short], [one(1, seconds=99)], TYPES) == ({0: 1}, (0,), (), ())
    assert schedule([], [one(1, seconds=101)], TYPES).opened == (1,)  # no small one for so long


def test_a_type_that_is_used_up_holds_back_its_requests_and_no_others() -> None:
    wants = Demand(ResourceAmounts(1, 0, 2), 1)
    found = schedule([], [wants, wants, one(2)], TYPES)
    assert found == ({0: 0, 2: 0}, (3,), (1,), ())
    assert schedule([], [wants, one(9)], TYPES).nowhere == (1,)


def test_dense_first_so_that_others_become_empty_and_are_released() -> None:
    nodes = [OpenNode("wide", ResourceAmounts(8, 16)), OpenNode("wide", ResourceAmounts(3, 16))]
    assert schedule(nodes, [one(1), one(1), one(1), one(1)], TYPES).places == {
        0: 1,
        1: 1,
        2: 1,
        3: 0,
    }
    short = OpenNode("wide", ResourceAmounts(8, 16), 30)
    assert not_needed([nodes[0], short], [one(1, seconds=31)]) == [1]
    assert not_needed([nodes[0], short], []) == [0, 1]
