"""A project and its schedulers: asking for jobs, sending plans, cancelling, reading logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.core.clusters.model import Cluster
    from rowtui.core.clusters.schedulers.base import Scheduler


def scheduler_of(cluster: Cluster) -> Scheduler:
    """The scheduler of a cluster, loaded only now."""
    if cluster.scheduler == "bash":
        from rowtui.core.clusters.schedulers.bash import BashScheduler

        return BashScheduler(cluster.name)
    if cluster.scheduler == "slurm":
        from rowtui.core.clusters.schedulers.slurm import SlurmScheduler

        return SlurmScheduler(cluster.name)
    from rowtui.core.clusters.schedulers.local import LocalScheduler

    return LocalScheduler(cluster.name)
