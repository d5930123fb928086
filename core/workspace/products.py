"""Which directories have the products of which actions: the looking of `scan`, without values.

Takes names and products, gives bit sets over the names. It is the reading of `read.py` with no
value file; the rule is `completion.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rowtui.core.workspace.read import Progress, Reading, read_directories
from rowtui.core.workspace.workers import Workers


def scan_products(
    workspace: Path,
    names: Sequence[bytes],
    products: Mapping[str, tuple[str, ...]],
    *,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """The directories in which each action is complete: bit sets over positions of `names`.

    Directories that are missing or unreadable count as not complete. Who takes completions back
    must not do so for them: use `look_for_products`.
    Raises: RowtuiError like `read_directories`.
    """
    found = look_for_products(workspace, names, products, workers=workers, progress=progress)
    return found.completed


def look_for_products(
    workspace: Path,
    names: Sequence[bytes],
    products: Mapping[str, tuple[str, ...]],
    *,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> Reading:
    """Like `scan_products`, and says which directories were `bad` (unreadable) or `vanished`."""
    return read_directories(
        workspace, names, value_file=None, products=products, workers=workers, progress=progress
    )
