"""What the jobs of a network that have not been sent yet will ask for, at most.

Takes how many of each node are left, and the workflow; gives a cost, as Row counts it: what jobs
ask for, not what they will use. A person who lets a network run allows about that much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from rowtui.core.grouping.cost import action_cost
from rowtui.core.network.job_model import JobState
from rowtui.core.network.spec import Schedule
from rowtui.core.runs.views import NodeView
from rowtui.core.submission.bundles import START_SECONDS, STEP_SECONDS
from rowtui.core.text import Cost
from rowtui.core.workflow.model import Workflow


def left_cost(nodes: Iterable[NodeView], workflow: Workflow) -> Cost:
    """The cost of all jobs that wait or are ready. Of actions of one name the first counts.

    Groups are taken to be as large as they may be; jobs that lists will add are not known.
    """
    total = Cost()
    for node in nodes:
        actions = workflow.named(node.action) if node.counts else ()
        left = (
            sum(node.counts[state] for state in (JobState.WAITING, JobState.READY))
            if actions
            else 0
        )
        if left:
            most = actions[0].group.maximum_size or left
            full, rest = divmod(left, most)
            sizes = [most] * full + [rest] * bool(rest)
            total = total.plus(action_cost(actions[0].resources, sizes))
    return total


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
