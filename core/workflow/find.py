"""Find the project, the nearest folder upwards that holds workflow.toml, and its network.toml."""

from __future__ import annotations

import os
from pathlib import Path

from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.base.text import visible

WORKFLOW_FILE = "workflow.toml"


def find_project(start: Path) -> Path:
    """Return the canonical folder of the nearest workflow.toml, from `start` up to the root.

    Raises: NoProjectError if there is none; RowtuiError if a folder cannot be read.
    """
    folder = _canonical(start)
    for candidate in (folder, *folder.parents):
        try:
            os.stat(candidate / WORKFLOW_FILE)
        except FileNotFoundError:
            continue
        except OSError as error:
            where = visible(str(candidate / WORKFLOW_FILE))
            raise RowtuiError(f"cannot look for {where}: {error.strerror}") from None
        return candidate
    raise NoProjectError(
        f"{WORKFLOW_FILE} not found in {visible(str(folder))} or any parent directory",
        "`rowtui init .` makes a new project here",
    )


def _canonical(start: Path) -> Path:
    try:
        return start.resolve(strict=True)
    # RuntimeError: raised by Python 3.11 for a symlink loop
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "too many symbolic links"
        raise RowtuiError(f"cannot open {visible(str(start))}: {reason}") from None


# The path of a project's network, and whether it exists.
#
# This module is separate from the parser, because every command may use it.


NETWORK_FILE = "network.toml"


def has_network(root: Path) -> bool:
    """Whether the project at `root` has a network.toml, valid or not."""
    try:
        return (root / NETWORK_FILE).exists()
    except OSError:  # a folder without permission to search
        return False
