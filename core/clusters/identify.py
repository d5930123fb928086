"""Identify the cluster, and give the reason.

The cluster is the one that the user named; else the first that identifies itself (the user's, then
the built-in ones); else a Slurm cluster described from sinfo; else `local`. Unlike in Row, the
built-in `none` is used only by name, because an unknown login node must never run the jobs itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import similar, visible
from rowtui.core.clusters.config.builtin import LOCAL, NONE
from rowtui.core.clusters.model import Cluster, Identified
from rowtui.core.clusters.schedulers.kind import needs_description


def identify_cluster(
    clusters: Sequence[Cluster],
    environ: Mapping[str, str],
    name: str | None,
    describe_slurm: Callable[[], Cluster | None] | None = None,
) -> Identified:
    """Decide which of `clusters` to use.

    `describe_slurm` (default: `describe_this_machine`) is called only if necessary. It also
    provides the partitions of a cluster described without them, if its commands run on this
    machine. Raises: RowtuiError if there is no cluster called `name`.
    """
    describe_slurm = describe_slurm or _describe_slurm
    identified = _identify(clusters, environ, name, describe_slurm)
    cluster = identified.cluster
    asked = cluster.remote is not None or cluster.asked_partitions
    if asked and runs_here(cluster, environ):
        from rowtui.core.clusters.polling.description_cache import completed

        described = describe_slurm() if needs_description(cluster) else None
        if described is not None:
            return identified._replace(cluster=completed(cluster, described))
    return identified


def _describe_slurm() -> Cluster | None:
    # On most machines another cluster is identified before.
    from rowtui.core.clusters.schedulers.slurm.describe import describe_this_machine

    return describe_this_machine()


def _identify(
    clusters: Sequence[Cluster],
    environ: Mapping[str, str],
    name: str | None,
    describe_slurm: Callable[[], Cluster | None],
) -> Identified:
    if name is not None:
        return _named(clusters, name)
    considered: list[str] = []
    for cluster in clusters:
        matches, why = _identifies_itself(cluster, environ)
        if matches:
            return Identified(cluster, why, tuple(considered))
        considered.append(f"{visible(cluster.name)}: {why}")
    described = describe_slurm()
    if described is not None:
        return Identified(described, "described from sinfo", tuple(considered))
    considered.append("slurm: this machine has no Slurm that answers")
    local = next((cluster for cluster in clusters if cluster.name == LOCAL.name), LOCAL)
    return Identified(local, "no other cluster was recognised", tuple(considered))


def runs_here(cluster: Cluster, environ: Mapping[str, str]) -> bool:
    """Whether the cluster's commands run on this machine rather than over SSH.

    This holds for a cluster without `ssh`, and on the login node itself. `identify.always` does not
    distinguish a login node from other machines: with `ssh` it makes the cluster the default.
    """
    if cluster.remote is None:
        return True
    return cluster.identify.by_environment is not None and _identifies_itself(cluster, environ)[0]


def _named(clusters: Sequence[Cluster], name: str) -> Identified:
    for cluster in clusters:
        if cluster.name == name:
            return Identified(cluster, "it was named")
    raise cluster_not_found(name, [cluster.name for cluster in clusters])


def cluster_not_found(name: str, known: Iterable[str]) -> RowtuiError:
    """Return the error about a name that is none of the known clusters."""
    # `none` runs jobs in the user's own terminal: a slip of the keyboard must not lead there.
    names = list(dict.fromkeys(it for it in known if it != NONE.name))
    near = similar(name, names, 3, 0.5)
    shown = ", ".join(f"'{visible(each)}'" for each in near or names)
    hint = f"did you mean {shown}?" if near else f"the known clusters are {shown};"
    return RowtuiError(
        f"cluster '{visible(name)}' not found",
        f"{hint} `rowtui show cluster --all` shows all of them",
    )


def _identifies_itself(cluster: Cluster, environ: Mapping[str, str]) -> tuple[bool, str]:
    identify = cluster.identify
    if identify.by_environment is not None:
        variable, wanted = identify.by_environment
        found = environ.get(variable)
        if found is None:
            return False, f"{visible(variable)} is not set"
        if found != wanted:
            text = f"{visible(variable)} is '{visible(found)}', not '{visible(wanted)}'"
            return False, text
        return True, f"{visible(variable)} is '{visible(wanted)}'"
    if not identify.always:
        return False, "only taken by name"
    if cluster is NONE or (cluster.name == NONE.name and cluster.source == NONE.source):
        return False, "only taken by name: it would run the jobs here and now"
    return True, f"`always = true` in {cluster.source}"
