"""The clusters of a project as users see them: their configuration and their last known state.

The input is an open project, the result is a `ClustersView`. The module reads files and memory
only. It sends no request to a cluster and opens no connection, so it returns at once even if a
cluster hangs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.builtin import LOCAL
from rowtui.core.clusters.config.node_types import node_types_for, this_machine
from rowtui.core.clusters.config.show import node_types_toml, toml_string
from rowtui.core.clusters.config.user_config import ClusterPlace, cluster_places
from rowtui.core.clusters.model import Cluster, NodeType, Partition
from rowtui.core.clusters.polling.policy import PollPace, pace_of
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.kind import FoundKind, FoundNodes, kind_of

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.model import PartitionLoad
    from rowtui.core.clusters.polling.poll import Polled
    from rowtui.core.project.context.connections import Connections
    from rowtui.core.project.open_project import OpenProject


# Values that screens show about the clusters: their connection, their polls and their hardware.
#
# All are small immutable values. The jobs of a queue are in `views.py`.


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


# The node types that a cluster reports, and the clusters.toml entry that contains them.
#
# The input is a cluster and the way to reach it. The result is the current types of its nodes and
# the text that describes the node types in rowtui's own clusters.toml.


async def live_node_types(
    connections: Connections, cluster: Cluster, environment: Mapping[str, str]
) -> FoundNodes:
    """Ask the cluster for its node types, over its connection if it is remote.

    Raises: RowtuiError, LoginError if the cluster cannot be asked.
    """
    scheduler = kind_of(cluster)
    if scheduler.runs_here:
        kind = this_machine(environment)
        return FoundNodes((FoundKind(kind, 1, example="this machine"),))
    try:
        found = await scheduler.node_types(connections.transport(cluster))
    except RowtuiError:
        login = connections.login_error(cluster.name)
        if login is None:
            raise
        raise login from None  # the reason why the login is impossible, with a hint
    if found is None:
        raise RowtuiError(
            f"{visible(cluster.name)} cannot be asked for its nodes: it is no Slurm cluster",
            "describe them by hand: [[cluster.node_type]] in rowtui's clusters.toml",
        )
    return _usable(cluster, found)


def _usable(cluster: Cluster, found: FoundNodes) -> FoundNodes:
    """Keep only the node types of the configured partitions, if partitions are configured."""
    if not cluster.partitions:
        return found
    names = {each for it in cluster.partitions for each in (it.name, *it.name.split(","))}
    kept = tuple(each for each in found.kinds if each.kind.partition in names)
    notices = found.notices
    gone = dict.fromkeys(it.kind.partition for it in found.kinds if it.kind.partition not in names)
    if gone:
        others = ", ".join(map(visible, gone))
        notices += (f"partitions that are not described are left out: {others}",)
    return FoundNodes(kept, notices)


def entry_toml(cluster: Cluster, found: FoundNodes) -> str:
    """Return an entry that adds the node types to the cluster, and names it if it is new."""
    text = f"[[cluster]]\nname = {toml_string(cluster.name)}\n"
    if cluster.source == "sinfo":
        text += f"scheduler = {toml_string(cluster.scheduler)}\nidentify.always = true\n"
    remarks = {each.kind.name: each.remarks for each in found.kinds}
    return text + node_types_toml([each.kind for each in found.kinds], remarks=remarks)


MOST_PARTITIONS = 200
"""Most partitions of one cluster that are shown; the largest sites have about fifty."""

_RUNNING = (JobState.RUNNING, JobState.COMPLETING)


def look_at_clusters(project: OpenProject) -> ClustersView:
    """Return all relevant clusters. The call may wait for the disk and, at first, for `sinfo`."""
    chosen, because = _chosen(project)
    places = cluster_places(project.environment)
    ours = None if chosen is None else chosen.name
    details = [
        _detail(project, cluster, because if name == ours else "", places)
        for name, cluster in _of_interest(project, chosen, places).items()
    ]
    details.sort(key=lambda one: (not one.chosen, bool(one.away), one.name))
    return ClustersView(
        time.time(), tuple(details), project.configured.problems, project.mapping.loads_at
    )


def _chosen(project: OpenProject) -> tuple[Cluster | None, str]:
    try:
        found = project.recognised
    except RowtuiError:
        return None, ""
    return found.cluster, found.because


def _of_interest(
    project: OpenProject, chosen: Cluster | None, places: Sequence[ClusterPlace]
) -> dict[str, Cluster]:
    """Return the clusters to show: all except the unused built-in ones.

    These are the chosen cluster, the user's clusters, this machine and the clusters with jobs.
    """
    configured = project.configured
    named = {place.name for place in places}
    found: dict[str, Cluster] = {}
    if chosen is not None:
        found[chosen.name] = chosen
    for cluster in configured.clusters:
        if cluster.name in named:
            found.setdefault(cluster.name, cluster)
    for name in sorted({LOCAL.name, *project.submitted_clusters()}):
        known = project.connections.known(name) or configured.named(name)
        if known is not None:
            found.setdefault(name, known)
    return found


def _detail(
    project: OpenProject, cluster: Cluster, chosen: str, places: Sequence[ClusterPlace]
) -> ClusterDetail:
    connections, name, loads = (
        project.connections,
        cluster.name,
        project.mapping.facts.loads.items(),
    )
    remote = connections.is_remote(cluster)
    away = "" if chosen or connections.known(name) is not None else _why_away(cluster)
    described, note = _described(project, cluster, away)
    kinds, kinds_note = _kinds(project, described, note)
    polled = project.jobs.queues.looks.latest.get(name)
    detail = ClusterDetail(
        name=name,
        scheduler=cluster.scheduler,
        where=connections.where(name) if remote else ("" if away else "here"),
        chosen=chosen,
        places=tuple(str(place) for place in places if place.name == name) or (cluster.source,),
        away=away,
        transport=cluster.remote.transport if remote and cluster.remote else "",
        connected=connections.connected(name, polled) if remote else None,
        login=connections.login_needed(name) if remote else "",
        login_command=connections.login_command(name) if remote else "",
        interval=cluster.poll_seconds,
        partitions=described.partitions[:MOST_PARTITIONS],
        partitions_note=note,
        kinds=kinds[:MOST_PARTITIONS],
        kinds_note=kinds_note,
        currency=cluster.currency,
        load=tuple(load for (of, _), load in loads if of == name)[:MOST_PARTITIONS],
    )
    return detail if polled is None else _with_looks(detail, polled)


def _with_looks(detail: ClusterDetail, polled: Polled) -> ClusterDetail:
    jobs = polled.snapshot.jobs if polled.snapshot is not None else ()
    running = sum(1 for job in jobs if job.state in _RUNNING)
    interval = detail.interval if polled.next_at else 0.0
    return detail._replace(
        error=polled.error,
        as_of=polled.as_of,
        next_at=polled.next_at,
        latency=polled.latency,
        failures=polled.failures,
        interval=interval,
        pace=pace_of(polled.latency, polled.failures, interval),
        running=running,
        waiting=sum(1 for job in jobs if job.state.active) - running,
    )


def _why_away(cluster: Cluster) -> str:
    if cluster.identify.by_environment is not None:
        variable, value = cluster.identify.by_environment
        wanted = f"{visible(variable)} is not '{visible(value)}' here"
    elif cluster.identify.always:
        wanted = "another cluster was taken before it"
    else:
        wanted = "it is only taken by name"
    return f"{wanted}, and no [cluster.ssh] defines its login"


def _described(project: OpenProject, cluster: Cluster, away: str) -> tuple[Cluster, str]:
    if away:
        return cluster, ""
    try:
        described = project.connections.described(cluster, ask=False)
    except RowtuiError as error:
        return cluster, error.message
    asked = described.partitions and not cluster.partitions
    return described, "as the cluster reported" if asked else ""


def _kinds(project: OpenProject, cluster: Cluster, note: str) -> tuple[tuple[NodeType, ...], str]:
    if cluster.node_types:
        return cluster.node_types, ""
    found: dict[str, NodeType] = {}
    partitions = cluster.partitions or (Partition(""),)
    try:
        for partition in partitions:
            for kind in node_types_for(cluster, partition.name, project.environment):
                found.setdefault(f"{kind.partition} {kind.name}", kind)
    except RowtuiError as error:
        return (), error.message
    if found:
        sources = sorted({kind.source for kind in found.values()})
        return tuple(found.values()), f"from {', '.join(sources)}" if any(sources) else ""
    return (), note or "not configured: r asks the cluster"
