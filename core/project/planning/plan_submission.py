"""A plan for some actions of a project: the jobs to submit, with everything that stops a job.

An action that cannot be submitted is left out with the reason, so that it does not stop the others.
It is an error only if no action is left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.check import check_workflow
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.groups.model import Status
from rowtui.core.project.planning.requests import choose_requests
from rowtui.core.submission.plan.draft import Draft, decode_names, draft_jobs
from rowtui.core.submission.plan.model import RefusedAt, RefusedWork
from rowtui.core.submission.plan.planner import PlanError, Setting
from rowtui.core.submission.scripts.parts import bash_complaint
from rowtui.core.workflow.find import has_network

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.groups.model import JobRequest
    from rowtui.core.packing.model import GoOn
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.pack_views import PackChoice, PackedPlan
    from rowtui.core.project.planning.packing import PlanPacking
    from rowtui.core.submission.plan.apply_placement import PlacedRequest
    from rowtui.core.submission.plan.model import PackedJobs, Plan, PlannedJob
    from rowtui.core.workflow.model import Action

    Pack = Callable[[tuple[PlannedJob, ...]], PackedJobs]

MOST_TASKS = 1000  # the limit of Slurm's default MaxArraySize of 1001

T = TypeVar("T")


class Formed(NamedTuple):
    """The input of `draft_jobs`. `again`: every job retries failed work."""

    parts: Sequence[Sequence[JobRequest]]
    places: Sequence[PlacedRequest] | None = None
    skipped: Sequence[str] = ()
    again: bool = False
    refused: Sequence[RefusedWork] = ()


def plan_submission(
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
    packing: Pack | None = None,
) -> Plan:
    """Return the plan for the eligible directories of these actions. See `choose_requests`.

    `packing` puts the plan's jobs into bundles (None: as the project is configured). Raises:
    PlanError if none of the actions can be submitted; RowtuiError.
    """
    from rowtui.core.submission.plan.make_plan import make_plan  # a dry run needs no plan

    def plan(usable: UsableActions) -> Plan:
        draft = _draft(project, usable, among, only=only, limit=limit, packing=packing)
        decode_names(project.state.directories, draft.directory_count)
        return make_plan(draft)

    return without_broken(project, actions, plan)


def draft_submission(
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int] | None = None,
    limit: int | None = None,
) -> Draft:
    """Return what `plan_submission` plans, before its names are read and its scripts written.

    Raises: PlanError if none of the actions can be submitted; RowtuiError.
    """
    return without_broken(
        project, actions, lambda usable: _draft(project, usable, among, limit=limit)
    )


def without_broken(
    project: OpenProject, actions: Sequence[Action], make: Callable[[UsableActions], T]
) -> T:
    """Return what `make` makes of the actions that can be submitted.

    An action that stops a plan is left out, and gives all back: its share of a limit, its numbers,
    what its jobs hold. Raises: PlanError if no action is left; RowtuiError.
    """
    usable = UsableActions(project, actions)
    while True:
        try:
            return make(usable)
        except PlanError as error:
            usable.leave_out(error)


def _draft(
    project: OpenProject,
    usable: UsableActions,
    among: Sequence[int] | None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
    packing: Pack | None = None,
) -> Draft:
    found = choose_requests(project, usable.actions, among, only=only, limit=limit)
    formed = Formed(found.parts, None, found.problems)
    if project.mapping_in_use() is not None or has_network(project.root):
        requests = tuple(chain.from_iterable(found.parts))
        formed = formed_requests(project, counted_on(project, requests), found.problems)
    formed = formed._replace(refused=(*found.refused, *formed.refused))
    return draft_formed(project, usable, formed, packing, among)


def pack_submission(
    project: OpenProject,
    actions: Sequence[Action],
    choice: PackChoice,
    among: Sequence[int] | None = None,
    *,
    only: Mapping[int, Collection[int]] | None = None,
    limit: int | None = None,
    go_on: GoOn = lambda: True,
) -> PackedPlan:
    """Return the plan in bundles. A better packing is searched while `go_on` returns True.

    Raises: PlanError, RowtuiError.
    """
    from rowtui.core.project.planning.packing import chosen_packing

    packing = chosen_packing(project, choice, go_on)
    plan = plan_submission(project, actions, among, only=only, limit=limit, packing=packing)
    return packing.packed(plan)


def project_problems(project: OpenProject) -> tuple[Problem, ...]:
    """Return all problems of workflow.toml and clusters.toml, for the project's cluster."""
    known = [cluster.name for cluster in project.configured.clusters]
    checked = check_workflow(project.workflow, project.cluster, project.launchers, known)
    return (*project.configured.problems, *project.workflow.problems, *checked)


def counted_on(project: OpenProject, requests: Sequence[JobRequest]) -> Sequence[JobRequest]:
    """Return the requests with their attempts: in a network, a job that failed is retried."""
    if not has_network(project.root):
        return requests
    from rowtui.core.project.failed_jobs import with_attempts

    return with_attempts(project, requests)


