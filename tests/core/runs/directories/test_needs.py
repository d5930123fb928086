"""What a job gets: all of its inputs, in the order of its samples' values."""

from __future__ import annotations

import itertools

from rowtui.core.network.definition.spec import (
    Input,
    Link,
    Network,
    Node,
    Source,
    SourceRows,
    Values,
)
from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import shape
from rowtui.core.runs.directories.inputs import inputs_of
from rowtui.core.runs.model import MadeEntry

SPLIT = Node("split", "split", (Input("state", (Link("state"),)),))
FOLD = Node("fold", "fold", (Input("split", (Link("split", output="folds.json", expand="fold"),)),))
GATHER = Node("gather", "gather", (Input("fold", (Link("fold", collapse=("t", "fold")),)),))
NETWORK = Network("n", (Source("state", Values({"t": ["b", "a"]})),), (SPLIT, FOLD, GATHER))
KEY = ("split", "folds.json", "fold")


def gathered(order: tuple[str, ...]) -> list[tuple[object, object]]:
    """The members of the one sample that gathers all, when lists come in this order."""
    rows = {"state": SourceRows("state", ("t",), (("b", "a"),))}
    growth = Growth(Flow(NETWORK, shape(NETWORK, {"state": ("t",)}), rows))
    values = {"state,t=b": (10, 9), "state,t=a": (2, 9)}
    known: dict[str, tuple[MadeEntry, ...]] = {}
    for directory in order:
        known[directory] = tuple(MadeEntry(it, {}, at) for at, it in enumerate(values[directory]))
        growth.grow({KEY: known})
    found = inputs_of(growth, {KEY: known}, growth.job("gather", 0))
    assert found is not None
    return [(it.sample["t"], it.sample["fold"]) for it in found.inputs["fold"]]


def test_members_are_ordered_by_value_and_not_by_when_their_lists_came() -> None:
    # a source's values in its order, those of lists in natural order
    wanted = [("b", 9), ("b", 10), ("a", 2), ("a", 9)]
    for order in itertools.permutations(("state,t=b", "state,t=a")):
        assert gathered(order) == wanted


def plain(*names: str) -> tuple[Input, ...]:
    return tuple(Input(name, (Link(name),)) for name in names)


# One node after the other with the same dimensions, and a mean of them all.
CENTRED = Network(
    "n",
    (Source("s", Values({"x": [1, 2]})),),
    (
        Node("measure", "measure", plain("s")),
        Node("mean", "mean", (Input("measure", (Link("measure", collapse=("x",)),)),)),
        Node("centre", "centre", plain("measure", "mean")),
        Node("train", "train", plain("s", "mean")),
        Node("test", "test", plain("train", "measure")),
    ),
)


def test_a_node_with_several_inputs_finds_all_in_a_directory_of_its_own() -> None:
    rows = {"s": SourceRows("s", ("x",), ((1, 2),))}
    growth = Growth(Flow(CENTRED, shape(CENTRED, {"s": ("x",)}), rows))
    found = {}
    for node in ("measure", "mean", "centre", "train", "test"):
        its = inputs_of(growth, {}, growth.job(node, 0))
        if its is not None:
            found[its.directory] = {
                name: [it.directory for it in members] for name, members in its.inputs.items()
            }
    assert found == {
        "mean": {"measure": ["s,x=1", "s,x=2"]},
        "centre,x=1": {"measure": ["s,x=1"], "mean": ["mean"]},
        "train,x=1": {"s": ["s,x=1"], "mean": ["mean"]},
        "test,x=1": {"train": ["train,x=1"], "measure": ["s,x=1"]},
    }
