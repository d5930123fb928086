"""The status of all directories for each action, cached for as long as it is valid.

The input is the records; the result is rows of the status table. When completions arrive, only the
rows of their action and of the actions that depend on it are recomputed. The set of directories
that an action includes is recomputed only for other directories or another workflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.include import included
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import is_renewed, status_of

if TYPE_CHECKING:
    from rowtui.core.groups.order import ActionOrder
    from rowtui.core.state.model import DirectorySet, State
    from rowtui.core.workflow.model import Action


class StatusRows:
    """The rows of one project. Call `forget` after workflow.toml was read again."""

    def __init__(self) -> None:
        self._rows: dict[int, ActionStatus] = {}
        self._included: dict[int, DirectorySet] = {}

    def forget(self) -> None:
        """Clear all rows, because the actions or the directories changed."""
        self._rows.clear()
        self._included.clear()

    def follow(self, before: State, after: State) -> None:
        """Drop the rows that changed records, over the same directories, have made invalid."""
        self._rows = {
            index: row
            for index, row in self._rows.items()
            if not is_renewed(row.action, before, after)
        }

    def known(self, action: Action) -> ActionStatus | None:
        """Return the row if it is cached."""
        row = self._rows.get(action.index)
        return row if row is not None and _is_of(row, action) else None

    def row(
        self, action: Action, state: State, order_of: Callable[[Action], ActionOrder | None]
    ) -> ActionStatus:
        """Return the row of an action; it is the identical object until something about it changes.

        An action from before workflow.toml was read again does not influence later rows.
        """
        row = self._rows.get(action.index)
        if row is not None and not _is_of(row, action):
            self._included.pop(action.index, None)
            row = None
        if row is None:
            row = self._rows[action.index] = self._made(action, state, order_of)
        return row

    def _made(
        self, action: Action, state: State, order_of: Callable[[Action], ActionOrder | None]
    ) -> ActionStatus:
        members = self._included.get(action.index)
        if members is None:
            try:
                members = included(action, state.directories, state.everything)
            except RowtuiError as error:
                return ActionStatus(action, problem=error.message)
            self._included[action.index] = members
        order = order_of(action) if _needs_order_for_cost(action) else None
        orders = {} if order is None else {action.group.sort_by: order}
        return status_of(action, state, members, None, orders)


def _is_of(row: ActionStatus, action: Action) -> bool:
    return row.action is action or row.action == action


def _needs_order_for_cost(action: Action) -> bool:
    from rowtui.core.groups.cost import is_linear

    return action.group.split_by_sort_key and not is_linear(action.resources)
