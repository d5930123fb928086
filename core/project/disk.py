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
    from pathlib import Path

    from rowtui.core.state.store.store import Store


def read_disk(
    store: Store,
    workflow: Workflow,
    disk: Disk,
    notice: Callable[[str], None],
    *,
    full: bool,
    check_values: bool,
    export: bool,
) -> Synced:
    """Return the records after a synchronisation. See `Project.synchronise`."""
    _make_workspace(workflow)
    return synchronise(
        store,
        workflow,
        full=full,
        check_values=full or check_values,
        export=export,
        disk=disk,
        compiled=compiled_workflow(workflow),
        mend=lambda state: mended(workflow.root, state, notice),
    )


def _make_workspace(workflow: Workflow) -> None:
    """Create the missing workspace of a project with a network, whose run will fill the workspace.

    If this fails, the code that reads the workspace reports the error.
    """
    workspace = workflow.workspace
    if not workspace.exists() and has_network(workflow.root):
        with contextlib.suppress(OSError):
            workspace.mkdir(parents=True, exist_ok=True)


def disk_settings(
    known: State | None, io_threads: int | None, progress: Callable[[int, int], None] | None
) -> Disk:
    """Return the settings for reading the workspace, with the allowed parallel requests."""
    workers = None
    if io_threads is not None:
        count = len(known.directories) if known else PROCESSES_PAY_FROM
        workers = Workers.for_count(count, io_threads)
    return Disk(workers=workers, progress=progress)


def mended(root: Path, state: State, notice: Callable[[str], None]) -> State:
    """Return rebuilt records, with the jobs that the open journals contain."""
    if not has_open_journals(str(root)):
        return state
    from rowtui.core.submission.reconcile.open_jobs import OpenJobs, with_sent

    try:
        return with_sent(state, OpenJobs(root).lacking(state))
    except RowtuiError as error:  # then `reserve` refuses every reservation, too
        notice(str(error))
        return state


def compiled_workflow(workflow: Workflow) -> Compiled:
    """Return the workflow in the form that is stored with the records."""
    data = json.dumps(workflow_to_json(workflow), separators=(",", ":")).encode()
    return Compiled(data, identity_of(workflow.path))
