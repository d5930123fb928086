"""Products that jobs need and that are no longer there, although the records have them complete.

A job that did not find what it needs is given back without having run. Where that is gone here as
well, its directory is looked at again: then it is no longer complete, and is made once more. What a
copy on a cluster lacks tells nothing of what is here, so projects with copies are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rowtui.core.runs.needs import required_of

if TYPE_CHECKING:
    from rowtui.core.network.growth import Growth
    from rowtui.core.project.project import Project


def look_for_lost(project: Project, growth: Growth, jobs: Iterable[int]) -> bool:
    """Look again at directories that lack what these jobs need; whether the records have changed.

    Waits for the disk. Raises: RowtuiError.
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
