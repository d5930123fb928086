"""The name of one sample's directory."""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.samples.names import names_of


def sample_name(home: str, dimensions: Sequence[str], values: Sequence[JSON]) -> str:
    assert len(dimensions) == len(values)
    (name,) = names_of(home, dimensions, [([value], [0]) for value in values])
    return name
