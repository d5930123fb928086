"""What jobs need, followed back: also through selections of lists that become samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from rowtui.core.network.edges import edges
from rowtui.core.network.flow import Flow
from rowtui.core.network.shape import shape
from rowtui.core.network.spec import (
    Input,
    Link,
    Network,
    Node,
    Selection,
    Source,
    SourceRows,
    Values,
)


class Item(NamedTuple):
    value: object
    more: dict[str, object]


def flow_of(selection: Selection | None) -> Flow:
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
        (Selection(1, None), {"a1": 1, "a2": 2, "b1": 1}),
        (Selection(-1, None), {"a2": 2, "b1": 1}),
        (Selection(0, 2), {"a0": 0, "a1": 1, "b0": 0, "b1": 1}),
    ],
)
def test_an_expanded_sample_knows_its_place_in_the_whole_list(
    selection: Selection | None, wanted: dict[str, int]
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
