"""Filtered and sorted lists of directories and groups, cached.

Takes a project and a request; gives arrays of positions or of numbers of groups, from which pages
are cut. Results are cached until the project changes; a newer request for the same list ends an
older one (`Superseded`). All methods run in threads. `list_columns` computes the lists with numpy,
which is loaded for the first list that needs it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.engine.local.cuts import ListedRows, RequestedList
from rowtui.core.project.views.views import AS_IS

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.project.project import Project

KEPT = 8  # cached lists: 4 MB each at a million rows


class Lists:
    """The cached lists of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._kept: OrderedDict[Hashable, ListedRows] = OrderedDict()
        self._newest: dict[str, Hashable] = {}

    def forget(self) -> None:
        """Clear the cache after a synchronisation, because lists may be outdated."""
        self._kept.clear()

    def begin(self, kind: str, question: Hashable) -> Callable[[], bool]:
        """Register the newest request for a kind of list; return a check whether it still is."""
        self._newest[kind] = question
        return lambda: self._newest.get(kind) == question

    def _keep(self, key: Hashable, compute: Callable[[], ListedRows]) -> ListedRows:
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = compute()
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found

    def directories(self, which: RequestedList) -> ListedRows:
        """Return all directories of an action with these statuses, by name unless requested
        otherwise.

        Raises: RowtuiError if the status cannot be determined, FilterError, Superseded.
        """
        from rowtui.core.engine.local.list_columns import list_directories

        return self._keep(
            ("directories", which.key), lambda: list_directories(self._project, which)
        )

    def of_group(self, which: RequestedList, group: int, positions: Sequence[int]) -> ListedRows:
        """Return the directories of group `group`. Raises: as `directories`."""
        from rowtui.core.engine.local.list_columns import list_group

        return self._keep(
            ("group", group, which.key), lambda: list_group(self._project, which, positions)
        )

    def groups(
        self, which: RequestedList, cut: GroupCut, problem_of: Callable[[int], str]
    ) -> ListedRows:
        """Return the groups of a cut, by number unless requested otherwise.

        `problem_of`: the problem text of a group size. Raises: FilterError, Superseded.
        """
        if which.asked == AS_IS:
            return self._keep(
                ("groups", which.key),
                lambda: ListedRows(None, len(cut), sizes=cut.counted_sizes),
            )
        from rowtui.core.engine.local.list_columns import list_groups

        return self._keep(
            ("groups", which.key), lambda: list_groups(self._project, which, cut, problem_of)
        )
