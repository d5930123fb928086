"""Records with the changes by Row and by jobs; the last check before a decision is committed.

The input is the records on which a commit is based. The module checks Row's own files and the
staged completions (three stats and a listing if nothing is new); it does not read the workspace.
"""

from __future__ import annotations

import time
from pathlib import Path

from rowtui.core.state.records import with_staged
from rowtui.core.state.row.row_files import import_row_files
from rowtui.core.state.row.staging import list_staged, read_staged
from rowtui.core.state.store.stored import Stored


def with_news(root: Path, stored: Stored) -> Stored:
    """Return `stored` with Row's newest files and all staged completions; itself if nothing is new.

    A file that cannot be read is left for the next synchronisation, which reports it. If a staged
    file vanishes in between, newer records contain it, and the commit is repeated from those.
    """
    stored = import_row_files(root, stored).stored
    waiting = list_staged(root)
    unread = [file for file in waiting if file not in stored.consumed]
    if unread:
        staged = read_staged(root, unread).staged
        stored = with_staged(stored, staged, waiting, int(time.time()))
    return stored
