"""Find what a command is about: the project, its network.toml, and the actions of a pattern.

The project is the nearest folder upwards that holds workflow.toml. Every command may use this
module, so that it loads no parser. In a pattern, `*` matches any run of characters and `?` one
character; all other characters match themselves, case-sensitively, and the whole name must match.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import NoProjectError, RowtuiError
from rowtui.core.base.files import own_config_folder
from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from rowtui.core.workflow.model import Action, Workflow

WORKFLOW_FILE = "workflow.toml"
NETWORK_FILE = "network.toml"


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


def has_network(root: Path) -> bool:
    """Whether the project at `root` has a network.toml, valid or not."""
    try:
        return (root / NETWORK_FILE).exists()
    except OSError:  # a folder without permission to search
        return False


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern matches the whole name. Linear except for the last `*`, no recursion."""
    at = position = 0
    star, resume = -1, 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in {"?", name[position]}:
            at += 1
            position += 1
        elif star >= 0:  # the last star matches one more character
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(char == "*" for char in pattern[at:])


def matching_actions(workflow: Workflow, pattern: str | None) -> tuple[Action, ...]:
    """Return the action elements whose name matches, in file order; all without a pattern."""
    if pattern is None:
        return workflow.actions
    return tuple(action for action in workflow.actions if matches(pattern, action.name))


PROJECT_FILES = ("mapping.yml", "mapping.yaml")


def has_mapping_files(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether `find_sources` would find any mapping file, even an unreadable one."""
    if any(os.path.lexists(root / name) for name in PROJECT_FILES):
        return True
    own = own_config_folder(environment)
    return own is not None and os.path.lexists(own / "mapping")
