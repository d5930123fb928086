"""What a later attempt needs to know of a job beyond what was sent: kept in the plan as JSON.

Takes and gives the parameters that the mapper gave the job, and what a person asked for when it was
resubmitted. Amounts are kept for one process and walltimes for one directory where the action
counts them so: a later attempt may have fewer directories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """What a person asked for by hand, until they ask for something else. None: nothing.

    `memory_mb` and `cpus` of one process; `walltime_seconds` of one directory, or of the job if the
    action's walltime is one for all.
    """

    memory_mb: float | None = None
    cpus: float | None = None
    walltime_seconds: float | None = None
    partition: str = ""


class Basis(NamedTuple):
    """`params`: those of the job's placement, None without one; `previous_params`: those of the
    attempt before it.
    """

    params: Mapping[str, Any] | None = None
    previous_params: Mapping[str, Any] | None = None
    asked: Asked = Asked()

    @property
    def text(self) -> str:
        """As canonical JSON; "" if there is nothing to know. What is no JSON becomes its text."""
        known = {
            "params": self.params,
            "previous_params": self.previous_params,
            "asked": {k: v for k, v in self.asked._asdict().items() if v not in (None, "")},
        }
        try:
            return _json({name: value for name, value in known.items() if value})
        except (TypeError, ValueError, RecursionError):  # keys that are no names, circles
            return _json({"asked": known["asked"]} if known["asked"] else {})


def _json(data: Mapping[str, Any]) -> str:
    if not data:
        return ""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)


def read_basis(text: str) -> Basis:
    """What `Basis.text` wrote; what cannot be read is not known."""
    try:
        data = json.loads(text) if text else {}
        asked = Asked(**data.get("asked", {}))
    except (AttributeError, TypeError, ValueError, RecursionError):
        return Basis()
    return Basis(data.get("params"), data.get("previous_params"), asked)
