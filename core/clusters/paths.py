"""Map a folder of this machine to its path on a cluster that shares its file system.

The input is a path and the pairs of prefixes of `[cluster.ssh] paths`; the result is the path on
the cluster, or None if no prefix matches. The longest prefix is used, by whole folder names. A path
is tried as it is written, then with its symbolic links resolved (`/home/me/project` may be a link
into `/scratch`, which the cluster shares), and finally with the links of the prefixes resolved as
well (if `/home` is a link to `/data/home`, the current folder is below `/data/home`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from rowtui.core.clusters.model import PathPrefix


def remote_path(path: Path, paths: Sequence[PathPrefix]) -> PurePosixPath | None:
    """Return the path of the same file or folder on the cluster; None if no prefix matches.

    `path` is absolute; it need not exist. A path with `..` is tried only with its links resolved,
    because the meaning of `..` depends on the links.
    """
    there = None if ".." in path.parts else mapped(PurePosixPath(path), paths)
    if there is not None or not paths:
        return there
    real = _real(str(path))
    if real is None:
        return None
    real_paths = [
        pair._replace(local=local) for pair in paths if (local := _real(pair.local)) is not None
    ]
    there = mapped(PurePosixPath(real), paths)
    return mapped(PurePosixPath(real), real_paths) if there is None else there


def mapped(path: PurePosixPath, paths: Sequence[PathPrefix]) -> PurePosixPath | None:
    """Replace the longest matching prefix of a path, without resolving links."""
    fitting = [pair for pair in paths if path.is_relative_to(pair.local)]
    if not fitting:
        return None
    best = max(fitting, key=lambda pair: len(PurePosixPath(pair.local).parts))
    return PurePosixPath(best.remote, path.relative_to(best.local))


def _real(path: str) -> str | None:
    """Return the path with its links resolved; None if it cannot be read from this machine."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None
