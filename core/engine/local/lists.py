"""Filtered and sorted lists of directories and groups, cached.

Takes a project and a request; gives arrays of positions or of numbers of groups, from which pages
are cut. Results are cached until the project changes; a newer request for the same list ends an
older one (`Superseded`). All methods run in threads.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.filter import parse_filter, with_known_fields
from rowtui.core.groups.model import ActionStatus, Status
from rowtui.core.groups.status import STATUS_OF, status_codes, with_status
from rowtui.core.project.views.views import AS_IS, DIRECTORY_FIELDS, GROUP_FIELDS, ListAsked
from rowtui.core.submission.plan.model import job_label
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.listing import Coded, Rows
    from rowtui.core.project.project import Project
    from rowtui.core.state.model import LastEnd

KEPT = 8  # cached lists: 4 MB each at a million rows


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
        import numpy as np

        found = np.flatnonzero(np.asarray(self.order) == what)
        return int(found[0]) if len(found) else None


class RequestedList(NamedTuple):
    """The requested list. When `go_on` returns False, the work ends with `Superseded`."""

    action: Action
    statuses: tuple[Status, ...]
    asked: ListAsked = AS_IS
    go_on: Callable[[], bool] = lambda: True

    @property
    def key(self) -> Hashable:
        """Return the cache key of the list."""
        return self.action.index, self.statuses, self.asked


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
        return self._keep(("directories", which.key), lambda: self._directories(which))

    def _directories(self, which: RequestedList) -> ListedRows:
        from rowtui.core.groups.listing import members_of

        row = self._project.status_row(which.action)
        members = with_status(row, which.statuses)
        if row.problem and not members:
            raise RowtuiError(f"action '{which.action.name}': {row.problem}")
        positions = members_of(members)
        if which.asked == AS_IS:
            return ListedRows(positions, len(positions))
        return self._some(row, positions, which)

    def of_group(self, which: RequestedList, group: int, positions: Sequence[int]) -> ListedRows:
        """Return the directories of group `group`. Raises: as `directories`."""
        import numpy as np

        def compute() -> ListedRows:
            row = self._project.status_row(which.action)
            return self._some(row, np.asarray(positions, dtype=np.uint32), which)

        return self._keep(("group", group, which.key), compute)

    def _some(self, row: ActionStatus, positions: Any, which: RequestedList) -> ListedRows:
        from rowtui.core.groups.listing import Rows, chosen_rows, sorted_rows

        asked = which.asked
        wanted = with_known_fields(parse_filter(asked.filter), DIRECTORY_FIELDS, pointers=True)
        columns = self._directory_columns(row, positions)
        rows = Rows(self._project.state.directories, positions, columns, go_on=which.go_on)
        chosen = chosen_rows(rows, wanted)
        if asked.sort:
            chosen = sorted_rows(rows, chosen, asked.sort, asked.descending)
        return ListedRows(positions[chosen], len(positions), _pointers(wanted.fields, asked.sort))

    def _directory_columns(self, row: ActionStatus, positions: Any) -> Mapping[str, Coded]:
        import numpy as np
        from rowtui.core.groups.listing import Coded
        from rowtui.core.state.model import among

        state, action = self._project.state, row.action
        count = len(state.directories)
        codes = np.frombuffer(status_codes(row, count), dtype=np.uint8)[positions]
        words = ["waiting" if status is None else status.value for status in STATUS_OF]
        jobs = {
            at: f"{job.cluster}/{job.job_id}"
            for at, job in state.submitted.get(action.name, {}).items()
            if job.job_id
        }
        ends = state.ends.get(action.name, {})
        whys = {at: end_detail(ends[at]) for at in among(row.ended, ends)}
        return {
            "status": Coded(codes, words, said=True),
            "job": _sparse(jobs, count, positions),
            "detail": _sparse(whys, count, positions),
        }

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
        return self._keep(("groups", which.key), lambda: self._groups(which, cut, problem_of))

    def _groups(
        self, which: RequestedList, cut: GroupCut, problem_of: Callable[[int], str]
    ) -> ListedRows:
        import numpy as np
        from rowtui.core.groups.listing import chosen_rows, sorted_rows

        asked, go_on = which.asked, which.go_on
        wanted = with_known_fields(parse_filter(asked.filter), GROUP_FIELDS, pointers=True)
        texts = any(not term.field for term in wanted.terms)
        named = {*wanted.fields, asked.sort, "sort_key" if texts else ""}
        rows = self._group_rows(cut, problem_of, go_on, named)
        chosen = chosen_rows(rows, wanted)
        if asked.sort:
            chosen = sorted_rows(rows, chosen, asked.sort, asked.descending)
        sizes = np.diff(np.asarray(cut.begins, dtype=np.int64))[chosen]
        return ListedRows(
            chosen, len(cut), _pointers(wanted.fields, asked.sort), _counted(sizes.tolist())
        )

    def _group_rows(
        self,
        cut: GroupCut,
        problem_of: Callable[[int], str],
        go_on: Callable[[], bool],
        named: set[str],
    ) -> Rows:
        import numpy as np
        from rowtui.core.groups.listing import Coded, Rows, numbers_of
        from rowtui.core.groups.request import job_cost

        begins = np.asarray(cut.begins, dtype=np.int64)
        positions = numbers_of(cut.positions)[begins[:-1]]
        sizes, by_size = np.unique(np.diff(begins), return_inverse=True)
        resources = cut.action.resources
        by: dict[str, Callable[[int], Any]] = {
            "size": int,
            "processes": resources.processes.total,
            "cpus": resources.total_cpus,
            "gpus": resources.total_gpus,
            "walltime": resources.walltime.total_seconds,
            "cost": lambda size: _hours(job_cost(resources, size)),
            "problem": problem_of,
        }
        columns = {
            name: Coded(by_size, [of(int(size)) for size in sizes], said=name == "problem")
            for name, of in by.items()
        }
        if "number" in named:
            numbers = range(1, len(positions) + 1)
            columns["number"] = Coded(np.arange(len(positions)), numbers, ranked=True)
        rows = Rows(self._project.state.directories, positions, columns, name="first", go_on=go_on)
        if cut.action.group.sort_by and "sort_key" in named:
            columns["sort_key"] = self._sort_keys(cut, rows)
        return rows

    def _sort_keys(self, cut: GroupCut, rows: Rows) -> Coded:
        """Return the sort key of each group as text; each distinct key is formatted once."""
        import numpy as np
        from rowtui.core.groups.form import sort_key
        from rowtui.core.groups.listing import Coded, codes_of_pointer

        combined = np.zeros(len(rows.positions), dtype=np.int64)
        for pointer in cut.action.group.sort_by:
            codes, width = codes_of_pointer(rows, pointer)
            combined = np.unique(combined, return_inverse=True)[1] * width + codes
        _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
        directories = rows.directories
        texts = []
        for count, at in enumerate(rows.positions[first].tolist()):
            if not count % 1000:
                rows.check()
            texts.append(sort_key(cut.action, directories, at))
        return Coded(codes, texts, said=True, ranked=True)


def end_detail(end: LastEnd) -> str:
    """Return how a directory's last job ended, for its row."""
    label = job_label(end.job_id, end.token)
    return f"{end.reason} (job {label})" if label else end.reason


def _counted(sizes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(Counter(sizes).items()))


def _hours(cost: Any) -> float:
    return float(cost.cpu_hours + cost.gpu_hours)


def _pointers(fields: Sequence[str], sort: str) -> tuple[str, ...]:
    """Return the distinct pointers among these names."""
    return tuple(dict.fromkeys(one for one in (*fields, sort) if one.startswith("/")))


def _sparse(texts: Mapping[int, str], count: int, positions: Any) -> Coded:
    """Return a column in which few directories have a text."""
    import numpy as np
    from rowtui.core.groups.listing import Coded

    values = ["", *dict.fromkeys(texts.values())]
    code_of = {text: code for code, text in enumerate(values)}
    codes = np.zeros(count, dtype=np.uint32)
    if texts:
        where = np.fromiter(texts, np.int64, len(texts))
        codes[where] = np.fromiter(map(code_of.__getitem__, texts.values()), np.uint32, len(texts))
    return Coded(codes[positions], values, said=True)
