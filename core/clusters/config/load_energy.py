"""Read `energy` of rowtui's clusters.toml: what the energy of a cluster's jobs is estimated from.

The input is a table of the file; the result is `EnergyFactors`, or None if there is a mistake,
which is reported with its position. Keys that are left out have the values of the Green Algorithms
calculator for unknown hardware.
"""

from __future__ import annotations

from rowtui.core.base.text import visible
from rowtui.core.clusters.model import EnergyFactors
from rowtui.core.workflow.toml_file import TomlTable, kind_of

_LIMITS = {
    "core_watts": (0.0, 1000.0),
    "memory_watts_per_gb": (0.0, 100.0),
    "gpu_watts": (0.0, 10_000.0),
    "pue": (1.0, 10.0),
    "carbon_g_per_kwh": (0.0, 10_000.0),
}
_LONGEST_SOURCE = 300  # characters


def load_energy(cluster: TomlTable) -> EnergyFactors | None:
    """Return the factors of `energy`; None if it has an error."""
    before = len(cluster.file.problems)
    table = cluster.table("energy")
    if table is None:
        hint = "write it as a table: energy = { core_watts = 12, carbon_g_per_kwh = 475 }"
        cluster.file.problems[-1] = cluster.file.problems[-1]._replace(hint=hint)
        return None
    table.only((*_LIMITS, "source"))
    numbers = {key: _number(table, key) for key in _LIMITS}
    source = table.string("source") or ""
    if len(source) > _LONGEST_SOURCE:
        table.problem("source", f"`source` has more than {_LONGEST_SOURCE} characters")
    if len(cluster.file.problems) > before:
        return None
    given = {key: number for key, number in numbers.items() if number is not None}
    return EnergyFactors(**given, source=visible(source))


def _number(table: TomlTable, key: str) -> float | None:
    if key not in table:
        return None
    value, (least, most) = table.values[key], _LIMITS[key]
    if not isinstance(value, int | float) or isinstance(value, bool):
        table.problem(key, f"`{key}` must be a number, not {kind_of(value)}")
        return None
    if not least <= value <= most:  # NaN fails this comparison
        table.problem(key, f"`{key}` is {value} but must be from {least:g} to {most:,.0f}")
        return None
    return float(value)
