"""What some benches tell in a form of their own, put in the form of all others (see `measured`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from bench.measured import Measured, read

Reader = Callable[[Path, str], list[Measured]]

_COMPLETIONS = {
    "status and pages of groups, CPU ms": ("status and pages", "cpu ms"),
    "status and pages of groups, wall ms": ("status and pages", "wall ms"),
    "and on the disk, CPU ms": ("and on the disk", "cpu ms"),
    "and on the disk, wall ms": ("and on the disk", "wall ms"),
}


def completions(path: Path, suite: str) -> list[Measured]:
    """Medians and 95th percentiles of events: there is no best one to speak of."""
    told = json.loads(path.read_text())
    if all("best" in row or "error" in row for row in told):
        return read(path, suite)
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in told:
        what, figure = _COMPLETIONS.get(row["what"].rpartition(": ")[2], ("", ""))
        if what:
            figures = found.setdefault((what, int(row["directories"])), {})
            figures[figure] = float(row["p50"])
            figures[f"p95 {figure}"] = float(row["p95"])
    return [
        Measured(what, size, best=figures, median=figures, suite=suite)
        for (what, size), figures in found.items()
    ]


READERS: dict[str, Reader] = {"completions": completions}
