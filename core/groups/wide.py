"""The steps of `include`, `order` and `form` with numpy, for very many directories.

The module is only imported for many directories: for fewer, importing numpy takes longer than the
work.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from rowtui.core.base.lazy import np

if TYPE_CHECKING:
    from rowtui.core.groups.model import RankedColumn

_ROOM: Final = 1 << 62  # combined keys stay below this, so that they fit 64 signed bits
_BY_DIGITS: Final = 1 << 48  # keys below this are sorted by their digits


def _array(numbers: Sequence[int]) -> Any:
    """Return an array, without copying if the numbers are packed."""
    if isinstance(numbers, array):
        return np.frombuffer(numbers, dtype=f"u{numbers.itemsize}")
    return np.asarray(numbers)


def sets_of(verdicts: bytes, codes: Sequence[int], wanted: int) -> tuple[int, int]:
    """Return the positions whose code has the verdict `wanted`, and those with a higher verdict."""
    by_code = np.frombuffer(verdicts, dtype=np.uint8)
    packed = _array(codes)
    return _as_set((by_code == wanted)[packed]), _as_set((by_code > wanted)[packed])


def _as_set(flags: Any) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def members_of(members: int) -> Any:
    """Return the positions in a set, ascending."""
    return np.flatnonzero(_flags(members, members.bit_length())).astype(np.uint32)


def _flags(members: int, count: int) -> Any:
    cells = members.to_bytes((count + 7) >> 3, "little")
    bits = np.unpackbits(np.frombuffer(cells, dtype=np.uint8), bitorder="little", count=count)
    return bits.view(np.bool_)


def filter_order(
    permutation: Sequence[int], key_ids: Sequence[int], members: int
) -> tuple[Any, Any]:
    """Return the members in the order of the permutation, with their key ids."""
    everyone = _array(permutation)
    flags = _flags(members, max(len(everyone), members.bit_length()))
    chosen = np.flatnonzero(flags.take(everyone))  # twice as fast as a mask
    return everyone.take(chosen), _array(key_ids).take(chosen)


def sort_members(ranked: Sequence[RankedColumn], listed: Any) -> tuple[Any, Any]:
    """Return the listed positions by ranks, stable, and the combined key of each."""
    members = _array(listed)
    keys, span = _combined_keys(ranked, members)
    turn = _stable_turn(keys, span)
    return members[turn], keys[turn]


def _stable_turn(keys: Any, span: int) -> Any:
    """Return the indices that sort the keys, which are below `span`; equal keys keep their order.

    The keys are sorted by digits of 16 bits, the low digits first: numpy sorts a million such
    digits in 10 ms, and wider numbers in 100 ms.
    """
    if span > _BY_DIGITS:
        return np.argsort(keys, kind="stable")
    turn = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(16, (span - 1).bit_length(), 16):
        digits = (keys >> shift).astype(np.uint16)
        turn = turn[np.argsort(digits[turn], kind="stable")]
    return turn


def sort_everything(ranked: Sequence[RankedColumn], count: int) -> tuple[array[int], array[int]]:
    """Return the permutation and key ids of an `ActionOrder`."""
    permutation, keys = sort_members(ranked, np.arange(count, dtype=np.uint32))
    key_ids = np.zeros(count, dtype=np.uint32)
    np.cumsum(keys[1:] != keys[:-1], out=key_ids[1:])
    packed = array("I"), array("I")
    packed[0].frombytes(permutation.tobytes())
    packed[1].frombytes(key_ids.tobytes())
    return packed


def _combined_keys(ranked: Sequence[RankedColumn], members: Any) -> tuple[Any, int]:
    """Return a number for each member in the order of its ranks, and a bound above all numbers."""
    keys = np.zeros(len(members), dtype=np.int64)
    span = 1
    for codes, ranks, width in ranked:
        here = _array(codes)[members]
        if ranks is not None:
            here = np.asarray(ranks)[here]
        if span * width >= _ROOM:
            unique, keys = np.unique(keys, return_inverse=True)
            span = len(unique)
        keys = keys * width + here
        span *= width
    return keys, span


def holds(codes: Sequence[int], code: int) -> bool:
    """Whether any directory has this code."""
    return bool((_array(codes) == code).any())


def contains(codes: Sequence[int], listed: Any, code: int) -> bool:
    """Whether one of the listed positions has this code."""
    return bool((_array(codes)[_array(listed)] == code).any())


def starts(count: int, keys: Any, maximum_size: int | None) -> Any:
    """Return where groups begin: at key changes (`keys` None: none), then every `maximum_size`."""
    begins = np.zeros(count, dtype=np.bool_)
    begins[:1] = True
    if keys is not None:
        keys = _array(keys)
        begins[1:] = keys[1:] != keys[:-1]
    if maximum_size is not None:
        segments = np.flatnonzero(begins)
        lengths = np.diff(segments, append=count)
        offset = np.arange(count) - np.repeat(segments, lengths)
        begins = offset % maximum_size == 0
    return np.flatnonzero(begins)
