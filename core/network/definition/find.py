"""The path of a project's network, and whether it exists.

This module is separate from the parser, because every command may use it.
"""

from __future__ import annotations

from pathlib import Path

NETWORK_FILE = "network.toml"


def has_network(root: Path) -> bool:
    """Whether the project at `root` has a network.toml, valid or not."""
    try:
        return (root / NETWORK_FILE).exists()
    except OSError:  # a folder without permission to search
        return False
