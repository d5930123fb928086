"""Rows of groups: what a group's job would need, and what is wrong with a group of its size.

Takes a cut and numbers of groups; gives a summary of each, without looking at any but its first
directory. What depends on the size alone is told once for each size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.engine import GroupSummary
from rowtui.core.grouping.cost import job_cost
from rowtui.core.project.mapping_files import has_mapping_files
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.grouping.form import GroupCut
    from rowtui.core.project.project import Project
    from rowtui.core.state.texts import PointerTexts


class Verdict(NamedTuple):
    """What is wrong with a group of some size, in words."""

    problem: str = ""
    warning: str = ""

    @property
    def text(self) -> str:
        """Either of them."""
        return self.problem or self.warning


VerdictOf = Callable[[int], Verdict]


def unknown_cluster(_: int) -> Verdict:
    """Nothing can be said of any size."""
    return Verdict("which cluster this is cannot be told now")


class GroupRows:
    """The rows of one project's groups."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._verdicts: dict[int, tuple[Action, object, bool, VerdictOf]] = {}
        self._texts: dict[str, PointerTexts] = {}
        self._directories: object = None  # whose texts these are
        self._mapped: bool | None = None

    def look_again(self) -> None:
        """The project was synchronised: there may be mapping files now, or none any more."""
        self._mapped = None

    def of(
        self, cut: GroupCut, numbers: Sequence[int], verdict_of: VerdictOf
    ) -> tuple[GroupSummary, ...]:
        """One for each of these groups (from 0)."""
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
        return tuple(
            GroupSummary(number + 1, size, directories.name(first), key, *needs[size])
            for number, (first, size), key in zip(numbers, placed, keys, strict=True)
        )

    def _sort_keys(self, action: Action, positions: Sequence[int]) -> list[str]:
        """As `grouping.form.sort_key` tells each."""
        pointers = action.group.sort_by
        if not pointers:
            return [""] * len(positions)
        from rowtui.core.state.texts import PointerTexts

        directories = self._project.state.directories
        if self._directories is not directories:
            self._texts.clear()
            self._directories = directories
        columns = []
        for pointer in pointers:
            if pointer not in self._texts:
                self._texts[pointer] = PointerTexts(directories, pointer)
            columns.append(self._texts[pointer].at(positions))
        return [
            f"[{','.join([cell or 'null' for cell in cells])}]"
            for cells in zip(*columns, strict=True)
        ]

    def verdicts(self, action: Action) -> VerdictOf:
        """Why a group of so many directories cannot be submitted, and what it wastes; "" for not.

        Where mapping files say where its job goes, not the partitions alone, nothing is said:
        the Explain view tells that, mapping every row would look at its inputs. The same function
        for as long as it would say the same.
        """
        cluster = self._project.jobs.queues.here()
        if self._mapped is None:
            self._mapped = has_mapping_files(self._project.root, self._project.environment)
        mapped = self._mapped
        known = self._verdicts.get(action.index)
        if known is None or known[0] is not action or known[1:3] != (cluster, mapped):
            known = (action, cluster, mapped, self._made(action, mapped))
            self._verdicts[action.index] = known
        return known[3]

    def _made(self, action: Action, mapped: bool) -> VerdictOf:
        from rowtui.core.clusters.partition import choose_partition

        cluster = self._project.jobs.queues.here()
        if cluster is None:
            return unknown_cluster
        if mapped:
            return lambda _: Verdict()
        options = action.submit_options.get(cluster.name)
        named = options.partition if options else None

        @lru_cache(maxsize=1000)
        def verdict_of(size: int) -> Verdict:
            choice = choose_partition(cluster, action.resources, size, named)
            if choice.partition is None and choice.refusals:
                return Verdict("; ".join(str(refusal) for refusal in choice.refusals))
            return Verdict(warning="; ".join(choice.warnings))

        return verdict_of
