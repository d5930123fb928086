"""Where a project's network stands, and whether it has one.

Apart from reading it, because every command may ask.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

NETWORK_FILE = "network.toml"


def has_network(root: Path) -> bool:
    """Whether the project at `root` has a network.toml, good or bad."""
    try:
        return (root / NETWORK_FILE).exists()
    except OSError:  # a folder that may not be looked into
        return False


def make_workspace(root: Path, workspace: Path) -> None:
    """Make the workspace of a project that has a network and none yet: it will be filled.

    Where it cannot be made, whoever reads it says so.
    """
    if not workspace.exists() and has_network(root):
        with contextlib.suppress(OSError):
            workspace.mkdir(parents=True, exist_ok=True)
