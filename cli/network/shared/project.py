"""Shared steps of network commands: opening the network, and finding logs of failed jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.project.open import open_project
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.find import NETWORK_FILE, has_network
from rowtui.core.workflow.find import find_project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from rowtui.cli.output.output import Output
    from rowtui.core.runs.networks import Networks


def open_network(args: argparse.Namespace, out: Output) -> Networks:
    """Return the network of this folder's project.

    Raises: RowtuiError if it has no network or run.
    """
    from rowtui.core.runs.store import RunStore

    root = find_project(Path.cwd())
    if not has_network(root) and not RunStore(root).ids():
        raise RowtuiError(
            f"there is no {NETWORK_FILE} in {visible(str(root))}",
            "'rowtui network init' writes one to begin with",
        )
    project = open_project(args, out, errors=False)
    from rowtui.core.runs.networks import Networks

    return Networks(project)


def logs_of(networks: Networks, jobs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the log of the newest job of each action in a directory."""
    wanted = set(jobs)
    if not wanted:
        return {}
    found: dict[tuple[str, str], str] = {}
    records = sorted(networks.project.jobs.records(), key=lambda it: it.submitted_at)
    for record in records:
        for directory in record.directories:
            key = (record.action, directory)
            if key in wanted and record.log_path:
                found[key] = record.log_path
    return found
