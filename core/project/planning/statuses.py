"""The status of all directories for each action, cached while valid, and its table of amounts.

The input is the records; the result is rows of the status table. When completions arrive, only the
rows of their action and of the actions that depend on it are recomputed. The set of directories
that an action includes is recomputed only for other directories or another workflow.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.form import is_linear
from rowtui.core.groups.include import included
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.order import ActionOrder, action_order, order_from_bytes, order_to_bytes
from rowtui.core.groups.status import is_renewed, status_of

if TYPE_CHECKING:
    from rowtui.core.state.directories import StoredDirectories
    from rowtui.core.state.model import DirectorySet, State
    from rowtui.core.state.store.store import Store
    from rowtui.core.workflow.model import Action


# Stored orders of a project's directories: read from its folder, or computed and stored there.
#
# Orders are computed while the directories are read for the first time, which takes a thousand
# times as long; after any later change, the first caller that needs an order computes it.


def stored_order(
    store: Store,
    directories: StoredDirectories,
    sort_by: tuple[str, ...],
    notice: Callable[[str], None],
) -> ActionOrder:
    """Return the order of all directories by these pointers.

    It is stored if it had to be computed.
    """
    key = json.dumps(sort_by)
    data = store.load_orders(directories, key)
    if data is not None:
        try:
            return order_from_bytes(data)
        except ValueError:
            notice("a stored sort order was damaged and has been computed again")
    order = action_order(sort_by, directories)
    store.save_orders(directories, key, order_to_bytes(order))
    return order


def keep_orders(
    store: Store,
    directories: StoredDirectories,
    actions: Iterable[Action],
) -> None:
    """Compute and store the orders that these actions need. Using an order raises its errors."""
    for sort_by in dict.fromkeys(action.group.sort_by for action in actions):
        if sort_by:
            with contextlib.suppress(RowtuiError):
                stored_order(store, directories, sort_by, lambda _: None)


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
        needs_order = action.group.split_by_sort_key and not is_linear(action.resources)
        order = order_of(action) if needs_order else None
        orders = {} if order is None else {action.group.sort_by: order}
        return status_of(action, state, members, None, orders)


def _is_of(row: ActionStatus, action: Action) -> bool:
    return row.action is action or row.action == action
