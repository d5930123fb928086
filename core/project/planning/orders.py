"""Stored orders of a project's directories: read from its folder, or computed and stored there.

Orders are computed while the directories are read for the first time, which takes a thousand times
as long; after any later change, the first caller that needs an order computes it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.groups.order import ActionOrder, action_order, order_from_bytes, order_to_bytes

if TYPE_CHECKING:
    from rowtui.core.state.directories import StoredDirectories
    from rowtui.core.state.store.store import Store
    from rowtui.core.workflow.model import Action


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
