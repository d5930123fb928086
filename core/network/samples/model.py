"""Samples and their dimensions, as values.

Source: Fastr's documentation, "Sample flow".
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

SampleIndex = tuple[int, ...]  # a position for each dimension
SampleId = tuple[str, ...]  # a label for each dimension
MOST_SAMPLES = 1 << 27  # of a source or a node: each has a code of 4 bytes for every dimension
COLLAPSED = "all"  # the label of a fully collapsed sample


class DimensionError(RowtuiError):
    """Dimensions that cannot be matched; the message names both sides."""


class Dimension(NamedTuple):
    """One dimension. `size` is None if it is not known before something has run."""

    name: str
    size: int | None

    def __str__(self) -> str:
        """Return a text such as `replica (5)`."""
        return f"{self.name} ({'?' if self.size is None else f'{self.size:,}'})"


def dimensions_text(dimensions: tuple[Dimension, ...]) -> str:
    """Return a text such as `temperature (11) x replica (5)`; `one sample` without dimensions."""
    return " x ".join(map(str, dimensions)) or "one sample"


class SourceError(RowtuiError):
    """A source whose samples cannot be determined. `source` is its name."""

    def __init__(self, source: str, message: str, hint: str = "") -> None:
        super().__init__(f"source '{visible(source)}': {message}", hint)
        self.source = source
