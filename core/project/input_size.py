"""Input size of a job in GB (2^30 bytes), for expressions that read `input_size`.

The inputs of an action in a directory are the products of its previous actions, and the files that
match the patterns in the context variable `inputs` of the action's mapping entity (patterns below
the directory). A file counts once; a missing file does not count. Source: docs/mapping.md, "Names".
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.groups.model import JobRequest

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.state.model import Directories

GIGABYTE = 1 << 30
_THREADS_FROM = 200  # directories; smaller numbers are read sequentially
_THREADS = 8


def input_gigabytes(
    project: Project, job: JobRequest, patterns: Sequence[str], directories: Directories
) -> float:
    """Return the size of all inputs of a job. `directories`: those indexed by the job's group."""
    workflow = project.workflow
    before = [action for name in job.action.previous_actions for action in workflow.named(name)]
    products = tuple(dict.fromkeys(product for action in before for product in action.products))
    if not products and not patterns:
        return 0.0
    folders = [workflow.workspace / directories.name(at) for at in job.group.indices]

    def size(folder: Path) -> int:
        return _size(folder, products, patterns)

    if len(folders) < _THREADS_FROM:
        return sum(map(size, folders)) / GIGABYTE
    with ThreadPoolExecutor(project.io_threads or _THREADS) as pool:
        return sum(pool.map(size, folders, chunksize=64)) / GIGABYTE


def _size(folder: Path, products: Sequence[str], patterns: Sequence[str]) -> int:
    paths = {os.path.join(folder, product) for product in products}
    for pattern in patterns:
        if pattern and not pattern.startswith("/") and ".." not in pattern.split("/"):
            try:
                paths.update(map(str, folder.glob(pattern)))
            except (OSError, ValueError):
                continue
    total = 0
    for path in paths:
        try:
            total += os.stat(path).st_size
        except OSError:
            continue
    return total
