"""The texts of a JSON pointer's values, for many directories.

The input is directories and a pointer; the result is compact JSON as `values.compact` writes it. If
the pointer has a stored column, each distinct value is written once. A value is read from the
directory itself only if the column may have replaced it by an equal one (1 for 1.0, 0.0 for -0.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rowtui.core.base.values import MISSING, compact, resolve
from rowtui.core.state.directories import StoredDirectories

if TYPE_CHECKING:
    from rowtui.core.state.columns import RankColumn
    from rowtui.core.state.model import Directories

_LOOK = ""  # a text that no value has: read the directory's own value


class PointerTexts:
    """The texts of one pointer, for the requested directories."""

    def __init__(self, directories: Directories, pointer: str) -> None:
        self._directories = directories
        self._pointer = pointer
        self._column: RankColumn | None = None
        if isinstance(directories, StoredDirectories) and pointer in directories.pointers:
            self._column = directories.column(pointer)
        self._known: dict[int, str | None] = {}

    @property
    def column(self) -> RankColumn | None:
        """Return the stored column of the pointer, if there is one."""
        return self._column

    def of_codes(self, codes: Sequence[int]) -> list[str | None]:
        """Return the texts of these codes of the column; None for codes that need `at`."""
        assert self._column is not None
        column = self._column
        return [
            None if code == column.missing else _text(column, column.distinct[code]) or None
            for code in codes
        ]

    def at(self, positions: Sequence[int]) -> list[str | None]:
        """Return one text for each position; None where the value does not contain the pointer."""
        column = self._column
        if column is None:
            return [self._look(position) for position in positions]
        codes = list(map(column.codes.__getitem__, positions))
        known = self._known
        for code in set(codes).difference(known):
            known[code] = None if code == column.missing else _text(column, column.distinct[code])
        texts = list(map(known.__getitem__, codes))
        if _LOOK in texts:
            pairs = zip(texts, positions, strict=True)
            return [self._look(position) if text == _LOOK else text for text, position in pairs]
        return texts

    def _look(self, position: int) -> str | None:
        stored = self._directories
        uniform = self._column is not None and self._column.uniform
        if uniform and isinstance(stored, StoredDirectories):  # the value is 0.0 or -0.0
            raw = stored.raw_value(position)
            if raw is not None and b"-0.0" not in raw:
                return "0.0"
        found = resolve(self._directories.value(position), self._pointer)
        return None if found is MISSING else compact(found)


def _text(column: RankColumn, value: Any) -> str:
    """Return the text of a distinct value, or `_LOOK` if the directory's notation may differ."""
    kind = type(value)
    if kind is float:
        sure = not value.is_integer() or (column.uniform and value != 0)
    elif kind is int:
        sure = column.uniform
    else:
        sure = value is None or kind in (str, bool)
    return compact(value) if sure else _LOOK
