"""Completions from a project: actions, directories and jobs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rowtui.cli.check.files import KINDS
from rowtui.cli.mapping.files import usual_files
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.network.definition.load import load_network
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.directories.trash import trashes as trashes_of
from rowtui.core.runs.store import RunStore
from rowtui.core.submission.plan.json import load_plan
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.sending.job_records import job_records
from rowtui.core.submission.sending.journal import Journal
from rowtui.core.workflow.find import find_project
from rowtui.core.workflow.load import load_workflow
from rowtui.tui.commands.command import GROUP_STATUSES, TITLES

_LARGEST_VALUES = 1 << 20  # bytes


def actions(_prefix: str) -> list[str]:
    """Return the workflow's actions."""
    return list(load_workflow(find_project(Path.cwd())).action_names())


def schemas(_prefix: str) -> list[str]:
    """Return the names of the schemas of files."""
    return list(KINDS)


def views(_prefix: str) -> list[str]:
    """Return the views of the dashboard."""
    return list(TITLES)


def statuses(_prefix: str) -> list[str]:
    """Return the words for the directories of which groups are formed."""
    return list(GROUP_STATUSES)


def directories(prefix: str) -> list[str]:
    """Return the directories of the workspace."""
    workspace = load_workflow(find_project(Path.cwd())).workspace
    return [entry.name for entry in os.scandir(workspace) if entry.name.startswith(prefix)]


def pointers(_prefix: str) -> list[str]:
    """Return JSON pointers to the values of the first directory that has values."""
    workflow = load_workflow(find_project(Path.cwd()))
    name = workflow.value_file or ""
    for entry in sorted(os.scandir(workflow.workspace), key=lambda it: it.name)[:10]:
        try:
            value = json.loads(read_bounded(Path(entry.path, name), _LARGEST_VALUES))
        except (OSError, ValueError, RecursionError):
            continue
        return list(_pointers(value, ""))
    return []


def _pointers(value: object, above: str) -> Iterator[str]:
    for key, below in value.items() if isinstance(value, dict) else ():
        pointer = f"{above}/{key.replace('~', '~0').replace('/', '~1')}"
        yield pointer
        yield from _pointers(below, pointer)


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


# Completions from the network: its nodes, its runs, and what was put into the trash.


def nodes(_prefix: str) -> list[str]:
    """Return the sources and nodes of network.toml, without reading the files they name."""
    network = load_network(find_project(Path.cwd())).network
    return [*(it.name for it in network.sources), *(it.name for it in network.nodes)]


def runs(_prefix: str) -> list[str]:
    """Return the network's runs, the newest first."""
    return RunStore(find_project(Path.cwd())).ids()[::-1]


def trashes(_prefix: str) -> list[str]:
    """Return the names that `network restore` can bring back."""
    return trashes_of(OpenProject.open())


# Completions from the user's files: clusters, destinations, and machines with a password.


def clusters(_prefix: str) -> list[str]:
    """Return all clusters."""
    return [cluster.name for cluster in load_clusters(os.environ).clusters]


def connections(_prefix: str) -> list[str]:
    """Return the clusters that are reached over SSH."""
    return [each.name for each in load_clusters(os.environ).clusters if each.remote is not None]


def destinations(_prefix: str) -> list[str]:
    """Return the destinations of the mapping files, without running them, or all partitions."""
    named = list(load_mapping(usual_files().sources).of_kind("destinations"))
    known = load_clusters(os.environ).clusters
    return named or [f"{each.name}/{it.name}" for each in known for it in each.partitions]


def machines(_prefix: str) -> list[str]:
    """Return the machines of netrc alone: a key ring might prompt for its password."""
    from rowtui.core.secrets.netrc_provider import NetrcProvider, netrc_path

    names = asyncio.run(NetrcProvider(netrc_path(os.environ)).names())
    return sorted({name.machine for name in names})
