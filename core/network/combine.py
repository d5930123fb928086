"""How the samples of several inputs, or of several groups of inputs, become those of one.

A combination takes the columns of each and gives the columns together, and for each of their rows
which row of each it is made of. All of them go by names and values, never by size or position,
except `zipped`, and a constant's values, which have no names.
Source: Fastr's design (broadcast matching, cross product, merging); fastr_packing A1.2 and A3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rowtui.core.network.columns import Codes, Columns, Rows, columns, joint_keys, match
from rowtui.core.network.domain import Domain
from rowtui.core.network.model import DimensionError, dimensions_text


class Combined(NamedTuple):
    """Samples together. `rows[t][i]`: the row of table t that sample i is made of.

    `left_over[t]`: rows of table t that are in no sample, as they have no partner.
    """

    columns: Columns
    rows: tuple[Rows, ...]
    left_over: tuple[Rows, ...] = ()


Combination = Callable[[Sequence[Columns]], Combined]


def broadcast(tables: Sequence[Columns]) -> Combined:
    """The first table with the most dimensions leads; each other has a sample for each of its.

    Its dimensions must be among the leader's. Raises: DimensionError.
    """
    lead = max(range(len(tables)), key=lambda at: (len(tables[at].axes), -at))
    leader = tables[lead]
    if leader.is_single:  # a constant does not lead what has samples of its own
        lead = next((at for at, it in enumerate(tables) if not it.is_single), lead)
        leader = tables[lead]
    rows: list[Rows] = []
    everything: Rows = np.arange(leader.count, dtype=np.int64)
    for at, table in enumerate(tables):
        if at == lead or _same_places(leader, table):
            rows.append(everything)
        elif table.is_single:
            rows.append(np.zeros(leader.count, dtype=np.int64))
        else:
            rows.append(_looked_up(leader, table))
    return Combined(leader, tuple(rows))


def join(tables: Sequence[Columns]) -> Combined:
    """Every combination in which dimensions of the same name have the same value.

    Dimensions in the order in which they first occur. What has no partner is left over.
    """
    return _joined(tables, at_end=False, only=None)


def merge(names: Sequence[str] | None = None) -> Combination:
    """As Fastr merges: dimensions that several tables have (or these alone) are one, at the end."""
    return lambda tables: _joined(tables, at_end=True, only=names)


def cross(tables: Sequence[Columns]) -> Combined:
    """Every combination; the last table is the fastest. A name may then occur more than once."""
    return _joined(tables, at_end=False, only=())


def disjoint_cross(tables: Sequence[Columns]) -> Combined:
    """Every combination of tables that have no dimension in common. Raises: DimensionError."""
    seen: dict[str, Columns] = {}
    for table in tables:
        for name in table.names:
            if name in seen:
                raise DimensionError(
                    f"both {_said(seen[name])} and {_said(table)} have the dimension '{name}', so "
                    "they cannot be crossed",
                    'combine = "join" takes those with the same value together',
                )
            seen[name] = table
    return cross(tables)


def zipped(tables: Sequence[Columns]) -> Combined:
    """The first sample of each, the second of each, and so on; the first table names them.

    Raises: DimensionError where the numbers of samples differ.
    """
    leading = next((it for it in tables if not it.is_single), tables[0])
    rows: list[Rows] = []
    for table in tables:
        if table.is_single:
            rows.append(np.zeros(leading.count, dtype=np.int64))
        elif table.count == leading.count:
            rows.append(np.arange(leading.count, dtype=np.int64))
        else:
            raise DimensionError(
                f"{_said(leading)} has {leading.count:,} samples and {_said(table)} has "
                f"{table.count:,}, so they cannot be taken in pairs",
                'combine = "join" goes by the values of dimensions instead',
            )
    return Combined(leading, tuple(rows))


COMBINATIONS: dict[str, Combination] = {"join": join, "cross": disjoint_cross, "zip": zipped}


def _same_places(leader: Columns, table: Columns) -> bool:
    """Whether the samples of a constant go with the leader's one by one."""
    return table.unnamed and not table.is_single and table.count == leader.count


