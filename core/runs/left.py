"""What the jobs of a network that have not been sent yet will ask for, at most.

Takes how many of each node are left, and the workflow; gives a cost, as Row counts it: what jobs
ask for, not what they will use. A person who lets a network run allows about that much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.grouping.cost import job_cost
from rowtui.core.network.job_model import JobState
from rowtui.core.network.spec import Schedule
from rowtui.core.runs.views import NodeView
from rowtui.core.submission.bundles import START_SECONDS, STEP_SECONDS
from rowtui.core.text import Cost
from rowtui.core.workflow.model import Action, Workflow

_HOUR = 3600
_TO_DO = (JobState.WAITING, JobState.READY)
_LOST = (JobState.FAILED, JobState.CANCELLED)


class Asked(NamedTuple):
    """What jobs ask for one by one, all together; and the most that one of them has, in cores and
    GPUs, and how long all of them take one after another.
    """

    jobs: int = 0
    core_hours: float = 0.0
    gpu_hours: float = 0.0
    cpus: int = 0
    gpus: int = 0
    hours: float = 0.0


class Left(NamedTuple):
    """What is left to send, and the most that it asks for. `grows`: lists will add more."""

    jobs: int
    core_hours: float
    gpu_hours: float
    grows: bool

    @property
    def cost(self) -> Cost:
        """The same as a cost."""
        return Cost(self.core_hours, self.gpu_hours)


def work_left(
    workflow: Workflow,
    nodes: Iterable[NodeView],
    execution: str,
    schedule: Schedule,
    *,
    anew: bool = False,
) -> Left:
    """The jobs that nobody sent yet, as actions ask for them, in whatever groups they go.

    `anew`: for a new run, which tries again what failed before. Jobs that lists will add are not
    known.
    """
    to_do = (*_TO_DO, *_LOST) if anew else _TO_DO
    asked = Asked()
    grows = False
    for node in nodes:
        grows = grows or bool(node.lists)
        left = sum(node.counts[state] for state in to_do) if node.counts else 0
        actions = workflow.named(node.action) if left else ()
        if not actions:
            continue
        # Elements of one name have disjoint directories: no job asks for more than the costliest.
        each = [_of_one(action, left) for action in actions]
        asked = Asked(
            asked.jobs + left,
            asked.core_hours + left * max(it.core_hours for it in each),
            asked.gpu_hours + left * max(it.gpu_hours for it in each),
            max(asked.cpus, *(it.cpus for it in each)),
            max(asked.gpus, *(it.gpus for it in each)),
            asked.hours + left * max(it.hours for it in each),
        )
    held = as_carried_out(asked, execution, schedule)
    return Left(held.jobs, held.core_hours, held.gpu_hours, grows)


def _of_one(action: Action, left: int) -> Asked:
    """What one directory asks for, in the group size where that is the most.

    What grows with a group grows with its size or its square: alone or in the largest is the most.
    """
    largest = min(left, action.group.maximum_size or left)
    resources = action.resources
    sizes = (1, largest)
    costs = {n: job_cost(resources, n) for n in sizes}
    return Asked(
        1,
        max(cost.cpu_hours / n for n, cost in costs.items()),
        max(cost.gpu_hours / n for n, cost in costs.items()),
        max(map(resources.total_cpus, sizes)),
        max(map(resources.total_gpus, sizes)),
        max(resources.walltime.total_seconds(n) / _HOUR / n for n in sizes),
    )


def as_carried_out(asked: Asked, execution: str, schedule: Schedule) -> Asked:
    """What carrying the jobs out like this asks for: lists and pilots hold more than jobs do.

    Of pilots, as many as the work fills, and those that the last work keeps open.
    """
    cores, gpus = asked.core_hours, asked.gpu_hours
    pilot = schedule.pilot
    if not asked.jobs:
        return asked
    if execution == "sequential" and schedule.gather.size != 1:
        hours = asked.hours + asked.jobs * (START_SECONDS + STEP_SECONDS) / 3600
        cores, gpus = max(cores, asked.cpus * hours), max(gpus, asked.gpus * hours)
    elif execution == "pilot" and pilot is not None:
        hours = pilot.walltime_seconds / 3600
        count = pilot.number + math.ceil(asked.core_hours / (pilot.cpus * hours))
        cores = max(cores, count * pilot.cpus * hours)
        gpus = max(gpus, count * pilot.gpus * hours)
    return asked._replace(core_hours=cores, gpu_hours=gpus)
