"""The clusters around this process, with or without a project: which there are, which this is.

Takes the environment and a cluster's name, if a person gave one; gives the clusters as they are
configured, the one that jobs go to, and the connections. A project is such surroundings with a
folder in them. Everything is found when it is first asked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rowtui.core.errors import RowtuiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.clusters.command_log import CommandLog
    from rowtui.core.clusters.commands import CommandResult
    from rowtui.core.clusters.load import ClusterFile
    from rowtui.core.clusters.model import Cluster, Identified
    from rowtui.core.clusters.transports.login import Asker
    from rowtui.core.project.reach import Reach

# How long a cluster that did not answer when it was to be recognised is left alone.
REST_SECONDS = 15.0


class Surroundings:
    """The clusters, as one process sees them. `failure`: why it cannot be told which this is."""

    def __init__(
        self, cluster_name: str | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """`environment`: this process's if it is not given."""
        self.cluster_name = cluster_name
        self.environment = dict(os.environ if environment is None else environment)
        # Waits for what is asynchronous on behalf of what is not, outside of an event loop.
        self.wait: Callable[[Coroutine[Any, Any, Any]], Any] = _run
        # Who answers the questions of a login, by cluster; with `always_ask` also when nobody
        # asked to log in: whoever runs a command in a terminal sits before it.
        self.person: Callable[[str], Asker] | None = None
        self.always_ask = False
        self.failure = ""
        self._failed_at = 0.0

    @cached_property
    def identified(self) -> Identified:
        """The cluster and why it was taken. Raises: InvalidFileError, RowtuiError."""
        found = self.recognised
        if found.cluster.remote is None:  # it is described here
            return found
        return found._replace(cluster=self.reach.described(found.cluster))

    @cached_property
    def recognised(self) -> Identified:
        """The same as it was configured: what is to be asked of it may be missing."""
        from rowtui.core.clusters.identify import identify_cluster

        return identify_cluster(
            self.configured.clusters, self.environment, self.cluster_name, self._described_from_here
        )

    def _described_from_here(self) -> Cluster | None:
        from rowtui.core.clusters.schedulers.slurm_describe import describe_this_machine

        return describe_this_machine(self._run_here)

    def _run_here(self, argv: Sequence[str]) -> CommandResult:
        from rowtui.core.clusters.commands import run_briefly

        result = run_briefly(argv)
        self.log.note("here", result)
        return result

    @cached_property
    def log(self) -> CommandLog:
        """What was run, on this machine and on clusters."""
        from rowtui.core.clusters.command_log import CommandLog

        return CommandLog()

    @cached_property
    def configured(self) -> ClusterFile:
        """All clusters that are described, and what is wrong in the files that do."""
        from rowtui.core.clusters.load import load_clusters

        return load_clusters(self.environment)

    @property
    def cluster(self) -> Cluster:
        """The cluster that jobs go to."""
        return self.identified.cluster

    def here(self) -> Cluster | None:
        """The cluster that jobs go to, as it was configured; None where that cannot be told now.

        What is known can be shown also while it does not answer. Waits for the commands of a
        cluster that is in no configuration.
        """
        if self.failure and time.monotonic() - self._failed_at < REST_SECONDS:
            return None
        try:
            cluster = self.recognised.cluster
        except RowtuiError as error:
            self.failure, self._failed_at = error.message, time.monotonic()
            return None
        self.failure = ""
        return cluster

    @cached_property
    def reach(self) -> Reach:
        """How the clusters are reached, and the connections to them."""
        from rowtui.core.project.reach import Reach

        return Reach(self)

    async def let_go(self) -> None:
        """End the connections to clusters, if there are any."""
        reach: Reach | None = self.__dict__.get("reach")
        if reach is not None:
            await reach.close()


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    import asyncio

    return asyncio.run(work)
