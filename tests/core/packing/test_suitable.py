"""Node types by price: what holds a need, and which of that is the cheapest."""

from __future__ import annotations

import random

import pytest
from rowtui.core.packing.model import InstanceType, ResourceAmounts
from rowtui.core.packing.node_types import Catalogue

from tests.core.packing.seed_loop import cheapest, suitable


@pytest.mark.parametrize("too_many", [False, True])
def test_the_catalogue_answers_as_a_walk_over_all_types(
    too_many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if too_many:  # sets that hold a few too many
        monkeypatch.setattr("rowtui.core.packing.node_types._MOST_BYTES", 0)
    chance = random.Random(4)
    types = [
        InstanceType(
            str(n),
            ResourceAmounts(*(chance.randint(0, 50) for _ in range(4))),
            chance.randint(0, 9),
        )
        for n in range(200)
    ]
    catalogue = Catalogue([(each.amounts, each.price) for each in types])
    for _ in range(500):
        need = ResourceAmounts(*(chance.randint(0, 40) for _ in range(4)))
        holding = catalogue.holding(need)
        found = [each for each, bit in zip(types, catalogue.bits, strict=True) if holding & bit]
        assert found == suitable(need, "", types)
        best = cheapest(need, "", types)
        assert (types[catalogue.cheapest(holding)] if holding else None) == best


def test_an_empty_catalogue_holds_nothing() -> None:
    assert Catalogue([]).holding(ResourceAmounts()) == 0
