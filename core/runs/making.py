"""The directories of a network outside of any run: made, or what making them would do.

Takes a project and its flow of samples; gives which are new, which are there, and which cannot be
made. Also those that are nobody's any more: in no source, and of no run that is not over.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from rowtui.core.network.flow import Flow
from rowtui.core.runs.directories import (
    Conflict,
    Made,
    make_directories,
    read_values,
    required_value_file,
    same_value,
)
from rowtui.core.runs.running import Running
from rowtui.core.runs.store import BadRun
from rowtui.core.runs.study import wanted_directories

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.runs.networks import Networks


def make_all(
    networks: Networks, flow: Flow, progress: Callable[[int], None] = lambda _: None
) -> Made:
    """Make the directories of all samples that are known. Raises: RowtuiError."""
    wanted = wanted_directories(flow)
    made = make_directories(networks.project, wanted, networks.store.note_made, progress)
    if made.made:
        networks.project.synchronise()
    return made


def what_to_make(project: Project, flow: Flow) -> Made:
    """What that would do: `made` are those that are not there yet. Raises: RowtuiError."""
    value_file = required_value_file(project)
    workspace = project.workflow.workspace
    try:
        there = set(os.listdir(workspace))
    except OSError:
        there = set()
    found = Made([], [], [])
    old = []
    for name, value in wanted_directories(flow):
        if name in there:
            old.append((name, value))
        else:
            found.made.append(name)
    values = read_values(workspace, [name for name, _ in old], value_file)
    for (name, value), (is_value, other, why) in zip(old, values, strict=True):
        if is_value and same_value(other, value):
            found.kept.append(name)
        else:
            shown = why or "it is there already, with another value"
            found.conflicts.append(Conflict(name, value, other, shown))
    return found


def nobodys(networks: Networks) -> tuple[list[str], dict[str, str]]:
    """Retired directories that no run needs; and those that one does, with its name.

    Raises: RowtuiError.
    """
    retired = networks.retired()
    wanted: dict[str, str] = {}
    for run in networks.runs() if retired else ():
        if isinstance(run, BadRun) or run.status.is_over:
            continue
        flow = Running(networks.project, run, drives=False).growth.flow
        names = {name for name, _ in wanted_directories(flow)}
        wanted.update((name, run.id) for name in retired if name in names)
    return [name for name in retired if name not in wanted], wanted
