"""Combinations of other people: found by name, checked, and told apart from ours when they fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rowtui.core.network.definition.spec import (
    Input,
    Link,
    Network,
    Node,
    Source,
    SourceRows,
    Values,
)
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import shape

THEIRS = """
import numpy as np
from rowtui.core.network.samples.columns import columns
from rowtui.core.network.samples.combine import Combined


def triangle(tables):
    left, right = tables
    pairs = [(a, b) for a in range(left.count) for b in range(a, right.count)]
    rows = [np.array(side, dtype=np.int64) for side in zip(*pairs)]
    codes = [left.codes[0][rows[0]], right.codes[0][rows[1]]]
    made, _ = columns((*left.axes, *right.axes), codes)
    return Combined(made, tuple(rows))


def beyond(tables):
    found = triangle(tables)
    return found._replace(rows=(found.rows[0] + 9, found.rows[1]))


def fails(tables):
    raise KeyError("secret of theirs")


number = 7
"""


@pytest.fixture(autouse=True)
def their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_combinations.py").write_text(THEIRS)
    info = tmp_path / "their_combinations-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their_combinations\nVersion: 1\n")
    names = ("triangle", "beyond", "fails", "number")
    lines = "".join(f"{name} = their_combinations:{name}\n" for name in names)
    (info / "entry_points.txt").write_text(f"[rowtui.combinations]\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_combinations", raising=False)


def flow_with(combine: str) -> Flow:
    values = {"a": (1, 2, 3), "b": (10, 20, 30)}
    sources = tuple(Source(name, Values({name: list(each)})) for name, each in values.items())
    inputs = tuple(Input(name, (Link(name),)) for name in values)
    network = Network("n", sources, (Node("pair", "pair", inputs, combine=combine),))
    rows = {name: SourceRows(name, (name,), (each,)) for name, each in values.items()}
    return Flow(network, shape(network, {"a": ("a",), "b": ("b",)}), rows)


def test_a_combination_of_another_package_says_which_samples_there_are() -> None:
    flow = flow_with("triangle")
    assert flow.directories("pair") == [
        f"pair,a={a},b={b}" for a in (1, 2, 3) for b in (10, 20, 30) if b >= 10 * a
    ]


@pytest.mark.parametrize(
    ("combine", "said"),
    [
        ("triangel", "there is no combination 'triangel'"),
        ("beyond", "gave rows that are not there"),
        ("fails", "failed with KeyError"),
        ("number", "'number' is no combination"),
    ],
)
def test_one_that_is_of_no_use_is_named_with_its_node(combine: str, said: str) -> None:
    with pytest.raises(DimensionError) as caught:
        flow_with(combine)
    assert "node 'pair'" in caught.value.message
    assert said in caught.value.message
    assert "secret" not in str(caught.value)
    assert caught.value.hint
