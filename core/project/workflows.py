"""The workflow as compiled into the records, so that most commands parse no TOML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import identity_of
from rowtui.core.workflow.compiled import workflow_from_json, workflow_to_json
from rowtui.core.workflow.model import Workflow

if TYPE_CHECKING:
    from rowtui.core.workspace.update import Compiled


def current_workflow(root: Path, store: Store) -> Workflow:
    """Return the compiled workflow if workflow.toml has not changed since; else parse it again.

    Raises: WorkflowError.
    """
    stored = store.load().stored
    if (
        stored
        and stored.workflow
        and stored.workflow_identity == identity_of(root / "workflow.toml")
    ):
        try:
            return workflow_from_json(json.loads(stored.workflow), root)
        except (ValueError, KeyError, TypeError, IndexError):
            pass  # compiled by another version: parse it
    from rowtui.core.workflow.load import load_workflow

    return load_workflow(root)


def compiled_workflow(workflow: Workflow) -> Compiled:
    """Return the workflow in the form that is stored with the records."""
    from rowtui.core.workspace.update import Compiled

    data = json.dumps(workflow_to_json(workflow), separators=(",", ":")).encode()
    return Compiled(data, identity_of(workflow.path))
