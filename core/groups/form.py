"""Groups of an action's directories, their job requests, and the choice of actions and directories.

A new group begins wherever the sort key changes (if the action requests this), and then after every
`maximum_size` directories. Groups are only formed when they are read: showing a page of a million
directories costs only the page.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress, islice, pairwise
from operator import ne
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.base.values import MISSING, compact, resolve
from rowtui.core.groups import order as ordering
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.groups.order import ActionOrder, Members, in_order, size_of
from rowtui.core.state.model import Directories
from rowtui.core.workflow.model import Action, Resources, Workflow


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

    def span(self, begin: int, end: int) -> list[int]:
        """Return the directories between two places of the list of all directories."""
        found: list[int] = self.positions[begin:end].tolist()
        return found

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


def groups_page(
    action: Action,
    directories: Directories,
    members: Members,
    start: int,
    length: int,
    *,
    order: ActionOrder | None = None,
) -> tuple[Group, ...]:
    """Return groups `start`.. (from 0), at most `length` of them. Raises: as `cut_groups`."""
    return cut_groups(action, directories, members, order).page(start, length)


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


# Convert groups to job requests with the total resources of each job.


# The upper limit of the cost of jobs: the resources of an action times the sizes of its groups.
#
# Sums are kept in whole CPU- and GPU-seconds and divided once, so that ten tenths are one. Zero
# GPUs (which Row 1.1 refuses in workflow.toml, and which earlier versions counted as no cost at
# all) mean that the job uses no GPUs and costs CPU time.


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


# Select actions by a pattern, and find directories that would be submitted twice.
#
# In a pattern, `*` matches any run of characters and `?` one character; all other characters match
# themselves, case-sensitively, and the whole name must match.


# submit_whole: only complete groups may be submitted.
#
# A group of eligible directories is whole if it equals, directory by directory, one of the groups
# that all included directories form. If a group is not whole, Row fails entirely; this module skips
# the group and reports it.


class NotWhole(NamedTuple):
    """A group that is skipped. `sentence` is `reason` with the group's name, for a list."""

    group: Group
    reason: str
    sentence: str


def whole_groups(
    eligible: Sequence[Group], whole: Sequence[Group], directories: Directories
) -> tuple[tuple[Group, ...], tuple[NotWhole, ...]]:
    """Return the eligible groups that are whole, and the other eligible groups.

    `whole`: the groups of all directories that the action includes, regardless of their status;
    groups without a directory of the eligible groups may be left out.
    """
    complete = {group.indices for group in whole}
    kept = tuple(group for group in eligible if group.indices in complete)
    if len(kept) == len(eligible):
        return kept, ()
    home = {position: group for group in whole for position in group.indices}
    skipped = tuple(
        _not_whole(group, home, directories) for group in eligible if group.indices not in complete
    )
    return kept, skipped


def _not_whole(group: Group, home: dict[int, Group], directories: Directories) -> NotWhole:
    first = visible(directories.name(group.indices[0]))
    more = len(group.indices) - 1
    what = f"action '{visible(group.action.name)}' on directory '{first}'"
    if more:
        what += f" and {more:,} more"
    homes = {id(home[p]): home[p] for p in group.indices if p in home}
    absent = {p for other in homes.values() for p in other.indices}.difference(group.indices)
    if len(homes) > 1:
        why = f"its directories belong to {len(homes):,} different whole groups"
    elif absent:
        name = visible(directories.name(min(absent)))
        why = f"{plural(len(absent), 'directory', 'directories')} of the whole group"
        why += f" {'is' if len(absent) == 1 else 'are'} not eligible or not chosen ('{name}'"
        why += ", ...)" if len(absent) > 1 else ")"
    else:
        why = "the whole group has these directories in another order or number"
    sentence = f"{what} is skipped, because submit_whole is set and {why}"
    return NotWhole(group, f"it is not whole: {why}", sentence)


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern matches the whole name. Linear except for the last `*`, no recursion."""
    at = position = 0
    star, resume = -1, 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in {"?", name[position]}:
            at += 1
            position += 1
        elif star >= 0:  # the last star matches one more character
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(char == "*" for char in pattern[at:])


def matching_actions(workflow: Workflow, pattern: str | None) -> tuple[Action, ...]:
    """Return the action elements whose name matches, in file order; all without a pattern."""
    if pattern is None:
        return workflow.actions
    return tuple(action for action in workflow.actions if matches(pattern, action.name))


class Duplicate(NamedTuple):
    """A directory that would be submitted several times for one action name."""

    action: str
    position: int
    times: int

    def sentence(self, directories: Directories) -> str:
        """Describe the problem in words."""
        return (
            f"directory '{visible(directories.name(self.position))}' would be submitted multiple"
            f" times ({self.times}) for action '{visible(self.action)}'"
        )


def duplicates(groups: Iterable[Group]) -> tuple[Duplicate, ...]:
    """Return each (action name, directory) that occurs more than once in all these groups."""
    times: dict[str, dict[int, int]] = {}
    for group in groups:
        counts = times.setdefault(group.action.name, {})
        for position in group.indices:
            counts[position] = counts.get(position, 0) + 1
    return tuple(
        Duplicate(name, position, count)
        for name, counts in times.items()
        for position, count in sorted(counts.items())
        if count > 1
    )
