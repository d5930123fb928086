"""Samples as columns of small integers, and operations on whole columns.

A million samples of three dimensions are three arrays of 4 MB. A row is a sample; its codes are
positions in the dimensions' domains; rows are in the order of their indexes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.model import (
    MOST_SAMPLES,
    Dimension,
    DimensionError,
    SampleId,
    SampleIndex,
)

Codes: TypeAlias = "NDArray[np.int32]"
Rows: TypeAlias = "NDArray[np.int64]"

_MOST = 1 << 62  # keys stay in 63 bits
_DENSE = 8  # a table of at most this many entries per row is quicker than a search


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Samples: for each axis a domain, and for each sample a code in that domain.

    `count` is stored separately, because without axes there is one sample, or none. `prefix` are
    labels at the beginning of ids, of dimensions that no longer exist. `unnamed`: the labels have
    no meaning (a constant's values, or a fully collapsed sample), so samples are matched by
    position.
    """

    axes: tuple[Domain, ...]
    codes: tuple[Codes, ...]
    count: int
    prefix: SampleId = ()
    unnamed: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the dimensions' names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return names and sizes; a size counts all positions, including those without a sample."""
        return tuple(Dimension(axis.name, len(axis)) for axis in self.axes)

    @property
    def is_single(self) -> bool:
        """Whether there is at most one sample, which is combined with all others."""
        return not self.axes or (self.unnamed and len(self.axes[0]) == 1)

    def index(self, row: int) -> SampleIndex:
        """Return the index of a row."""
        return tuple(int(column[row]) for column in self.codes)

    def id(self, row: int) -> SampleId:
        """Return the id of a row."""
        labels = (
            axis.label(int(column[row])) for axis, column in zip(self.axes, self.codes, strict=True)
        )
        return (*self.prefix, *labels)

    def take(self, rows: Rows) -> Columns:
        """Return these rows, in this order."""
        return replace(self, codes=tuple(column[rows] for column in self.codes), count=len(rows))


def columns(
    axes: Sequence[Domain],
    codes: Sequence[Any],
    count: int | None = None,
    *,
    prefix: SampleId = (),
    unnamed: bool = False,
) -> tuple[Columns, Rows | None]:
    """Return samples sorted by index, with the old row of each (None if nothing moved)."""
    made = tuple(np.ascontiguousarray(column, dtype=np.int32) for column in codes)
    if count is None:
        count = len(made[0]) if made else 1
    order = _order(made, [len(axis) for axis in axes], count)
    if order is not None:
        made = tuple(column[order] for column in made)
    return Columns(tuple(axes), made, count, prefix, unnamed), order


def codes_on(axis: Domain, domain: Domain, codes: Codes) -> tuple[Codes, int]:
    """Convert a domain's codes to codes of an axis of the same name; return the number of codes.

    Values that the axis does not have get codes behind its last one.
    """
    there = domain.codes_in(axis)
    if there is None:
        return codes, max(len(axis), len(domain))
    moved = np.array(there, dtype=np.int32)
    return moved[codes], max(len(axis), max(there, default=-1) + 1)


