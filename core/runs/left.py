"""What the jobs of a network that have not been sent yet will ask for, at most.

Takes how many of each node are left, and the workflow; gives a cost, as Row counts it: what jobs
ask for, not what they will use. A person who lets a network run allows about that much.
"""

from __future__ import annotations

from collections.abc import Iterable

from rowtui.core.grouping.cost import action_cost
from rowtui.core.network.job_model import JobState
from rowtui.core.runs.views import NodeView
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
