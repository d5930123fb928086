"""Links: what selects, collapses and expands, and what they say of lists that nobody knows yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.network.samples.columns import Columns, columns, product
from rowtui.core.network.samples.combine import join
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput, SubOutput
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, Entries, NodeOutput, counted

from tests.core.network.sample_view import Held, Sample, SampleState, View

A = Domain("A", ["a0", "a1", "a2"])
B = Domain("B", ["b0", "b1"])


def output(table: Columns, lists: Sequence[Sequence[Any] | None], number: int = 0) -> NodeOutput:
    """An output with these lists; None: nobody knows yet."""
    cards = np.array([UNKNOWN if it is None else len(it) for it in lists], dtype=np.int32)
    made = Held(table, number, cards=cards)
    for row, values in enumerate(lists):
        index = table.index(row)
        made[index] = Sample(index, table.id(row), tuple(values or ()), frozenset({(number, row)}))
    return made


def node(source: NodeOutput | SubOutput, number: int = 1, **how: Any) -> NodeRun:
    link = LinkStage(source, target="n", **how)
    return NodeRun(number, "n", [InputGroup("", [InputStage("values", [SubInput(link)])])])


def data(stage: Any) -> dict[tuple[str, ...], Any]:
    return {sample.id: sample.data for sample in View(stage).samples()}


RAGGED = [[1, 2, 3], [4], [5, 6]]


# Collapse and expand


def test_a_collapse_goes_by_names_and_by_positions_from_either_end() -> None:
    made = output(product([A, B]), [[at] for at in range(6)])

    by_name = data(LinkStage(made, ["B"]))
    assert by_name == {("a0",): (0, 1), ("a1",): (2, 3), ("a2",): (4, 5)}
    assert data(LinkStage(made, [-1])) == data(LinkStage(made, [1])) == by_name
    assert data(LinkStage(made, ["A"])) == {("b0",): (0, 2, 4), ("b1",): (1, 3, 5)}
    everything = LinkStage(made, ["B", "A", 0], target="sum")
    assert data(everything) == {("all",): (0, 1, 2, 3, 4, 5)}
    assert (View(everything).dimnames, View(everything).size) == (("sum",), (1,))
    unnamed = LinkStage(made, ["A", "B"], target="")
    assert (View(unnamed).dimnames, data(unnamed)) == ((), {(): (0, 1, 2, 3, 4, 5)})


@pytest.mark.parametrize("wanted", ["C", 2, -3, "a"])
def test_what_is_not_there_cannot_be_collapsed(wanted: str | int) -> None:
    with pytest.raises(DimensionError, match=r"A \(3\) x B \(2\)"):
        LinkStage(output(product([A, B]), [[0]] * 6), [wanted])


def test_a_dimension_that_is_there_cannot_be_made_by_an_expand() -> None:
    with pytest.raises(DimensionError, match="'A'"):
        LinkStage(output(product([A]), RAGGED), expand="A")


def test_an_expand_of_ragged_lists_leaves_holes_that_a_collapse_does_not_see() -> None:
    expanded = node(output(product([A]), RAGGED), expand="k")
    assert View(expanded).size == (3, 3)
    assert data(expanded) == {
        ("a0", "0"): {"values": (1,)},
        ("a0", "1"): {"values": (2,)},
        ("a0", "2"): {"values": (3,)},
        ("a1", "0"): {"values": (4,)},
        ("a2", "0"): {"values": (5,)},
        ("a2", "1"): {"values": (6,)},
    }
    assert (1, 1) not in View(expanded)
    with pytest.raises(KeyError):
        View(expanded)[1, 1]

    passed_on = output(expanded.columns, [[1], [2], [3], [4], [5], [6]], 1)
    assert data(LinkStage(passed_on, ["k"])) == {("a0",): (1, 2, 3), ("a1",): (4,), ("a2",): (5, 6)}
    assert data(LinkStage(passed_on, ["A"])) == {("0",): (1, 4, 5), ("1",): (2, 6), ("2",): (3,)}


def test_both_at_once_turn_samples_and_lists_round_and_a_place_has_who_has_it() -> None:
    turned = LinkStage(output(product([A]), RAGGED), ["A"], "k")

    assert data(turned) == {("all", "0"): (1, 4, 5), ("all", "1"): (2, 6), ("all", "2"): (3,)}
    assert (View(turned).dimnames, View(turned).size) == (("k",), (3,))
    assert counted(turned.cards, 3).tolist() == [3, 2, 1]
    assert View(turned).index_to_source((1,)) == (((0,), (2,)),)
    assert View(turned).index_to_target((2,)) == ((0,), (1,))
    one_of_two = LinkStage(output(product([A, B]), [[at, -at] for at in range(6)]), ["A"], "k")
    assert View(one_of_two).ids == [("b0", "0"), ("b0", "1"), ("b1", "0"), ("b1", "1")]
    assert View(one_of_two)["b1", "1"].data == (-1, -3, -5)


def test_entries_are_called_after_their_values_and_stand_in_the_order_of_the_domain() -> None:
    domain = Domain("fold", [10, 20, 30])
    lists = {"fold": Entries(domain, np.array([0, 2, 3]), np.array([2, 0, 1], dtype=np.int32))}
    made = Held(product([B]), 0, cards=np.array([2, 1], dtype=np.int32), lists=lists)
    made[0,] = Sample((0,), ("b0",), ("thirty", "ten"))
    made[1,] = Sample((1,), ("b1",), ("twenty",))

    assert data(LinkStage(made, expand="fold")) == {
        ("b0", "10"): ("ten",),
        ("b0", "30"): ("thirty",),
        ("b1", "20"): ("twenty",),
    }


def test_a_list_of_one_sample_of_everything_becomes_samples_of_that_dimension_alone() -> None:
    whole = node(output(product([A]), RAGGED), collapse=["A"])
    listing = output(whole.columns, [["x", "y"]], 1)

    expanded = LinkStage(listing, expand="k")

    assert (View(expanded).dimnames, View(expanded).ids) == (("k",), [("all", "0"), ("all", "1")])
    assert View(expanded)["all", "1"].data == ("y",)
    nothing = LinkStage(output(whole.columns, [None], 1), expand="k")
    assert (View(nothing).ids, nothing.opens.number, len(nothing.opens.codes)) == ([], 1, 1)


def test_one_sample_of_everything_goes_with_all_samples_of_another_input() -> None:
    mean = node(output(product([A]), RAGGED), collapse=["A"]).output("mean")
    each = NodeOutput(product([A, B]), 0)
    parts = [
        InputStage("mean", [SubInput(LinkStage(mean))]),
        InputStage("each", [SubInput(LinkStage(each))]),
    ]

    for how in (join, None):
        group = InputGroup("", parts, how) if how else InputGroup("", parts)
        run = NodeRun(2, "n", [group])
        assert View(run).dimnames == ("A", "B")
        assert all(
            sample.jobs == {(1, 0), (0, row)} for row, (_, sample) in enumerate(View(run).items())
        )


def test_an_empty_source_stays_empty_through_every_link() -> None:
    nobody = Domain("N", ())
    made = NodeOutput(product([nobody, A]), 0)

    ways: list[dict[str, Any]] = [
        {},
        {"collapse": ["A"]},
        {"collapse": ["N"]},
        {"collapse": ["A", "N"]},
    ]
    for how in ways:
        assert View(node(made, **how)).ids == []
    assert View(node(made, expand="k")).ids == []
    assert View(node(made, expand="k", collapse=["A", "N"])).ids == []
    assert View(node(SubOutput(made, 0, 1), expand="k")).ids == []


# Selections


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.integers(-5, 5),
    st.none() | st.integers(-5, 5),
)
def test_a_selection_is_a_slice(lengths: list[int], start: int, stop: int | None) -> None:
    lists = [[f"{row}.{at}" for at in range(n)] for row, n in enumerate(lengths)]
    selected = SubOutput(output(product([A]), lists), start, stop)

    wanted = [tuple(it or ())[start:stop] for it in lists]
    assert [sample.data for _, sample in View(selected).items()] == wanted
    assert counted(selected.cards, 3).tolist() == [len(it) for it in wanted]
    firsts = selected.first_places().tolist()
    assert all(
        not values or values[0] == (it or ())[first]
        for values, it, first in zip(wanted, lists, firsts, strict=True)
    )
    expanded = LinkStage(selected, expand="k")
    assert [sample.data for _, sample in View(expanded).items()] == [
        (it,) for those in wanted for it in those
    ]
    # An entry is called after its place in the whole list, whatever else is selected.
    assert [sample.id[1] for _, sample in View(expanded).items()] == [
        it[2:] for those in wanted for it in those
    ]


def test_what_is_selected_of_a_list_that_nobody_knows_is_not_known_either() -> None:
    made = output(product([A]), [[1, 2], None, []])

    for start, stop, known in (
        (0, 1, [1, UNKNOWN, 0]),
        (-1, None, [1, UNKNOWN, 0]),
        (1, 5, [1, UNKNOWN, 0]),
    ):
        selected = SubOutput(made, start, stop)
        assert counted(selected.cards, 3).tolist() == known
        expanded = LinkStage(selected, expand="k")
        assert [sample.id[0] for _, sample in View(expanded).items()] == ["a0"]
        assert (expanded.opens.owners.tolist(), expanded.opens.rows.tolist()) == ([0], [1])
    assert SubOutput(NodeOutput(product([A]), 0, cards=5), 1, 3).cards == 2
    assert SubOutput(NodeOutput(product([A]), 0, cards=UNKNOWN), 1, 3).cards == UNKNOWN


# What is not known


def test_the_cardinality_of_a_collapse_is_not_known_while_that_of_a_member_is_not() -> None:
    made = output(product([B, Domain("C", "xy")]), [[1], None, [2, 3], [4]])

    assert counted(LinkStage(made, ["C"]).cards, 2).tolist() == [UNKNOWN, 3]
    assert LinkStage(NodeOutput(product([B]), 0, cards=2)).cards == 2


def test_open_samples_are_told_on_the_dimensions_that_are_left() -> None:
    made = output(product([A, B]), [[1], None, [1], [1], None, None])

    link = LinkStage(made, expand="k")
    assert [column.tolist() for column in link.opens.codes] == [[0, 2, 2], [1, 0, 1], [UNKNOWN] * 3]
    assert [column.tolist() for column in LinkStage(made, ["A"], "k").opens.codes] == [
        [1, 0, 1],
        [UNKNOWN] * 3,
    ]
    run = node(made, expand="k")
    assert run.opens.rows.tolist() == [1, 4, 5]
    again = LinkStage(run.output("o", cards=np.array([1, UNKNOWN, 2], dtype=np.int32)), ["B"], "m")
    assert again.opens.owners.tolist() == [0, 0, 0, 1]
    assert again.opens.rows.tolist() == [1, 4, 5, 1]
    assert [column.tolist() for column in again.opens.codes] == [
        [0, 2, 2, 1],
        [UNKNOWN, UNKNOWN, UNKNOWN, 0],
        [UNKNOWN] * 4,
    ]


# States


def test_a_sample_is_worth_as_much_as_the_worst_that_it_is_made_of() -> None:
    states = {
        0: SampleState.MISSING,
        3: SampleState.FAILED,
        4: SampleState.MISSING,
        5: SampleState.FAILED,
    }
    made = Held(product([A, B]), 0, states=states)

    found = {sample.id: sample.state for sample in View(LinkStage(made, ["B"])).samples()}

    assert found == {
        ("a0",): SampleState.MISSING,
        ("a1",): SampleState.FAILED,
        ("a2",): SampleState.FAILED,  # a failure is not hidden by data that is absent
    }


def test_only_the_samples_that_a_failed_one_is_in_are_touched_by_it() -> None:
    made = Held(product([A, B]), 0, states={3: SampleState.FAILED})

    found = LinkStage(made, ["B"])

    assert [sample.state for _, sample in View(found).items()] == [
        SampleState.VALID,
        SampleState.FAILED,
        SampleState.VALID,
    ]


def test_samples_can_be_said_and_are_found_by_index_and_id() -> None:
    made = Held(columns([A], [[0, 2]])[0], 4)
    view = View(made)

    assert view[2,] == view["a2",] == Sample((2,), ("a2",), (), frozenset({(4, 1)}))
    made["a2",] = Sample((2,), ("a2",), ("new",))
    assert view[2,].data == ("new",)
    assert ("a1",) not in view
    for key in ((1,), ("a1",), ("b",), (3,)):
        with pytest.raises(KeyError):
            made[key] = view[2,]
