"""Vector packing instances made by published recipes, and such whose optimum is known.

`two_constraint` is the recipe of A. Caprara and P. Toth (Lower bounds and algorithms for the
2-dimensional vector packing problem, Discrete Applied Mathematics 111, 2001), classes 1 to 8: one
kind of bin, two resources. `triplets` are E. Falkenauer's (A hybrid grouping genetic algorithm for
bin packing, Journal of Heuristics 2, 1996) in two resources: three items fill a bin exactly, so the
optimum is a third of the items. `cut_bins` is for bins of several sizes and prices, as in M. Gabay
and S. Zaourar (Vector bin packing with heterogeneous bins, Annals of Operations Research 242,
2016): whole bins are cut up; here their prices are linear in what they hold, so that nothing can be
cheaper than the bins that were cut. The instances that these authors used are not included: nothing
says under which licence they are. A folder with files in the format of VPSolver (`.vbp`) can be
read with `read_vbp`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

from rowtui.core.packing.model import Demand, InstanceType, PackingProblem, ResourceAmounts

Pair = tuple[int, int]


class Instance(NamedTuple):
    """`optimum`: what the best packing costs, None where nobody knows."""

    name: str
    problem: PackingProblem
    optimum: float | None = None


# Class: capacity of both resources, the least and most that an item takes of each.
_UNIFORM = {
    1: (1000, 100, 400),
    2: (1000, 1, 1000),
    3: (1000, 200, 800),
    4: (1000, 50, 200),
    5: (1000, 25, 100),
    6: (150, 20, 100),
}
CLASSES = (*_UNIFORM, 7, 8)


def two_constraint(kind: int, number: int, seed: int = 1) -> Instance:
    """So many items of one of the `CLASSES`. In 7 the resources go together, in 8 against each
    other."""
    rng = Random(f"{kind} {number} {seed}")
    if kind in _UNIFORM:
        capacity, least, most = _UNIFORM[kind]
        items = [(rng.randint(least, most), rng.randint(least, most)) for _ in range(number)]
    else:
        capacity = 150
        first = [rng.randint(20, 100) for _ in range(number)]
        if kind == 7:
            items = [(one, rng.randint(one - 10, one + 10)) for one in first]
        else:
            items = [(one, rng.randint(110 - one, 130 - one)) for one in first]
    bins = (InstanceType("bin", ResourceAmounts(capacity, capacity), 1.0),)
    return Instance(f"class {kind}, {number} items", _problem(bins, items))


def triplets(bins: int, seed: int = 1) -> Instance:
    """Items that fill so many bins of 1000 by 1000 exactly, three in each."""
    rng = Random(f"triplets {bins} {seed}")
    items: list[Pair] = []
    for _ in range(bins):
        sides = [_three(rng), _three(rng)]
        rng.shuffle(sides[1])
        items.extend(zip(*sides, strict=True))
    rng.shuffle(items)  # or else whoever takes them in their order gets whole bins
    kinds = (InstanceType("bin", ResourceAmounts(1000, 1000), 1.0),)
    return Instance(f"triplets, {3 * bins} items", _problem(kinds, items), float(bins))


def _three(rng: Random) -> list[int]:
    """Three parts of 1000, each of them more than a fifth."""
    largest = rng.randint(380, 490)
    second = rng.randint(250, (1000 - largest) // 2)
    return [largest, second, 1000 - largest - second]


def cut_bins(bins: int, seed: int = 1) -> Instance:
    """Items of so many whole bins of eight kinds; each resource has its price in all of them."""
    rng = Random(f"cut {bins} {seed}")
    kinds = [
        InstanceType(
            f"bin-{cpus}-{each}", ResourceAmounts(cpus, cpus * each), cpus * (30 + 4.0 * each)
        )
        for cpus in (8, 16, 32, 64)
        for each in (2, 8)
    ]
    items: list[Pair] = []
    optimum = 0.0
    for _ in range(bins):
        kind = rng.choice(kinds)
        optimum += kind.price
        number = rng.randint(2, 5)
        parts = [_cut(amount, number, rng) for amount in kind.amounts[:2]]
        items.extend(zip(*parts, strict=True))
    rng.shuffle(items)
    return Instance(f"cut bins, {len(items)} items", _problem(kinds, items), optimum)


def _cut(amount: int, parts: int, rng: Random) -> list[int]:
    """An amount in so many parts, none of them 0."""
    ends = sorted(rng.sample(range(1, amount), parts - 1))
    return [end - begin for begin, end in zip([0, *ends], [*ends, amount], strict=True)]


def read_vbp(file: Path) -> Instance:
    """An instance in the format of VPSolver: resources, capacities, kinds of items, their sizes.

    Each line of an item ends in how many there are. At most four resources.
    """
    numbers = [int(word) for word in file.read_text().split()]
    width = numbers[0]
    capacity = ResourceAmounts(*numbers[1 : 1 + width])
    kinds, rest = numbers[1 + width], numbers[2 + width :]
    rows = [rest[n * (width + 1) : (n + 1) * (width + 1)] for n in range(kinds)]
    items = [tuple(row[:width]) for row in rows for _ in range(row[width])]
    return Instance(file.stem, _problem((InstanceType("bin", capacity, 1.0),), items))


def _problem(kinds: Iterable[InstanceType], items: Iterable[tuple[int, ...]]) -> PackingProblem:
    counts = Counter(items)
    demands = tuple(Demand(ResourceAmounts(*size)) for size in counts)
    return PackingProblem(tuple(kinds), demands, tuple(counts.values()))
