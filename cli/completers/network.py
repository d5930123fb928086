"""Completions from the network: its nodes, its runs, and what was put into the trash."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.network.definition.load import load_network
from rowtui.core.project.project import Project
from rowtui.core.runs.directories.trash import trashes as trashes_of
from rowtui.core.runs.store import RunStore
from rowtui.core.workflow.find import find_project


def nodes(_prefix: str) -> list[str]:
    """Return the sources and nodes of network.toml, without reading the files they name."""
    network = load_network(find_project(Path.cwd())).network
    return [*(it.name for it in network.sources), *(it.name for it in network.nodes)]


def runs(_prefix: str) -> list[str]:
    """Return the network's runs, the newest first."""
    return RunStore(find_project(Path.cwd())).ids()[::-1]


def trashes(_prefix: str) -> list[str]:
    """Return the names that `network restore` can bring back."""
    return trashes_of(Project.open())
