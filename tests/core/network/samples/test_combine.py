"""How samples of several inputs or groups come together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.network.samples.columns import Columns, columns, product
from rowtui.core.network.samples.combine import (
    COMBINATIONS,
    Combination,
    Combined,
    broadcast,
    cross,
    disjoint_cross,
    join,
    merge,
    only_grows,
    zipped,
)
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, NodeOutput, Opens

from tests.core.network.sample_view import View

A = Domain("A", ["a0", "a1"])
B = Domain("B", ["b0", "b1", "b2"])
C = Domain("C", ["c0", "c1"])


def wide(name: str) -> Domain:
    """A dimension of four million values, none of which is kept."""
    domain = Domain(name, ())
    domain.values = range(1 << 22)  # type: ignore[assignment]
    return domain


BIG = tuple(map(wide, "ABC"))


def sparse(axes: Sequence[Domain], *rows: tuple[int, ...]) -> Columns:
    return columns(axes, [[row[at] for row in rows] for at in range(len(axes))], len(rows))[0]


def constant(*values: Any) -> Columns:
    ids = [f"id_{at}" for at in range(len(values))]
    return columns([Domain("const", ids)], [np.arange(len(ids))], unnamed=True)[0]


def collapsed(count: int = 1) -> Columns:
    """What is left when everything was collapsed; 0: nobody knows yet whether there is anything."""
    axis = Domain("sum", ["all"])
    return Columns((axis,), (np.zeros(count, dtype=np.int32),), count, unnamed=True)


def ids(combined: Combined) -> list[tuple[str, ...]]:
    return [combined.columns.id(row) for row in range(combined.columns.count)]


def made_of(combined: Combined) -> list[tuple[int, ...]]:
    return list(zip(*(rows.tolist() for rows in combined.rows), strict=True))


# join


@pytest.mark.parametrize("how", [join, cross, disjoint_cross])
def test_more_samples_than_there_is_room_for_are_refused_before_they_are_made(
    how: Combination,
) -> None:
    left, right = (product([Domain(name, range(1 << 14))]) for name in "AB")
    with pytest.raises(DimensionError, match="there would be 268,435,456 samples"):
        how([left, right])


def test_a_join_by_a_value_that_all_have_is_refused_as_well() -> None:
    one = Domain("A", [0])
    tables = [product([one, Domain(name, range(1 << 14))]) for name in "BC"]
    with pytest.raises(DimensionError, match="there would be 268,435,456 samples"):
        join(tables)


def test_a_join_takes_those_with_the_same_value_and_crosses_the_rest() -> None:
    found = join([product([A, B]), product([B, C])])

    assert found.columns.names == ("A", "B", "C")
    assert found.columns.count == 2 * 3 * 2
    for row, (left, right) in enumerate(made_of(found)):
        a, b, c = found.columns.index(row)
        assert (left, right) == (a * 3 + b, b * 2 + c)


def test_a_join_goes_by_values_where_each_side_has_its_own_order_of_them() -> None:
    ours, theirs = Domain("A", ["x", "y", "z"]), Domain("A", ["z", "w", "x"])

    found = join([product([ours]), product([theirs])])

    assert ids(found) == [("x",), ("z",)]
    assert made_of(found) == [(0, 2), (2, 0)]
    assert [rows.tolist() for rows in found.left_over] == [[1], [1]]


def test_numbers_are_joined_if_they_are_equal_and_nothing_else_is_taken_for_a_number() -> None:
    numbers, others = Domain("A", [1, 2, 0]), Domain("A", [2.0, True, "1", False, -0.0])

    found = join([product([numbers]), product([others])])

    assert made_of(found) == [(1, 0), (2, 4)]


tables = st.lists(
    st.tuples(
        st.lists(st.sampled_from("ABC"), min_size=1, max_size=3, unique=True),
        st.sets(st.tuples(*[st.integers(0, 2)] * 3), max_size=9),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50, deadline=None)
@given(tables, st.booleans())
def test_a_join_gives_the_same_samples_in_any_order_and_grouped_in_any_way(
    drawn: list[tuple[list[str], set[tuple[int, int, int]]]], is_big: bool
) -> None:
    axes = {
        axis.name: axis for axis in (BIG if is_big else (Domain("A", "xyz"), B, Domain("C", "uvw")))
    }
    several = [
        sparse([axes[name] for name in names], *{row[: len(names)] for row in rows})
        for names, rows in drawn
    ]

    def samples(found: Combined) -> set[frozenset[tuple[str, int]]]:
        table = found.columns
        rows = {
            frozenset(zip(table.names, table.index(row), strict=True)) for row in range(table.count)
        }
        assert len(rows) == table.count
        return rows

    wanted = samples(join(several))
    for order in permutations(several):
        assert samples(join(order)) == wanted
    result = several[0]
    for table in several[1:]:
        result = join([result, table]).columns
    assert samples(join([result])) == wanted
    from_behind = several[-1]
    for table in reversed(several[:-1]):
        from_behind = join([table, from_behind]).columns
    assert samples(join([from_behind])) == wanted


def test_a_join_of_more_positions_than_64_bits_can_count_works() -> None:
    last = (1 << 22) - 1
    left = sparse(BIG, (0, 0, 0), (last, 5, last), (last, last, last))
    right = sparse(BIG[::-1], (last, last, last), (last, 5, last), (1, 0, 0))

    found = join([left, right])

    assert [found.columns.index(row) for row in range(2)] == [(last, 5, last), (last,) * 3]
    assert made_of(found) == [(1, 1), (2, 2)]
    assert [rows.tolist() for rows in found.left_over] == [[0], [0]]


def test_a_name_that_is_there_twice_cannot_be_matched() -> None:
    twice = cross([product([A, B]), product([B, C])]).columns
    assert twice.names == ("A", "B", "B", "C")

    for how in (join, merge()):
        with pytest.raises(DimensionError, match="'B' is there twice"):
            how([twice, product([B])])
    with pytest.raises(DimensionError, match="several dimensions 'B'"):
        broadcast([twice, product([B])])


# cross, merge


def test_a_cross_keeps_names_that_are_there_twice_apart() -> None:
    found = cross([product([A, B]), product([B, C])])

    assert found.columns.count == 36
    assert len(set(ids(found))) == 36
    assert ids(found)[:3] == [
        ("a0", "b0", "b0", "c0"),
        ("a0", "b0", "b0", "c1"),
        ("a0", "b0", "b1", "c0"),
    ]


def test_a_cross_that_is_written_in_a_network_has_no_name_twice() -> None:
    with pytest.raises(DimensionError) as refused:
        disjoint_cross([product([A, B]), product([B, C])])

    assert "A (2) x B (3)" in str(refused.value)
    assert "B (3) x C (2)" in str(refused.value)
    assert "join" in refused.value.hint
    assert disjoint_cross([product([A, B]), product([C])]).columns.count == 12


def test_what_was_collapsed_on_both_sides_can_be_crossed() -> None:
    found = disjoint_cross([collapsed(), collapsed()])

    assert ids(found) == [("all",)]
    assert found.columns.is_single


def test_merged_dimensions_stand_at_the_end() -> None:
    assert merge()([product([A, B]), product([B, C])]).columns.names == ("A", "C", "B")
    only = merge(("B",))([product([A, B]), product([B, A])]).columns
    assert only.names == ("A", "A", "B")
    assert only.count == 2 * 2 * 3


# broadcast


def test_a_broadcast_repeats_the_samples_of_fewer_dimensions() -> None:
    found = broadcast([product([B]), product([A, B]), constant(7)])

    assert found.columns.names == ("A", "B")
    assert made_of(found) == [(row % 3, row, 0) for row in range(6)]


def test_a_broadcast_finds_dimensions_in_another_order_and_values_in_another_place() -> None:
    turned = Domain("B", ["b2", "b0", "b1"])

    found = broadcast([product([A, B]), product([turned, A])])

    named = product([turned, A])
    for row, (left, right) in enumerate(made_of(found)):
        assert left == row
        assert named.id(right) == found.columns.id(row)[::-1]


def test_a_constant_of_as_many_values_goes_one_by_one_and_never_leads() -> None:
    found = broadcast([constant(1, 2, 3), product([B])])

    assert ids(found) == [("b0",), ("b1",), ("b2",)]
    assert made_of(found) == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(DimensionError, match="const"):
        broadcast([constant(1, 2), product([B])])


def test_a_broadcast_of_nothing_but_constants_has_their_samples() -> None:
    assert ids(broadcast([constant(1), constant(2)])) == [("id_0",)]
    assert ids(broadcast([constant(1), constant(2, 3)])) == [("id_0",), ("id_1",)]


def test_what_has_no_partner_in_a_broadcast_is_named() -> None:
    with pytest.raises(DimensionError, match=r"nothing for 2 of the samples.*first B=b1"):
        broadcast([product([A, B]), sparse([B], (0,), (2,))])
    with pytest.raises(DimensionError, match="nothing for 6"):
        broadcast([product([A, B]), sparse([B])])


def test_what_may_still_come_is_not_missed() -> None:
    found = broadcast([product([A, B]), sparse([B], (0,), (2,))], more_may_come=True)

    assert ids(found) == [("a0", "b0"), ("a0", "b2"), ("a1", "b0"), ("a1", "b2")]
    assert found.left_over[0].tolist() == [1, 4]


@pytest.mark.parametrize("how", [broadcast, join, cross, merge(), zipped, disjoint_cross])
def test_nothing_goes_with_a_collapse_of_which_nobody_knows_a_member(how: Any) -> None:
    found = how([product([B]), collapsed(0)])

    assert found.columns.count == 0
    assert found.columns.names == how([product([B]), collapsed(1)]).columns.names == ("B",)


@pytest.mark.parametrize("how", [broadcast, join, cross, merge(), zipped, disjoint_cross])
def test_empty_sources_have_empty_results(how: Any) -> None:
    empty = Domain("E", ())

    assert (
        how(
            [product([empty]), product([empty])] if how is broadcast else [product([empty])]
        ).columns.count
        == 0
    )
    assert how([product([empty]), constant(1)]).columns.count == 0
    if how in (join, cross, disjoint_cross):
        assert how([product([A]), product([empty])]).columns.count == 0


@pytest.mark.parametrize("how", [broadcast, join, cross, merge(), zipped, disjoint_cross])
def test_dimensions_of_one_value_stay_dimensions(how: Any) -> None:
    one = Domain("A", ["only"])

    found = how(
        [
            product([one, B]),
            product([one, B]) if how not in (cross, disjoint_cross) else product([C]),
        ]
    )

    assert "A" in found.columns.names
    assert found.columns.count == 3 * (2 if how in (cross, disjoint_cross) else 1)


# zip


def test_a_zip_goes_by_position() -> None:
    found = zipped([product([B]), product([Domain("D", [1, 2, 3])]), constant(5)])

    assert ids(found) == [("b0",), ("b1",), ("b2",)]
    assert made_of(found) == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]
    with pytest.raises(DimensionError, match=r"B \(3\).*3 samples.*A \(2\).*2"):
        zipped([product([B]), product([A])])


# Nodes of what is not all known


def output(table: Columns, owner: int, *, is_open: bool) -> NodeOutput:
    opens = None
    if is_open:  # one more list, of which nothing is known
        nobody = np.full(1, UNKNOWN, dtype=np.int32)
        row = np.zeros(1, dtype=np.int64)
        opens = Opens((nobody,) * len(table.axes), row + owner, row)
    return NodeOutput(table, owner, opens=opens)


def part(name: str, *outputs: NodeOutput) -> InputStage:
    return InputStage(name, [SubInput(LinkStage(each)) for each in outputs])


@pytest.mark.parametrize("how", [zipped, lambda tables: zipped(tables)])
def test_nothing_is_paired_by_position_before_all_samples_are_known(how: Any) -> None:
    def node(*, is_open: bool) -> NodeRun:
        groups = [
            InputGroup("1", [part("1", output(product([B]), 1, is_open=is_open))]),
            InputGroup("2", [part("2", output(product([Domain("D", "xyz")]), 2, is_open=False))]),
        ]
        return NodeRun(3, "n", groups, how)

    assert View(node(is_open=True)).ids == []
    assert node(is_open=True).opens.owners.tolist() == [1]
    assert View(node(is_open=False)).ids == [("b0",), ("b1",), ("b2",)]


def test_samples_by_value_do_not_wait_for_those_to_come() -> None:
    left = output(product([A, B]), 1, is_open=False)
    right = output(sparse([B], (1,)), 2, is_open=True)

    for group in (
        InputGroup("", [part("1", left), part("2", right)]),
        InputGroup("", [part("1", left), part("2", right)], join),
    ):
        run = NodeRun(3, "n", [group], join)
        assert View(run).ids == [("a0", "b1"), ("a1", "b1")]
        assert [column.tolist() for column in run.opens.codes] == [[UNKNOWN], [UNKNOWN]]
        assert (run.opens.owners.tolist(), run.opens.rows.tolist()) == ([2], [0])


def test_links_into_one_input_must_have_the_same_dimensions() -> None:
    with pytest.raises(DimensionError) as refused:
        part(
            "values",
            output(product([A, B]), 1, is_open=False),
            output(product([B]), 2, is_open=False),
        )

    assert "'values'" in str(refused.value)
    assert "A (2) x B (3)" in str(refused.value)
    both = part(
        "values",
        output(product([A, B]), 1, is_open=False),
        output(product([B, A]), 2, is_open=False),
        output(constant(1), 3, is_open=False),
    )
    assert View(both)[("a1", "b0")].jobs == {(1, 3), (2, 1), (3, 0)}


def test_combinations_say_whether_they_only_grow() -> None:
    growing: list[Combination] = [broadcast, join, cross, disjoint_cross, merge(), merge(("A",))]
    assert all(map(only_grows, growing))
    assert not only_grows(zipped)
    assert not only_grows(lambda tables: join(tables))
    assert {"join": join, "cross": disjoint_cross, "zip": zipped} == COMBINATIONS


def test_an_open_sample_says_nothing_of_a_dimension_that_is_there_twice() -> None:
    code, row = np.ones(1, dtype=np.int32), np.zeros(1, dtype=np.int64)
    left = NodeOutput(product([A, B]), 1)
    right = NodeOutput(product([B, C]), 2, opens=Opens((code, code), row + 2, row))
    groups = [InputGroup("1", [part("1", left)]), InputGroup("2", [part("2", right)])]

    opens = NodeRun(3, "n", groups, cross).opens

    assert [column.tolist() for column in opens.codes] == [[UNKNOWN], [UNKNOWN], [UNKNOWN], [1]]


def test_what_two_sides_were_collapsed_of_is_said_once() -> None:
    turned = columns([B], [[0, 1]], prefix=("all",))[0]

    assert ids(join([turned, turned])) == [("all", "b0"), ("all", "b1")]
