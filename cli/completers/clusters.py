"""Completions from the user's files: clusters, destinations, and machines with a password."""

from __future__ import annotations

import os

from rowtui.cli.mapping.files import usual_files
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.mapping.files.load import load_mapping


def clusters(_prefix: str) -> list[str]:
    """Return all clusters."""
    return [cluster.name for cluster in load_clusters(os.environ).clusters]


def connections(_prefix: str) -> list[str]:
    """Return the clusters that are reached over SSH."""
    return [each.name for each in load_clusters(os.environ).clusters if each.remote is not None]


def destinations(_prefix: str) -> list[str]:
    """Return the destinations of the mapping files, without running them, or all partitions."""
    named = list(load_mapping(usual_files().sources).of_kind("destinations"))
    known = load_clusters(os.environ).clusters
    return named or [f"{each.name}/{it.name}" for each in known for it in each.partitions]


def machines(_prefix: str) -> list[str]:
    """Return the machines of netrc alone: a key ring might prompt for its password."""
    import asyncio

    from rowtui.core.secrets.netrc_provider import NetrcProvider, netrc_path

    names = asyncio.run(NetrcProvider(netrc_path(os.environ)).names())
    return sorted({name.machine for name in names})
