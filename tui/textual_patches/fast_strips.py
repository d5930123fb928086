"""Lines of the screen without unused caches: a cache is created on its first use.

A strip of Textual creates seven caches, and a line becomes six strips on its way to the terminal.
Without these classes, a page of a list takes 31 % more CPU (`bench/results/patches.md`). They
return the same results, with the same parts of a line in the same order; the tests compare them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.segment import Segment
from textual.cache import FIFOCache
from textual.strip import Strip

_CACHES = {
    "_divide_cache": 4,
    "_crop_cache": 16,
    "_style_cache": 16,
    "_filter_cache": 4,
    "_line_length_cache": 4,
    "_crop_extend_cache": 4,
    "_offsets_cache": 4,
}
"""The caches of Textual's strip, with their sizes."""


class LightStrip(Strip):
    """A strip whose width is known."""

    __slots__ = ()

    def __init__(self, segments: list[Segment], cell_length: int) -> None:
        self._segments = segments
        self._cell_length = cell_length
        self._render_cache = None
        self._link_ids = None
        self._cell_count = None

    def __getattr__(self, name: str) -> Any:
        """Create a cache on its first use."""
        if name not in _CACHES:
            raise AttributeError(name)
        cache: FIFOCache[Any, Any] = FIFOCache(_CACHES[name])
        setattr(self, name, cache)
        return cache


class FramedStrip(LightStrip):
    """A line in its frame: the line, and behind it the part that all lines of a widget share."""

    __slots__ = ("_body", "_tail")

    def __init__(self, body: LightStrip, tail: Strip) -> None:
        self._body = body
        self._tail = tail
        self._cell_length = body.cell_length + tail.cell_length
        self._render_cache = None
        self._link_ids = None
        self._cell_count = None

    def __getattr__(self, name: str) -> Any:
        """Create the parts of the whole line, which only a cut at another place needs."""
        if name == "_segments":
            self._segments = [*self._body._segments, *self._tail._segments]
            return self._segments
        return super().__getattr__(name)

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Cut at the end of the line, so that cached cuts of the frame behind the line are used."""
        cuts = list(cuts)
        width = self._body.cell_length
        if cuts[0] == width and cuts[-1] == self._cell_length:
            return [self._body, *self._tail.divide([cut - width for cut in cuts[1:]])]
        return super().divide(cuts)


class LineStrip(LightStrip):
    """A line that its widget stores, with the last frame around the line."""

    __slots__ = ("framed", "framed_by")

    def __init__(self, segments: list[Segment], cell_length: int) -> None:
        self._segments = segments
        self._cell_length = cell_length
        self._render_cache = None
        self._link_ids = None
        self._cell_count = None
        self.framed_by: object = None
        self.framed: Strip = self
