"""The packers by name: what each does in a line, and how it packs with and without time.

`seed` is the seed text's algorithm and the yardstick: it knows no time, so requests stay on the
instance that they came to until the last of them ends. The others are better and never dearer.
Source: the seed text; DESIGN's `Packer` protocol; fastr_packing G6, G7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.bound import worth
from rowtui.core.packing.model import Bundle, GoOn, Problem
from rowtui.core.packing.seed import seed_packing
from rowtui.core.packing.shrink import cost_of, shrink
from rowtui.core.packing.static import bundles_of, form_of
from rowtui.core.packing.timed import pack_seed, pack_timed
from rowtui.core.packing.vectors import VectorPacker


class Found(NamedTuple):
    """A packing, who made it, and what is known of the best possible one."""

    bundles: tuple[Bundle, ...]
    packer: str
    bound: float = 0.0
    proven: bool = False


SEED = "seed"
BEST = "best"


@dataclass(slots=True)
class Seed:
    """The seed text's algorithm, as it is."""

    name: str = SEED
    summary: str = "the cheapest node for the job that needs the dearest, filled with what fits"

    def find(self, problem: Problem, go_on: GoOn) -> Found:
        """All requests, each once, and who packed them."""
        if problem.timed:
            return Found(pack_seed(problem, seed_packing, go_on), self.name)
        form = form_of(problem, whole=True)
        return Found(bundles_of(seed_packing(form.vectors, go_on), form), self.name)

    def pack(self, problem: Problem, go_on: GoOn) -> tuple[Bundle, ...]:
        """All requests, each once."""
        return self.find(problem, go_on).bundles


@dataclass(slots=True)
class Ours:
    """A packer made of one that packs vectors."""

    name: str
    summary: str
    vector_packer: VectorPacker

    def find(self, problem: Problem, go_on: GoOn) -> Found:
        """All requests, each once, and who packed them."""
        if problem.timed:
            value = worth(problem)
            bundles = pack_timed(problem, value, self.vector_packer, go_on)
            return Found(bundles, self.name, value.bound)
        form = form_of(problem)
        patterns = self.vector_packer(form.vectors, go_on)
        return Found(shrink(bundles_of(patterns, form), problem), self.name)

    def pack(self, problem: Problem, go_on: GoOn) -> tuple[Bundle, ...]:
        """All requests, each once."""
        return self.find(problem, go_on).bundles


@dataclass(slots=True)
class Best:
    """The best that any of our packers makes of it."""

    name: str = BEST
    summary: str = "the cheapest that any of these finds, improved as long as time is given"

    def find(self, problem: Problem, go_on: GoOn) -> Found:
        """All requests, each once, and who packed them best."""
        tried = [one.find(problem, go_on) for one in OURS.values() if one is not self]
        return min(tried, key=lambda found: cost_of(found.bundles, problem))

    def pack(self, problem: Problem, go_on: GoOn) -> tuple[Bundle, ...]:
        """All requests, each once."""
        return self.find(problem, go_on).bundles


OURS: dict[str, Ours | Seed | Best] = {
    one.name: one
    for one in (
        Best(),
        Ours("fill", "nodes filled evenly, by what each resource is worth", seed_packing),
        Seed(),
    )
}
