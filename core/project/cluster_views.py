"""What screens show of the clusters themselves: how each is reached, asked, and what it has.

Small immutable values; what runs in a queue is in `views.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.clusters.poll_policy import Pace

if TYPE_CHECKING:
    from rowtui.core.clusters.model import NodeKind, Partition, PartitionLoad
    from rowtui.core.clusters.schedulers.slurm_nodes import FoundKind
    from rowtui.core.errors import Problem


class ClusterDetail(NamedTuple):
    """One cluster. Times: epoch seconds.

    `chosen`: why jobs go there unless somebody says otherwise, "" if they don't. `where`: "here" or
    `me@host`; `places`: file:line of what describes it; `away`: why it cannot be reached from here
    at all, "" if it can. `connected`: None where nobody has to log in; `login`: why a person is
    needed. `as_of`, `next_at`, `error`: of the looks at its queue; `latency`: seconds of the last
    answer, 0 where that is unknown; `failures`: looks in a row without one. `interval`: seconds
    between two looks. `running` and `waiting`: this user's jobs. `partitions_note` and
    `kinds_note`: why nothing is known, or where it is from. `load`: how busy each partition is.
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
    pace: Pace = Pace.AS_CONFIGURED
    running: int = 0
    waiting: int = 0
    partitions: tuple[Partition, ...] = ()
    partitions_note: str = ""
    kinds: tuple[NodeKind, ...] = ()
    kinds_note: str = ""
    currency: str = ""
    load: tuple[PartitionLoad, ...] = ()

    @property
    def looked_at(self) -> bool:
        """Whether its queue was ever asked for."""
        return self.as_of is not None or bool(self.error)


class ClustersView(NamedTuple):
    """All clusters that somebody described, and this machine. `problems`: of their files.

    `loads_at`: when the clusters were asked how busy they are, 0 for never.
    """

    at: float
    clusters: tuple[ClusterDetail, ...]
    problems: tuple[Problem, ...] = ()
    loads_at: float = 0.0


class ClusterNodes(NamedTuple):
    """The nodes of one cluster as it told of them at `at`, epoch seconds."""

    cluster: str
    at: float
    kinds: tuple[FoundKind, ...]
    notices: tuple[str, ...] = ()
