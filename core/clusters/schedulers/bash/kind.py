"""The scheduler `bash` for the other rooms: jobs run inside `submit`, on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.clusters.schedulers.kind import SchedulerKind

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.clusters.schedulers.base import Scheduler


class BashKind(SchedulerKind):
    """The scheduler `bash`. A module of its own, so that planning imports no asyncio."""

    name = "bash"
    runs_here = True
    immediate = True
    job_id = "BY_HAND"
    bundle_id = "$$"
    only_choice = "it runs here and now, one job after another"

    def connect(self, cluster: str, transport: Transport | None, query_timeout: float) -> Scheduler:
        from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler

        return BashScheduler(cluster)
