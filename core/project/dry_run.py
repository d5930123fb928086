"""The scripts that a submission would send, each made when it is requested and then dropped.

The input is the eligible directories of some actions. The result holds the scripts that a plan for
these directories would hold, without making the plan. Every problem that could stop a job is found
before the first script is returned: properties that are computed for each group size are checked,
and scripts that a name or a value may make invalid are made.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.text import Cost
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.project.planning.plan_submission import (
    ALL_NAMES_FROM,
    UsableActions,
    maps,
    plan_setting,
    project_packing,
)
from rowtui.core.project.planning.requests import FirstGroups, choose_groups
from rowtui.core.state.directories import StoredDirectories
from rowtui.core.submission.plan.planner import (
    LaunchMethod,
    PlanError,
    Planner,
    PlanRefusal,
    applied_limit,
)
from rowtui.core.submission.scripts.parts import NameLines

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.state.model import Directories
    from rowtui.core.workflow.model import Action


class DryRun(NamedTuple):
    """The summary of a plan and its scripts in order. `totals`: jobs and cost by action name."""

    cluster: str
    jobs: int
    totals: dict[str, tuple[int, Cost]]
    warnings: tuple[str, ...]
    skipped: tuple[str, ...]
    scripts: Iterator[str]


class _Job(NamedTuple):
    """The data for one script.

    `script` is already made if its directories could have caused a refusal. `request` may be that
    of another group of the same size, because only the size is used.
    """

    request: JobRequest
    way: LaunchMethod
    part: Sequence[Group]
    number: int
    script: str | None = None


def dry_run(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    limit: int | None = None,
) -> DryRun | None:
    """Return what `plan_submission` would plan; None if a complete plan is needed.

    A complete plan is needed where mapping files place jobs, and where jobs are put into arrays or
    bundles. Raises: PlanError if none of the actions can be submitted; RowtuiError.
    """
    setting_changes_jobs = (
        maps(project)
        or project_packing(project) is not None
        or plan_setting(project).array_tasks(project.cluster)
    )
    if setting_changes_jobs:
        return None
    usable = UsableActions(project, actions)
    while True:
        try:
            left_out = [f"left out: {problem}" for problem in usable.left_out]
            return _checked(project, usable.actions, left_out, among, limit)
        except PlanError as error:
            usable.leave_out(error)


def _checked(
    project: Project,
    actions: Sequence[Action],
    left_out: Sequence[str],
    among: Sequence[int] | None,
    limit: int | None,
) -> DryRun:
    """Return the dry run of these actions. Raises: PlanError, RowtuiError."""
    found = choose_groups(project, actions, among, limit=limit)
    directories = project.state.directories
    setting = plan_setting(project)
    planner = Planner(project.workflow, directories, setting, project.state.ends)
    jobs: list[_Job] = []
    totals: dict[str, tuple[int, Cost]] = {}
    for part in found.parts:
        by_size: dict[int, tuple[JobRequest, LaunchMethod | PlanRefusal | None]] = {}
        tried: set[int] = set()
        for number, size in enumerate(_sizes(part)):
            if size not in by_size:
                (request,) = job_requests([_stand_in(part, number, size)])
                by_size[size] = request, planner.way_of(request)
            request, way = by_size[size]
            if isinstance(way, PlanRefusal):
                planner.refuse(request.action, part[number].indices, way)
            if way is None or isinstance(way, PlanRefusal):
                continue
            if project.state.ends.get(request.action.name):
                request = request._replace(group=part[number])
            script: str | None = None
            if _may_be_refused(way):
                positions = part[number].indices
                names = tuple(map(directories.name, positions))
                script = planner.script(request, way, planner.token(len(jobs)), names, positions)
                if script is None:
                    continue
            elif size not in tried:  # check once per size what does not depend on the directories
                tried.add(size)
                checked = len(tried) > 1 or planner.is_simple(request.action, way)
                shown = () if checked else _names_of(part, number, directories)
                if planner.script(request, way, "", shown, ()) is None:
                    continue
            planner.job_warnings(request, way.choice)
            jobs.append(_Job(request, way, part, number, script))
            count, cost = totals.get(request.action.name, (0, Cost()))
            _, own = applied_limit(way.cluster.kind, request.walltime_seconds, request.cost)
            totals[request.action.name] = count + 1, cost.plus(own)
    if problems := planner.problems():
        raise PlanError(problems)
    return DryRun(
        project.cluster.name,
        len(jobs),
        totals,
        planner.warnings(),
        (
            *left_out,
            *found.problems,
            *(each.sentence for each in (*found.refused, *planner.refused())),
        ),
        _scripts(planner, jobs, directories),
    )


def _sizes(part: Sequence[Group]) -> list[int]:
    if isinstance(part, FirstGroups):
        return part.sizes()
    return [len(group.indices) for group in part]


def _stand_in(part: Sequence[Group], number: int, size: int) -> Group:
    """Return a group of this size, with placeholders where only the size is used."""
    return Group(part.cut.action, (0,) * size) if isinstance(part, FirstGroups) else part[number]


def _may_be_refused(way: LaunchMethod) -> bool:
    """Whether a script may be refused because of its directories."""
    filled = way.recipe.filled
    refuses = way.cluster.kind.header_refuses
    return bool(filled.values or filled.arithmetic or refuses)


def _scripts(planner: Planner, jobs: Sequence[_Job], directories: Directories) -> Iterator[str]:
    for index, job in enumerate(jobs):
        if job.script is not None:
            yield job.script
            continue
        names = _names_of(job.part, job.number, directories)
        script = planner.script(job.request, job.way, planner.token(index), names, ())
        assert script is not None  # checked before
        yield script


def _names_of(part: Sequence[Group], number: int, directories: Directories) -> Sequence[str]:
    if isinstance(part, FirstGroups):
        return _names(directories, part.positions(number))
    return _names(directories, part[number].indices)


def _names(directories: Directories, positions: Any) -> Sequence[str]:
    """Return the names at these positions, as `NameLines` where they can be taken at once."""
    numpy_has_them = not isinstance(positions, (array, tuple))
    if numpy_has_them and isinstance(directories, StoredDirectories) and directories.table.width:
        from rowtui.core.base.lean_numpy import np

        width = directories.table.width
        table = np.frombuffer(directories.table.blob, dtype=np.uint8).reshape(-1, width)
        lines = np.empty((len(positions), width + 1), dtype=np.uint8)
        lines[:, :width] = table.take(positions, axis=0)
        lines[:, width] = ord("\n")
        found = NameLines.of(lines.tobytes(), len(positions))
        if found is not None:
            return found
    if len(positions) * ALL_NAMES_FROM > len(directories):
        directories.names()  # caches the names
    return tuple(map(directories.name, positions))
