"""Combine the samples of several inputs, or of several groups of inputs, into one table.

A combination takes the columns of each table. It returns the combined columns, and for each
combined row the row of each table. All combinations match by names and values, never by size or
position, except `zipped`, and except a constant's values, which have no names. Source: Fastr's
documentation (broadcast matching, cross product, merging).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.base.plug_ins import PlugIns
from rowtui.core.network.samples.columns import (
    Codes,
    Columns,
    Rows,
    codes_on,
    columns,
    joint_keys,
    match,
    refuse_too_many,
)
from rowtui.core.network.samples.model import DimensionError, dimensions_text


class Combined(NamedTuple):
    """Combined samples. `rows[t][i]`: the row of table t in sample i.

    `left_over[t]`: rows of table t that are in no sample, because they have no partner.
    """

    columns: Columns
    rows: tuple[Rows, ...]
    left_over: tuple[Rows, ...] = ()


Combination = Callable[[Sequence[Columns]], Combined]


def broadcast(tables: Sequence[Columns], *, more_may_come: bool = False) -> Combined:
    """Extend the table with the most dimensions (the leader) by the matching rows of the others.

    The dimensions of the others must be among the leader's. With `more_may_come`, samples without a
    partner are left over. Raises: DimensionError.
    """
    lead = max(range(len(tables)), key=lambda at: _leads(tables[at], at))
    leader = tables[lead]
    rows: list[Rows] = []
    everything: Rows = np.arange(leader.count, dtype=np.int64)
    nothing: Rows = np.zeros(leader.count, dtype=np.int64)
    there = np.ones(leader.count, dtype=bool)
    for at, table in enumerate(tables):
        if at == lead or _same_places(leader, table):
            rows.append(everything)
        elif table.is_single:
            rows.append(nothing)
            there &= table.count > 0
        else:
            rows.append(_looked_up(leader, table, more_may_come))
            there &= rows[-1] >= 0
    if not there.all():
        kept = np.flatnonzero(there)
        leader = leader.take(kept)
        rows = [each[kept] for each in rows]
    return Combined(leader, tuple(rows), _left_over(tables, rows))


def join(tables: Sequence[Columns]) -> Combined:
    """Combine samples in which dimensions of the same name have the same value.

    Dimensions are in the order in which they first occur. Rows without a partner are left over.
    """
    return _joined(tables, at_end=False, only=None)


@dataclass(frozen=True)
class merge:  # noqa: N801 - one of the combinations, beside the functions
    """Merge as Fastr does: dimensions that tables share (or only `names`) become one, last."""

    names: Sequence[str] | None = None

    def __call__(self, tables: Sequence[Columns]) -> Combined:
        """Return the combined samples."""
        return _joined(tables, at_end=True, only=self.names)


def cross(tables: Sequence[Columns]) -> Combined:
    """Return every combination; the last table varies fastest. A name may then occur repeatedly."""
    return _joined(tables, at_end=False, only=())


def disjoint_cross(tables: Sequence[Columns]) -> Combined:
    """Return every combination of tables without common dimensions. Raises: DimensionError."""
    seen: dict[str, Columns] = {}
    for table in tables:
        for name in () if table.is_single else table.names:
            if name in seen:
                raise DimensionError(
                    f"both {_said(seen[name])} and {_said(table)} have the dimension '{name}', so "
                    "they cannot be crossed",
                    'combine = "join" takes those with the same value together',
                )
            seen[name] = table
    return cross(tables)


def zipped(tables: Sequence[Columns]) -> Combined:
    """Combine the first sample of each table, the second of each, and so on.

    The dimensions are those of the first table. Raises: DimensionError where the numbers of samples
    differ.
    """
    leading = next((it for it in tables if not it.is_single), tables[0])
    everything: Rows = np.arange(leading.count, dtype=np.int64)
    rows: list[Rows] = []
    for table in tables:
        if table.is_single:
            rows.append(np.zeros(leading.count, dtype=np.int64))
        elif table.count == leading.count:
            rows.append(everything)
        else:
            raise DimensionError(
                f"{_said(leading)} has {leading.count:,} samples and {_said(table)} has "
                f"{table.count:,}, so they cannot be taken in pairs",
                'combine = "join" goes by the values of dimensions instead',
            )
    if any(it.is_single and not it.count for it in tables):
        leading = leading.take(everything[:0])
        rows = [each[:0] for each in rows]
    return Combined(leading, tuple(rows), _left_over(tables, rows))


COMBINATIONS: dict[str, Combination] = {"join": join, "cross": disjoint_cross, "zip": zipped}


def only_grows(how: Combination) -> bool:
    """Whether existing samples stay combined when samples are added; by position they do not."""
    return how in (broadcast, join, cross, disjoint_cross) or isinstance(how, merge)


def _leads(table: Columns, at: int) -> tuple[bool, bool, int, int]:
    """Return the sort key of the leader: samples before constants, most dimensions, the first."""
    return (not table.is_single, not table.unnamed, len(table.axes), -at)


def _same_places(leader: Columns, table: Columns) -> bool:
    """Whether the samples of a constant match the leader's one by one."""
    return table.unnamed and not table.is_single and table.count == leader.count


