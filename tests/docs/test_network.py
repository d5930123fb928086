"""docs/network.md: its networks can be used, and its commands typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from rowtui.cli.parser import build_parser
from rowtui.core.network.definition.load import load_network, parse_network

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TYPED = re.findall(r"^\$ rowtui (.*?)(?: +#.*)?$", PAGE, re.MULTILINE)
INLINE = re.findall(r"`rowtui ((?:network|clean|submit)[^`]*)`", PAGE)
# What the excerpts of "The file by example" leave out: nodes that they come from.
REST = """
[[source]]
name = "state"
values = { temperature = [1.0, 2.0], replica = [0, 1] }
[[node]]
name = "simulate"
from = "state"
[[node]]
name = "split"
from = "state"
"""


def test_the_five_minutes_are_the_example_study() -> None:
    told = parse_network(BLOCKS[0].encode(), "network.toml", "study").network
    assert told == load_network(ROOT / "examples" / "study").network


def test_a_network_as_a_node_can_be_used(tmp_path: Path) -> None:
    (inner,) = (block for block in BLOCKS if block.startswith("# registration.toml"))
    (outer,) = (block for block in BLOCKS if block.startswith("# network.toml"))
    right = '[[node]]\nname = "right"\nnetwork = "registration.toml"\ninputs.image = "cut"\n'
    cut = '[[node]]\nname = "cut"\nfrom = "state"\n'
    (tmp_path / "registration.toml").write_text(inner)
    (tmp_path / "network.toml").write_text(REST + cut + outer + right)
    names = {node.name for node in load_network(tmp_path).network.nodes}
    assert names >= {"left.affine", "left.warp", "right.affine", "right.warp", "compare"}


def test_optional_sources_can_be_used() -> None:
    (excerpt,) = (block for block in BLOCKS if "optional = true" in block)
    network = parse_network((REST + excerpt).encode(), "network.toml", "p").network
    assert [it.default for it in network.sources] == [None, {"mask": "none"}, {}]


def test_the_file_by_example_can_be_used() -> None:
    excerpt = next(block for block in BLOCKS if "folds.json" in block)
    network = parse_network((REST + excerpt).encode(), "network.toml", "p").network
    assert {node.name for node in network.nodes} >= {"register", "train", "average", "fit_fine"}


@pytest.mark.parametrize("typed", sorted({*TYPED, *INLINE}))
def test_every_command_can_be_typed(typed: str) -> None:
    build_parser().parse_args(shlex.split(typed))
