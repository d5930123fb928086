"""The status of every directory for every action, and the remaining cost.

Sets of directories are big integers, so that a million directories take microseconds. An action
with an error (for example an include without a result) marks only its own row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.form import action_cost, group_sizes, is_linear
from rowtui.core.groups.include import included
from rowtui.core.groups.model import ActionStatus, Status, StatusTable
from rowtui.core.groups.order import ActionOrder, Members, size_of
from rowtui.core.state.model import DirectorySet, LastOutcome, State, bit_set
from rowtui.core.state.names import flags
from rowtui.core.workflow.model import Action, Workflow

Orders = Mapping[tuple[str, ...], ActionOrder]  # stored orders, by sort_by


def status_table(
    workflow: Workflow,
    state: State,
    among: Sequence[int] | None = None,
    orders: Orders | None = None,
) -> StatusTable:
    """Return one row for each action, over all directories or the positions of `among`.

    A position that `among` repeats is once in the sets; the remaining cost counts it repeatedly, as
    in Row, and so does `status_counts`.
    """
    return StatusTable(
        rows=tuple(action_status(action, state, among, orders) for action in workflow.actions),
        directories=len(state.directories),
        bad=len(state.directories.bad),
    )


def action_status(
    action: Action,
    state: State,
    among: Sequence[int] | None = None,
    orders: Orders | None = None,
) -> ActionStatus:
    """Return one row; the row has a `problem` if the groups cannot be formed.

    The cost is unknown without groups.
    """
    considered = state.everything
    if among is not None:
        considered &= bit_set(among)
    try:
        members = included(action, state.directories, considered)
    except RowtuiError as error:
        return ActionStatus(action, problem=error.message)
    return status_of(action, state, members, among, orders)


def status_of(
    action: Action,
    state: State,
    members: DirectorySet,
    among: Sequence[int] | None = None,
    orders: Orders | None = None,
) -> ActionStatus:
    """Return one row, given the directories that the action includes."""
    completed = members & state.completed.get(action.name, 0)
    submitted = members & state.submitted_set(action.name) & ~completed
    left = members & ~completed & ~submitted
    eligible = left
    for previous in action.previous_actions:
        eligible &= state.completed.get(previous, 0)
    ended = state.ended_sets(action.name)
    row = ActionStatus(
        action,
        completed=completed,
        submitted=submitted,
        eligible=eligible,
        waiting=left & ~eligible,
        failed=eligible & ended[LastOutcome.FAILED],
        not_reached=eligible & ended[LastOutcome.NOT_REACHED],
        cancelled=eligible & ended[LastOutcome.CANCELLED],
    )
    unfinished = members & ~completed
    to_pay: Members = unfinished if among is None else chosen_from(among, unfinished)
    stored = (orders or {}).get(action.group.sort_by)
    try:
        if is_linear(action.resources):
            sizes = [size_of(to_pay)]
        else:
            sizes = group_sizes(action, state.directories, to_pay, stored)
    except RowtuiError as error:
        return _with(row, problem=error.message)
    return _with(row, remaining=sizes)


def is_renewed(action: Action, before: State, after: State) -> bool:
    """Whether the action's row may have changed, over the same directories."""
    name = action.name
    return (
        before.submitted.get(name) is not after.submitted.get(name)
        or before.ends.get(name) is not after.ends.get(name)
        or any(
            before.completed.get(each, 0) != after.completed.get(each, 0)
            for each in (name, *action.previous_actions)
        )
    )


def _with(row: ActionStatus, remaining: Sequence[int] = (), problem: str = "") -> ActionStatus:
    cost = action_cost(row.action.resources, remaining)
    return row._replace(remaining_cost=cost, problem=problem)


class StatusCounts(NamedTuple):
    """Directories of one row by status. The last three are part of `eligible`."""

    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int
    not_reached: int
    cancelled: int


def status_counts(row: ActionStatus, among: Sequence[int] | None = None) -> StatusCounts:
    """Return the counts of a row; repeated positions of `among` count repeatedly."""
    sets = (
        *(row.completed, row.submitted, row.eligible, row.waiting),
        *(row.failed, row.not_reached, row.cancelled),
    )
    if among is None or len(set(among)) == len(among):
        return StatusCounts(*(members.bit_count() for members in sets))
    return StatusCounts(*(len(chosen_from(among, members)) for members in sets))


def with_status(row: ActionStatus, statuses: Sequence[Status]) -> DirectorySet:
    """Return the directories with one of these statuses."""
    chosen = 0
    for status in statuses:
        chosen |= row.members(status)
    return chosen


def only_status(row: ActionStatus, statuses: Sequence[Status]) -> Status | None:
    """Return the status of all directories in `with_status`, if it is the same for all."""
    found = {status for status in statuses if row.members(status)}
    if Status.ELIGIBLE in found and row.ended:
        return None
    return found.pop() if len(found) == 1 else None


def status_codes(row: ActionStatus, count: int) -> bytes:
    """Return one byte for each of `count` directories.

    The byte is the index of the directory's status in `STATUS_OF`, or 0.
    """
    total = 0
    for bit, status in enumerate(Status):
        members = row.members(status)
        if members:
            total |= int.from_bytes(flags(members, count), "little") << bit
    return total.to_bytes(count, "little").translate(_FIRST)


STATUS_OF: Final[tuple[Status | None, ...]] = (None, *Status)
# Of the statuses that hold, as bits, the first one is used.
_FIRST = bytes((cell & -cell).bit_length() if cell < 1 << len(Status) else 0 for cell in range(256))


def chosen_from(among: Sequence[int], members: DirectorySet) -> list[int]:
    """Return the members in `among`, in its order and with its repetitions."""
    cells = members.to_bytes((members.bit_length() + 7) >> 3, "little")
    size = len(cells)
    return [p for p in among if p >> 3 < size and cells[p >> 3] >> (p & 7) & 1]
