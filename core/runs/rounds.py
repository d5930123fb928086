"""One round of a run: what is ready, in its order, as a plan that somebody may confirm.

Ready jobs -> groups, as their actions say -> mapped -> packed -> plan. Only what the project's own
records call eligible is planned, so that an action's own conditions hold as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.form import cut_groups
from rowtui.core.grouping.model import Group
from rowtui.core.grouping.request import job_requests
from rowtui.core.project.planning import Formed, formed_requests, plan_formed
from rowtui.core.runs.execution import packing_of
from rowtui.core.runs.needs import required_of
from rowtui.core.state.model import bit_set
from rowtui.core.submission.model import Plan
from rowtui.core.submission.plan_json import plan_id
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.runs.running import Running
    from rowtui.core.workflow.model import Action

# Directories planned at once: scripts of more are not looked at by anybody, and take seconds.
MOST = 10_000


class Round(NamedTuple):
    """What could be submitted now. `plan` None: nothing. `blocked`: ready jobs that cannot be."""

    plan: Plan | None
    blocked: tuple[str, ...] = ()


class _Ready(NamedTuple):
    """A job that is ready in a directory, and when it is its turn."""

    job: int
    turn: int


_ByAction = dict[str, dict[int, _Ready]]  # by action and position


def next_round(running: Running, most: int = MOST, without: frozenset[int] = frozenset()) -> Round:
    """The plan for the first ready jobs of a run, by their priority, but for those in `without`.

    Raises: PlanError if none of their actions can be submitted; RowtuiError.
    """
    project = running.project
    ready = [job for job in running.graph.ready(most + len(without)) if job not in without]
    if not ready:
        return Round(None)
    unwritten = frozenset(running.write_inputs(ready))
    found, lost = _by_action(running, [job for job in ready if job not in unwritten])
    groups, blocked = _groups(project, found)
    blocked = (
        *_nowhere(running, lost, "it is no longer in the workspace: going on makes it again"),
        *_nowhere(running, sorted(unwritten), "what it gets from others cannot be written there"),
        *blocked,
    )
    if not groups:
        return Round(None, blocked)
    actions = list({group.action.index: group.action for group in groups}.values())
    requests = [
        request._replace(requires=_required(running, found, request.group))
        for request in job_requests(groups)
    ]

    def form(usable: Sequence[Action]) -> Formed:
        kept = {action.index for action in usable}
        chosen = [request for request in requests if request.action.index in kept]
        return formed_requests(project, chosen, blocked)

    plan = plan_formed(project, actions, form, packing_of(running))
    return Round(plan, blocked)


def part_of(plan: Plan, tokens: frozenset[str]) -> Plan:
    """A plan of some of the jobs of a plan, in its order."""
    jobs = tuple(job for job in plan.jobs if job.token in tokens)
    if len(jobs) == len(plan.jobs):
        return plan
    cost = jobs[0].cost
    for job in jobs[1:]:
        cost = cost.plus(job.cost)
    part = replace(plan, jobs=jobs, cost=cost, id="")
    return replace(part, id=plan_id(part))


def _by_action(running: Running, ready: Sequence[int]) -> tuple[_ByAction, list[int]]:
    """By action: the directories that are ready; and the jobs whose directory is not there."""
    directories = running.project.state.directories
    found: _ByAction = {}
    without: list[int] = []
    for turn, job in enumerate(ready):
        node = running.growth.flow.network.node(running.growth.where(job).node)
        assert node is not None
        position = directories.position(running.growth.directory(job))
        if position is None:
            without.append(job)
        else:
            found.setdefault(node.action, {})[position] = _Ready(job, turn)
    return found, without


def _nowhere(running: Running, jobs: Sequence[int], why: str) -> tuple[str, ...]:
    if not jobs:
        return ()
    more = f" (and {len(jobs) - 1:,} more)" if len(jobs) > 1 else ""
    return (f"{visible(running.growth.directory(jobs[0]))}{more}: {why}",)


def _required(running: Running, found: _ByAction, group: Group) -> tuple[str, ...]:
    """What the jobs of a group need of other directories."""
    jobs = [found[group.action.name][at].job for at in group.indices]
    return required_of(running.project, running.growth, jobs)


def _groups(
    project: Project, found: Mapping[str, Mapping[int, _Ready]]
) -> tuple[list[Group], tuple[str, ...]]:
    """The groups to submit, in the order of the first turn in each; and what cannot be."""
    turns: list[tuple[int, Group]] = []
    blocked: list[str] = []
    for name, turn in found.items():
        left = bit_set(turn)
        for action in project.workflow.named(name):
            row = project.status_row(action)
            members = row.eligible & left
            left &= ~(row.eligible | row.submitted | row.completed)
            if not members:
                continue
            try:
                cut = cut_groups(action, project.state.directories, members, project.order(action))
            except RowtuiError as error:
                blocked.append(str(error))
                continue
            turns += [(min(turn[at].turn for at in group.indices), group) for group in cut.page()]
        if left:
            first = visible(project.state.directories.name((left & -left).bit_length() - 1))
            count = plural(left.bit_count(), "directory is", "directories are")
            blocked.append(
                f"{count} ready for '{visible(name)}', but workflow.toml does not let it run there "
                f"(its include, or a previous action that is not complete), the first {first}"
            )
    turns.sort(key=lambda it: it[0])
    return [group for _, group in turns], tuple(blocked)
