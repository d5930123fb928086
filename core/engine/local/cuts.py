"""The group cuts of one project that are on screens: cached, and updated with the records.

Takes an action and statuses; gives its groups (`GroupCut`). Cuts of many directories are counted
(`live_cut.py`), so that an event costs as much as its change; cuts of few are formed again. A cut
without changes stays the same object.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.groups.model import ActionStatus, Status
from rowtui.core.groups.status import with_status
from rowtui.core.project.project import STORED_ORDER_FROM
from rowtui.core.project.views.views import AS_IS, ListRequest
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.engine.local.live_cut import Bins
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.order import ActionOrder
    from rowtui.core.project.open_project import OpenProject

KEPT_CUTS = 24  # lists of groups: enough for all actions of a typical project
KEPT_BYTES = 32 << 20  # of their own memory; the requested one is always kept
# Below this size a cut is made quickly, without numpy.
LIVE_FROM = STORED_ORDER_FROM


class _Kept(NamedTuple):
    row: ActionStatus  # the status that it was cut from
    cut: GroupCut
    nbytes: int


class ListedRows(NamedTuple):
    """Rows in the requested order. `of`: how many there are without the filter.

    `order` has a position (of a directory) or an index (of a group) for each row; None: 0, 1, 2...
    `pointers`: the ones that the filter or the order names; `sizes`: the number of groups of each
    size.
    """

    order: Any
    of: int
    pointers: tuple[str, ...] = ()
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        """Return how many rows there are."""
        return self.of if self.order is None else len(self.order)

    def page(self, start: int, length: int) -> list[int]:
        """Return `length` rows of the list from `start` on."""
        start, stop = max(0, start), max(0, start + length)
        if self.order is None:
            return list(range(start, min(stop, self.of)))
        return [int(one) for one in self.order[start:stop].tolist()]

    def find(self, what: int) -> int | None:
        """Return the place of a position or index in the list; None if it is not in the list."""
        if self.order is None:
            return what if 0 <= what < self.of else None
        found = (self.order == what).nonzero()[0]
        return int(found[0]) if len(found) else None


class RequestedList(NamedTuple):
    """The requested list. When `go_on` returns False, the work ends with `Superseded`."""

    action: Action
    statuses: tuple[Status, ...]
    asked: ListRequest = AS_IS
    go_on: Callable[[], bool] = lambda: True

    @property
    def key(self) -> Hashable:
        """Return the cache key of the list."""
        return self.action.index, self.statuses, self.asked


class Cuts:
    """The groups of actions. All methods run in threads, one at a time."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._kept: OrderedDict[tuple[int, tuple[Status, ...]], _Kept] = OrderedDict()
        self._bins: dict[tuple[tuple[str, ...], bool, bool], tuple[ActionOrder | None, Bins]] = {}
        self._directories: object = None  # the directories that the bins belong to

    def cut(self, action: Action, statuses: tuple[Status, ...]) -> GroupCut:
        """Return the groups of an action's directories with these statuses. Raises: RowtuiError."""
        row = self._project.status_row(action)
        key = (action.index, statuses)
        kept = self._kept.pop(key, None)
        if kept is None or kept.row is not row:
            cut, nbytes = self._made(row, statuses, None if kept is None else kept.cut)
            kept = _Kept(row, cut, nbytes)
        self._kept[key] = kept
        while len(self._kept) > KEPT_CUTS or (
            len(self._kept) > 1 and sum(one.nbytes for one in self._kept.values()) > KEPT_BYTES
        ):
            self._kept.popitem(last=False)
        return kept.cut

    def known(self, action: Action, statuses: tuple[Status, ...]) -> GroupCut | None:
        """Return the cut if it is cached and current; otherwise None."""
        kept = self._kept.get((action.index, statuses))
        row = self._project.known_row(action)
        return kept.cut if kept is not None and kept.row is row else None

    def _made(
        self, row: ActionStatus, statuses: tuple[Status, ...], before: GroupCut | None
    ) -> tuple[GroupCut, int]:
        action = row.action
        bins = None if row.problem else self._bins_of(action)
        if bins is None:
            cut = self._project.cut(action, statuses)
            return cut, 8 * cut.directories
        from rowtui.core.engine.local.live_cut import LiveCut

        members = with_status(row, statuses)
        if isinstance(before, LiveCut) and before.bins is bins and before.action == action:
            live = before.moved(members)
        else:
            live = LiveCut(action, bins, members)
        return live, live.nbytes

    def _bins_of(self, action: Action) -> Bins | None:
        """Return the action's order in bins; None where groups must be formed one by one."""
        rule, directories = action.group, self._project.state.directories
        if self._directories is not directories:
            self._bins.clear()
            self._directories = directories
        if len(directories) < LIVE_FROM or rule.maximum_size == 0:
            return None
        order = self._project.order(action)
        if rule.sort_by and (order is None or not order.sound):
            return None  # neighbours must be compared exactly
        split = rule.split_by_sort_key and bool(rule.sort_by)
        key = (rule.sort_by, split, rule.reverse_sort)
        kept = self._bins.get(key)
        if kept is None or kept[0] is not order:
            from rowtui.core.engine.local.live_cut import Bins

            kept = self._bins[key] = (
                order,
                Bins(len(directories), order, split, rule.reverse_sort),
            )
        return kept[1]
