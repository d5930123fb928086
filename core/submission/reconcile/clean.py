"""Removal of the reports of jobs whose plans are done.

Takes a project's folder; removes fences, end markers and folders of pilots that no journal needs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.sending.fence import ended_path, fence_path
from rowtui.core.submission.sending.journal import Journal


def remove_traces(root: Path) -> int:
    """Remove fences and end markers of plans that are done; return the number of removed files.

    Only plans whose journal was archived are considered, because all of their jobs have ended. One
    kind of fence stays: that of a job that may have reached a scheduler and was given up. If this
    job still appears, the fence keeps it from running.

    Files of a plan whose journal cannot be read, and files that cannot be removed, stay.
    """
    journal = Journal(root)
    fences = _names(fence_path(root, "-").parent)
    endings = _names(ended_path(root, "-").parent)
    removed = 0
    for plan_id in journal.done_plan_ids() if fences or endings else ():
        try:
            entries = journal.entries(plan_id)
        except RowtuiError:
            continue
        kept = _maybe_out_there(entries)
        for token in {entry.token for entry in entries}:
            if token in fences and token not in kept:
                removed += _remove(fence_path(root, token))
            if token in endings:
                removed += _remove(ended_path(root, token))
            if is_pilot(token):
                removed += _remove_folder(root / ".row" / "rowtui" / "pilot" / token)
    return removed


def _maybe_out_there(entries: Iterable[JournalEntry]) -> set[str]:
    """Return the jobs that were given up after they were sent."""
    steps: dict[str, list[JobStep]] = {}
    for entry in entries:
        steps.setdefault(entry.token, []).append(entry.step)
    return {
        token
        for token, taken in steps.items()
        if taken[-1] is JobStep.ABANDONED and JobStep.SENDING in taken
    }


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _remove_folder(path: Path) -> int:
    removed = sum(_remove(path / name) for name in _names(path))
    with contextlib.suppress(OSError):
        os.rmdir(path)
    return removed


def _remove(path: Path) -> int:
    with contextlib.suppress(OSError):
        os.unlink(path)
        return 1
    return 0
