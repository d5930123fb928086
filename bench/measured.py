"""What a bench measured, in the form that `python -m bench` reads: `--json FILE` writes it.

A file holds a list of objects, one for each thing that was measured:

    {"what": "show status", "size": 10000, "tool": "rowtui",
     "best": {"cpu s": 0.03, "wall s": 0.03, "peak MB": 10.1}, "median": {...}}

`what` is the name of a row of its bench; `size` how many directories, jobs or samples it was asked
for (0 where there is no such thing); `tool` is who was measured: "rowtui", a peer ("row", "tpv",
"fastr"), or "floor" (what nobody can be faster than). A figure's name ends with its unit. `median`
may be left out, and so may `tool`; `variant` names the workload where there are several; `error`
says why there are no figures. Other keys are a bench's own, and are left alone.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import Run, least


@dataclass(frozen=True)
class Measured:
    """One row; `suite` is filled in by whoever ran it."""

    what: str
    size: int
    tool: str = "rowtui"
    best: Mapping[str, float] = field(default_factory=dict)
    median: Mapping[str, float] = field(default_factory=dict)
    variant: str = ""
    runs: int = 1
    error: str = ""
    suite: str = ""


_KEYS = tuple(Measured.__dataclass_fields__)


def read(path: Path, suite: str) -> list[Measured]:
    """The rows that a bench wrote.

    Raises: ValueError, KeyError, TypeError if they are none.
    """
    told = json.loads(path.read_text())
    if not isinstance(told, list):
        raise TypeError("no list of rows")
    return [_row(one, suite) for one in told]


def _row(told: Mapping[str, Any], suite: str) -> Measured:
    kept = {key: value for key, value in told.items() if key in _KEYS}
    for figures in ("best", "median"):
        kept[figures] = {name: float(value) for name, value in kept.get(figures, {}).items()}
    return Measured(**{**kept, "size": int(kept.get("size", 0)), "suite": suite})


def write(path: Path, rows: Iterable[Measured]) -> None:
    """For `--json FILE`."""
    path.write_text(json.dumps([plain(row) for row in rows], indent=1) + "\n")


def plain(row: Measured) -> dict[str, Any]:
    """As JSON has it, without what says nothing."""
    return {key: value for key, value in asdict(row).items() if value not in ("", {}, None)}


def of_runs(what: str, size: int, tool: str, runs: Sequence[Run], *, variant: str = "") -> Measured:
    """Best and median of a command's runs, or the first error."""
    best = least(runs)
    if best.error:
        return Measured(what, size, tool, variant=variant, runs=len(runs), error=best.error)
    names = {"wall s": "wall", "cpu s": "cpu", "peak MB": "peak"}
    middle = {
        name: statistics.median(getattr(one, attribute) for one in runs)
        for name, attribute in names.items()
    }
    first = {name: float(getattr(best, attribute)) for name, attribute in names.items()}
    return Measured(what, size, tool, first, middle, variant, len(runs))
