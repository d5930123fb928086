"""The order of an action's directories: by sort keys, then by name, optionally reversed.

A sort key is the array of the values at the action's `sort_by` pointers. Directories are sorted by
ranks. If a column is mixed, neighbours in the result are compared exactly: any sort must compare
neighbours, so a pair without an order is an error precisely when it matters. Where Row panics, this
module raises. `ActionOrder` is the order of all directories, computed once whenever values change
and stored; a command only filters this order.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, compress, pairwise, repeat
from math import prod
from typing import Any, Final, NamedTuple

from rowtui.core.base.errors import IncomparableError
from rowtui.core.base.text import visible
from rowtui.core.base.values import as_double, compare, is_double, resolve
from rowtui.core.groups.include import and_more, shown
from rowtui.core.groups.model import RankedColumn
from rowtui.core.state.columns import RankColumn, single_bytes, total_key, wide_numbers
from rowtui.core.state.model import Directories, DirectorySet, bit_set, positions
from rowtui.core.workflow.model import Action

# With more directories, numpy is worth its import time (measured, see docs/background/speed.md).
NUMPY_FROM = 250_000
_MAGIC: Final = b"rowtui order 1\n"

Members = DirectorySet | Sequence[int]  # a set, or positions as given on a command line


class ActionOrder(NamedTuple):
    """All directories sorted by one `sort_by`, then by name; never reversed.

    `permutation[i]` is a position, `key_ids[i]` the number of its sort key: equal keys share a
    number, and numbers ascend. `sound`: no directory (except directories set aside as bad) lacks a
    pointer and no pair lacks an order, so that filtering needs no checks.
    """

    sort_by: tuple[str, ...]
    permutation: Sequence[int]
    key_ids: Sequence[int]
    sound: bool


class OrderedPositions(NamedTuple):
    """Positions in order, and the key of each (only the equality of keys has a meaning)."""

    positions: Any  # array('I') or a numpy array
    keys: Any  # None without sort_by, or if not requested; else a list, array or numpy array


def size_of(members: Members) -> int:
    """Return the number of directories; repeated ones count repeatedly."""
    return members.bit_count() if isinstance(members, int) else len(members)


def action_order(sort_by: tuple[str, ...], directories: Directories) -> ActionOrder:
    """Return the order of all directories by these pointers."""
    count = len(directories)
    columns = [directories.column(pointer) for pointer in sort_by]
    everything = ((1 << count) - 1) & ~bit_set(directories.bad)
    if count >= NUMPY_FROM:
        from rowtui.core.groups import wide

        permutation, key_ids = wide.sort_everything(_ranked(columns), count)
    else:
        permutation, key_ids = _sort_everything(_ranked(columns), count)
    order = ActionOrder(sort_by, permutation, key_ids, sound=False)
    if not any(column.mixed or _lacks_anywhere(column) for column in columns):
        return order._replace(sound=True)
    try:
        _refuse_unordered(directories, sort_by, columns, _filtered(order, everything), "")
    except IncomparableError:
        return order
    return order._replace(sound=True)


def _sort_everything(ranked: Sequence[RankedColumn], count: int) -> tuple[array[int], array[int]]:
    """Return the permutation and key ids of an `ActionOrder`."""
    keys = _combined_keys(ranked, range(count))
    span = prod(width for _, _, width in ranked)
    if span > count:
        permutation = array("I", sorted(range(count), key=keys.__getitem__))
        return permutation, array("I", _numbered(keys[position] for position in permutation))
    members: list[list[int]] = [[] for _ in range(span)]
    for position, key in enumerate(keys):
        members[key].append(position)
    together = [some for some in members if some]
    ids = (repeat(number, len(some)) for number, some in enumerate(together))
    return array("I", chain.from_iterable(together)), array("I", chain.from_iterable(ids))


def _lacks_anywhere(column: RankColumn) -> bool:
    """Whether any directory lacks the pointer, including the directories set aside as bad."""
    codes = column.codes
    narrow = single_bytes(codes, column.missing + 1)
    if narrow is not None:
        return column.missing in narrow
    if len(codes) >= NUMPY_FROM:
        from rowtui.core.groups import wide

        return wide.holds(codes, column.missing)
    return column.missing in codes


def in_order(
    action: Action,
    directories: Directories,
    members: Members,
    order: ActionOrder | None = None,
    *,
    with_keys: bool = True,
) -> OrderedPositions:
    """Return the members in the action's order. `order` must be of these directories.

    Raises: IncomparableError if a member lacks a pointer (the error names the first one), or if two
    members that must be compared have no order (the error names both).
    """
    rule = action.group
    if not rule.sort_by:
        listed = _by_name(members)
        return OrderedPositions(listed[::-1] if rule.reverse_sort else listed, None)
    if order is not None and order.sort_by != rule.sort_by:
        order = None
    if order is not None and isinstance(members, int):
        sound = order.sound
        result = _filtered(order, members, with_keys=with_keys or not sound)
    else:
        result = _sorted(directories, rule.sort_by, members)
        sound = False
    if not sound:
        columns = [directories.column(pointer) for pointer in rule.sort_by]
        _refuse_unordered(directories, rule.sort_by, columns, result, action.name)
    if rule.reverse_sort:
        keys = None if result.keys is None else result.keys[::-1]
        return OrderedPositions(result.positions[::-1], keys)
    return result


def _by_name(members: Members) -> Any:
    """Return the members by name, which is the order of their positions."""
    if not isinstance(members, int):
        return array("I", sorted(members))
    if members.bit_count() >= NUMPY_FROM:
        from rowtui.core.groups import wide

        return wide.members_of(members)
    return array("I", positions(members))


def _filtered(
    order: ActionOrder, members: DirectorySet, *, with_keys: bool = True
) -> OrderedPositions:
    count = len(order.permutation)
    if members.bit_count() >= NUMPY_FROM:
        from rowtui.core.groups import wide

        return OrderedPositions(*wide.filter_order(order.permutation, order.key_ids, members))
    flags = flags_of(members, count)
    chosen = bytes(map(flags.__getitem__, order.permutation))
    return OrderedPositions(
        array("I", compress(order.permutation, chosen)),
        array("I", compress(order.key_ids, chosen)) if with_keys else None,
    )


_ZERO_ONE: Final = bytes(cell & 1 for cell in range(256))  # the digits 0 and 1 to the bytes 0, 1


def flags_of(members: DirectorySet, count: int) -> bytes:
    """Return one byte, 0 or 1, for each of `count` positions."""
    return f"{members:0{count}b}"[::-1].encode().translate(_ZERO_ONE) if count else b""


def _sorted(
    directories: Directories, sort_by: tuple[str, ...], members: Members
) -> OrderedPositions:
    ranked = _ranked(directories.column(pointer) for pointer in sort_by)
    listed = _by_name(members)
    if len(listed) >= NUMPY_FROM:
        from rowtui.core.groups import wide

        return OrderedPositions(*wide.sort_members(ranked, listed))
    keys = _combined_keys(ranked, listed)
    turn = sorted(range(len(listed)), key=keys.__getitem__)
    return OrderedPositions(array("I", [listed[i] for i in turn]), [keys[i] for i in turn])


def _ranked(columns: Iterable[RankColumn]) -> list[RankedColumn]:
    return [
        RankedColumn(column.codes, shared_ranks(column), len(column.distinct) + 1)
        for column in columns
    ]


def shared_ranks(column: RankColumn) -> list[int] | None:
    """Return a rank for each code, shared by values that are equal in Row.

    The result is None if each code is its own rank. Only a wide integer and a double can be equal
    with different codes. If several integers all equal one double, Row's relation contradicts
    itself; these values are ordered by their exact values.
    """
    if not column.mixed:
        return None
    wide = {number for value in column.distinct for number in wide_numbers(value)}
    doubles = {as_double(number) for number in wide if is_double(number)}
    if not doubles:
        return None
    beside: dict[float, set[float]] = {}
    for value in column.distinct:
        for number in wide_numbers(value):
            if not is_double(number):
                beside.setdefault(as_double(number), set()).add(number)
    merged = frozenset(double for double in doubles if len(beside.get(double, ())) <= 1)
    keys = [total_key(value, merged) for value in column.distinct]
    rank_of = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return [*map(rank_of.__getitem__, keys), len(keys)]


def _combined_keys(ranked: Sequence[RankedColumn], listed: Sequence[int]) -> list[int]:
    """Return one integer for each listed position, in the order of the tuples of its ranks."""
    keys: list[int] = []
    for codes, ranks, width in ranked:
        all_of_them = listed == range(len(codes))
        here = list(codes) if all_of_them else [codes[position] for position in listed]
        if ranks is not None:
            here = [ranks[code] for code in here]
        keys = [key * width + rank for key, rank in zip(keys, here, strict=True)] if keys else here
    return keys or [0] * len(listed)


def _numbered(keys: Iterable[int]) -> Iterable[int]:
    """Yield ascending keys as 0, 1, 2, ..."""
    number = -1
    last = None
    for key in keys:
        if key != last:
            number += 1
            last = key
        yield number


def _refuse_unordered(
    directories: Directories,
    sort_by: tuple[str, ...],
    columns: Sequence[RankColumn],
    result: OrderedPositions,
    action: str,
) -> None:
    """Raise if a listed directory lacks a pointer, or two neighbours have no order."""
    where = f"sort_by of action '{visible(action)}'"
    lacking = [column for column in columns if _anything_missing(column, result.positions)]
    if lacking:
        raise _missing_error(directories, lacking, result.positions.tolist(), where)
    if not any(column.mixed for column in columns):
        return
    pair = _first_unordered_pair(columns, result)
    if pair is None:
        return
    a, b, index = pair
    names = (directories.name(a), directories.name(b))
    values = [resolve(directories.value(position), sort_by[index]) for position in (a, b)]
    raise IncomparableError(
        f"{where}: cannot compare {shown(values[0])} with {shown(values[1])} at"
        f" '{visible(sort_by[index])}' of directories '{visible(names[0])}' and"
        f" '{visible(names[1])}'",
        names,
        "only numbers, strings, booleans, and arrays of one length have an order",
    )


def _missing_error(
    directories: Directories, lacking: Sequence[RankColumn], listed: Sequence[int], where: str
) -> IncomparableError:
    """Return the error for the first directory by name that lacks a pointer."""
    found = sorted({p for column in lacking for p in listed if column.codes[p] == column.missing})
    first = found[0]
    pointer = next(column.pointer for column in lacking if column.codes[first] == column.missing)
    name = directories.name(first)
    message = (
        f"{where}: the value of directory '{visible(name)}' has nothing at '{visible(pointer)}'"
    )
    return IncomparableError(
        message + and_more(len(found) - 1),
        (name,),
        "leave such directories out with include, or add the key",
    )


def _anything_missing(column: RankColumn, listed: Any) -> bool:
    if len(listed) >= NUMPY_FROM:
        from rowtui.core.groups import wide

        return wide.contains(column.codes, listed, column.missing)
    missing = column.missing
    codes = column.codes
    return any(codes[position] == missing for position in listed)


def _first_unordered_pair(
    columns: Sequence[RankColumn], result: OrderedPositions
) -> tuple[int, int, int] | None:
    """Return the first neighbours without an order, and the index of the pointer concerned."""
    seen = set()
    neighbours = pairwise(result.positions.tolist())
    for (a, b), keys in zip(neighbours, pairwise(result.keys), strict=True):
        if keys in seen:
            continue
        seen.add(keys)
        for index, column in enumerate(columns):
            left, right = column.codes[a], column.codes[b]
            if not column.mixed:
                order: int | None = left - right
            else:
                order = compare(column.distinct[left], column.distinct[right])
            if order is None:
                return a, b, index
            if order:
                break
    return None


def order_to_bytes(order: ActionOrder) -> bytes:
    """Return magic, a header line (JSON), then the permutation and the key ids, 4 bytes each."""
    header = {"sort_by": order.sort_by, "sound": order.sound, "count": len(order.permutation)}
    body = b"".join(_raw(part) for part in (order.permutation, order.key_ids))
    return _MAGIC + json.dumps(header).encode() + b"\n" + body


def order_from_bytes(data: bytes) -> ActionOrder:
    """Return the order that `order_to_bytes` wrote.

    Raises: ValueError if the data is no order, or is truncated.
    """
    end = data.find(b"\n", len(_MAGIC))
    if not data.startswith(_MAGIC) or end < 0:
        raise ValueError("not an order")
    header = json.loads(data[len(_MAGIC) : end])
    body = memoryview(data)[end + 1 :]
    count = header.get("count") if isinstance(header, dict) else None
    if not isinstance(count, int) or len(body) != 8 * count:
        raise ValueError("an order that is cut short")
    permutation, key_ids = (_cooked(body[at : at + 4 * count]) for at in (0, 4 * count))
    return ActionOrder(
        tuple(map(str, header["sort_by"])), permutation, key_ids, bool(header["sound"])
    )


def _raw(numbers: Sequence[int]) -> bytes:
    packed = array("I", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _cooked(raw: memoryview) -> array[int]:
    packed = array("I")
    packed.frombytes(raw)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed
