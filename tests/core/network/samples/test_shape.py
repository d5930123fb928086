"""Dimensions and homes of nodes, without any sample."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.definition.load_tables import NetworkError
from rowtui.core.network.definition.spec import (
    Existing,
    Input,
    Link,
    Network,
    NetworkPosition,
    Node,
    Sink,
    Source,
)
from rowtui.core.network.samples.shape import NetworkShape, homes_of, shape

Dims = dict[str, tuple[str, ...]]


def plain(*names: str) -> tuple[Input, ...]:
    return tuple(Input(name, (Link(name),)) for name in names)


def node(name: str, *inputs: Input, **more: object) -> Node:
    return Node(name, name, inputs, **more)  # type: ignore[arg-type]


def one(source: str, *, group: str = "", name: str = "", **more: object) -> Input:
    return Input(name or source, (Link(source, **more),), group)  # type: ignore[arg-type]


def network(sources: Dims, *nodes: Node, sinks: Sequence[Sink] = ()) -> Network:
    return Network("p", tuple(Source(it, Existing()) for it in sources), nodes, tuple(sinks))


def shaped(sources: Dims, *nodes: Node) -> NetworkShape:
    return shape(network(sources, *nodes), sources)


def refused(sources: Dims, *nodes: Node) -> str:
    with pytest.raises(NetworkError) as caught:
        shaped(sources, *nodes)
    (problem,) = caught.value.problems
    return problem.message


SWEEP: Dims = {"s": ("T", "r"), "c": (), "t": ("T",), "m": ("model",)}


@pytest.mark.parametrize(
    ("it", "dimensions"),
    [
        (one("s"), ("T", "r")),
        (one("s", collapse=("r",)), ("T",)),
        (one("s", collapse=("r", "T")), ()),
        (one("s", output="o", expand="fold"), ("T", "r", "fold")),
        (one("s", output="o", collapse=("T",), expand="T"), ("r", "T")),
        (Input("i", (Link("c"), Link("s"), Link("c"))), ("T", "r")),
        (Input("i", (Link("s"), Link("s", "o"))), ("T", "r")),
        (Input("i", (Link("s", collapse=("r",)), Link("t"))), ("T",)),
    ],
)
def test_a_link_takes_collapsed_dimensions_away_and_adds_the_expanded_one_last(
    it: Input, dimensions: tuple[str, ...]
) -> None:
    found = shaped(SWEEP, node("n", it))
    assert found.dimensions("n") == dimensions
    assert found.nodes["n"].inputs == {it.name: dimensions}


@pytest.mark.parametrize(
    ("combine", "inputs", "dimensions"),
    [
        ("join", plain("s", "t"), ("T", "r")),
        ("join", plain("t", "s"), ("T", "r")),
        ("join", plain("m", "s"), ("model", "T", "r")),
        ("join", (one("s", group="a"), one("t", group="b")), ("T", "r")),
        ("cross", (one("s", group="a"), one("m", group="b")), ("T", "r", "model")),
        ("cross", plain("s", "m"), ("T", "r", "model")),
        ("cross", (one("s", group="a"), one("m"), one("t", group="a")), ("T", "r", "model")),
        ("zip", (one("c", group="a"), one("t", group="b"), one("m", group="c")), ("T",)),
        ("mine", plain("s", "m"), ("T", "r", "model")),
    ],
)
def test_inputs_of_a_group_are_joined_and_groups_are_combined(
    combine: str, inputs: tuple[Input, ...], dimensions: tuple[str, ...]
) -> None:
    assert shaped(SWEEP, node("n", *inputs, combine=combine)).dimensions("n") == dimensions


@pytest.mark.parametrize(
    ("it", "message"),
    [
        (
            node("n", one("s", collapse=("x",))),
            "node 'n', input 's': there is no dimension 'x' to collapse; those of 's' are T x r",
        ),
        (
            node("n", one("c", collapse=("x",))),
            "node 'n', input 'c': there is no dimension 'x' to collapse; those of 'c' are "
            "no dimensions",
        ),
        (
            node("n", one("s", output="o", expand="r")),
            "node 'n', input 's': it expands to 'r', which is a dimension already; those of 's' "
            "are T x r",
        ),
        (
            node("n", Input("i", (Link("s"), Link("t")))),
            "node 'n', input 'i': its links have different dimensions: from 's' T x r, from 't' T",
        ),
        (
            node("n", one("s", group="a"), one("t", group="b"), combine="cross"),
            "node 'n': groups that are crossed have the dimension 'T' both: input 's' T x r, "
            "input 't' T",
        ),
        (
            node("n", one("s"), one("m", output="o", expand="t")),
            "node 'n' has the dimensions 'T' and 't', which differ only in letter case",
        ),
        (
            node("n", one("s"), constants={"r": 1}),
            "node 'n': the constant 'r' is also a dimension of its samples (T x r)",
        ),
        (
            node("n", one("s", output="o", expand="node")),
            "node 'n', input 's': the dimension 'node' is reserved: `node` of a value file "
            "names the node of a directory",
        ),
        (node("n", *plain("nowhere")), "node 'n': there is no source or node 'nowhere'"),
        (node("n", *plain("s", "n")), "node 'n' has a link to itself"),
    ],
)
def test_what_does_not_fit_is_told_with_both_sides(it: Node, message: str) -> None:
    assert refused(SWEEP, it) == message


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        (("node",), "source 's': the dimension 'node' is reserved"),
        (("T", "t"), "source 's' has the dimensions 'T' and 't', which differ only"),
        (("T", "T"), "source 's' has the dimension 'T' twice"),
        (("",), "source 's': the dimension '' is empty"),
        (("a\n",), "source 's': the dimension 'a\\n' has control characters"),
    ],
)
def test_dimensions_that_a_table_brings_are_checked(
    dimensions: tuple[str, ...], message: str
) -> None:
    assert refused({"s": dimensions}, node("n", *plain("s"))).startswith(message)


def test_one_mistake_upstream_is_told_once() -> None:
    nodes = [node("a", one("s", collapse=("x",)))]
    nodes += [node(f"n{number}", one("a", collapse=("y",))) for number in range(3)]
    assert "'x'" in refused(SWEEP, *nodes)


def test_problems_stand_at_the_place_of_the_link() -> None:
    link = Link("s", collapse=("x",), place=NetworkPosition(7, 3))
    with pytest.raises(NetworkError) as caught:
        shape(network(SWEEP, node("n", Input("i", (link,)))), SWEEP, "dir/network.toml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.column) == ("dir/network.toml", 7, 3)


@pytest.mark.parametrize(
    ("second", "home", "why"),
    [
        (node("n", *plain("a")), "s", "its one input, 'a', has the same samples"),
        (node("n", *plain("s")), "s", "its one input, 's', has the same samples"),
        (node("n", one("a", output="o")), "s", "its one input, 'a', has the same samples"),
        (node("n", *plain("a"), combine="zip"), "s", "its one input, 'a', has the same samples"),
        (node("n", *plain("t", "a")), "n", "it has 2 inputs"),
        (node("n", *plain("a", "one")), "n", "it has 2 inputs"),
        (node("n", one("a", collapse=("r",)), one("s")), "n", "it has 2 inputs"),
        (node("n", *plain("a", "s"), combine="zip"), "n", "it has 2 inputs"),
        (node("n", Input("i", (Link("a"), Link("s")))), "n", "its input has 2 links"),
        (node("n", one("a", collapse=("r",))), "n", "its link collapses r"),
        (node("n", one("a", output="o", expand="x")), "n", "its link expands to x"),
        (node("n", *plain("a"), constants={"x": 1}), "n", "it has constants"),
        (node("n", *plain("a"), directories="own"), "n", 'it has directories = "own"'),
        (
            node("n", *plain("a"), combine="mine"),
            "n",
            "the combination 'mine' of a plug-in makes its samples",
        ),
    ],
)
def test_a_node_shares_directories_only_if_each_sample_is_one_of_its_one_input(
    second: Node, home: str, why: str
) -> None:
    sources: Dims = {**SWEEP, "one": ()}
    nodes = (node("a", *plain("s")), second)
    found = shaped(sources, *nodes)
    assert found.home("a") == found.home("s") == "s"
    assert found.home("n") == home
    assert homes_of(network(sources, *nodes))["n"] == (home, why)


def test_order_is_that_of_the_file_wherever_it_can_be() -> None:
    nodes = [node("z", *plain("b")), node("b", *plain("s")), node("a", *plain("s"))]
    assert shaped(SWEEP, *nodes).order == ("b", "z", "a")


def test_only_what_sinks_need_is_needed() -> None:
    nodes = [node("a", *plain("s")), node("b", *plain("a")), node("d", *plain("m", "a"))]
    every = {*SWEEP, "a", "b", "d"}
    assert shaped(SWEEP, *nodes).needed == every
    sinks = [Sink("k", "b", "o", "{sample}")]
    assert shape(network(SWEEP, *nodes, sinks=sinks), SWEEP).needed == {"s", "a", "b"}


def test_a_source_without_dimensions_given_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        shape(network(SWEEP), {})


@given(st.data())
def test_the_order_puts_every_node_behind_those_it_needs(data: st.DataObject) -> None:
    names = [f"n{number}" for number in range(data.draw(st.integers(1, 12)))]
    shuffled = data.draw(st.permutations(names))
    above = {
        name: data.draw(st.lists(st.sampled_from(["s", *shuffled[:at]]), min_size=1, unique=True))
        for at, name in enumerate(shuffled)
    }

    found = shaped({"s": ("T",)}, *(node(name, *plain(*above[name])) for name in names))

    place = {name: at for at, name in enumerate(["s", *found.order])}
    assert sorted(place) == sorted(["s", *names])
    assert all(place[each] < place[name] for name in names for each in above[name])
