"""The snapshot of a project for the status screen."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import in_words, memory, plural
from rowtui.core.base.values import compact
from rowtui.core.engine.api.snapshot import ActionSummary, ProjectSnapshot
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import status_counts
from rowtui.core.project.planning.plan_submission import project_problems
from rowtui.core.workflow.model import Condition, GroupRule, Resources

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.views.needs import ProjectNeeds


# One-line descriptions of an action's resources and grouping, for screens.


def describe_resources(resources: Resources) -> str:
    """Return what a job asks for: `16 CPUs, 24 GB, 4 h`, or `2 CPUs and 20 min per directory`."""
    processes, threads = resources.processes, resources.threads_per_process or 1
    cpus = processes.value * threads
    parts = [plural(cpus, "CPU") + " per directory" * processes.per_directory]
    if resources.gpus_per_process:
        gpus = processes.value * resources.gpus_per_process
        parts.append(plural(gpus, "GPU") + " per directory" * processes.per_directory)
    if resources.memory_per_cpu_mb:
        whole = resources.memory_per_cpu_mb * (1 if processes.per_directory else cpus)
        parts.append(memory(whole) + " per CPU" * processes.per_directory)
    if resources.memory_per_gpu_mb:
        parts.append(f"{memory(resources.memory_per_gpu_mb)} per GPU")
    limit = in_words(resources.walltime.seconds / 3600)
    return ", ".join([*parts, limit + " per directory" * resources.walltime.per_directory])


def describe_grouping(group: GroupRule) -> str:
    """Return what a job works on: `at most 12 directories with the same T, where T < 2.5`."""
    names = ", ".join(pointer.removeprefix("/") or "value" for pointer in group.sort_by)
    split = bool(names) and group.split_by_sort_key
    many = "directories" if group.maximum_size != 1 else "directory"
    most = (
        "all directories" if group.maximum_size is None else f"at most {group.maximum_size} {many}"
    )
    parts = [f"{most} with the same {names}" if split else most]
    if names and not split:
        parts.append(f"in the order of {names}")
    if group.reverse_sort:
        parts.append("the last first")
    if group.submit_whole:
        parts.append("only when all of them are eligible")
    if group.include:
        parts.append(
            "where " + " or ".join(_conditions(selector.conditions) for selector in group.include)
        )
    return ", ".join(parts)


def _conditions(conditions: tuple[Condition, ...]) -> str:
    if not conditions:
        return "always"
    return " and ".join(
        f"{condition.pointer.removeprefix('/') or 'value'} {condition.operator} "
        + compact(condition.operand)
        for condition in conditions
    )


SHOWN_BAD = 20  # bad directories named in a snapshot


class Snapshots:
    """The snapshots of one project; a change of an action's status row renews its summary."""

    def __init__(self, project: OpenProject, needs: ProjectNeeds) -> None:
        self._project = project
        self._needs = needs
        self._summaries: dict[int, tuple[ActionStatus, ActionSummary]] = {}

    def take(self, generation: int) -> ProjectSnapshot:
        """Return a snapshot of the project, after a synchronisation."""
        project = self._project
        directories = project.state.directories
        bad = directories.bad
        cluster, because, scheduler = _where(project)
        shown_bad = [
            (directories.name(at), bad[at]) for at, _ in zip(bad, range(SHOWN_BAD), strict=False)
        ]
        rows = project.status_table().rows
        return ProjectSnapshot(
            generation=generation,
            at=time.time(),
            root=str(project.root),
            cluster=cluster,
            cluster_because=because,
            scheduler=scheduler,
            directories=len(directories),
            bad=tuple(shown_bad),
            bad_count=len(bad),
            actions=tuple(self._summary(row) for row in rows),
            problems=_problems(project, cluster),
            notices=project.take_notices(),
            failures=self._needs.failures(rows),
            untrusted=self._needs.untrusted(),
        )

    def _summary(self, row: ActionStatus) -> ActionSummary:
        known = self._summaries.get(row.action.index)
        if known is None or known[0] is not row:
            known = self._summaries[row.action.index] = (row, _summary(row))
        return known[1]


def _where(project: OpenProject) -> tuple[str, str, str]:
    """Return the cluster, why it was chosen, and its scheduler; without a name if it is unknown."""
    try:
        identified = project.identified
    except RowtuiError as error:
        with contextlib.suppress(RowtuiError):
            cluster = project.recognised.cluster
            if project.connections.is_remote(cluster):  # known without a query
                return cluster.name, error.message, cluster.scheduler
        return "", error.message, ""
    return identified.cluster.name, identified.because, identified.cluster.scheduler


def _problems(project: OpenProject, cluster: str) -> tuple[Problem, ...]:
    """Return the problems of the project's files; of mapping files once they were read."""
    found = project.workflow.problems
    if cluster:
        with contextlib.suppress(RowtuiError):  # its partitions are not known yet
            found = project_problems(project)
    unused = (
        problem._replace(message=f"not used as it is now: {problem.message}")
        for problem in project.unused
    )
    return (*unused, *found, *(project.mapping.problems if "mapping" in vars(project) else ()))


def _summary(row: ActionStatus) -> ActionSummary:
    action = row.action
    return ActionSummary(
        index=action.index,
        name=action.name,
        command=action.command,
        **status_counts(row)._asdict(),
        remaining_cost=row.remaining_cost,
        products=action.products,
        previous_actions=action.previous_actions,
        resources=describe_resources(action.resources),
        grouping=describe_grouping(action.group),
        problem=row.problem,
    )
