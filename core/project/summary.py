"""Whether nothing has changed since the last synchronisation, and the status table of that time.

`rowtui show status` is typed often, mostly without a change in between. After a synchronisation the
identity of everything on which it depended is stored in `.row/rowtui/summary.json`, with the text
of the status table once it was printed. While everything is unchanged, a command needs a few stats
for any number of directories. To start fast, this module imports only the lightest modules of the
standard library. Source: docs/background/state.md, cheap starts.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from rowtui.core.state.store.stored import Stored

# The fields of a summary. A summary of another version of rowtui has others, and is not used.
FIELDS = (
    "generation",
    "workspace",
    "workspace_mtime_ns",
    "value_file",
    "stamps",
    "files",
    "texts",
)
FILE = "summary.json"
# Value files are checked one by one for as many directories as in `synchronise`.
MOST_STAMPS = 1_000
# Files are checked sequentially unless the first ones take longer each; a local stat takes 0.01 ms.
ASKED_FIRST = 8
SLOW_SECONDS = 0.000_2
AT_ONCE = 16


def read_text(start: str, which: str) -> str | None:
    """Return the text kept under `which` for the project of folder `start`; None if stale.

    The function raises nothing for any state of the disk: a file that cannot be read is not valid.
    """
    root = _find_root(start)
    summary = None if root is None else _current(root)
    if summary is None or root is None or has_open_journals(root):
        return None
    text = summary["texts"].get(which)
    return text if isinstance(text, str) else None


def unchanged_generation(root: str) -> int | None:
    """Return the generation of the records if nothing has changed since; else None."""
    summary = _current(root)
    return None if summary is None else int(summary["generation"])


def has_open_journals(root: str) -> bool:
    """Whether there are jobs that have not ended, or a submission was interrupted."""
    journals = _entries(os.path.join(root, ".row", "rowtui", "journal"))
    return any(name.endswith(".jsonl") for name in journals)


def _current(root: str) -> dict[str, Any] | None:
    own = os.path.join(root, ".row", "rowtui")
    try:
        with open(os.path.join(own, FILE), "rb") as file:
            summary: dict[str, Any] = json.load(file)
        if tuple(summary) == FIELDS and _still_holds(root, own, summary):
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
        # the summary was copied with its project and describes the files at the old place
        return False
    if any(identity(path) != seen for path, seen in summary["files"].items()):
        return False
    workspace = summary["workspace"]
    if os.stat(workspace).st_mtime_ns != summary["workspace_mtime_ns"]:
        return False
    folder = os.path.join(workspace, "")
    return _same_files(folder, "/" + (summary["value_file"] or ""), summary["stamps"])


def _same_files(before: str, after: str, stamps: list[list[Any]]) -> bool:
    """Whether the value files of directories are unchanged. Raises: OSError if one is gone."""
    begun = time.perf_counter()
    if not all(_is_same(before, after, *stamp) for stamp in stamps[:ASKED_FIRST]):
        return False
    left = stamps[ASKED_FIRST:]
    if time.perf_counter() - begun < ASKED_FIRST * SLOW_SECONDS:
        return all(_is_same(before, after, *stamp) for stamp in left)
    # On a remote file system each answer takes long: check many files at a time.
    import threading

    same: list[bool] = []

    def ask(own: list[list[Any]]) -> None:
        try:
            same.append(all(_is_same(before, after, *stamp) for stamp in own))
        except (OSError, ValueError):
            same.append(False)

    shares = [left[start::AT_ONCE] for start in range(AT_ONCE)]
    threads = [threading.Thread(target=ask, args=(share,), daemon=True) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(same)


def _is_same(before: str, after: str, name: str, mtime_ns: int, size: int) -> bool:
    status = os.stat(before + name + after)
    return status.st_mtime_ns == mtime_ns and status.st_size == size


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
    """Return what identifies a version of a file: mtime in ns, size, inode. None: no file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def write_summary(
    root: Path, workspace: Path, stored: Stored, texts: dict[str, str] | None = None
) -> None:
    """Store the conditions under which these records are valid, and texts made from them.

    Nothing is stored while the listing is racy or completions are in doubt, or without a save.
    """
    from rowtui.core.base.files import configuration_files

    directories = stored.directories
    count = len(directories)
    if stored.racy or stored.doubtful or not directories.file:
        return
    looked_at = list(range(count) if count <= MOST_STAMPS else directories.bad)
    if stored.value_file is None or len(looked_at) > MOST_STAMPS:
        looked_at = []
    row = root / ".row"
    files = [root / "workflow.toml"]
    files += [row / f"{name}.postcard" for name in ("completed", "submitted")]
    files.append(row / "directories.json")
    files += configuration_files(os.environ)
    summary = {
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
        return  # the summary only saves time
