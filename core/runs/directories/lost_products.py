"""Find products that jobs need and that no longer exist, although the records have them complete.

A job that did not find its inputs is returned without having run. If the inputs are missing here as
well, their directories are scanned again; they are then no longer complete, and are made once more.
Files missing from a copy on a cluster prove nothing about this machine, so projects with copies are
left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rowtui.core.runs.directories.needs import required_of

if TYPE_CHECKING:
    from rowtui.core.network.graph.dynamic_graph import Growth
    from rowtui.core.project.project import Project


def look_for_lost(project: Project, growth: Growth, jobs: Iterable[int]) -> bool:
    """Scan the directories again that lack inputs of these jobs; return whether the records
    changed.

    Blocks on the disk. Raises: RowtuiError.
    """
    if project.copies.known():
        return False
    workspace = project.workflow.workspace
    lacking = [
        path for path in required_of(project, growth, jobs) if not (workspace / path).exists()
    ]
    names = dict.fromkeys(path.partition("/")[0] for path in lacking)
    if not names:
        return False
    from rowtui.core.project.scan import look_again

    return look_again(project, list(map(os.fsencode, names)))
