"""What jobs need, followed back: also through selections of lists that become samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from rowtui.core.network.definition.spec import (
    CardinalitySlice,
    Input,
    Link,
    Network,
    Node,
    Source,
    SourceRows,
    Values,
)
from rowtui.core.network.graph.edges import awaited, edges
from rowtui.core.network.samples.columns import product
from rowtui.core.network.samples.combine import join
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage as LinkStage
from rowtui.core.network.samples.link import SubInput
from rowtui.core.network.samples.node_run import InputGroup, NodeRun
from rowtui.core.network.samples.node_run import InputStage as InputStage
from rowtui.core.network.samples.output import UNKNOWN, Entries, NodeOutput
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import shape


class Item(NamedTuple):
    value: object
    more: dict[str, object]


def flow_of(selection: CardinalitySlice | None) -> Flow:
    """A source of two samples, whose lists of 3 and 2 entries become folds, some of them."""
    split = Node("split", "split", (Input("state", (Link("state"),)),))
    link = Link("split", output="folds.json", expand="fold", select=selection)
    fold = Node("fold", "fold", (Input("split", (link,)),))
    network = Network("n", (Source("state", Values({"t": [1, 2]})),), (split, fold))
    rows = {"state": SourceRows("state", ("t",), ((1, 2),))}
    entries = {
        "state,t=1": [Item(f"a{at}", {"at": at}) for at in range(3)],
        "state,t=2": [Item(f"b{at}", {"at": at}) for at in range(2)],
    }
    lists = {("split", "folds.json", "fold"): entries}
    return Flow(network, shape(network, {"state": ("t",)}), rows, lists=lists)


@pytest.mark.parametrize(
    ("selection", "wanted"),
    [
        (None, {"a0": 0, "a1": 1, "a2": 2, "b0": 0, "b1": 1}),
        (CardinalitySlice(1, None), {"a1": 1, "a2": 2, "b1": 1}),
        (CardinalitySlice(-1, None), {"a2": 2, "b1": 1}),
        (CardinalitySlice(0, 2), {"a0": 0, "a1": 1, "b0": 0, "b1": 1}),
    ],
)
def test_an_expanded_sample_knows_its_place_in_the_whole_list(
    selection: CardinalitySlice | None, wanted: dict[str, int]
) -> None:
    flow = flow_of(selection)
    (found,) = edges(flow.runs["fold"])

    assert found.places is not None
    values = [flow.values("fold", row)["fold"] for row in found.jobs.tolist()]
    assert dict(zip(values, found.places.tolist(), strict=True)) == wanted
    # and the further keys of its entry are in its value file
    for row in range(flow.columns("fold").count):
        value = flow.value("fold", row)
        assert value["at"] == wanted[value["fold"]]


def test_edges_of_some_jobs_are_those_of_all_that_are_theirs() -> None:
    flow = flow_of(None)
    (every,) = edges(flow.runs["fold"])
    (some,) = edges(flow.runs["fold"], np.array([3, 1]))

    assert some.jobs.tolist() == [3, 1]
    assert some.rows.tolist() == [int(every.rows[3]), int(every.rows[1])]


def test_nobody_waits_for_lists_of_samples_whose_values_it_cannot_have() -> None:
    number, mine, theirs = Domain("B", [0, 1]), Domain("A", ["x", "y"]), Domain("A", ["z", "x"])
    fold = Entries(Domain("m", ["f"]), np.array([0, 0, 1, 1, 2]), np.zeros(2, np.int32))
    cards = np.array([UNKNOWN, 1, UNKNOWN, 1], np.int32)  # what `z` has is not known
    lists = NodeOutput(product([number, theirs]), 1, cards=cards, lists={"m": fold})
    links = [LinkStage(NodeOutput(product([number, mine]), 0)), LinkStage(lists, expand="m")]
    inputs = [InputStage(str(at), [SubInput(each)]) for at, each in enumerate(links)]
    folds = NodeRun(2, "folds", [InputGroup("", inputs, join)], join)

    mean = InputStage("mean", [SubInput(LinkStage(folds.output(), ["m"]))])
    means = NodeRun(3, "means", [InputGroup("", [mean], join)], join)

    assert means.columns.count == 2
    assert [len(wait.jobs) for wait in awaited(means)] == [0]
