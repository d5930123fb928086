"""Combinations of a node's groups, by the name in network.toml: built-in and installed ones.

A package adds one with an entry point in the group `rowtui.combinations`: a function that takes the
samples of each group (`Columns`) and gives a `Combined`, with the dimensions that `join` would
have. The result is checked, and errors of a plug-in are reported with the plug-in's name. Source:
Fastr's documentation (NodeRun combines payloads, plug-in based).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

import numpy as np
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.samples.columns import Columns
from rowtui.core.network.samples.combine import COMBINATIONS, Combination, Combined
from rowtui.core.network.samples.model import DimensionError

PLUG_INS = "rowtui.combinations"


def find_combination(name: str) -> Combination:
    """Return the combination of this name. Raises: DimensionError if it is missing or unusable."""
    ours = COMBINATIONS.get(name)
    if ours is not None:
        return ours
    points = {point.name: point for point in entry_points(group=PLUG_INS)}
    if name in points:
        return _plug_in(points[name])
    names = sorted({*COMBINATIONS, *points})
    near = difflib.get_close_matches(name, names, n=1)
    raise DimensionError(
        f"there is no combination '{name}'",
        (f"did you mean '{near[0]}'? " if near else "") + f"there are: {', '.join(names)}",
    )


def _plug_in(point: EntryPoint) -> Combination:
    hint = f"it comes from {point.value}; mend it, uninstall it or choose another"
    try:
        made = point.load()
    except (Exception, SystemExit) as error:  # any failure of a third-party plug-in
        failed = f"the combination '{point.name}' failed with {type(error).__name__}"
        raise DimensionError(failed, hint) from None
    if not callable(made):
        raise DimensionError(f"'{point.name}' is no combination", hint)

    def checked(tables: Sequence[Columns]) -> Combined:
        try:
            found = made(tables)
        except RowtuiError:
            raise
        except Exception as error:
            failed = f"the combination '{point.name}' failed with {type(error).__name__}"
            raise DimensionError(failed, hint) from error
        if why := _fault(found, tables):
            raise DimensionError(f"the combination '{point.name}' gave {why}", hint)
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
