"""Where a folder of this machine is on a cluster that shares its file system.

Takes a path and the pairs of prefixes of `[cluster.ssh] paths`; gives the path on the cluster,
or None where no prefix holds. The longest prefix counts, by whole names of folders. A path is
tried as it is written, then with its symbolic links followed (`/home/me/project` may be a link
into `/scratch`, which is what the cluster shares), at last with those of the prefixes followed as
well (where `/home` is a link to `/data/home`, that is what the current folder is called).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from rowtui.core.clusters.model import PathPrefix


def remote_path(path: Path, paths: Sequence[PathPrefix]) -> PurePosixPath | None:
    """The same file or folder on the cluster. `path` is absolute; it need not exist.

    A path with `..` is only tried with its links followed: what `..` means depends on them.
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
    """The path with the longest prefix that it has replaced, links left alone."""
    fitting = [pair for pair in paths if path.is_relative_to(pair.local)]
    if not fitting:
        return None
    best = max(fitting, key=lambda pair: len(PurePosixPath(pair.local).parts))
    return PurePosixPath(best.remote, path.relative_to(best.local))


def _real(path: str) -> str | None:
    """With its links followed; None if it cannot be looked at from here."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None
