"""The built-in packers by name: a line about each, and how it packs with and without time.

`seed` is CAVATICA's published algorithm, which the others are compared with. The algorithm ignores
time, so requests stay on their instance until the last of them ends. `best` tries every useful way,
including the seed algorithm, and so is never worse than `seed`. Source: CAVATICA's documentation,
"Multi-instance scheduling algorithm".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rowtui.core.packing.cheapest_type import CheapestType, cost_of, shrink
from rowtui.core.packing.heuristics.bins import Patterns, Vectors, patterns_cost
from rowtui.core.packing.heuristics.fill import fill, fill_once
from rowtui.core.packing.heuristics.ruin_recreate import mend
from rowtui.core.packing.model import (
    Bundle,
    Demand,
    GoOn,
    InstanceType,
    PackingProblem,
    fits,
    has_solver,
)
from rowtui.core.packing.optimal.bound import PriceBound, if_cheaper, worth
from rowtui.core.packing.seed import seed_patterns
from rowtui.core.packing.static import bundles_of, form_of, numbers_by_name
from rowtui.core.packing.timed import pack_timed, seed_bundles

BEST, SEED, FILL, COLUMNS = "best", "seed", "fill", "columns"

# Up to this many items are packed well even without time, for so many questions for more time (half
# a second): HiGHS proves most packings of a dozen items then.
FEW_ITEMS, QUESTIONS_OF_FEW = 40, 400

# Problems with more classes are filled: column generation takes minutes there and gains nothing.
MOST_CLASSES = 150

# A packing this close to its bound is not improved any more.
CLOSE = 1e-6

# Up to this many types are all kept; of more types, about this many are kept.
MOST_TYPES = 100

# Number of classes of requests from which the good types are chosen.
CLASSES_FOR_TYPES = 1_000


class PackerAnswer(NamedTuple):
    """A packing, its packer, and the results about the best possible packing.

    `bound`: a lower bound of the cost of any packing from this packer; 0: none. `bounded`: the
    bound of `bound.py` is no higher.
    """

    bundles: tuple[Bundle, ...]
    packer: str
    bound: float = 0.0
    proven: bool = False
    bounded: bool = False


class PackedVectors(NamedTuple):
    """Packed vectors, their packer, and the results about the best packing: see `PackerAnswer`."""

    patterns: Patterns
    packer: str
    bound: float = 0.0
    proven: bool = False


Solver = Callable[[Vectors, GoOn], PackedVectors]


@dataclass(slots=True)
class BuiltInPacker:
    """A built-in packer: `find` also returns the results about the best possible packing."""

    name: str
    summary: str
    solve: Solver

    def find(self, problem: PackingProblem, go_on: GoOn) -> PackerAnswer:
        """Return all requests, each once, and their packer. Every request fits somewhere."""
        if problem.timed:
            return self._find_timed(problem, worth(problem, go_on), go_on)
        form = form_of(problem)
        solved = self.solve(form.vectors, go_on)
        bundles = shrink(bundles_of(solved.patterns, form), problem)
        return PackerAnswer(bundles, solved.packer, solved.bound, solved.proven)

    def _find_timed(self, problem: PackingProblem, value: PriceBound, go_on: GoOn) -> PackerAnswer:
        fewer, there, kept = with_fewer_types(problem, value)
        bundles = self._pack_timed(fewer, there, go_on)
        bundles = shrink(on_types_before(bundles, kept), problem)
        return PackerAnswer(bundles, self.name, value.bound, bounded=True)

    def _pack_timed(
        self, problem: PackingProblem, value: PriceBound, go_on: GoOn
    ) -> tuple[Bundle, ...]:
        return pack_timed(problem, value, fill_once, go_on)

    def pack(self, problem: PackingProblem, go_on: GoOn) -> tuple[Bundle, ...]:
        """Return all requests, each once."""
        return self.find(problem, go_on).bundles


class Seed(BuiltInPacker):
    """CAVATICA's algorithm, unchanged: each instance keeps the type that it was opened with."""

    def find(self, problem: PackingProblem, _go_on: GoOn) -> PackerAnswer:
        """Return all requests, each once."""
        return PackerAnswer(tuple(_bundles_of_seed(problem)), self.name)


class Best(BuiltInPacker):
    """The best result of all packers, the seed algorithm included, improved while there is time."""

    def find(self, problem: PackingProblem, go_on: GoOn) -> PackerAnswer:
        """Return all requests, each once, and the packer with the best result."""
        if problem.timed:
            value = worth(problem, go_on)
            found = self._find_timed(problem, value, go_on)
        else:
            form = form_of(problem)
            filled = _filled(form.vectors, go_on)
            value = worth(problem, go_on)
            solved = _bettered(filled, form.vectors, value.bound, go_on)
            bundles = shrink(bundles_of(solved.patterns, form), problem)
            found = PackerAnswer(bundles, solved.packer, solved.bound, solved.proven, bounded=True)
        seed = None
        if not found.proven:
            seed = if_cheaper(_bundles_of_seed(problem), problem, value, found.bundles)
        return found if seed is None else found._replace(bundles=seed, packer=SEED)

    def _pack_timed(
        self, problem: PackingProblem, value: PriceBound, go_on: GoOn
    ) -> tuple[Bundle, ...]:
        bundles = super()._pack_timed(problem, value, go_on)
        if go_on() and cost_of(bundles, problem) > value.bound * (1 + CLOSE):
            bundles = mend(problem, bundles, value, go_on)
        return bundles


