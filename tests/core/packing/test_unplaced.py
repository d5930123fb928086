"""Requests that fit nowhere are named, with the nearest node type and what is missing there."""

from __future__ import annotations

from rowtui.core.packing.model import (
    Demand,
    InstanceType,
    PackingProblem,
    ResourceAmounts,
    UnplacedRequests,
)
from rowtui.core.packing.unplaced import find_unplaced, most_capable, without_unplaced

SMALL = InstanceType("small", ResourceAmounts(4, 16000), 1.0, longest_seconds=3600)
LARGE = InstanceType("large", ResourceAmounts(16, 64000, 4), 3.5, longest_seconds=7200)
THIN = InstanceType("thin", ResourceAmounts(64, 1000), 2.0)
CATALOGUE = (SMALL, LARGE, THIN)


def only(
    demand: Demand, node_types: tuple[InstanceType, ...] = CATALOGUE
) -> UnplacedRequests | None:
    found = find_unplaced(PackingProblem(node_types, (demand,), (3,)))
    return found[0] if found else None


def test_what_fits_somewhere_is_not_unplaced() -> None:
    assert only(Demand(ResourceAmounts(64, 1000))) is None
    assert only(Demand(ResourceAmounts(16, 64000, 4), 7200)) is None
    assert only(Demand(ResourceAmounts(1, 1), 10**9)) is None  # on the thin one there is no limit


def test_the_nearest_type_is_where_least_is_missing() -> None:
    assert only(Demand(ResourceAmounts(2, 100, 8))) == UnplacedRequests(
        0, 3, "large", ("needs 8 GPUs, a large has 4",)
    )
    assert only(Demand(ResourceAmounts(65, 900))) == UnplacedRequests(
        0, 3, "thin", ("needs 65 CPUs, a thin has 64",)
    )


def test_several_things_may_be_missing_at_the_nearest_type() -> None:
    found = only(Demand(ResourceAmounts(17, 65000, 5, 1)))

    assert found is not None
    assert found.nearest == "thin" or len(found.missing) == 4
    assert all(line.startswith("needs ") for line in found.missing)


def test_a_request_that_takes_too_long_is_told_how_long_it_may() -> None:
    found = only(Demand(ResourceAmounts(8, 60000), 36000))

    assert str(found) == "large: needs 10:00:00, at most 02:00:00"


def test_a_hint_is_an_order_and_says_what_would_do() -> None:
    found = only(Demand(ResourceAmounts(8, 1), 60, hint="small"))

    assert found == UnplacedRequests(
        0, 3, "small", ("needs 8 CPUs, a small has 4", "thin would do")
    )


def test_a_hint_for_a_type_that_does_not_exist_is_nobodys() -> None:
    found = only(Demand(ResourceAmounts(1, 1), hint="smal"))

    assert found is not None
    assert found.nearest == ""
    assert "there is no such node type; did you mean small?" in str(found)


def test_a_hint_with_escape_sequences_is_made_visible() -> None:
    found = only(Demand(ResourceAmounts(1, 1), hint="\x1b[2J"))

    assert found is not None
    assert "\x1b" not in str(found)


def test_without_node_types_nothing_fits() -> None:
    assert only(Demand(ResourceAmounts()), ()) == UnplacedRequests(
        0, 3, "", ("there is no node type",)
    )


def test_types_of_which_there_may_be_none_hold_nothing() -> None:
    none = (SMALL._replace(at_most=0),)

    assert str(only(Demand(ResourceAmounts(1)), none)) == "there is no node type"
    assert (
        str(only(Demand(ResourceAmounts(1), hint="small"), none)) == "small: there may be no small"
    )


def test_classes_without_requests_are_not_reported() -> None:
    problem = PackingProblem((), (Demand(ResourceAmounts()),), (0,))

    assert find_unplaced(problem) == ()


def test_the_rest_keeps_the_numbers_that_it_had() -> None:
    demands = (
        Demand(ResourceAmounts(1)),
        Demand(ResourceAmounts(99)),
        Demand(ResourceAmounts(2)),
        Demand(ResourceAmounts(3)),
    )
    problem = PackingProblem((SMALL,), demands, (5, 6, 0, 7))

    rest, numbers = without_unplaced(problem, find_unplaced(problem))

    assert numbers == [0, 3]
    assert rest.counts == (5, 7)
    assert rest.demands == (demands[0], demands[3])


def test_only_types_that_no_other_betters_are_looked_at() -> None:
    same = LARGE._replace(name="same", price=1.0)
    less = LARGE._replace(name="less", longest_seconds=60)
    huge = InstanceType("huge", ResourceAmounts(2**62, 2**70), 9.0)

    names = {kind.name for kind in most_capable([LARGE, same, less, SMALL])}

    assert names == {"same"}
    assert {kind.name for kind in most_capable([huge, LARGE])} == {"huge", "large"}
