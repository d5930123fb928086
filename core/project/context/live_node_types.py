"""The node types that a cluster reports, and the clusters.toml entry that contains them.

The input is a cluster and the way to reach it. The result is the current types of its nodes and the
text that describes the node types in rowtui's own clusters.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.show_node_types import node_types_toml
from rowtui.core.clusters.config.toml_text import toml_string
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.schedulers.slurm.nodes import FoundKind, FoundNodes, slurm_node_types

if TYPE_CHECKING:
    from rowtui.core.project.context.connections import Reach


async def live_node_types(
    reach: Reach, cluster: Cluster, environment: Mapping[str, str]
) -> FoundNodes:
    """Ask the cluster for its node types, over its connection if it is remote.

    Raises: RowtuiError, LoginError if the cluster cannot be asked.
    """
    if cluster.scheduler in ("local", "bash"):
        from rowtui.core.clusters.config.node_types import this_machine

        kind = this_machine(environment)
        return FoundNodes((FoundKind(kind, 1, example="this machine"),))
    if cluster.scheduler != "slurm":
        raise RowtuiError(
            f"{visible(cluster.name)} cannot be asked for its nodes: it is no Slurm cluster",
            "describe them by hand: [[cluster.node_type]] in rowtui's clusters.toml",
        )
    try:
        found = await slurm_node_types(reach.transport(cluster))
    except RowtuiError:
        login = reach.login_error(cluster.name)
        if login is None:
            raise
        raise login from None  # the reason why the login is impossible, with a hint
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
        text += 'scheduler = "slurm"\nidentify.always = true\n'
    remarks = {each.kind.name: each.remarks for each in found.kinds}
    return text + node_types_toml([each.kind for each in found.kinds], remarks=remarks)
