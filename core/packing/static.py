"""A problem without time as vectors, and the packed vectors as bundles.

A class of requests is an item, and a node type is a bin. Resources that no request needs are left
out, and `largest_bundle` is one more resource, and every request takes one unit of this resource. A
node type is left out if another type holds at least as much and is no more expensive, unless
requests have to go there. The form of the vectors is that of `heuristics/bins.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.heuristics.bins import Bin, Item, Pattern, Size, Vectors, worthwhile
from rowtui.core.packing.model import Bundle, Lane, PackingProblem, RequestRun


class BinKind(NamedTuple):
    """A node type that becomes a bin: its number, its amounts and its price."""

    node_type: int
    size: Size
    price: float


class VectorRow(NamedTuple):
    """The data of an item: its size, number, required node type, and the requests in one."""

    size: Size
    number: int
    node_type: int | None = None
    requests: int = 1


@dataclass(frozen=True, slots=True)
class VectorForm:
    """Vectors, and the node type of each bin. Items are the rows, in their order."""

    vectors: Vectors
    node_types: tuple[int, ...]


def form_of(problem: PackingProblem, whole: bool = False) -> VectorForm:
    """Return the problem as vectors. Every request has to fit somewhere. `whole`: see `form`."""
    by_name = numbers_by_name(problem)
    rows = [
        VectorRow(demand.amounts, there, by_name[demand.hint] if demand.hint else None)
        for demand, there in zip(problem.demands, problem.counts, strict=True)
    ]
    kinds = [
        BinKind(number, kind.amounts, kind.price)
        for number, kind in enumerate(problem.node_types)
        if kind.at_most != 0
    ]
    return form(kinds, rows, problem.largest_bundle, whole)


def form(
    kinds: Sequence[BinKind], rows: Sequence[VectorRow], largest: int | None, whole: bool = False
) -> VectorForm:
    """Return the rows as items and the node types as bins; `whole`: keep dominated types too."""
    width = len(kinds[0].size)
    used = [axis for axis in range(width) if any(row.size[axis] for row in rows)] or [0]
    bins = tuple(Bin(_cut(kind.size, used, largest), kind.price) for kind in kinds)
    number = {kind.node_type: at for at, kind in enumerate(kinds)}
    items = tuple(
        Item(
            _cut(row.size, used, None if largest is None else row.requests),
            row.number,
            None if row.node_type is None else number[row.node_type],
        )
        for row in rows
    )
    made = VectorForm(Vectors(bins, items), tuple(kind.node_type for kind in kinds))
    return made if whole else _without_bettered(made)


def _without_bettered(form: VectorForm) -> VectorForm:
    bins, items = form.vectors.bins, form.vectors.items
    kept = worthwhile(form.vectors)
    now = {before: at for at, before in enumerate(kept)}
    items = tuple(item if item.bin is None else item._replace(bin=now[item.bin]) for item in items)
    vectors = Vectors(tuple(bins[at] for at in kept), items)
    return VectorForm(vectors, tuple(form.node_types[at] for at in kept))


def _cut(size: Size, used: Sequence[int], slots: int | None) -> Size:
    """Return the used part of a size, with the requests that it holds as one more resource."""
    counts = tuple(size[axis] for axis in used)
    return counts if slots is None else (*counts, slots)


def bundles_of(patterns: Iterable[Pattern], form: VectorForm) -> tuple[Bundle, ...]:
    """Return the packed bins as bundles of single requests side by side; the rows were classes."""
    return tuple(
        Bundle(
            form.node_types[pattern.bin],
            tuple(Lane((RequestRun(item, 1),), there) for item, there in pattern.content),
            pattern.times,
        )
        for pattern in patterns
    )


def numbers_by_name(problem: PackingProblem) -> dict[str, int]:
    """Return the numbers of node types by name; of several types with one name, the first."""
    found: dict[str, int] = {}
    for number, kind in enumerate(problem.node_types):
        found.setdefault(kind.name, number)
    return found
