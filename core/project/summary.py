"""The status table as it was last printed, valid as long as nothing changed since.

`rowtui show status` is typed all day, mostly to see the same again. After a table was computed its
text is kept in `.row/rowtui/summary.json` with the identity of everything that it was made from;
while all of that is as it was, printing costs a few stats at any number of directories. Only the
standard library's lightest modules are imported here. Source: docs/architecture.md, cheap starts.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from typing import Any

    from rowtui.core.project.project import Project

VERSION = 1
# Value files are looked at one by one for as many directories as `synchronise` does it for.
MOST_STAMPS = 1_000


def read_summary(start: str, which: str) -> str | None:
    """The text kept under `which` for the project of folder `start`, or None if it may be stale.

    Never raises for anything on disk: what cannot be read is not valid.
    """
    try:
        root = _find_root(start)
        if root is None:
            return None
        own = os.path.join(root, ".row", "rowtui")
        with open(os.path.join(own, "summary.json"), "rb") as file:
            summary = json.load(file)
        if summary["version"] == VERSION and _still_holds(root, own, summary):
            text: str | None = summary["texts"].get(which)
            return text
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def _find_root(start: str) -> str | None:
    folder = os.path.realpath(start)
    while not os.path.lexists(os.path.join(folder, "workflow.toml")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def _still_holds(root: str, own: str, summary: dict[str, Any]) -> bool:
    waiting = _entries(os.path.join(root, ".row", "completed"))
    if any(name.endswith((".postcard", ".names")) for name in waiting):
        return False
    if any(name.endswith(".jsonl") for name in _entries(os.path.join(own, "journal"))):
        return False  # jobs that have not ended, or a submission that was cut off
    newest = f"done.{summary['generation']}.rtc"
    if newest not in (records := _entries(own)) or _has_newer(records, summary["generation"]):
        return False
    if any(identity(path) != seen for path, seen in summary["files"].items()):
        return False
    workspace = summary["workspace"]
    if os.stat(workspace).st_mtime_ns != summary["workspace_mtime_ns"]:
        return False
    value_file = summary["value_file"]
    for name, mtime_ns, size in summary["stamps"]:
        status = os.stat(os.path.join(workspace, name, value_file))
        if (status.st_mtime_ns, status.st_size) != (mtime_ns, size):
            return False
    return True


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _has_newer(records: list[str], generation: int) -> bool:
    for name in records:
        if name.startswith("done."):
            number = name.split(".", 2)[1]
            if number.isdecimal() and int(number) > generation:
                return True
    return False


def identity(path: str) -> list[int] | None:
    """What tells one version of a file from another: mtime in ns, size, inode. None: no file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def write_summary(project: Project, texts: dict[str, str]) -> None:
    """Keep the texts of a table that was just made, unless something may change it unseen.

    Not kept: while jobs are submitted (the queue decides), while the listing is racy, where
    nothing can be saved, or where messages came with the table.
    """
    from rowtui.core.files import replace_file

    stored = project.store.load().stored
    if stored is None or stored.racy or stored.state.generation != project.state.generation:
        return
    if project.workflow.problems or any(project.state.submitted.values()):
        return
    directories = stored.directories
    count = len(directories)
    value_file = stored.value_file
    looked_at = (
        () if value_file is None else range(count) if count <= MOST_STAMPS else directories.bad
    )
    if len(looked_at) > MOST_STAMPS:
        looked_at = ()
    row = project.root / ".row"
    files = (
        project.workflow.path,
        row / "completed.postcard",
        row / "submitted.postcard",
        row / "directories.json",
    )
    summary = {
        "version": VERSION,
        "generation": stored.state.generation,
        "workspace": str(project.workflow.workspace),
        "workspace_mtime_ns": stored.workspace_mtime_ns,
        "value_file": value_file,
        "stamps": [[directories.name(at), *directories.stamp(at)] for at in looked_at],
        "files": {str(path): identity(str(path)) for path in files},
        "texts": texts,
    }
    try:
        data = json.dumps(summary, separators=(",", ":")).encode()
        replace_file(project.store.folder / "summary.json", data)
    except (OSError, ValueError):
        return  # it only saves time
