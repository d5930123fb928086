"""Rows of groups: what a group's job would need, and what is wrong with a group of its size.

Takes a cut and numbers of groups; gives a summary of each, using only its first directory. What
depends on the size alone is computed once for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.clusters.partition import choose_partition
from rowtui.core.clusters.schedulers.base import job_label
from rowtui.core.engine.api.groups import GroupSummary
from rowtui.core.groups.choice import NOT_WHOLE, why_not_whole
from rowtui.core.groups.form import job_cost, job_requests
from rowtui.core.project.planning.plan_submission import counted_on
from rowtui.core.state.model import LastEnd
from rowtui.core.state.pointer_values import PointerTexts
from rowtui.core.workflow.find import has_mapping_files
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.project.open_project import OpenProject


class GroupVerdict(NamedTuple):
    """What is wrong with a group of some size, in words."""

    problem: str = ""
    warning: str = ""

    @property
    def text(self) -> str:
        """Return the problem, or the warning if there is no problem."""
        return self.problem or self.warning


VerdictOf = Callable[[int], GroupVerdict]


def unknown_cluster(_: int) -> GroupVerdict:
    """Return the verdict for any size when the cluster is unknown."""
    return GroupVerdict("which cluster this is cannot be told now")


class GroupRows:
    """The rows of one project's groups."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self._verdicts: dict[int, tuple[Action, object, bool, VerdictOf]] = {}
        self._texts: dict[tuple[str, ...], PointerTexts] = {}
        self._directories: object = None  # the directories of these texts
        self._mapped: bool | None = None
        # By action: all its groups, and which of them each directory is in, -1 for none.
        self._homes: dict[int, tuple[GroupCut, NDArray[np.int32]]] = {}

    def look_again(self) -> None:
        """Check again for mapping files, after a synchronisation."""
        self._mapped = None

    def of(
        self,
        cut: GroupCut,
        numbers: Sequence[int],
        verdict_of: VerdictOf,
        every: GroupCut | None = None,
    ) -> tuple[GroupSummary, ...]:
        """Return one row for each of these groups (from 0).

        `every`: the groups of all directories that the action includes, if the action submits
        only whole groups.
        """
        if not numbers:
            return ()
        directories, resources = self._project.state.directories, cut.action.resources
        placed = cut.firsts(numbers)
        keys = self._sort_keys(cut.action, [first for first, _ in placed])
        needs = {}
        for size in {size for _, size in placed}:
            needs[size] = (
                resources.processes.total(size),
                resources.total_cpus(size),
                resources.total_gpus(size),
                resources.walltime.total_seconds(size),
                job_cost(resources, size),
                *verdict_of(size),
            )
        found = tuple(
            GroupSummary(number + 1, size, directories.name(first), key, *needs[size])
            for number, (first, size), key in zip(numbers, placed, keys, strict=True)
        )
        if self._is_mapped():
            found = self._as_mapped(cut, numbers, found)
        return found if every is None else self._whole_or_not(cut, numbers, found, every)

    def _whole_or_not(
        self,
        cut: GroupCut,
        numbers: Sequence[int],
        rows: Sequence[GroupSummary],
        every: GroupCut,
    ) -> tuple[GroupSummary, ...]:
        """The rows, with the reason of those that a plan leaves out since they are not whole."""
        known = self._homes.get(every.action.index)
        if known is None or known[0] is not every:
            homes = np.full(len(self._project.state.directories), -1, np.int32)
            sizes = [size for _, size in every.placed(range(len(every)))]
            homes[every.span(0, every.directories)] = np.repeat(np.arange(len(every)), sizes)
            known = self._homes[every.action.index] = every, homes
        spans = [cut.span(begin, begin + size) for begin, size in cut.placed(numbers)]
        reasons = [self._not_whole(span, *known) for span in spans]
        return tuple(
            replace(row, problem=NOT_WHOLE + why, whole=False) if why else row
            for row, why in zip(rows, reasons, strict=True)
        )

    def _not_whole(self, group: Any, every: GroupCut, homes: NDArray[np.int32]) -> str:
        """Return why these directories are not one of all groups, "" if they are one.

        Arrays: `whole_groups` compares groups of a plan one by one, and a group may have a million.
        """
        numbers = [number for number in np.unique(homes[group]).tolist() if number >= 0]
        whole = [every.span(at, at + size) for at, size in every.placed(numbers)]
        if len(whole) == 1 and np.array_equal(group, whole[0]):
            return ""
        if len(whole) > 1:
            return why_not_whole(len(whole), 0, "")
        absent = np.zeros(len(homes), np.bool_)
        for other in whole:
            absent[other] = True
        absent[group] = False
        first = self._project.state.directories.name(int(absent.argmax()))
        return why_not_whole(len(whole), int(np.count_nonzero(absent)), first)

    def _as_mapped(
        self, cut: GroupCut, numbers: Sequence[int], rows: Sequence[GroupSummary]
    ) -> tuple[GroupSummary, ...]:
        """Return the rows with the amounts from mapping files, and with the reasons of refusals."""
        from rowtui.core.project.planning.asked import shown_amounts

        requests = job_requests([cut[number] for number in numbers])
        asked = shown_amounts(
            self._project, self._project.mapping_in_use(), counted_on(self._project, requests)
        )
        return tuple(
            replace(row, problem=it.refused)
            if it.refused
            else replace(
                row, cpus=it.cpus, gpus=it.gpus, walltime_seconds=it.walltime_seconds, cost=it.cost
            )
            for row, it in zip(rows, asked, strict=True)
        )

    def _is_mapped(self) -> bool:
        """Whether there are mapping files, as of the last synchronisation."""
        if self._mapped is None:
            self._mapped = has_mapping_files(self._project.root, self._project.environment)
        return self._mapped

    def _sort_keys(self, action: Action, positions: Sequence[int]) -> list[str]:
        """Return the sort keys, each as `groups.form.sort_key` returns it."""
        pointers = action.group.sort_by
        if not pointers:
            return [""] * len(positions)

        directories = self._project.state.directories
        if self._directories is not directories:
            self._texts.clear()
            self._directories = directories
        if pointers not in self._texts:
            self._texts[pointers] = PointerTexts(directories, pointers)
        columns = self._texts[pointers].at(positions)
        return [
            f"[{','.join([cell or 'null' for cell in cells])}]"
            for cells in zip(*columns, strict=True)
        ]

    def verdicts(self, action: Action) -> VerdictOf:
        """Return why a group of a size cannot be submitted, and what it wastes; "" if nothing.

        Where mapping files choose, each row has its own answer instead. The result is the same
        function for as long as its results are the same.
        """
        cluster = self._project.jobs.queues.here()
        mapped = self._is_mapped()
        known = self._verdicts.get(action.index)
        if known is None or known[0] is not action or known[1:3] != (cluster, mapped):
            known = (action, cluster, mapped, self._made(action, mapped))
            self._verdicts[action.index] = known
        return known[3]

    def _made(self, action: Action, mapped: bool) -> VerdictOf:
        from rowtui.core.project.planning.asked import machine_refusal

        cluster = self._project.jobs.queues.here()
        if cluster is None:
            return unknown_cluster
        if mapped:
            return lambda _: GroupVerdict()
        options = action.submit_options.get(cluster.name)
        named = options.partition if options else None

        @lru_cache(maxsize=1000)
        def verdict_of(size: int) -> GroupVerdict:
            choice = choose_partition(cluster, action.resources, size, named)
            if choice.partition is None and choice.refusals:
                return GroupVerdict("; ".join(str(refusal) for refusal in choice.refusals))
            if too_large := machine_refusal(cluster, action.resources, size):
                return GroupVerdict(too_large)
            return GroupVerdict(warning="; ".join(choice.warnings))

        return verdict_of


def end_detail(end: LastEnd) -> str:
    """Return how a directory's last job ended, for its row."""
    label = job_label(end.job_id, end.token)
    return f"{end.reason} (job {label})" if label else end.reason
