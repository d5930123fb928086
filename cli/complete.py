"""Completion in the shell, through argcomplete; loaded only when a shell requests it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell and exit. Actions, clusters, jobs and directories come from the project."""
    import argcomplete

    for sub in _all_parsers(parser):
        for action in sub._actions:
            completer = _COMPLETERS.get(action.dest)
            if completer is not None:
                action.completer = completer  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _all_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for sub in action.choices.values():
                found += _all_parsers(sub)
    return found


def _actions(**_: Any) -> list[str]:
    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.workflow.find import find_project
    from rowtui.core.workflow.load import load_workflow

    try:
        return list(load_workflow(find_project(Path.cwd())).action_names())
    except (RowtuiError, OSError):
        return []


def _directories(prefix: str, **_: Any) -> list[str]:
    import os

    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.workflow.find import find_project
    from rowtui.core.workflow.load import load_workflow

    try:
        workspace = load_workflow(find_project(Path.cwd())).workspace
        return [entry.name for entry in os.scandir(workspace) if entry.name.startswith(prefix)]
    except (RowtuiError, OSError):
        return []


def _jobs(prefix: str, **_: Any) -> list[str]:
    """Return the jobs that may still be with a scheduler, and arrays with several such tasks."""
    from collections import Counter

    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.submission.plan.json import load_plan
    from rowtui.core.submission.plan.model import JobStep
    from rowtui.core.submission.sending.journal import Journal, job_records
    from rowtui.core.workflow.find import find_project

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
        pass
    return sorted({name for name in found if name.startswith(prefix)})


def _jobs_or_directories(prefix: str, **_: Any) -> list[str]:
    return _jobs(prefix) + _directories(prefix)


def _clusters(**_: Any) -> list[str]:
    import os

    from rowtui.core.clusters.config.load import load_clusters

    return [cluster.name for cluster in load_clusters(os.environ).clusters]


def _connections(**_: Any) -> list[str]:
    """Return the clusters that are reached over SSH."""
    import os

    from rowtui.core.clusters.config.load import load_clusters

    return [each.name for each in load_clusters(os.environ).clusters if each.remote is not None]


def _destinations(**_: Any) -> list[str]:
    """Return the destinations of the mapping files, without running them, and all partitions."""
    import os

    from rowtui.cli.mapping.files import usual_files
    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.clusters.config.load import load_clusters
    from rowtui.core.mapping.files.load import load_mapping

    try:
        named = list(load_mapping(usual_files().sources).of_kind("destinations"))
        clusters = load_clusters(os.environ).clusters
    except (RowtuiError, OSError):
        return []
    return named or [f"{each.name}/{it.name}" for each in clusters for it in each.partitions]


def _machines(**_: Any) -> list[str]:
    """Return the machines of netrc alone: a key ring might prompt for its password."""
    import asyncio
    import os

    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.secrets.netrc_provider import NetrcProvider, netrc_path

    try:
        names = asyncio.run(NetrcProvider(netrc_path(os.environ)).names())
    except (RowtuiError, OSError):
        return []
    return sorted({name.machine for name in names})


def _nodes(**_: Any) -> list[str]:
    """Return the sources and nodes of network.toml, without reading the files they name."""
    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.network.definition.load import load_network
    from rowtui.core.workflow.find import find_project

    try:
        network = load_network(find_project(Path.cwd())).network
    except (RowtuiError, OSError):
        return []
    return [*(it.name for it in network.sources), *(it.name for it in network.nodes)]


def _runs(**_: Any) -> list[str]:
    """Return the network's runs, the newest first."""
    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.runs.store import RunStore
    from rowtui.core.workflow.find import find_project

    try:
        return RunStore(find_project(Path.cwd())).ids()[::-1]
    except (RowtuiError, OSError):
        return []


def _trashes(**_: Any) -> list[str]:
    """Return the names that `network restore` can bring back."""
    from rowtui.core.base.errors import RowtuiError
    from rowtui.core.project.project import Project
    from rowtui.core.runs.directories.trash import trashes

    try:
        return trashes(Project.open())
    except (RowtuiError, OSError):
        return []


_COMPLETERS = {
    "action": _actions,
    "directories": _directories,
    "job": _jobs_or_directories,
    "jobs": _jobs,
    "failed": _directories,
    "cluster": _clusters,
    "connection": _connections,
    "known_cluster": _clusters,
    "node_types": _clusters,
    "why_not": _destinations,
    "machine": _machines,
    "node": _nodes,
    "run": _runs,
    "trash": _trashes,
}


# `rowtui completion SHELL`: the script that makes a shell complete rowtui's commands.


def print_script(args: argparse.Namespace, out: Output) -> int:
    """Print argcomplete's script for the shell."""
    from argcomplete.shell_integration import shellcode

    out.write(shellcode(["rowtui"], shell=args.shell))
    return 0