def _looked_up(leader: Columns, table: Columns) -> Rows:
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
    wanted, had = joint_keys(
        [[leader.codes[at] for at in where], table.codes], [len(axis) for axis in table.axes]
    )
    found = np.searchsorted(had, wanted)
    missing = np.flatnonzero((found >= len(had)) | (had[np.minimum(found, len(had) - 1)] != wanted))
    if len(missing):
        first = ", ".join(
            f"{names[at]}={leader.axes[at].labels[leader.codes[at][missing[0]]]}" for at in where
        )
        raise DimensionError(
            f"{_said(table)} has nothing for {len(missing):,} of the samples of {_said(leader)}, "
            f"the first {first}"
        )
    return found.astype(np.int64)


def _joined(tables: Sequence[Columns], *, at_end: bool, only: Sequence[str] | None) -> Combined:
    """Tables one after another; shared names (`only`: among these) are matched, others crossed."""
    result = tables[0]
    axes = list(result.axes)
    codes = list(result.codes)
    count = result.count
    prefix = result.prefix
    rows: list[Rows] = [np.arange(count, dtype=np.int64)]
    for table in tables[1:]:
        had = [axis.name for axis in axes]
        shared = [name for name in dict.fromkeys(table.names) if name in had and _may(name, only)]
        lefts, rights = _pairs(axes, codes, count, table, shared)
        rows = [each[lefts] for each in rows] + [rights]
        codes = [column[lefts] for column in codes]
        count = len(lefts)
        new = [at for at, name in enumerate(table.names) if name not in shared]
        order = list(range(len(axes) + len(new)))
        axes += [table.axes[at] for at in new]
        codes += [table.codes[at][rights] for at in new]
        if at_end:
            order.sort(key=lambda at: axes[at].name in shared)  # stable: the rest stays as it was
        axes = [axes[at] for at in order]
        codes = [codes[at] for at in order]
        prefix = (*prefix, *table.prefix)
    axes, codes = _without_single(tables, axes, codes)
    made, moved = columns(axes, codes, count, prefix=prefix)
    if moved is not None:
        rows = [each[moved] for each in rows]
    left_over = tuple(_unused(table.count, each) for table, each in zip(tables, rows, strict=True))
    return Combined(made, tuple(rows), left_over)


def _pairs(
    axes: Sequence[Domain],
    codes: Sequence[Codes],
    count: int,
    table: Columns,
    shared: Sequence[str],
) -> tuple[Rows, Rows]:
    if not shared:
        lefts = np.repeat(np.arange(count, dtype=np.int64), table.count)
        return lefts, np.tile(np.arange(table.count, dtype=np.int64), count)
    had = [axis.name for axis in axes]
    for names in (had, table.names):
        twice = next((name for name in shared if list(names).count(name) > 1), None)
        if twice is not None:
            raise DimensionError(f"the dimension '{twice}' is there twice, so it cannot be matched")
    left, right = joint_keys(
        [
            [codes[had.index(name)] for name in shared],
            [table.codes[table.names.index(name)] for name in shared],
        ],
        [len(axes[had.index(name)]) for name in shared],
    )
    return match(left, right)


def _unused(count: int, rows: Rows) -> Rows:
    unused = np.ones(count, dtype=bool)
    unused[rows] = False
    return np.flatnonzero(unused)


def _may(name: str, only: Sequence[str] | None) -> bool:
    return only is None or name in only


def _without_single(
    tables: Sequence[Columns], axes: list[Domain], codes: list[Codes]
) -> tuple[list[Domain], list[Codes]]:
    """Without the dimension of a constant of one value, unless there is nothing else."""
    idle = {id(it.axes[0]) for it in tables if it.is_single and it.axes}
    kept = [at for at, axis in enumerate(axes) if id(axis) not in idle]
    if not kept or all(it.is_single for it in tables):
        return axes, codes
    return [axes[at] for at in kept], [codes[at] for at in kept]


def _said(table: Columns) -> str:
    return f"[{dimensions_text(table.dimensions)}]"
