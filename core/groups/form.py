"""Groups of an action's directories, and the job request of each group with its cost.

A new group begins wherever the sort key changes (if the action requests this), and then after every
`maximum_size` directories. Groups are only formed when they are read: showing a page of a million
directories costs only the page.

The cost is the most that a job can use: the resources of its action times the size of its group.
Sums are kept in whole CPU- and GPU-seconds and divided once, so that ten tenths are one. Zero GPUs
(which Row 1.1 refuses in workflow.toml, and which earlier versions counted as no cost at all) mean
that the job uses no GPUs and costs CPU time.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress, islice, pairwise
from operator import ne
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, visible
from rowtui.core.base.values import MISSING, compact, resolve
from rowtui.core.groups import order as ordering
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.groups.order import ActionOrder, Members, in_order, size_of
from rowtui.core.state.model import Directories
from rowtui.core.workflow.model import Action, Resources


class GroupCut:
    """The groups of an action before they are formed: positions in order, and where groups begin.

    `begins` has one entry for each group, and a last entry with the number of directories.
    """

    __slots__ = ("action", "begins", "positions")

    def __init__(self, action: Action, positions: Any, begins: Sequence[int]) -> None:
        self.action = action
        self.positions = positions  # array('I') or a numpy array
        self.begins = begins

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.begins) - 1

    def __getitem__(self, number: int) -> Group:
        """Return group `number`, from 0."""
        begin, end = self.begins[number], self.begins[number + 1]
        return Group(self.action, tuple(self.positions[begin:end].tolist()))

    @property
    def directories(self) -> int:
        """The number of directories in all groups."""
        return self.begins[-1]

    def sizes(self) -> list[int]:
        """Return the size of each group."""
        return [end - begin for begin, end in pairwise(self.begins)]

    @property
    def counted_sizes(self) -> tuple[tuple[int, int], ...]:
        """The number of groups of each size, sizes ascending."""
        return tuple(sorted(Counter(self.sizes()).items()))

    def placed(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return where each of these groups begins in the list of all directories, and its size."""
        begins = self.begins
        return [(begins[number], begins[number + 1] - begins[number]) for number in numbers]

    def firsts(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return (first directory, size) of each of these groups."""
        return [(int(self.positions[begin]), size) for begin, size in self.placed(numbers)]

    def span(self, begin: int, end: int) -> Any:
        """Return the directories between two places of the list of all directories: an array."""
        return self.positions[begin:end]

    def number_of(self, first: int) -> int | None:
        """Return the index of the group that begins with this directory, or None."""
        from rowtui.core.groups.listing import first_of

        return first_of(self.positions, self.begins, first)

    def page(self, start: int = 0, length: int | None = None) -> tuple[Group, ...]:
        """Return groups `start`.. (from 0), at most `length` of them."""
        start = max(0, start)
        stop = len(self) if length is None else min(len(self), start + max(0, length))
        return tuple(
            Group(self.action, tuple(self.positions[begin:end].tolist()))
            for begin, end in pairwise(self.begins[start : stop + 1])
        )


def cut_groups(
    action: Action,
    directories: Directories,
    members: Members,
    order: ActionOrder | None = None,
) -> GroupCut:
    """Cut these members into groups. `order`: the stored order, if there is one.

    Raises: IncomparableError if they cannot be sorted; RowtuiError for a maximum_size of 0.
    """
    maximum_size = _maximum_size(action, members)
    split = action.group.split_by_sort_key
    result = in_order(action, directories, members, order, with_keys=split)
    count = len(result.positions)
    keys = result.keys if split else None
    if count >= ordering.NUMPY_FROM:
        from rowtui.core.groups import wide

        starts = wide.starts(count, keys, maximum_size).tolist()
    else:
        starts = _starts(count, keys, maximum_size)
    return GroupCut(action, result.positions, array("I", [*starts, count]))


def _maximum_size(action: Action, members: Members) -> int | None:
    maximum_size = action.group.maximum_size
    if maximum_size is not None and maximum_size < 1 and size_of(members):
        raise RowtuiError(
            f"action '{visible(action.name)}' has a group.maximum_size of {maximum_size}:"
            " no group can be that small",
            "give it 1 or more, or leave it out for groups of any size",
        )
    return maximum_size


def _starts(count: int, keys: Sequence[int] | None, maximum_size: int | None) -> list[int]:
    if not count:
        return []
    segments = [0]
    if keys is not None:
        segments += compress(range(1, count), map(ne, keys, islice(keys, 1, None)))
    if maximum_size is None:
        return segments
    return [
        start
        for begin, end in pairwise([*segments, count])
        for start in range(begin, end, maximum_size)
    ]


def group_sizes(
    action: Action,
    directories: Directories,
    members: Members,
    order: ActionOrder | None = None,
) -> list[int]:
    """Return the size of each group. Nothing is sorted unless the action splits by sort key.

    Raises: as `cut_groups`; an action that does not split raises only if maximum_size is 0.
    """
    if action.group.split_by_sort_key and action.group.sort_by:
        return cut_groups(action, directories, members, order).sizes()
    size = size_of(members)
    maximum_size = _maximum_size(action, members) or size
    if not size:
        return []
    whole, rest = divmod(size, maximum_size)
    return [maximum_size] * whole + [rest] * (rest > 0)


def sort_key(action: Action, directories: Directories, position: int) -> str:
    """Return the sort key of one directory as compact JSON; "" without sort_by.

    Missing elements are null. All directories of a group share the key if the action splits by sort
    key.
    """
    if not action.group.sort_by:
        return ""
    value = directories.value(position)
    found = [resolve(value, pointer) for pointer in action.group.sort_by]
    return compact([None if element is MISSING else element for element in found])


_HOUR = 3600


def job_cost(resources: Resources, directories: int) -> Cost:
    """Return the cost of one job on this number of directories."""
    return _cost(resources, _process_seconds(resources, directories))


def action_cost(resources: Resources, sizes: Iterable[int]) -> Cost:
    """Return the cost of jobs on groups of these sizes."""
    return _cost(resources, sum(_process_seconds(resources, size) for size in sizes))


def is_linear(resources: Resources) -> bool:
    """Whether the cost depends only on the number of directories, and not on their groups."""
    return resources.processes.per_directory != resources.walltime.per_directory


def _process_seconds(resources: Resources, directories: int) -> int:
    if not directories:
        return 0
    processes = resources.processes.total(directories)
    return processes * resources.walltime.total_seconds(directories)


def _cost(resources: Resources, process_seconds: int) -> Cost:
    if resources.gpus_per_process:
        return Cost(gpu_hours=process_seconds * resources.gpus_per_process / _HOUR)
    return Cost(cpu_hours=process_seconds * (resources.threads_per_process or 1) / _HOUR)


def job_requests(groups: Iterable[Group]) -> tuple[JobRequest, ...]:
    """Return one request for each group, in order."""
    return tuple(map(_job_request, groups))


def _job_request(group: Group) -> JobRequest:
    resources = group.action.resources
    size = len(group.indices)
    return JobRequest(
        group=group,
        processes=resources.processes.total(size),
        cpus=resources.total_cpus(size),
        gpus=resources.total_gpus(size),
        walltime_seconds=resources.walltime.total_seconds(size),
        cost=job_cost(resources, size),
    )


class FirstRequests(Sequence[JobRequest]):
    """The requests of the first `count` groups of a cut; each is made on access."""

    def __init__(self, cut: GroupCut, count: int) -> None:
        self.cut = cut
        self._count = min(count, len(cut))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> JobRequest:  # type: ignore[override]
        return _job_request(self.cut[range(self._count)[number]])

    def sizes(self) -> list[int]:
        """Return the number of directories of each request."""
        return [end - begin for begin, end in pairwise(self.cut.begins[: self._count + 1])]

    def positions(self, number: int) -> Any:
        """Return the positions of directories, in order: array('I') or a numpy array."""
        begins = self.cut.begins
        return self.cut.positions[begins[number] : begins[number + 1]]

    def of_size(self, size: int) -> JobRequest:
        """Return a request of this size, without regard to its directories."""
        return _job_request(Group(self.cut.action, (0,) * size))