def product(axes: Sequence[Domain]) -> Columns:
    """Return every combination; the last axis varies fastest."""
    sizes = [len(axis) for axis in axes]
    count = int(np.prod(sizes, dtype=np.int64)) if sizes else 1
    codes = []
    inner = count
    for size in sizes:
        inner = inner // size if size else 0
        one = np.repeat(np.arange(size, dtype=np.int32), inner)
        codes.append(np.tile(one, count // len(one) if len(one) else 0))
    return Columns(tuple(axes), tuple(codes), count)


class Grouped(NamedTuple):
    """Rows that agree in some axes. `first[g]` is one row of group g.

    `members[starts[g]:starts[g + 1]]` are its rows, in order.
    """

    first: Rows
    starts: Rows
    members: Rows


def group(table: Columns, axes: Sequence[int]) -> Grouped:
    """Return the groups of rows with the same codes on these axes, in the order of the codes."""
    count = table.count
    if not axes:
        starts = np.array([0, count] if count else [0], dtype=np.int64)
        everything = np.arange(count, dtype=np.int64)
        return Grouped(everything[:1], starts, everything)
    (keys,) = joint_keys([[table.codes[at] for at in axes]], [len(table.axes[at]) for at in axes])
    order: Rows = np.arange(count, dtype=np.int64)
    if not _ascending(keys):
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    new = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if count else order
    starts = np.concatenate((new, [count])).astype(np.int64)
    return Grouped(order[new], starts, order)


def match(left: Rows, right: Rows) -> tuple[Rows, Rows]:
    """Return all pairs of equal keys: their places on the left, ascending, and on the right.

    Raises: DimensionError if there are too many pairs.
    """
    order: Rows | None = None if _ascending(right) else np.argsort(right, kind="stable")
    ordered = right if order is None else right[order]
    most = int(max(left.max(initial=0), right.max(initial=0)))
    if most < _DENSE * (len(left) + len(right)):  # use a table instead of a search
        numbers_of = np.bincount(right, minlength=most + 1)
        numbers = numbers_of[left]
        begin = (np.cumsum(numbers_of) - numbers_of)[left]
    else:
        begin = np.searchsorted(ordered, left, side="left")
        numbers = np.searchsorted(ordered, left, side="right") - begin
    refuse_too_many(int(numbers.sum()))
    lefts = np.repeat(np.arange(len(left), dtype=np.int64), numbers)
    rights = ranges(begin, numbers)
    return lefts, rights if order is None else order[rights]


def refuse_too_many(samples: int) -> None:
    """Raise DimensionError for too many samples, before memory is allocated."""
    if samples > MOST_SAMPLES:
        raise DimensionError(
            f"there would be {samples:,} samples, more than the {MOST_SAMPLES:,} that are allowed"
        )


def ranges(begin: Rows, numbers: Rows) -> Rows:
    """Return `begin[0], begin[0] + 1, ...` (`numbers[0]` values), then the same for `begin[1]`,
    etc.
    """
    total = int(numbers.sum())
    if total == len(numbers) and (not total or int(numbers.min()) == 1):
        return begin.astype(np.int64)
    before = np.cumsum(numbers) - numbers
    places: Rows = np.arange(total, dtype=np.int64) + np.repeat(begin - before, numbers)
    return places


def joint_keys(tables: Sequence[Sequence[Codes]], sizes: Sequence[int]) -> list[Rows]:
    """Return one number for each row of each table; numbers are equal and ordered as the codes are.

    `tables[t][a]` are the codes of axis a, which has `sizes[a]` positions.
    """
    if _fits(sizes):
        return [_packed(table, sizes, len(table[0]) if len(table) else 0) for table in tables]
    # Too many combinations for 63 bits: number only the combinations that occur.
    lengths = [len(table[0]) for table in tables]
    keys = np.concatenate([table[0].astype(np.int64) for table in tables])
    for at in range(1, len(sizes)):
        keys = keys * sizes[at] + np.concatenate([table[at] for table in tables])
        keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return [
        keys[end - length : end] for end, length in zip(np.cumsum(lengths), lengths, strict=True)
    ]


def _packed(codes: Sequence[Codes], sizes: Sequence[int], count: int) -> Rows:
    keys = np.zeros(count, dtype=np.int64)
    for column, size in zip(codes, sizes, strict=True):
        keys *= size
        keys += column
    return keys


def _order(codes: Sequence[Codes], sizes: Sequence[int], count: int) -> Rows | None:
    if not codes or count < 2:
        return None
    (keys,) = joint_keys([codes], sizes)
    return None if _ascending(keys) else np.argsort(keys, kind="stable")


def _ascending(keys: Rows) -> bool:
    return bool(np.all(keys[1:] >= keys[:-1]))


def _fits(sizes: Sequence[int]) -> bool:
    total = 1
    for size in sizes:
        total *= max(size, 1)
    return total < _MOST