def _looked_up(leader: Columns, table: Columns, more_may_come: bool) -> Rows:
    """Return for each of the leader's samples the row of the table, or -1."""
    names = leader.names
    unknown = [name for name in table.names if names.count(name) != 1]
    if unknown or len(set(table.names)) != len(table.names):
        raise DimensionError(
            f"{_said(table)} cannot be matched with {_said(leader)}: "
            + (
                f"the latter has {'no' if names.count(unknown[0]) == 0 else 'several'} "
                f"dimension{'s' if names.count(unknown[0]) > 1 else ''} '{unknown[0]}'"
                if unknown
                else "it has a dimension twice"
            ),
            "put it into a group of its own to have every combination",
        )
    where = [names.index(name) for name in table.names]
    here, there = match(*_comparable(leader, where, table, range(len(where))))
    found: Rows = np.full(leader.count, -1, dtype=np.int64)
    found[here] = there
    missing = np.flatnonzero(found < 0)
    if len(missing) and not more_may_come:
        first = ", ".join(
            f"{names[at]}={leader.axes[at].label(leader.codes[at][missing[0]])}" for at in where
        )
        raise DimensionError(
            f"{_said(table)} has nothing for {len(missing):,} of the samples of {_said(leader)}, "
            f"the first {first}"
        )
    return found


def _joined(tables: Sequence[Columns], *, at_end: bool, only: Sequence[str] | None) -> Combined:
    """Combine tables one after another; shared names (`only`: of these) match, others are crossed.

    The dimension of a constant of one value is kept only if there is no other dimension.
    """
    if len(tables) == 1:
        everything: Rows = np.arange(tables[0].count, dtype=np.int64)
        return Combined(tables[0], (everything,), (everything[:0],))
    result = Columns((), (), 1)
    rows: list[Rows] = []
    for table in tables:
        shared = [
            name
            for name in dict.fromkeys(() if table.is_single else table.names)
            if name in result.names and (only is None or name in only)
        ]
        lefts, rights = _pairs(result, table, shared)
        rows = [*(each[lefts] for each in rows), rights]
        axes = list(result.axes)
        codes = [column[lefts] for column in result.codes]
        for axis, column in zip(table.axes, table.codes, strict=True):
            if not (table.is_single or axis.name in shared):
                axes.append(axis)
                codes.append(column[rights])
        order = list(range(len(axes)))
        if at_end:
            order.sort(key=lambda at: axes[at].name in shared)
        result = Columns(
            tuple(axes[at] for at in order),
            tuple(codes[at] for at in order),
            len(lefts),
            result.prefix or table.prefix,  # one prefix is enough to keep these ids distinct
        )
    if not result.axes:
        named = next((it for it in tables if it.axes), tables[0])
        zeros: Codes = np.zeros(result.count, dtype=np.int32)
        single = Columns(
            named.axes, (zeros,) * len(named.axes), result.count, result.prefix, named.unnamed
        )
        return Combined(single, tuple(rows), _left_over(tables, rows))
    made, moved = columns(result.axes, result.codes, result.count, prefix=result.prefix)
    if moved is not None:
        rows = [each[moved] for each in rows]
    return Combined(made, tuple(rows), _left_over(tables, rows))


