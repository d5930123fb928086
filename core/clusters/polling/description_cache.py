"""The descriptions of clusters that are reached over SSH, cached for a day.

The input is a configured cluster and the result of `describe_over` for it; the output is the
cluster with its missing settings filled in. Each way of reaching a cluster has a file in the user's
cache folder; a file that is old, damaged or of another version is ignored. This module opens no
connection.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from pathlib import Path
from typing import Any

from rowtui.core.base.codec import record
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.lazy import hashlib, platformdirs
from rowtui.core.clusters.model import Cluster, Partition

VERSION = 1
KEPT_SECONDS = 86400.0  # partitions change when a site is maintained
_LARGEST_FILE = 4 << 20  # bytes; a partition takes 300
_LONGEST_NAME = 40  # of the cluster's name in the file name; the digest distinguishes longer names


def described_cluster(
    cluster: Cluster,
    folder: Path | None = None,
    *,
    at_most: float = KEPT_SECONDS,
    now: float | None = None,
) -> Cluster | None:
    """Return the cluster with a cached description at most `at_most` seconds old; None if none.

    `folder`: where descriptions are cached (default: the user's cache folder); `now`: epoch
    seconds.
    """
    path = _file(cluster, folder)
    now = time.time() if now is None else now
    try:
        kept = json.loads(read_bounded(path, _LARGEST_FILE))
        if kept["version"] != VERSION or not 0 <= now - float(kept["at"]) <= at_most:
            return None
        partitions = tuple(_partition(values) for values in kept["partitions"])
        largest = kept["maximum_array_size"]
    except (OSError, RowtuiError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if largest is not None and (type(largest) is not int or largest < 0):
        return None
    return completed(cluster, cluster._replace(partitions=partitions, maximum_array_size=largest))


def remember_description(
    cluster: Cluster, described: Cluster, folder: Path | None = None, *, now: float | None = None
) -> Cluster:
    """Cache a cluster's description, and return the cluster with it. See `described_cluster`.

    A failure to write the file is no error: the cluster is then queried again.
    """
    path = _file(cluster, folder)
    kept = {
        "version": VERSION,
        "at": time.time() if now is None else now,
        "cluster": described.name,
        "maximum_array_size": described.maximum_array_size,
        "partitions": [_values(partition) for partition in described.partitions],
    }
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, json.dumps(kept, indent=1).encode(), mode=0o600)
    return completed(cluster, described)


def completed(cluster: Cluster, described: Cluster) -> Cluster:
    """Return the configured cluster with the settings that were left to the description."""
    return cluster._replace(
        partitions=cluster.partitions or described.partitions,
        maximum_array_size=described.maximum_array_size,
    )


def _file(cluster: Cluster, folder: Path | None) -> Path:
    """Return the file for a name and a way of reaching it: another host may be another cluster."""
    if folder is None:
        folder = platformdirs.user_cache_path("rowtui") / "clusters"
    remote = cluster.remote
    way = () if remote is None else (remote.host, remote.user, remote.port, remote.config)
    digest = hashlib.sha256(json.dumps((cluster.name, *way)).encode()).hexdigest()[:16]
    name = re.sub(r"[^A-Za-z0-9_-]", "_", cluster.name)[:_LONGEST_NAME]
    return folder / f"{name}-{digest}.json"


def _values(partition: Partition) -> dict[str, Any]:
    values = partition._asdict()
    return {key: value for key, value in values.items() if value is not None and value is not False}


def _partition(values: object) -> Partition:
    """Build a partition. Raises: TypeError, ValueError if the values are invalid."""
    found = record(Partition, values)
    if any(type(it) is int and it < 0 for it in found):
        raise ValueError("a negative limit")
    return found
