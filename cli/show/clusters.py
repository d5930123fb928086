"""`rowtui show cluster` and `rowtui show launchers`: the configuration in effect.

Both print the part of the recognised cluster, or everything.
"""

from __future__ import annotations

import argparse
import os
from typing import NamedTuple

from rowtui.cli.environment import cluster_name
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.load_launchers import load_launchers
from rowtui.core.clusters.config.show import cluster_toml, clusters_toml, launchers_toml
from rowtui.core.clusters.identify import identify_cluster
from rowtui.core.clusters.model import Cluster
from rowtui.core.clusters.polling.description_cache import described_cluster
from rowtui.core.clusters.schedulers.kind import needs_description


class ShownClusters(NamedTuple):
    """`show cluster`."""

    clusters: list[Cluster]


def run(args: argparse.Namespace, out: Output) -> int:
    """Print TOML that can be pasted into clusters.toml, names, or JSON; 1 if it is incomplete.

    A cluster that is reached over SSH is shown with its last own report.
    """
    configured = load_clusters(os.environ)
    name = cluster_name(args) if args.known_cluster is None else args.known_cluster
    broken = any(problem.severity == "error" for problem in configured.problems)
    if broken and not args.all and name is None:  # the cluster of this machine may be left out
        raise InvalidFileError(configured.problems)
    out.problems(configured.problems)
    if args.all:
        clusters = list(configured.clusters)
    else:
        identified = identify_cluster(configured.clusters, os.environ, name)
        out.info(f"Identified cluster '{identified.cluster.name}': {identified.because}.")
        clusters = [identified.cluster]
    clusters = [(described_cluster(it) or it) if needs_description(it) else it for it in clusters]
    if args.json:
        out.json(ShownClusters(clusters))
    elif args.short:
        out.lines(cluster.name for cluster in clusters)
    else:
        out.write(clusters_toml(clusters) if args.all else cluster_toml(clusters[0]))
    return 1 if broken else 0


def launchers(args: argparse.Namespace, out: Output) -> int:
    """Print TOML that can be pasted into launchers.toml, names, or JSON."""
    launchers = load_launchers(os.environ)
    if args.json:
        out.json(launchers)
    elif args.short:
        out.lines(sorted(launchers.launchers))
    elif args.all:
        out.write(launchers_toml(launchers))
    else:
        configured = load_clusters(os.environ)
        broken = any(problem.severity == "error" for problem in configured.problems)
        if broken and cluster_name(args) is None:  # the cluster of this machine may be left out
            raise InvalidFileError(configured.problems)
        identified = identify_cluster(configured.clusters, os.environ, cluster_name(args))
        out.write(launchers_toml(launchers, identified.cluster.name))
    return 0
