"""Whether nothing has changed since the last synchronisation, and the status table of then.

`rowtui show status` is typed all day, mostly to see the same again. After a synchronisation the
identity of everything that it depended on is kept in `.row/rowtui/summary.json`, with the text of
the status table once that was printed. While all of it is as it was, a command needs a few stats
at any number of directories. Only the standard library's lightest modules are imported here.
Source: docs/architecture.md, cheap starts.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from rowtui.core.state.stored import Stored

VERSION = 2
FILE = "summary.json"
# Value files are looked at one by one for as many directories as `synchronise` does it for.
MOST_STAMPS = 1_000


def read_text(start: str, which: str) -> str | None:
    """The text kept under `which` for the project of folder `start`, or None if it may be stale.

    Never raises for anything on disk: what cannot be read is not valid.
    """
    root = _find_root(start)
    summary = None if root is None else _current(root)
    if summary is None or root is None or has_open_journals(root):
        return None
    text = summary["texts"].get(which)
    return text if isinstance(text, str) else None


def unchanged_generation(root: str) -> int | None:
    """The generation of the records if everything is as it was after it was made; else None."""
    summary = _current(root)
    return None if summary is None else int(summary["generation"])


def has_open_journals(root: str) -> bool:
    """Whether there are jobs that have not ended, or a submission was cut off."""
    journals = _entries(os.path.join(root, ".row", "rowtui", "journal"))
    return any(name.endswith(".jsonl") for name in journals)


def _current(root: str) -> dict[str, Any] | None:
    own = os.path.join(root, ".row", "rowtui")
    try:
        with open(os.path.join(own, FILE), "rb") as file:
            summary: dict[str, Any] = json.load(file)
        if summary["version"] == VERSION and _still_holds(root, own, summary):
            return summary
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
    newest = f"done.{summary['generation']}.rtc"
    if newest not in (records := _entries(own)) or _has_newer(records, summary["generation"]):
        return False
    if os.path.join(root, "workflow.toml") not in summary["files"]:
        return False  # copied with its project from elsewhere: it tells of the files there
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


def write_summary(
    root: Path, workspace: Path, stored: Stored, texts: dict[str, str] | None = None
) -> None:
    """Keep the circumstances of these records, and the texts of a table that was made from them.

    Not kept: while the listing is racy, or when the records were not saved.
    """
    directories = stored.directories
    count = len(directories)
    if stored.racy or not directories.file:
        return
    looked_at = list(range(count) if count <= MOST_STAMPS else directories.bad)
    if stored.value_file is None or len(looked_at) > MOST_STAMPS:
        looked_at = []
    row = root / ".row"
    files = [root / "workflow.toml"]
    files += [row / f"{name}.postcard" for name in ("completed", "submitted")]
    files.append(row / "directories.json")
    summary = {
        "version": VERSION,
        "generation": stored.state.generation,
        "workspace": str(workspace),
        "workspace_mtime_ns": stored.workspace_mtime_ns,
        "value_file": stored.value_file,
        "stamps": [[directories.name(at), *directories.stamp(at)] for at in looked_at],
        "files": {str(path): identity(str(path)) for path in files},
        "texts": texts or {},
    }
    folder = row / "rowtui"
    temporary = folder / f".{FILE}.{os.getpid()}.tmp"
    try:
        temporary.write_bytes(json.dumps(summary, separators=(",", ":")).encode())
        os.replace(temporary, folder / FILE)
    except (OSError, ValueError):
        return  # it only saves time
