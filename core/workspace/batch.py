"""The values of a chunk of directories: parsed one by one, written together in compact form.

The module is not a part of `value`, because a search for products loads no code for values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowtui.core.base.values import MISSING
from rowtui.core.state.pointer_values import Chunk, as_chunk, resolved
from rowtui.core.workspace.value import compact_values, parsed_value

# Parsed values take ten times the memory of their text, so this limits the values held at once.
AT_ONCE = 1 << 20  # bytes of text


class ValueBatch:
    """Values of `count` directories: compact JSON, values of pointers, and faults.

    The values are written together because writing a thousand values costs little more than writing
    one. `raw` and `bad` (reasons) are complete after `close`.
    """

    def __init__(self, count: int, pointers: Sequence[str] = ()) -> None:
        self.raw: list[bytes | None] = [None] * count
        self.bad: dict[int, str] = {}
        self._pointers = pointers
        self._pointed = {pointer: [MISSING] * count for pointer in pointers}
        self._positions: list[int] = []
        self._values: list[Any] = []
        self._size = 0

    def add(self, position: int, text: bytes) -> None:
        """Enter the text of one value file. Raises: NotJSONError."""
        self._values.append(parsed_value(text))
        self._positions.append(position)
        self._size += len(text)
        if self._size > AT_ONCE:
            self._write()

    def close(self) -> list[Chunk]:
        """Write the remaining values; return a chunk of a `Pointed` for each pointer."""
        self._write()
        return [as_chunk(found) for found in self._pointed.values()]

    def _write(self) -> None:
        if not self._values:
            return
        raw = self.raw
        for position, compact in zip(self._positions, compact_values(self._values), strict=True):
            if isinstance(compact, bytes):
                raw[position] = compact
            else:
                self.bad[position] = str(compact)
        for pointer, found in self._pointed.items():
            chosen = resolved(self._values, pointer)
            if len(chosen) == len(found) and not self.bad:
                self._pointed[pointer] = chosen
                continue
            for position, value in zip(self._positions, chosen, strict=True):
                if position not in self.bad:
                    found[position] = value
        self._positions, self._values, self._size = [], [], 0
