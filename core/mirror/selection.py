"""Select the files of a project that are sent to its copy, and the files that are fetched.

The input is the project's workspace, the directories of the jobs, their products, and `mirror.toml`
beside workflow.toml if it exists; the result is `MirrorSelection`s. Without `mirror.toml`, every
file outside the workspace is sent unless it is hidden or larger than 100 MB, and the products are
fetched.

    send = ["scripts/**"]       # outside the workspace; all files if not given
    exclude = ["*.tmp"]         # neither sent nor fetched
    fetch = ["plots/**"]        # in the directories, in addition to the products
    largest_mb = 100            # outside the workspace
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mirror.model import (
    CopyFailure,
    MirrorError,
    MirrorSelection,
    WantedFiles,
    complaint_about,
    is_relative,
    literal,
)
from rowtui.core.workflow.toml_file import TomlTable, open_toml
from rowtui.core.workflow.toml_keys import Key, TableKeys

NAME = "mirror.toml"
_LIMIT = 1 << 20
MIRROR_KEYS = TableKeys(
    {
        "send": Key("strings", "Patterns of the files outside the workspace to send."),
        "exclude": Key("strings", "Patterns of files that are neither sent nor fetched."),
        "fetch": Key("strings", "Patterns of files to fetch, in addition to the products."),
        "largest_mb": Key("integer", "The largest file to send, in MB.", least=1),
    }
)
_WORKFLOW = "workflow.toml"


class MirrorRules(NamedTuple):
    """The content of `mirror.toml`. `send`: () means all files."""

    send: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    fetch: tuple[str, ...] = ()
    largest_mb: int = 100


def read_rules(root: Path) -> MirrorRules:
    """Read the rules of a project. Raises: InvalidFileError with all problems."""
    file = open_toml(root / NAME, MIRROR_KEYS, _LIMIT, NAME)
    if file is None:
        return MirrorRules()
    send, exclude, fetch = (_patterns(file.top, key) for key in ("send", "exclude", "fetch"))
    largest = file.top.integer("largest_mb")
    file.raise_if_errors()
    return MirrorRules(send, exclude, fetch, largest or MirrorRules().largest_mb)


def _patterns(table: TomlTable, key: str) -> tuple[str, ...]:
    patterns = table.strings(key) or ()
    for index, pattern in enumerate(patterns):
        if why := complaint_about(pattern):
            table.problem((key, index), f"`{visible(pattern)}` cannot be used: {why}")
    return patterns


def log_pattern(path: str) -> str:
    """Return the pattern that matches the logs of all jobs with the same log name as this one."""
    return os.path.normpath(path.replace("%A_%a", "*").replace("%j", "*"))


def to_send(
    rules: MirrorRules,
    root: Path,
    workspace: str,
    directories: Sequence[str] | None,
    needed: Sequence[str] = (),
    *,
    log_patterns: Sequence[str] = (),
) -> MirrorSelection:
    """Select the project's own files, and all files of the directories that the jobs work on.

    `workspace`: as written in workflow.toml. `directories`: None for the whole workspace. `needed`:
    files of other directories, as paths in the workspace. `log_patterns`: paths of job logs, read
    from the project; logs are not sent. Raises: MirrorError if the workspace is not in the project.
    """
    workspace = workspace_in(root, workspace)
    logs = tuple(f"/{pattern.lstrip('/')}" for pattern in log_patterns)
    exclude = (*rules.exclude, literal(workspace), *logs)
    largest = rules.largest_mb * 1_000_000
    project = WantedFiles(("",), rules.send, exclude, hidden=False, largest=largest)
    places = (*_places(workspace, directories), *_places(workspace, needed))
    jobs = WantedFiles(places, (), rules.exclude)
    return MirrorSelection((WantedFiles((_WORKFLOW,)), project, jobs))


def to_fetch(
    rules: MirrorRules,
    root: Path,
    workspace: str,
    directories: Sequence[str],
    products: Sequence[str],
    *,
    logs: Sequence[str] = (),
    records: Sequence[str] = (),
) -> MirrorSelection:
    """Select the results of jobs: products, matches of `fetch`, job logs, and rowtui's records.

    `logs`, `records`: paths relative to the project, files or folders. A log outside the project is
    reported in a notice and not fetched. Raises: MirrorError if the workspace is not in the
    project.
    """
    workspace = workspace_in(root, workspace)
    only = (*(literal(product) for product in products), *rules.fetch)
    wanted = [WantedFiles(_places(workspace, directories), only, rules.exclude)] if only else []
    inside = tuple(os.path.normpath(log) for log in logs if is_relative(os.path.normpath(log)))
    outside = [log for log in logs if not is_relative(os.path.normpath(log))]
    wanted.append(WantedFiles((*inside, *records)))
    notices = [f"the log {visible(log)} is not in the project: it stays there" for log in outside]
    return MirrorSelection(tuple(wanted), tuple(notices))


def in_directories(
    rules: MirrorRules, root: Path, workspace: str, directories: Sequence[str]
) -> MirrorSelection:
    """Select all of these directories.

    Raises: MirrorError if the workspace is not in the project.
    """
    places = _places(workspace_in(root, workspace), directories)
    return MirrorSelection((WantedFiles(places, (), rules.exclude),))


def all_there(rules: MirrorRules, *, reports: bool = False) -> MirrorSelection:
    """Select all of a copy except the files that `exclude` names, `.git` and rowtui's records.

    `reports`: also select job reports that have not been fetched. Reports are fetched after the
    products that they describe, and never like other files. `.git` is left out because its hooks
    must not come from the cluster.
    """
    ours = "/.row/rowtui" if reports else "/.row"
    return MirrorSelection((WantedFiles(("",), (), (*rules.exclude, "/.git", ours)),))


def workspace_in(root: Path, workspace: str) -> str:
    """Return the workspace relative to the project. Raises: MirrorError if it is not inside."""
    path = os.path.relpath(os.path.join(root, workspace), root)
    if not is_relative(path):
        raise MirrorError(
            CopyFailure.OTHER,
            f"the workspace {visible(workspace)} is not a folder inside the project: "
            "it can have no copy on a cluster",
            "let the project and the cluster share a file system (`paths` in clusters.toml)",
        )
    return path


def _places(workspace: str, directories: Sequence[str] | None) -> tuple[str, ...]:
    if directories is None:
        return (workspace,)
    return tuple(f"{workspace}/{name}" for name in directories)
