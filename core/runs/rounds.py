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


def next_round(running: Running, most: int = MOST) -> Round:
    """The plan for the first ready jobs of a run, by their priority.

    Raises: PlanError if none of their actions can be submitted; RowtuiError.
    """
    project = running.project
    ready = running.graph.ready(most)
    if not ready:
        return Round(None)
    unwritten = frozenset(running.write_inputs(ready))
    found = _by_action(running, [job for job in ready if job not in unwritten])
    groups, blocked = _groups(project, found)
    if not groups:
        return Round(None, blocked)
    actions = list({group.action.index: group.action for group in groups}.values())

    def form(usable: Sequence[Action]) -> Formed:
        kept = {action.index for action in usable}
        chosen = [group for group in groups if group.action.index in kept]
        return formed_requests(project, job_requests(chosen), blocked)

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


def _by_action(running: Running, ready: Sequence[int]) -> dict[str, dict[int, int]]:
    """By action: the positions of directories that are ready, and when it is their turn."""
    directories = running.project.state.directories
    found: dict[str, dict[int, int]] = {}
    for turn, job in enumerate(ready):
        node = running.growth.flow.network.node(running.growth.where(job).node)
        position = directories.position(running.growth.directory(job))
        if node is not None and position is not None:
            found.setdefault(node.action, {})[position] = turn
    return found


def _groups(
    project: Project, found: Mapping[str, Mapping[int, int]]
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
            turns += [(min(turn[at] for at in group.indices), group) for group in cut.page()]
        if left:
            first = visible(project.state.directories.name((left & -left).bit_length() - 1))
            count = plural(left.bit_count(), "directory is", "directories are")
            blocked.append(
                f"{count} ready for '{visible(name)}', but workflow.toml does not let it run there "
                f"(its include, or a previous action that is not complete), the first {first}"
            )
    turns.sort(key=lambda it: it[0])
    return [group for _, group in turns], tuple(blocked)
