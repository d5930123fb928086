"""Convert groups to job requests with the total resources of each job."""

from __future__ import annotations

from collections.abc import Iterable

from rowtui.core.base.text import Cost
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.workflow.model import Resources

# The upper limit of the cost of jobs: the resources of an action times the sizes of its groups.
#
# Sums are kept in whole CPU- and GPU-seconds and divided once, so that ten tenths are one. Zero
# GPUs (which Row 1.1 refuses in workflow.toml, and which earlier versions counted as no cost at
# all) mean that the job uses no GPUs and costs CPU time.


_HOUR = 3600


def job_cost(resources: Resources, directories: int) -> Cost:
    """Return the cost of one job on this number of directories."""
    return _cost(resources, _process_seconds(resources, directories))


def action_cost(resources: Resources, sizes: Iterable[int]) -> Cost:
    """Return the cost of jobs on groups of these sizes."""
    return _cost(resources, sum(_process_seconds(resources, size) for size in sizes))


def is_linear(resources: Resources) -> bool:
    """Whether the cost depends only on the number of directories, and not on their groups."""
    return resources.processes.per_directory != resources.walltime.per_directory


def _process_seconds(resources: Resources, directories: int) -> int:
    if not directories:
        return 0
    processes = resources.processes.total(directories)
    return processes * resources.walltime.total_seconds(directories)


def _cost(resources: Resources, process_seconds: int) -> Cost:
    if resources.gpus_per_process:
        return Cost(gpu_hours=process_seconds * resources.gpus_per_process / _HOUR)
    return Cost(cpu_hours=process_seconds * (resources.threads_per_process or 1) / _HOUR)


def job_requests(groups: Iterable[Group]) -> tuple[JobRequest, ...]:
    """Return one request for each group, in order."""
    return tuple(map(_job_request, groups))


def _job_request(group: Group) -> JobRequest:
    resources = group.action.resources
    size = len(group.indices)
    return JobRequest(
        group=group,
        processes=resources.processes.total(size),
        cpus=resources.total_cpus(size),
        gpus=resources.total_gpus(size),
        walltime_seconds=resources.walltime.total_seconds(size),
        cost=job_cost(resources, size),
    )
