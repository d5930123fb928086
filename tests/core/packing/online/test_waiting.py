"""Who waits and who is first: many lines in blocks answer as one list that is walked does."""

from __future__ import annotations

import random

import pytest
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.packing.online.waiting import Rank, WaitingJobs


class Someone:
    def __init__(self, arrival: int, need: ResourceAmounts, rank: Rank, node_type: int) -> None:
        self.arrival, self.need, self.rank, self.node_type = arrival, need, rank, node_type


def first_of(people: list[Someone], room: ResourceAmounts, node_type: int) -> Someone | None:
    """By looking at everybody."""
    able = [one for one in people if one.need.fits(room) and one.node_type in {-1, node_type}]
    return min(able, key=lambda one: (one.rank, one.arrival), default=None)


def amounts(chance: random.Random, most: int) -> ResourceAmounts:
    return ResourceAmounts(*(chance.randint(0, most) for _ in range(4)))


@pytest.mark.parametrize("most", [1, 3, 1000])
@pytest.mark.parametrize("ranks", [1, 5])
def test_the_first_is_whom_one_finds_by_looking_at_everybody(most: int, ranks: int) -> None:
    chance = random.Random(most * 10 + ranks)
    waiting: WaitingJobs[Someone] = WaitingJobs()
    there: list[Someone] = []
    gone: list[Someone] = []
    for turn in range(4000):
        draw = chance.random()
        if draw < 0.5 + 0.1 * (len(there) < 300) - 0.3 * (turn > 3000):
            if gone and chance.random() < 0.2:  # somebody comes back
                one = gone.pop(chance.randrange(len(gone)))
            else:
                rank = (1, -chance.randrange(ranks))
                node_type = chance.choice((-1, -1, 0, 1))
                one = Someone(turn, amounts(chance, most), rank, node_type)
            waiting.add(one)
            there.append(one)
        elif there and draw < 0.7:
            one = there.pop(chance.randrange(len(there)))
            waiting.remove(one)
            gone.append(one)
        else:
            room, node_type = amounts(chance, most), chance.choice((0, 1, 2))
            found = waiting.first(room, node_type)
            assert found is first_of(there, room, node_type)
            if found is not None:
                waiting.remove(found)
                there.remove(found)
        assert len(waiting) == len(there)
        assert bool(waiting) == bool(there)
    heads = set(waiting.heads())
    assert heads <= set(there)
    assert {(one.need, one.rank, one.node_type) for one in there} == {
        (one.need, one.rank, one.node_type) for one in heads
    }
    assert len(heads) == len({(one.need, one.rank, one.node_type) for one in there})


def test_it_does_not_matter_that_sets_hold_a_few_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rowtui.core.packing.node_types._MOST_BYTES", 0)

    test_the_first_is_whom_one_finds_by_looking_at_everybody(1000, 5)


def test_nobody_waits_and_nobody_is_first() -> None:
    waiting: WaitingJobs[Someone] = WaitingJobs()

    assert waiting.first(ResourceAmounts(9, 9, 9, 9), 0) is None
    assert list(waiting.heads()) == []


def test_a_need_of_nothing_fits_in_no_room_at_all() -> None:
    waiting: WaitingJobs[Someone] = WaitingJobs()
    nothing = Someone(0, ResourceAmounts(), (1,), -1)
    waiting.add(nothing)

    assert waiting.first(ResourceAmounts(), 0) is nothing
