"""`rowtui show cluster`: the recognised cluster's configuration, or all of them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from rowtui.cli.project import cluster_name

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output import Output
    from rowtui.core.clusters.model import Cluster


def run(args: argparse.Namespace, out: Output) -> int:
    """Print TOML that can be pasted into clusters.toml, names, or JSON."""
    from rowtui.core.clusters.identify import identify_cluster
    from rowtui.core.clusters.load import load_clusters
    from rowtui.core.clusters.schedulers.slurm_describe import describe_this_machine
    from rowtui.core.clusters.show import cluster_toml, clusters_toml

    configured = load_clusters(os.environ)
    if args.all:
        clusters = list(configured.clusters)
    else:
        identified = identify_cluster(
            configured.clusters, os.environ, cluster_name(args), describe_this_machine
        )
        out.info(f"Identified cluster '{identified.cluster.name}': {identified.because}.")
        clusters = [identified.cluster]
    if args.json:
        out.print(json.dumps([_values(cluster) for cluster in clusters], indent=2))
    elif args.short:
        out.lines(cluster.name for cluster in clusters)
    else:
        out.write(clusters_toml(clusters) if args.all else cluster_toml(clusters[0]))
    return 0


def _values(cluster: Cluster) -> dict[str, Any]:
    """A cluster as JSON has it."""
    return {
        **cluster._asdict(),
        "identify": cluster.identify._asdict(),
        "partitions": [partition._asdict() for partition in cluster.partitions],
    }