def formed_requests(
    project: OpenProject, requests: Sequence[JobRequest], skipped: Sequence[str] = ()
) -> Formed:
    """Return these requests, placed by mapping files if the project has any. Raises: RowtuiError.

    `skipped`: sentences about work that was left out before.
    """
    decode_names(project.state.directories, sum(len(it.group.indices) for it in requests))
    if project.mapping_in_use() is None:
        return Formed([requests], None, skipped)
    from rowtui.core.project.planning.placing import place_requests

    mapped = place_requests(project, requests)
    return Formed([mapped.requests], mapped.places, skipped, refused=mapped.refused)


class UsableActions:
    """The actions of a plan that can be submitted, and the problems of those that were left out."""

    def __init__(self, project: OpenProject, actions: Sequence[Action]) -> None:
        """Check the project. Raises: PlanError if none of the actions can be submitted."""
        problems = [problem for problem in project_problems(project) if problem.severity == "error"]
        everywhere = [problem for problem in problems if problem.action is None]
        if everywhere:  # the chosen cluster may be the one whose configuration cannot be read
            raise PlanError(tuple(everywhere))
        self.actions = list(actions)
        self.left_out: list[Problem] = []
        self._leave_out(problems)

    def leave_out(self, error: PlanError) -> None:
        """Leave out the actions that stopped a plan.

        Raises: the error if no action caused it; PlanError if no action is left.
        """
        if not self._leave_out(error.problems):
            raise error

    def _leave_out(self, problems: Iterable[Problem]) -> bool:
        indices = {action.index for action in self.actions}
        found = [problem for problem in problems if problem.action in indices]
        broken = {problem.action for problem in found}
        self.left_out += found
        self.actions = [action for action in self.actions if action.index not in broken]
        if self.left_out and not self.actions:
            raise PlanError(tuple(self.left_out))
        return bool(broken)


def draft_formed(
    project: OpenProject,
    usable: UsableActions,
    formed: Formed,
    packing: Pack | None = None,
    among: Sequence[int] | None = None,
) -> Draft:
    """Return the draft of requests for the usable actions.

    `among`: the positions of the chosen directories, None for all. Raises: PlanError with the
    actions that stop the plan, which the caller leaves out; RowtuiError.
    """
    refused, without = refused_actions(project, usable.left_out, among)
    return draft_jobs(
        project.workflow,
        formed.parts,
        project.state.directories,
        plan_setting(project, packing or project_packing(project), user_name()),
        ends=None if formed.again else project.state.ends,
        skipped=[*(f"left out: {it}" for it in without), *formed.skipped],
        places=formed.places,
        refused=[*refused, *formed.refused],
    )


def refused_actions(
    project: OpenProject, problems: Sequence[Problem], among: Sequence[int] | None
) -> tuple[list[RefusedWork], list[Problem]]:
    """Return the jobs of actions that cannot be submitted, with problems; and other problems."""
    found: list[RefusedWork] = []
    others: list[Problem] = []
    name = project.state.directories.name
    seen: set[int] = set()
    for problem in problems:
        assert problem.action is not None
        action = project.workflow.actions[problem.action]
        jobs: tuple[tuple[str, ...], ...] = ()
        if problem.action not in seen:
            try:
                groups = project.cut(action, (Status.ELIGIBLE,), among).page()
                jobs = tuple(tuple(map(name, group.indices)) for group in groups)
            except RowtuiError:
                pass  # the action's directories cannot be listed either
        seen.add(problem.action)
        if not jobs:
            others.append(problem)
            continue
        text = f"left out: {problem}"
        found.append(
            RefusedWork(RefusedAt.ACTION, action.name, jobs, problem.message, problem.hint, text)
        )
    return found, others


def project_packing(project: OpenProject) -> PlanPacking | None:
    """Return the packing for a plan: the project's setting, else that of its clusters' files."""
    wanted = project.packing
    if wanted is False or (wanted is None and not any(map(_packs, project.configured.clusters))):
        return None
    from rowtui.core.project.planning.packing import PlanPacking

    return PlanPacking(project, wanted)


def _packs(cluster: Cluster) -> bool:
    packing = cluster.packing
    return packing is not None and (
        packing.enabled or any(there.enabled for there in packing.partitions.values())
    )


def plan_setting(project: OpenProject, packing: Pack | None = None, user: str = "") -> Setting:
    """Return the clusters, user, time and token source with which jobs are planned now."""
    return Setting(
        cluster=project.cluster,
        launchers=project.launchers,
        created=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        user=user,
        nonce=os.urandom(8).hex(),
        check_shell=bash_complaint,
        array_tasks=partial(_array_tasks, project),
        pack=packing,
        warnings=tuple(f"{why}; it is sent again" for why in project.unfinished),
    )


def _array_tasks(project: OpenProject, cluster: Cluster) -> int:
    """Return how many jobs of the same shape become one array on the cluster; 0 for none.

    By default only clusters that are reached over a connection get arrays: Row does not recognise
    an array's tasks once they run, and would submit their directories again.
    """
    if not kind_of(cluster).array_task:
        return 0

    wanted = project.arrays
    if wanted is None:
        wanted = cluster.arrays
    if wanted is None:
        wanted = project.connections.is_remote(cluster)
    if not wanted:
        return 0
    return MOST_TASKS if cluster.maximum_array_size is None else cluster.maximum_array_size
