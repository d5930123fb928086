"""The type of the cells of a CSV column: numbers, true and false, or texts; one type per column.

A column is numeric only if every cell of it is a number, so that one odd cell cannot make samples
of both 1 and "1". Numbers are those of JSON, and `+1`, `.5` and `1.`; a cell with leading zeros
(`007`) is text. An empty cell is null in every column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.samples.names import GREATEST_INTEGER, LEAST_INTEGER

_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLS: Final = {"true": True, "false": False}


def typed_column(cells: Sequence[str]) -> list[JSON]:
    """Return the typed values of one column's cells."""
    bare = [cell.strip() for cell in cells]
    filled = [cell for cell in bare if cell]
    read = _numbers(filled)
    if read is None and all(cell.lower() in _BOOLS for cell in filled):
        read = [_BOOLS[cell.lower()] for cell in filled]
    if read is None:
        return [cell if cell.strip() else None for cell in cells]
    following = iter(read)
    return [next(following) if cell else None for cell in bare]


def _numbers(cells: Sequence[str]) -> list[JSON] | None:
    """Return all cells as integers, else all as doubles; None if some are neither."""
    if all(map(_INTEGER.fullmatch, cells)):
        # A number with more digits than an integer can have is an identifier, which no double
        # keeps.
        if any(len(cell) > 21 for cell in cells):
            return None
        integers = [int(cell) for cell in cells]
        return integers if all(map(_fits, integers)) else None
    if all(map(_NUMBER.fullmatch, cells)):
        doubles = [float(cell) for cell in cells]
        return doubles if all(map(math.isfinite, doubles)) else None
    return None


def _fits(integer: int) -> bool:
    return LEAST_INTEGER <= integer <= GREATEST_INTEGER
