"""Which rows of a long list a screen wants, and in which order; and pages of them.

Small immutable values. The language of filters is `rowtui.core.row_filter`'s.
"""

from __future__ import annotations

from typing import NamedTuple


class ListAsked(NamedTuple):
    """A filter, and the column (or JSON pointer) to sort by; empty: the list as it is."""

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
"""What a person may call the columns of a list of groups."""

DIRECTORY_FIELDS = {
    "name": "name", "directory": "name", "status": "status", "job": "job", "detail": "detail",
    "why": "detail",
}  # fmt: skip
"""What a person may call the columns of a list of directories."""
