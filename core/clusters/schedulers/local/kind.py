"""The scheduler `local` for the other rooms: this machine's own queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.model import ClusterLoad
from rowtui.core.clusters.schedulers.kind import SchedulerDetail, SchedulerKind

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.clusters.schedulers.base import JobKey, Scheduler


class LocalKind(SchedulerKind):
    """The scheduler `local`. A module of its own, so that planning imports no process handling.

    Its jobs wait for Slurm's reasons.
    """

    name = "local"
    runs_here = True
    waits_for_success = True
    bundle_id = "${ROWTUI_JOB_ID:-$$}"
    pilots = True
    only_choice = "this machine's own queue runs it in the background, when CPUs are free"

    def connect(self, cluster: str, transport: Transport | None, query_timeout: float) -> Scheduler:
        from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler

        return LocalScheduler(cluster)

    async def detail(self, transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
        problem = f"a scheduler of the kind {self.name} reports no further details"
        return SchedulerDetail(problem=problem)

    async def load(self, transport: Transport, cluster: str, timeout: float) -> ClusterLoad:  # noqa: ASYNC109
        from rowtui.core.clusters.schedulers.local.load import local_load

        return await asyncio.to_thread(local_load, cluster=cluster)
