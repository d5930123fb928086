"""The scripts of a plan as schedulers get them: one for each bundle, one for each other job."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rowtui.core.project.project import Project
    from rowtui.core.submission.plan.model import Plan, PlannedJob


def scripts_of(project: Project, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield a title and the script of each scheduler job.

    Jobs of arrays are listed individually.
    """
    total = f"{len(plan.jobs):,}"
    at = 0
    for token, group in groupby(plan.jobs, _bundle):
        jobs = list(group)
        first, at = at + 1, at + len(jobs)
        if token:
            from rowtui.core.submission.bundles.script import bundle_script

            bundle = jobs[0].bundle
            kind = visible(bundle.node_type) if bundle is not None else ""
            title = f"Jobs {first:,}-{at:,} of {total}, a bundle on {kind}"
            yield title, bundle_script(jobs, _scheduler(project, plan, jobs[0]))
        else:
            for number, job in enumerate(jobs, first):
                yield f"Job {number} of {total}", job.script


def _bundle(job: PlannedJob) -> str:
    return "" if job.bundle is None else job.bundle.token


def _scheduler(project: Project, plan: Plan, job: PlannedJob) -> str:
    """Return the kind of scheduler of a job's cluster."""
    name = job.destination.cluster
    if name == plan.cluster:
        return plan.scheduler
    cluster = project.reach.known(name) or project.configured.named(name)
    return plan.scheduler if cluster is None else cluster.scheduler
