"""Where a project's network stands, and whether it has one.

Apart from reading it, because every command may ask.
"""

from __future__ import annotations

from pathlib import Path

NETWORK_FILE = "network.toml"


def has_network(root: Path) -> bool:
    """Whether the project at `root` has a network.toml, good or bad."""
    try:
        return (root / NETWORK_FILE).exists()
    except OSError:  # a folder that may not be looked into
        return False
