"""The rows of a long list that a screen requests, their order, and pages of them.

All are small immutable values. `rowtui.core.base.filter` defines the language of filters.
"""

from __future__ import annotations

from typing import NamedTuple


class ListAsked(NamedTuple):
    """A filter, and the column (or JSON pointer) to sort by. Empty fields change nothing."""

    filter: str = ""
    sort: str = ""
    descending: bool = False


AS_IS = ListAsked()

GROUP_FIELDS = {
    "number": "number", "#": "number", "size": "size", "dirs": "size", "sort_key": "sort_key",
    "key": "sort_key", "first": "first", "name": "first", "cpus": "cpus", "gpus": "gpus",
    "walltime": "walltime", "time": "walltime", "cost": "cost", "problem": "problem",
    "processes": "processes",
}  # fmt: skip
"""Names that the user may use for the columns of a list of groups."""

DIRECTORY_FIELDS = {
    "name": "name", "directory": "name", "status": "status", "job": "job", "detail": "detail",
    "why": "detail",
}  # fmt: skip
"""Names that the user may use for the columns of a list of directories."""
