"""The configured clusters around this process, and the cluster of this machine.

The input is the environment and the name of a cluster, if the user gave one. The result is the
configured clusters and the default cluster of jobs. Everything is computed on first use.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import asyncio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.clusters.command_log import CommandLog, CommandResult
    from rowtui.core.clusters.config.load import ClusterFile
    from rowtui.core.clusters.model import Cluster, Identified
    from rowtui.core.clusters.transports.login import Asker

# Seconds without a retry after a cluster did not answer when it was to be identified.
REST_SECONDS = 15.0


class ConfiguredClusters:
    """The clusters as one process sees them.

    `failure`: why the own cluster cannot be identified.
    """

    def __init__(
        self, cluster_name: str | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Set up the clusters. `environment`: this process's environment by default."""
        self.cluster_name = cluster_name
        self.environment = dict(os.environ if environment is None else environment)
        # Runs a coroutine for synchronous code, in any thread that runs no event loop itself.
        self.wait: Callable[[Coroutine[Any, Any, Any]], Any] = _run
        # The asker for the questions of a login, by cluster. With `always_ask` it is used even if
        # no login was requested: the user of a command is at a terminal.
        self.person: Callable[[str], Asker] | None = None
        self.always_ask = False
        self.failure = ""
        self._failed_at = 0.0

    @cached_property
    def recognised(self) -> Identified:
        """Return the cluster as configured, without properties that only the cluster reports."""
        from rowtui.core.clusters.identify import identify_cluster

        return identify_cluster(
            self.configured.clusters, self.environment, self.cluster_name, self._described_from_here
        )

    def _described_from_here(self) -> Cluster | None:
        from rowtui.core.clusters.schedulers.slurm.describe import describe_this_machine

        return describe_this_machine(self._run_here)

    def _run_here(self, argv: Sequence[str]) -> CommandResult:
        from rowtui.core.clusters.commands import run_briefly

        result = run_briefly(argv)
        self.log.note("here", result)
        return result

    @cached_property
    def log(self) -> CommandLog:
        """Return the log of commands that were run on this machine and on clusters."""
        from rowtui.core.clusters.command_log import CommandLog

        return CommandLog()

    @cached_property
    def configured(self) -> ClusterFile:
        """Return all described clusters, and the problems of the files that describe them."""
        from rowtui.core.clusters.config.load import load_clusters

        return load_clusters(self.environment)

    def here(self) -> Cluster | None:
        """Return the default cluster of jobs as configured; None if it cannot be determined now.

        The known data can be shown while the cluster does not answer. The call waits for the
        commands of a cluster that is in no configuration.
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


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)
