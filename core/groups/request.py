"""Convert groups to job requests with the total resources of each job."""

from __future__ import annotations

from collections.abc import Iterable

from rowtui.core.groups.cost import job_cost
from rowtui.core.groups.model import Group, JobRequest


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
