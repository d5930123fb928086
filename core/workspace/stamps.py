"""Stamps of value files, time and size as columns; an edited file has another stamp."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

Stamp = tuple[int, int]  # (mtime_ns, size)

# The stamp of a directory without a value file.
NO_STAMP: Final[Stamp] = (0, 0)


class Stamps(Sequence[Stamp]):
    """A stamp for each name, as two arrays: `times` (mtime_ns) and `sizes` (bytes)."""

    __slots__ = ("sizes", "times")

    def __init__(self, count: int) -> None:
        """Start with `count` stamps of `NO_STAMP`."""
        self.times = array("q", bytes(8 * count))
        self.sizes = array("q", bytes(8 * count))

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, at: int) -> Stamp:  # type: ignore[override]
        return self.times[at], self.sizes[at]

    def append(self, stamp: Stamp) -> None:
        """Append one stamp."""
        self.times.append(stamp[0])
        self.sizes.append(stamp[1])

    def are(self, times: list[int], sizes: list[int], where: Sequence[Any]) -> bool:
        """Whether the stamps at `where` equal these."""
        return self.times == array("q", map(times.__getitem__, where)) and self.sizes == array(
            "q", map(sizes.__getitem__, where)
        )

    def __eq__(self, other: object) -> bool:
        """Compare, also with a plain list of stamps."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Stamps({list(self)})"
