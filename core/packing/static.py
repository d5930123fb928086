"""A problem where time does not count, as vectors; and the packed vectors as bundles.

A class of requests is an item, a node type a bin. Resources that nobody asks for are left out,
`largest_bundle` is one more resource of which every request takes one, and node types that another
one betters are left out too (it holds at least as much and is not dearer), unless requests have to
go there. Source: the contracts of `vectors.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.packing.bins import worthwhile
from rowtui.core.packing.model import Bundle, Lane, Problem, Run
from rowtui.core.packing.vectors import Bin, Item, Pattern, Size, Vectors


class Kind(NamedTuple):
    """What becomes a bin: a node type by its number, what it has, what one costs."""

    node_type: int
    size: Size
    price: float


class Row(NamedTuple):
    """What becomes an item: what it takes, how many, the type it has to go to, its requests."""

    size: Size
    number: int
    node_type: int | None = None
    requests: int = 1


@dataclass(frozen=True, slots=True)
class Form:
    """Vectors, and which node type each bin was. Items are the rows, in their order."""

    vectors: Vectors
    node_types: tuple[int, ...]


def form_of(problem: Problem, whole: bool = False) -> Form:
    """The problem as vectors. Every request has to fit somewhere. `whole`: see `form`."""
    by_name = numbers_by_name(problem)
    rows = [
        Row(demand.amounts, there, by_name[demand.hint] if demand.hint else None)
        for demand, there in zip(problem.demands, problem.counts, strict=True)
    ]
    kinds = [
        Kind(number, kind.amounts, kind.price)
        for number, kind in enumerate(problem.node_types)
        if kind.at_most != 0
    ]
    return form(kinds, rows, problem.largest_bundle, whole)


def form(
    kinds: Sequence[Kind], rows: Sequence[Row], largest: int | None, whole: bool = False
) -> Form:
    """The rows as items, and as bins the node types; `whole`: also those that others better."""
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
    made = Form(Vectors(bins, items), tuple(kind.node_type for kind in kinds))
    return made if whole else _without_bettered(made)


def _without_bettered(form: Form) -> Form:
    bins, items = form.vectors.bins, form.vectors.items
    kept = worthwhile(form.vectors)
    now = {before: at for at, before in enumerate(kept)}
    items = tuple(item if item.bin is None else item._replace(bin=now[item.bin]) for item in items)
    vectors = Vectors(tuple(bins[at] for at in kept), items)
    return Form(vectors, tuple(form.node_types[at] for at in kept))


def _cut(size: Size, used: Sequence[int], slots: int | None) -> Size:
    """The part of a size that counts, with the requests that it holds as one more resource."""
    counts = tuple(size[axis] for axis in used)
    return counts if slots is None else (*counts, slots)


def bundles_of(patterns: Iterable[Pattern], form: Form) -> tuple[Bundle, ...]:
    """The packed bins as bundles of single requests side by side; rows were classes."""
    return tuple(
        Bundle(
            form.node_types[pattern.bin],
            tuple(Lane((Run(item, 1),), there) for item, there in pattern.content),
            pattern.times,
        )
        for pattern in patterns
    )


def numbers_by_name(problem: Problem) -> dict[str, int]:
    """Node types by name; of several with one name, the first."""
    found: dict[str, int] = {}
    for number, kind in enumerate(problem.node_types):
        found.setdefault(kind.name, number)
    return found