def _pairs(left: Columns, right: Columns, shared: Sequence[str]) -> tuple[Rows, Rows]:
    if not shared:
        refuse_too_many(left.count * right.count)
        lefts = np.repeat(np.arange(left.count, dtype=np.int64), right.count)
        return lefts, np.tile(np.arange(right.count, dtype=np.int64), left.count)
    for names in (left.names, right.names):
        twice = next((name for name in shared if names.count(name) > 1), None)
        if twice is not None:
            raise DimensionError(f"the dimension '{twice}' is there twice, so it cannot be matched")
    return match(
        *_comparable(
            left,
            [left.names.index(name) for name in shared],
            right,
            [right.names.index(name) for name in shared],
        )
    )


def _comparable(
    left: Columns, left_axes: Sequence[int], right: Columns, right_axes: Sequence[int]
) -> list[Rows]:
    """Return a number for each row of both tables; equal where the values on these axes are."""
    codes = []
    sizes = []
    for here, there in zip(left_axes, right_axes, strict=True):
        column, size = codes_on(left.axes[here], right.axes[there], right.codes[there])
        codes.append(column)
        sizes.append(size)
    return joint_keys([[left.codes[at] for at in left_axes], codes], sizes)


def _left_over(tables: Sequence[Columns], rows: Sequence[Rows]) -> tuple[Rows, ...]:
    """Return the rows of each table that are in no sample."""
    found = []
    for table, used in zip(tables, rows, strict=True):
        unused = np.ones(table.count, dtype=bool)
        unused[used] = False
        found.append(np.flatnonzero(unused))
    return tuple(found)


def _said(table: Columns) -> str:
    return f"[{dimensions_text(table.dimensions)}]"


# Combinations of a node's groups, by the name in network.toml: built-in and installed ones.
#
# A package adds one with an entry point in the group `rowtui.combinations`: a function that takes
# the samples of each group (`Columns`) and gives a `Combined`, with the dimensions that `join`
# would have. The result is checked, and errors of a plug-in are reported with the plug-in's name.
# Source: Fastr's documentation (NodeRun combines payloads, plug-in based).


PLUG_INS = PlugIns("rowtui.combinations", "combination", callable, DimensionError)
_HINT = "correct the package of the plug-in, uninstall it or choose another"


def find_combination(name: str) -> Combination:
    """Return the combination of this name. Raises: DimensionError if it is missing or unusable."""
    ours = COMBINATIONS.get(name)
    if ours is not None:
        return ours
    made = PLUG_INS.find(name, COMBINATIONS, call=False)

    def checked(tables: Sequence[Columns]) -> Combined:
        try:
            found = made(tables)
        except RowtuiError:
            raise
        except Exception as error:
            failed = f"the combination '{name}' failed with {type(error).__name__}"
            raise DimensionError(failed, _HINT) from error
        if why := _fault(found, tables):
            raise DimensionError(f"the combination '{name}' gave {why}", _HINT)
        combined: Combined = found
        return combined

    return checked


def _fault(found: object, tables: Sequence[Columns]) -> str:
    """Return what is wrong with the result of a plug-in; "" if it is valid."""
    if not isinstance(found, Combined) or not isinstance(found.columns, Columns):
        return "nothing that is a combination of samples"
    if len(found.rows) != len(tables):
        return f"rows of {len(found.rows)} groups, of {len(tables)}"
    for rows, table in zip(found.rows, tables, strict=True):
        array = np.asarray(rows)
        if array.shape != (found.columns.count,) or array.dtype.kind not in "iu":
            return "no row of each group for each of its samples"
        if len(array) and not 0 <= array.min() <= array.max() < table.count:
            return "rows that are not there"
    wanted = dict.fromkeys(name for table in tables for name in table.names)
    if list(found.columns.names) != list(wanted):
        return f"the dimensions {', '.join(found.columns.names)}, not {', '.join(wanted)}"
    return ""
