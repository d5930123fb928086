"""Values that screens show about the clusters: their connection, their polls and their hardware.

All are small immutable values. The jobs of a queue are in `views.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.polling.policy import PollPace

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.model import NodeType, Partition, PartitionLoad
    from rowtui.core.clusters.schedulers.kind import FoundKind


class ClusterDetail(NamedTuple):
    """One cluster. Times are epoch seconds.

    `chosen`: why jobs go to this cluster by default, "" if they do not. `where`: "here" or
    `me@host`. `places`: file:line of the cluster's descriptions. `away`: why the cluster cannot be
    reached from here at all, "" if it can. `connected`: None where no login is needed. `login`: why
    a user has to log in. `as_of`, `next_at`, `error`: about the polls of the cluster's queue.
    `latency`: seconds of the last answer, 0 if unknown. `failures`: number of consecutive polls
    without an answer. `interval`: seconds between two polls. `running` and `waiting`: numbers of
    this user's jobs. `partitions_note` and `kinds_note`: why the partitions or node types are not
    known, or their source. `load`: how busy each partition is.
    """

    name: str
    scheduler: str
    where: str = "here"
    chosen: str = ""
    places: tuple[str, ...] = ()
    away: str = ""
    transport: str = ""
    connected: bool | None = None
    login: str = ""
    login_command: str = ""
    error: str = ""
    as_of: float | None = None
    next_at: float = 0.0
    latency: float = 0.0
    failures: int = 0
    interval: float = 0.0
    pace: PollPace = PollPace.AS_CONFIGURED
    running: int = 0
    waiting: int = 0
    partitions: tuple[Partition, ...] = ()
    partitions_note: str = ""
    kinds: tuple[NodeType, ...] = ()
    kinds_note: str = ""
    currency: str = ""
    load: tuple[PartitionLoad, ...] = ()

    @property
    def looked_at(self) -> bool:
        """Whether the cluster's queue was ever polled."""
        return self.as_of is not None or bool(self.error)


class ClustersView(NamedTuple):
    """All clusters that files describe, and this machine. `problems`: the problems of those files.

    `loads_at`: when the clusters were last asked for their load, 0 for never.
    """

    at: float
    clusters: tuple[ClusterDetail, ...]
    problems: tuple[Problem, ...] = ()
    loads_at: float = 0.0


class ClusterNodes(NamedTuple):
    """The nodes of one cluster as the cluster reported them at `at`, epoch seconds."""

    cluster: str
    at: float
    kinds: tuple[FoundKind, ...]
    notices: tuple[str, ...] = ()
