"""Completions from a project: actions, directories and jobs."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.sending.journal import Journal, job_records
from rowtui.core.workflow.find import find_project
from rowtui.core.workflow.load import load_workflow


def actions(_prefix: str) -> list[str]:
    """Return the workflow's actions."""
    return list(load_workflow(find_project(Path.cwd())).action_names())


def directories(prefix: str) -> list[str]:
    """Return the directories of the workspace."""
    workspace = load_workflow(find_project(Path.cwd())).workspace
    return [entry.name for entry in os.scandir(workspace) if entry.name.startswith(prefix)]


def jobs(prefix: str) -> list[str]:
    """Return the jobs that may still be with a scheduler, and arrays with several such tasks."""
    found: list[str] = []
    try:
        root = find_project(Path.cwd())
        journal = Journal(root)
        for plan_id in journal.open_plan_ids():
            records = job_records(load_plan(root, plan_id), journal.entries(plan_id))
            keys = [it.key for it in records if it.step is JobStep.ACCEPTED and it.job_id]
            tasks = Counter(key.id for key in keys if key.task is not None)
            found += [str(number) for number, many in tasks.items() if many > 1]
            found += map(str, keys)
    except (RowtuiError, OSError):
        pass  # the jobs before an unreadable plan are offered
    return sorted({name for name in found if name.startswith(prefix)})


def jobs_or_directories(prefix: str) -> list[str]:
    """Return the jobs, then the directories of the workspace."""
    found = jobs(prefix)
    try:
        return found + directories(prefix)
    except (RowtuiError, OSError):
        return found
