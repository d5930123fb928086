"""A plan for some actions of a project: what would be sent, with everything that stops a job.

An action that cannot be submitted is left out with the reason, so that it does not stop the
others; only where nothing is left is it an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rowtui.core.project.mapping_files import has_mapping_files
from rowtui.core.submission.bash_syntax import bash_complaint
from rowtui.core.submission.planner import PlanError, Setting

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.errors import Problem
    from rowtui.core.grouping.model import JobRequest
    from rowtui.core.project.packing import Packing
    from rowtui.core.project.placing import Mapped
    from rowtui.core.project.project import Project
    from rowtui.core.submission.model import Plan, PlannedJob
    from rowtui.core.submission.placed import Placed
    from rowtui.core.submission.planner import PackedJobs
    from rowtui.core.workflow.model import Action

    Pack = Callable[[tuple[PlannedJob, ...]], PackedJobs]  # see `Setting.pack`

T = TypeVar("T")

# From this share of the directories on (one in so many), all names are decoded at once.
ALL_NAMES_FROM = 8


class Formed(NamedTuple):
    """What a plan is made of: see `make_plan`. `again`: every job tries failed work again."""

    requests: Sequence[JobRequest]
    places: Sequence[Placed] | None = None
    skipped: Sequence[str] = ()
    again: bool = False


def plan_submission(
    project: Project,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
    packing: Packing | None = None,
) -> Plan:
    """The plan for the eligible directories of these actions. See `Project.requests`.

    `packing` puts its jobs into bundles (None: as the project says). Raises: PlanError if none of
    the actions can be submitted; RowtuiError.
    """

    def form(usable: Sequence[Action]) -> Formed:
        found = project.requests(usable, among, only=only, limit=limit)
        return formed_requests(project, found.requests, [*found.problems, *found.skipped])

    return plan_formed(project, actions, form, packing)


def formed_requests(
    project: Project, requests: Sequence[JobRequest], skipped: Sequence[str] = ()
) -> Formed:
    """These requests, placed where mapping files send them, if there are any. Raises: RowtuiError.

    `skipped`: sentences about what was left out before.
    """
    decode_names(project, requests)
    mapped = _placed(project, requests)
    if mapped is None:
        return Formed(requests, None, skipped)
    return Formed(mapped.requests, mapped.places, [*skipped, *mapped.left_out])


def plan_formed(
    project: Project,
    actions: Sequence[Action],
    form: Callable[[Sequence[Action]], Formed],
    packing: Pack | None = None,
) -> Plan:
    """The plan of what `form` makes of those actions that can be submitted.

    Raises: PlanError if none of the actions can be submitted; RowtuiError.
    """
    from rowtui.core.clusters.schedulers.local_machine import user_name
    from rowtui.core.submission.plan import make_plan

    user = user_name()

    def make(usable: Sequence[Action], left_out: Sequence[str]) -> Plan:
        formed = form(usable)
        return make_plan(
            project.workflow,
            formed.requests,
            project.state.directories,
            plan_setting(project, packing or project_packing(project), user),
            ends=None if formed.again else project.state.ends,
            skipped=[*left_out, *formed.skipped],
            places=formed.places,
        )

    return without_broken(project, actions, make)


def without_broken(
    project: Project, actions: Sequence[Action], make: Callable[[Sequence[Action], list[str]], T]
) -> T:
    """What `make` makes of those actions that can be submitted, and sentences on the others.

    Raises: PlanError if none of the actions can be submitted; RowtuiError.
    """
    problems = [problem for problem in project.problems() if problem.severity == "error"]
    everywhere = [problem for problem in problems if problem.action is None]
    if everywhere:  # the cluster that was meant may be the one that cannot be read
        raise PlanError(tuple(everywhere))
    left_out: list[Problem] = []
    while True:
        broken = {problem.action for problem in problems if problem.action is not None}
        left_out += [
            problem
            for problem in problems
            if any(action.index == problem.action for action in actions)
        ]
        usable = [action for action in actions if action.index not in broken]
        if left_out and not usable:
            raise PlanError(tuple(left_out))
        try:
            return make(usable, [f"left out: {problem}" for problem in left_out])
        except PlanError as error:
            problems = list(error.problems)
            if not any(problem.action is not None for problem in problems):
                raise
            actions = usable


def decode_names(project: Project, requests: Sequence[JobRequest]) -> None:
    """Decode all names at once where many of them will be asked for."""
    named = sum(len(request.group.indices) for request in requests)
    if named * ALL_NAMES_FROM > len(project.state.directories):
        project.state.directories.names()  # they stay at hand


def _placed(project: Project, requests: Sequence[JobRequest]) -> Mapped | None:
    """Where mapping files send these jobs; None without any mapping file, as in Row."""
    if not maps(project):
        return None
    from rowtui.core.project.placing import place_requests

    return place_requests(project, requests)


def maps(project: Project) -> bool:
    """Whether mapping files say where jobs go. Reads them again if they have changed."""
    if not has_mapping_files(project.root, project.environment):
        return False
    project.mapping.read()
    return project.mapping.exists


def project_packing(project: Project) -> Packing | None:
    """Who packs a plan: what the project was told to do, else what its clusters' files say."""
    wanted = project.packing
    if wanted is False or (wanted is None and not any(map(_packs, project.configured.clusters))):
        return None
    from rowtui.core.project.packing import Packing

    return Packing(project, wanted)


def _packs(cluster: Cluster) -> bool:
    packing = cluster.packing
    return packing is not None and (
        packing.enabled or any(there.enabled for _, there in packing.partitions)
    )


def plan_setting(project: Project, packing: Pack | None = None, user: str = "") -> Setting:
    """Where, for whom and when jobs are planned now, under tokens of their own."""
    return Setting(
        cluster=project.cluster,
        launchers=project.launchers,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        user=user,
        nonce=os.urandom(8).hex(),
        check_shell=bash_complaint,
        array_tasks=partial(_array_tasks, project),
        pack=packing,
    )


def _array_tasks(project: Project, cluster: Cluster) -> int:
    """How many jobs of the same shape become one array on the cluster; 0 for none.

    Arrays are for clusters that are reached over a connection, unless somebody says otherwise: Row
    loses sight of an array's tasks once they run, so that it would submit their directories again.
    """
    if cluster.scheduler != "slurm":
        return 0
    from rowtui.core.submission.arrays import MOST_TASKS

    wanted = project.arrays
    if wanted is None:
        wanted = cluster.arrays
    if wanted is None:
        wanted = project.reach.is_remote(cluster)
    if not wanted:
        return 0
    return MOST_TASKS if cluster.maximum_array_size is None else cluster.maximum_array_size
