"""The packers by name: what each does in a line, and how it packs with and without time.

`seed` is the seed text's algorithm and the yardstick: it knows no time, so requests stay on the
instance that they came to until the last of them ends. The others are better and never dearer.
Source: the seed text; DESIGN's `Packer` protocol; fastr_packing G6, G7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.model import Bundle, GoOn, Problem, total_cost
from rowtui.core.packing.shrink import shrink
from rowtui.core.packing.static import bundles_of, form_of
from rowtui.core.packing.timed import pack_timed
from rowtui.core.packing.vectors import Patterns, VectorPacker, Vectors


class Found(NamedTuple):
    """A packing, who made it, and what is known of the best possible one."""

    bundles: tuple[Bundle, ...]
    packer: str
    bound: float = 0.0
    proven: bool = False


def _first_fit(vectors: Vectors, _go_on: GoOn) -> Patterns:
    from rowtui.core.packing.vectors import Pattern

    def cheapest(item: int) -> int:
        size, _, bin_ = vectors.items[item]
        if bin_ is not None:
            return bin_
        return min(
            (
                number
                for number, kind in enumerate(vectors.bins)
                if all(map(int.__le__, size, kind.size))
            ),
            key=lambda number: (vectors.bins[number].price, number),
        )

    home = [cheapest(item) for item in range(len(vectors.items))]
    order = sorted(range(len(home)), key=lambda item: (-vectors.bins[home[item]].price, item))
    left = [item.number for item in vectors.items]
    made: list[Pattern] = []
    for first in order:
        while left[first]:
            kind = home[first]
            room = list(vectors.bins[kind].size)
            content: list[tuple[int, int]] = []
            for item in order:
                size, _, bin_ = vectors.items[item]
                if not left[item] or (bin_ is not None and bin_ != kind):
                    continue
                fit = min(
                    [
                        left[item],
                        *(there // asked for there, asked in zip(room, size, strict=True) if asked),
                    ]
                )
                if fit:
                    content.append((item, fit))
                    room = [there - fit * asked for there, asked in zip(room, size, strict=True)]
            times = min(left[item] // fit for item, fit in content)
            for item, fit in content:
                left[item] -= fit * times
            made.append(Pattern(kind, tuple(content), times))
    return tuple(made)


@dataclass(slots=True)
class Ours:
    """A packer made of one that packs vectors."""

    name: str
    summary: str
    vector_packer: VectorPacker

    def pack(self, problem: Problem, go_on: GoOn) -> tuple[Bundle, ...]:
        """All requests, each once."""
        if problem.timed:
            return pack_timed(problem, self.vector_packer, go_on)
        form = form_of(problem)
        return shrink(bundles_of(self.vector_packer(form.vectors, go_on), form), problem)


OURS = (Ours("seed", "the cheapest instance for the job that needs most, filled up", _first_fit),)


def portfolio(problem: Problem, go_on: GoOn) -> Found:
    """The best that any of our packers makes of it."""
    tried = [Found(one.pack(problem, go_on), one.name) for one in OURS]
    return min(tried, key=lambda found: total_cost(found.bundles, problem))
