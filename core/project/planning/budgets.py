"""Amounts that the user's submitted jobs hold in the pools of the mapping files.

The jobs of this project that are submitted now are counted by mapping each of them again, because a
job's tags determine its pools. Jobs of other projects are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowtui.core.groups.model import Group
from rowtui.core.groups.request import job_requests
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.request import Amounts, MappingRequest

if TYPE_CHECKING:
    from rowtui.core.project.mapping import ProjectMapping


def in_use(mapping: ProjectMapping) -> Mapping[str, Amounts]:
    """Return the amounts held in each pool, by pool name."""
    project = mapping.project
    held: Mapping[str, Amounts] = {}
    for action in project.workflow.actions:
        jobs: dict[tuple[str, int, str], list[int]] = {}
        for position, job in sorted(project.state.submitted.get(action.name, {}).items()):
            jobs.setdefault((job.cluster, job.job_id, job.token), []).append(position)
        if any(other.name == action.name for other in project.workflow.actions[: action.index]):
            continue  # several elements with the same name share their jobs
        for request in job_requests(Group(action, tuple(each)) for each in jobs.values()):
            held = with_job(held, mapping.mapper, mapping.request(request))
    return held


def with_job(
    held: Mapping[str, Amounts], mapper: Mapper, job: MappingRequest
) -> Mapping[str, Amounts]:
    """Return the held amounts after one more job counts in its pools."""
    asked, pools = mapper.pools_of(job)
    return {**held, **{pool: _added(held.get(pool, Amounts()), asked) for pool in pools}}


def _added(one: Amounts, other: Amounts) -> Amounts:
    return Amounts(*((a or 0) + (b or 0) for a, b in zip(one, other, strict=True)))
