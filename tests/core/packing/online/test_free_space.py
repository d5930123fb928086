"""Which instance is the first with enough room: as the seed's order says."""

from __future__ import annotations

import random

import pytest
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.packing.online.waiting import Rooms
from rowtui.core.packing.seed import least_room_first


@pytest.mark.parametrize("most", [1, 4, 2**62])
def test_it_is_the_first_in_the_seeds_order_that_has_enough_of_everything(most: int) -> None:
    chance = random.Random(most)
    rooms = Rooms()
    there: dict[int, ResourceAmounts] = {}
    for number in range(1500):
        if there and chance.random() < 0.3:
            gone = chance.choice(list(there))
            rooms.remove(gone, there.pop(gone))
        else:
            there[number] = ResourceAmounts(*(chance.randint(0, most) for _ in range(4)))
            rooms.add(number, there[number])
        need = ResourceAmounts(*(chance.randint(0, most) for _ in range(4)))
        able = [(least_room_first(room), one) for one, room in there.items() if need.fits(room)]
        assert rooms.first(need) == min(able, default=(None, None))[1]


def test_without_instances_there_is_no_room() -> None:
    assert Rooms().first(ResourceAmounts()) is None
