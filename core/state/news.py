"""Records with what Row and jobs did since: the last look before a decision is committed.

Takes records that a commit is made from, and looks at Row's own files and the staged completions
(three stats and a listing where nothing is new); reads nothing of the workspace.
"""

from __future__ import annotations

import time
from pathlib import Path

from rowtui.core.state.records import with_staged
from rowtui.core.state.row_files import import_row_files
from rowtui.core.state.staging import list_staged, read_staged
from rowtui.core.state.stored import Stored


def with_news(root: Path, stored: Stored) -> Stored:
    """`stored` with Row's newest files and all staged completions; itself if there is no news.

    What cannot be read is left for the next synchronisation, which says so. A staged file that
    vanishes meanwhile is in newer records, and then this commit is made again from those.
    """
    stored = import_row_files(root, stored).stored
    waiting = list_staged(root)
    unread = [file for file in waiting if file not in stored.consumed]
    if unread:
        staged = read_staged(root, unread).staged
        stored = with_staged(stored, staged, waiting, int(time.time()))
    return stored
