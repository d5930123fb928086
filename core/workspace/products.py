"""Which directories have the products of each action: the search of `scan`, without values.

The input is names and products, the result bit sets over the names. The search is the reading of
`read.py` without a value file; `completion.py` defines the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rowtui.core.workspace.read import Progress, WorkspaceReading, read_directories
from rowtui.core.workspace.workers import Workers


def look_for_products(
    workspace: Path,
    names: Sequence[bytes],
    products: Mapping[str, tuple[str, ...]],
    *,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> WorkspaceReading:
    """Return the directories in which each action is complete, as bit sets over positions of
    `names`, and the directories that are `bad` (unreadable) or `vanished`.

    A caller that removes completions must not do so for the latter. Raises: RowtuiError like
    `read_directories`.
    """
    return read_directories(
        workspace, names, value_file=None, products=products, workers=workers, progress=progress
    )
