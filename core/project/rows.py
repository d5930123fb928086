"""The status of all directories for each action, kept for as long as it is right.

Takes the records, gives rows of the status table. When completions arrive, only the rows of their
action and of those that wait for it are made again; which directories an action includes is told
again only when there are other directories or another workflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.include import included
from rowtui.core.grouping.model import ActionStatus
from rowtui.core.grouping.status import is_renewed, status_of

if TYPE_CHECKING:
    from rowtui.core.grouping.order import ActionOrder
    from rowtui.core.state.model import DirectorySet, State
    from rowtui.core.workflow.model import Action


class StatusRows:
    """The rows of one project. Whoever reads another workflow.toml says `forget`."""

    def __init__(self) -> None:
        self._rows: dict[int, ActionStatus] = {}
        self._included: dict[int, DirectorySet] = {}

    def forget(self) -> None:
        """There are other actions or other directories."""
        self._rows.clear()
        self._included.clear()

    def follow(self, before: State, after: State) -> None:
        """The records are others now, over the same directories."""
        self._rows = {
            index: row
            for index, row in self._rows.items()
            if not is_renewed(row.action, before, after)
        }

    def known(self, action: Action) -> ActionStatus | None:
        """The row, if it was made already."""
        return self._rows.get(action.index)

    def row(
        self, action: Action, state: State, order_of: Callable[[Action], ActionOrder | None]
    ) -> ActionStatus:
        """The row of an action: the very same for as long as nothing about it has changed."""
        row = self._rows.get(action.index)
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


def _needs_order_for_cost(action: Action) -> bool:
    from rowtui.core.grouping.cost import is_linear

    return action.group.split_by_sort_key and not is_linear(action.resources)
