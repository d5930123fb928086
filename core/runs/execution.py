"""How the jobs of a run's rounds are carried out: each on its own, or several in one allocation.

Source: Fastr's design, ExecutionPlugin (lists run one after another on one host; pilot jobs).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.network.spec import Gather
from rowtui.core.submission.model import PlannedJob
from rowtui.core.submission.sequential import Sequential

if TYPE_CHECKING:
    from rowtui.core.project.planning import Pack
    from rowtui.core.runs.running import Running


def packing_of(running: Running) -> Pack | None:
    """Who puts the jobs of a plan together; None: as the project and its clusters say."""
    schedule = running.growth.flow.network.schedule
    if running.execution != "sequential":
        return None
    gather = schedule.gather

    def units(jobs: tuple[PlannedJob, ...]) -> list[list[PlannedJob]]:
        return gathered(jobs, gather)

    return Sequential(units)


def gathered(jobs: Sequence[PlannedJob], gather: Gather) -> list[list[PlannedJob]]:
    """Jobs of the same action and destination, in their order, as lists of at most that much."""
    lists: list[list[PlannedJob]] = []
    open_lists: dict[tuple[int, object], list[PlannedJob]] = {}
    for job in jobs:
        key = (job.action_index, job.destination)
        mine = open_lists.get(key)
        seconds = sum(it.walltime_seconds for it in mine or ()) + job.walltime_seconds
        full = mine is not None and (
            (gather.size and len(mine) >= gather.size)
            or (gather.walltime_seconds and seconds > gather.walltime_seconds)
        )
        if mine is None or full:
            mine = open_lists[key] = []
            lists.append(mine)
        mine.append(job)
    return lists
