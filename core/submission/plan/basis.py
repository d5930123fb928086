"""What a later attempt of a job needs beyond what was sent; kept in the plan as JSON.

The data is the parameters that the mapper gave the job, and the amounts that the user requested for
a resubmission. Amounts are stored for one process, and walltimes for one directory if the action
counts walltimes so, because a later attempt may have fewer directories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class UserRequest(NamedTuple):
    """Amounts that the user requested by hand; valid until the next request. None: not requested.

    `memory_mb` and `cpus` of one process; `walltime_seconds` of one directory, or of the job if the
    action's walltime is for the whole job.
    """

    memory_mb: float | None = None
    cpus: float | None = None
    walltime_seconds: float | None = None
    partition: str = ""


class PlacementBasis(NamedTuple):
    """The parameters of a job's placements, and the user's requests.

    `params`: of the job's placement, None without one; `previous_params`: of the attempt before.
    `continues`: how many jobs it continues; `excluded`: nodes of its cluster on which it may not
    run.
    """

    params: Mapping[str, Any] | None = None
    previous_params: Mapping[str, Any] | None = None
    asked: UserRequest = UserRequest()
    continues: int = 0
    excluded: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return canonical JSON; "" without data. A value without a JSON form is stored as text."""
        known = {
            "params": self.params,
            "previous_params": self.previous_params,
            "asked": {k: v for k, v in self.asked._asdict().items() if v not in (None, "")},
            "continues": self.continues,
            "excluded": self.excluded,
        }
        try:
            return _json({name: value for name, value in known.items() if value})
        # keys that are not strings, or circular references
        except (TypeError, ValueError, RecursionError):
            own = ("asked", "continues", "excluded")
            return _json({name: known[name] for name in own if known[name]})


def _json(data: Mapping[str, Any]) -> str:
    if not data:
        return ""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)


def read_basis(text: str) -> PlacementBasis:
    """Parse the text of `PlacementBasis.text`; an empty basis if it cannot be parsed."""
    try:
        data = json.loads(text) if text else {}
        asked = UserRequest(**data.get("asked", {}))
        continues = int(data.get("continues", 0))
        excluded = tuple(map(str, data.get("excluded", ())))
    except (AttributeError, TypeError, ValueError, RecursionError):
        return PlacementBasis()
    params, previous = data.get("params"), data.get("previous_params")
    return PlacementBasis(params, previous, asked, continues, excluded)
