"""Pages of an action's groups and directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost

if TYPE_CHECKING:
    from rowtui.core.groups.model import Status


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One row of the groups screen."""

    number: int  # from 1
    size: int
    first: str
    sort_key: str  # compact JSON of the key, "" without sort_by
    processes: int
    cpus: int
    gpus: int
    walltime_seconds: int
    cost: Cost
    problem: str = ""  # why it cannot be submitted, "" if it can
    warning: str = ""  # what would be wasted at its destination
    whole: bool = True  # False: `problem` says why submit_whole keeps it from being submitted


@dataclass(frozen=True, slots=True)
class GroupsPage:
    """Groups from `start` on of an action, of `total`, for the requested statuses.

    `total`, `directories` and `cost` are counted after the filter, `of` is the number without it;
    `found`: the place of the group that was searched for; `sort_by`: the pointers of the keys.
    """

    generation: int
    action_index: int
    total: int
    directories: int
    start: int
    groups: tuple[GroupSummary, ...]
    problem: str = ""
    of: int = 0
    cost: Cost = Cost()
    found: int | None = None
    sort_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DirectoryRow:
    """One row of the directories list. `value`: compact JSON, cut to a bounded length."""

    name: str
    status: Status
    value: str
    job: str = ""  # "cluster/id"
    detail: str = ""  # why it failed, and the like
    fields: tuple[str, ...] = ()  # at the page's `pointers`


@dataclass(frozen=True, slots=True)
class DirectoriesPage:
    """Directories from `start` on of one group, or of all of an action, of `total`.

    `of`: the number without the filter; `pointers`: the columns of values, which are the keys of
    the first directory's value and those that were asked for; `found`: the place of the directory
    that was searched for.
    """

    generation: int
    total: int
    start: int
    rows: tuple[DirectoryRow, ...]
    of: int = 0
    pointers: tuple[str, ...] = ()
    found: int | None = None