def _bundles_of_seed(problem: PackingProblem) -> Iterator[Bundle]:
    if problem.timed:
        yield from seed_bundles(problem)
        return
    form = form_of(problem, whole=True)
    for pattern in seed_patterns(form.vectors):
        yield from bundles_of((pattern,), form)


# -- solvers of vectors --------------------------------------------------------------------------


def _filled(vectors: Vectors, go_on: GoOn) -> PackedVectors:
    return PackedVectors(fill(vectors, go_on), FILL)


def _by_columns(vectors: Vectors, go_on: GoOn) -> PackedVectors:
    """Solve by column generation, or by filling if there are too many classes or no solver."""
    return _generated(vectors, _at_least_briefly(vectors, go_on)) or _filled(vectors, go_on)


def _generated(vectors: Vectors, go_on: GoOn) -> PackedVectors | None:
    if len(vectors.items) > MOST_CLASSES or not has_solver():
        return None
    from rowtui.core.packing.optimal.whole_bins import pack_whole  # imports HiGHS

    made = pack_whole(vectors, go_on)
    return PackedVectors(made.patterns, COLUMNS, made.bound, made.proven)


def _at_least_briefly(vectors: Vectors, go_on: GoOn) -> GoOn:
    """Return a `go_on` that also allows a number of questions for few items."""
    few = sum(item.number for item in vectors.items) <= FEW_ITEMS
    questions = iter(range(QUESTIONS_OF_FEW if few else 0))
    return lambda: next(questions, None) is not None or go_on()


def _bettered(best: PackedVectors, vectors: Vectors, bound: float, go_on: GoOn) -> PackedVectors:
    """Return the cheaper one of this packing and of a generated one.

    `bound`: a lower bound of the cost of any packing that is already computed.
    """
    cost = patterns_cost(best.patterns, vectors)
    go_on = _at_least_briefly(vectors, go_on)
    if cost > bound * (1 + CLOSE) and go_on():
        other = _generated(vectors, go_on)
        if other is not None:
            if other.proven:
                return other
            bound = max(bound, other.bound)
            if patterns_cost(other.patterns, vectors) < cost:
                best = other
    return best._replace(bound=bound)


OURS: dict[str, BuiltInPacker] = {
    one.name: one
    for one in (
        Best(BEST, "the cheapest that any of these finds, as long as time is given", _filled),
        BuiltInPacker(
            FILL, "nodes filled so that nothing runs out first, for any number of jobs", _filled
        ),
        BuiltInPacker(COLUMNS, "nearly the best possible for up to 150 kinds of jobs", _by_columns),
        Seed(SEED, "the cheapest node for the job that needs the dearest, then filled", _filled),
    )
}


def with_fewer_types(
    problem: PackingProblem, value: PriceBound
) -> tuple[PackingProblem, PriceBound, list[int]]:
    """Return the problem on fewer types, the worth of these types, and their former numbers.

    The problem has times. No packing on fewer types is better than the best one on all types, so
    the bound stays valid.
    """
    usable = [at for at, kind in enumerate(problem.node_types) if kind.at_most != 0]
    if len(usable) <= MOST_TYPES:
        return problem, value, list(range(len(problem.node_types)))
    chosen = set(_most_used(problem))
    by_name = numbers_by_name(problem)
    chosen |= {by_name[demand.hint] for demand in problem.demands if demand.hint}
    finder = CheapestType(problem, timed=True)
    last: InstanceType | None = None
    for demand in problem.demands:
        if demand.hint or (last is not None and fits(demand, last)):
            continue
        home = next((at for at in chosen if fits(demand, problem.node_types[at])), None)
        if home is None:
            home = finder.for_load((*demand.amounts, demand.seconds), -1)
            chosen.add(home)
        last = problem.node_types[home]
    kept = sorted(chosen)
    place = {at: row for row, at in enumerate(usable)}
    fewer = replace(problem, node_types=tuple(problem.node_types[at] for at in kept))
    worth = value.on([place[at] for at in kept])
    return fewer, worth, kept


def on_types_before(bundles: Sequence[Bundle], kept: Sequence[int]) -> tuple[Bundle, ...]:
    """Return the bundles with the former numbers of the types."""
    return tuple(Bundle(kept[one.node_type], one.lanes, one.times) for one in bundles)


def _most_used(problem: PackingProblem) -> list[int]:
    """Return the types on which the requests with most hours are packed if time does not count."""
    order = sorted(
        range(len(problem.demands)),
        key=lambda at: (-problem.demands[at].seconds * problem.counts[at], at),
    )
    counts: Counter[Demand] = Counter()
    for at in order[:CLASSES_FOR_TYPES]:
        counts[problem.demands[at]._replace(seconds=0)] += problem.counts[at]
    timeless = replace(problem, demands=tuple(counts), counts=tuple(counts.values()))
    form = form_of(timeless)
    paid: Counter[int] = Counter()
    for pattern in fill(form.vectors, lambda: False):
        number = form.node_types[pattern.bin]
        paid[number] += pattern.times
    return [at for at, _ in paid.most_common(MOST_TYPES)]
