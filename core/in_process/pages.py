"""Pages of groups and directories: cut from groups that are kept until the next refresh.

Scrolling costs the page, whatever the number of directories. Everything here runs in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.engine import (
    DirectoriesPage,
    DirectoryRow,
    FailedJob,
    GroupsPage,
    GroupSummary,
)
from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.model import ActionStatus, Group, Status
from rowtui.core.grouping.request import job_requests
from rowtui.core.project.mapping_files import has_mapping_files
from rowtui.core.workflow.model import Action

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

VALUE_LENGTH = 200  # characters of a value that a row shows
KEPT_CUTS = 4  # lists of groups that are kept: the action on the screen and those just left


class Pages:
    """The lists of one project at one generation."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.generation = 0
        self._cuts: dict[tuple[int, int, tuple[Status, ...]], tuple[Group, ...]] = {}

    def next_generation(self) -> None:
        """The project was synchronised: what was cut may be wrong now."""
        self._cuts.clear()
        self.generation += 1

    def cut(self, action: Action, statuses: tuple[Status, ...]) -> tuple[Group, ...]:
        """The groups of an action's directories with these statuses. Raises: RowtuiError."""
        key = (self.generation, action.index, statuses)
        if key not in self._cuts:
            while len(self._cuts) >= KEPT_CUTS:
                self._cuts.pop(next(iter(self._cuts)))
            self._cuts[key] = self._project.groups(action, statuses)
        return self._cuts[key]

    def action(self, index: int) -> Action:
        """The action of that index. Raises: RowtuiError."""
        actions = self._project.workflow.actions
        if not 0 <= index < len(actions):
            raise RowtuiError("the action is no longer in workflow.toml")
        return actions[index]

    def groups_page(
        self, index: int, statuses: tuple[Status, ...], start: int, length: int
    ) -> GroupsPage:
        """A page of groups; a `problem` where they cannot be told."""
        action = self.action(index)
        try:
            groups = self.cut(action, statuses)
        except RowtuiError as error:
            return GroupsPage(self.generation, index, 0, 0, 0, (), str(error))
        page = groups[start : start + length]
        mapped = has_mapping_files(self._project.root, self._project.environment)
        return GroupsPage(
            generation=self.generation,
            action_index=index,
            total=len(groups),
            directories=sum(len(group.indices) for group in groups),
            start=start,
            groups=tuple(
                self._group_summary(start + offset + 1, group, mapped)
                for offset, group in enumerate(page)
            ),
        )

    def _group_summary(self, number: int, group: Group, mapped: bool) -> GroupSummary:
        """One row. `mapped`: mapping files say where its job goes, not the partitions alone."""
        from rowtui.core.clusters.partition import choose_partition
        from rowtui.core.values import compact, resolve

        directories = self._project.state.directories
        (request,) = job_requests((group,))
        action = group.action
        key = ""
        if action.group.sort_by:
            value = directories.value(group.indices[0])
            key = compact([resolve(value, pointer) for pointer in action.group.sort_by])
        cluster = self._project.jobs.queues.here()
        problem = "which cluster this is cannot be told now"
        if cluster is not None and mapped:
            problem = ""  # the Explain view tells; mapping every row would look at its inputs
        elif cluster is not None:
            options = action.submit_options.get(cluster.name)
            choice = choose_partition(
                cluster,
                action.resources,
                len(group.indices),
                options.partition if options else None,
            )
            problem = ""
            if choice.partition is None and choice.refusals:
                problem = "; ".join(str(refusal) for refusal in choice.refusals)
        return GroupSummary(
            number=number,
            size=len(group.indices),
            first=directories.name(group.indices[0]),
            sort_key=key,
            processes=request.processes,
            cpus=request.cpus,
            gpus=request.gpus,
            walltime_seconds=request.walltime_seconds,
            cost=request.cost,
            problem=problem,
        )

    def directories_page(
        self,
        index: int,
        statuses: tuple[Status, ...],
        group: int | None,
        start: int,
        length: int,
    ) -> DirectoriesPage:
        """A page of a group's directories, or of all groups' in order."""
        action = self.action(index)
        groups = self.cut(action, statuses)
        if group is not None:
            groups = groups[group : group + 1]
        total = sum(len(each.indices) for each in groups)
        row = self._project.status_row(action)
        rows = tuple(
            self._directory_row(action, row, position)
            for position in _positions(groups, start, length)
        )
        return DirectoriesPage(self.generation, total, start, rows)

    def failed_jobs(self, index: int, groups: Sequence[int] | None) -> tuple[FailedJob, ...]:
        """The jobs at which these groups of failed directories failed."""
        from rowtui.core.project.failed_jobs import cause_of

        action = self.action(index)
        cut = self.cut(action, (Status.FAILED,))
        chosen = cut if groups is None else [cut[at] for at in groups if at < len(cut)]
        failures = self._project.state.failed.get(action.name, {})
        found: dict[str, list[int]] = {}
        for group in chosen:
            for position in group.indices:
                if position in failures:
                    found.setdefault(failures[position].token, []).append(position)
        names = {it.token: it.label for it in self._project.jobs.records() if it.job_id}
        return tuple(
            FailedJob(
                token,
                names.get(token) or str(failures[positions[0]].job_id or ""),
                action.name,
                cause_of(failures[positions[0]]),
                len(positions),
            )
            for token, positions in found.items()
        )

    def _directory_row(self, action: Action, row: ActionStatus, position: int) -> DirectoryRow:
        from rowtui.core.values import compact

        state = self._project.state
        status = row.status_of(position) or Status.WAITING
        job = state.submitted.get(action.name, {}).get(position)
        failure = state.failed.get(action.name, {}).get(position)
        text = compact(state.directories.value(position))
        if len(text) > VALUE_LENGTH:
            text = text[: VALUE_LENGTH - 1] + "…"
        detail = ""
        if failure is not None and status is Status.FAILED:
            detail = f"{failure.reason} (job {failure.job_id})"
        return DirectoryRow(
            name=state.directories.name(position),
            status=status,
            value=text,
            job=f"{job.cluster}/{job.job_id}" if job is not None and job.job_id else "",
            detail=detail,
        )


def _positions(groups: Sequence[Group], start: int, length: int) -> list[int]:
    """`length` positions from the `start`-th on, across groups."""
    found: list[int] = []
    skip = start
    for group in groups:
        size = len(group.indices)
        if skip >= size:
            skip -= size
            continue
        found += group.indices[skip : skip + length - len(found)]
        skip = 0
        if len(found) >= length:
            break
    return found
