"""Read `budget` of rowtui's clusters.toml: the hours that one project's jobs may ask for.

The input is a table of the file; the result is a `BudgetLimit`, or None if there is a mistake.
Every mistake is reported with its position.
"""

from __future__ import annotations

import math

from rowtui.core.clusters.model import BudgetLimit
from rowtui.core.workflow.toml_file import TomlTable, kind_of

_KEYS = ("cpu_hours", "gpu_hours")


def load_budget(cluster: TomlTable) -> BudgetLimit | None:
    """Return the limits of `budget`; None if it has an error."""
    before = len(cluster.file.problems)
    table = cluster.table("budget")
    if table is None:
        hint = "write it as a table: budget = { cpu_hours = 20000 }"
        cluster.file.problems[-1] = cluster.file.problems[-1]._replace(hint=hint)
        return None
    table.only(_KEYS)
    if not any(key in table for key in _KEYS):
        table.problem((), "`budget` has neither `cpu_hours` nor `gpu_hours`")
    cpu, gpu = (_hours(table, key) for key in _KEYS)
    return BudgetLimit(cpu, gpu) if len(cluster.file.problems) == before else None


def _hours(table: TomlTable, key: str) -> float | None:
    if key not in table:
        return None
    value = table.values[key]
    if not isinstance(value, int | float) or isinstance(value, bool):
        table.problem(key, f"`{key}` must be a number, not {kind_of(value)}")
        return None
    if not (math.isfinite(value) and value >= 0):
        table.problem(key, f"`{key}` is {value} but must be a number of hours")
        return None
    return float(value)
