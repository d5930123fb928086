"""A project's records in step with the disk: the workspace, staged completions and Row's files."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.summary import has_open_journals
from rowtui.core.state.model import State
from rowtui.core.state.store.stored import identity_of
from rowtui.core.workflow.find import has_network
from rowtui.core.workflow.model import Workflow, workflow_to_json
from rowtui.core.workspace.sync import Synced, synchronise
from rowtui.core.workspace.update import Compiled, Disk
from rowtui.core.workspace.workers import PROCESSES_PAY_FROM, Workers

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


def read_disk(
    project: Project,
    *,
    full: bool,
    check_values: bool,
    export: bool,
    progress: Callable[[int, int], None] | None,
) -> Synced:
    """Return the records after a synchronisation. See `Project.synchronise`."""
    _make_workspace(project)
    return synchronise(
        project.store,
        project.workflow,
        full=full,
        check_values=full or check_values,
        export=export,
        disk=disk_settings(project, progress),
        compiled=compiled_workflow(project.workflow),
        mend=lambda state: mended(project, state),
    )


def _make_workspace(project: Project) -> None:
    """Create the missing workspace of a project with a network, whose run will fill the workspace.

    If this fails, the code that reads the workspace reports the error.
    """
    workspace = project.workflow.workspace
    if not workspace.exists() and has_network(project.root):
        with contextlib.suppress(OSError):
            workspace.mkdir(parents=True, exist_ok=True)


def disk_settings(project: Project, progress: Callable[[int, int], None] | None) -> Disk:
    """Return the settings for reading the workspace, with the allowed parallel requests."""
    workers = None
    if project.io_threads is not None:
        known = project.known_state
        count = len(known.directories) if known else PROCESSES_PAY_FROM
        workers = Workers.for_count(count, project.io_threads)
    return Disk(workers=workers, progress=progress)


def mended(project: Project, state: State) -> State:
    """Return rebuilt records, with the jobs that the open journals contain."""
    if not has_open_journals(str(project.root)):
        return state
    from rowtui.core.submission.reconcile.open_jobs import OpenJobs, with_sent

    try:
        return with_sent(state, OpenJobs(project.root).lacking(state))
    except RowtuiError as error:  # then `reserve` refuses every reservation, too
        project.notice(str(error))
        return state


def compiled_workflow(workflow: Workflow) -> Compiled:
    """Return the workflow in the form that is stored with the records."""
    data = json.dumps(workflow_to_json(workflow), separators=(",", ":")).encode()
    return Compiled(data, identity_of(workflow.path))
