"""What Row would read of a project's `.row` folder, by the names that people see."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rowtui.core.state.row.postcard import decode_completed, decode_submitted
from rowtui.core.state.row.staging import decode_names

Completed = dict[str, set[str]]
Submitted = dict[str, dict[str, tuple[str, int]]]


def completed(root: Path) -> Completed:
    """Action -> directories: completed.postcard and what is staged beside it."""
    found: Completed = {}
    whole = root / ".row/completed.postcard"
    staged = root / ".row/completed"
    files = [whole, *staged.glob("*.postcard")]
    read = [decode_completed(file.read_bytes()) for file in files if file.exists()]
    read += [decode_names(file.read_bytes()) for file in staged.glob("*.names")]
    for records in read:
        for action, names in records.items():
            found.setdefault(action, set()).update(map(os.fsdecode, names))
    return {action: names for action, names in found.items() if names}


def submitted(root: Path) -> Submitted:
    """Action -> directory -> (cluster, id), from submitted.postcard."""
    path = root / ".row/submitted.postcard"
    if not path.exists():
        return {}
    return {
        action: {os.fsdecode(name): job for name, job in jobs.items()}
        for action, jobs in decode_submitted(path.read_bytes()).items()
        if jobs
    }


def directories(root: Path) -> dict[str, object]:
    """Directory -> value, from directories.json."""
    found: dict[str, object] = json.loads((root / ".row/directories.json").read_bytes())["values"]
    return found
