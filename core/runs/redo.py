"""Make results again: stale results, and results that the user rejects.

A result is stale if its present members differ from those it was made from: a replica was added,
removed from a source, or left out after a failure and is complete by now; or a link changed.
Contents of files are not compared. Results made from a stale result are made again as well.
Products are moved to the trash, never deleted; their directories stay. Samples that a list added to
this run stay in the run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.scan import look_again
from rowtui.core.runs.directories.inputs import FILE, LIMIT, inputs_bytes, inputs_of
from rowtui.core.runs.directories.trash import KeptDirectory, put_products_away

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun

_Inputs = frozenset[tuple[str, str, str]]  # input, path, entry of a list: the members of a result


class Stale(NamedTuple):
    """A result made from other members: how many are new, and how many no longer exist."""

    job: int
    node: str
    directory: str
    added: int
    gone: int


class Redone(NamedTuple):
    """The jobs to run again, and the name of their products in the trash."""

    jobs: tuple[int, ...]
    trash: str
    refused: tuple[KeptDirectory, ...] = ()


def stale_results(running: OpenRun) -> list[Stale]:
    """Return the complete jobs that were made from other members. Blocks on the disk.

    Only jobs with an inputs.json can be stale: any other job uses only its own directory. A result
    without that file was not made by a run, so its members are unknown.
    """
    growth = running.growth
    workspace = running.project.workflow.workspace
    states = growth.graph.snapshot().states
    found = []
    for name in growth.flow.runs:
        if growth.flow.shape.home(name) != name:
            continue
        for job in growth.jobs(name).tolist():
            if states[job] != GraphJobState.COMPLETED:
                continue
            now = inputs_of(growth, running.lists, job)
            before = None if now is None else _recorded(workspace / now.directory / FILE)
            if now is None or before is None:
                continue
            wanted = _members(json.loads(inputs_bytes(now)))
            if wanted != before:
                added, gone = len(wanted - before), len(before - wanted)
                found.append(Stale(job, name, now.directory, added, gone))
    return found


def with_what_follows(running: OpenRun, jobs: Iterable[int]) -> list[int]:
    """Return these jobs and all complete jobs that used their results, upstream first."""
    seen = dict.fromkeys(jobs)
    todo = list(seen)
    for job in todo:  # the list grows during the loop
        for other in running.graph.dependents(job):
            if other not in seen and running.graph.state(other) is GraphJobState.COMPLETED:
                seen[other] = None
                todo.append(other)
    return todo


def redo(running: OpenRun, jobs: Sequence[int]) -> Redone:
    """Run these jobs (see `with_what_follows`) again: move their products to the trash.

    Raises: RowtuiError if one of them is not completed, or is submitted.
    """
    project, growth = running.project, running.growth
    paths: list[str] = []
    names: list[str] = []
    for job in jobs:
        node, directory = growth.where(job).node, growth.directory(job)
        if running.graph.state(job) is not GraphJobState.COMPLETED:
            state = running.graph.state(job).name.lower()
            raise RowtuiError(
                f"'{visible(node)}' of {visible(directory)} is {state}: only completed jobs can "
                "be made again",
                "'rowtui network retry' is for failed jobs",
            )
        spec = growth.flow.network.node(node)
        assert spec is not None
        at = project.state.directories.position(directory)
        if at in project.state.submitted.get(spec.action, {}):
            raise RowtuiError(
                f"the end of '{visible(node)}' of {visible(directory)} is not recorded yet",
                "try again when its job has left the queue",
            )
        products = {it for action in project.workflow.named(spec.action) for it in action.products}
        paths += [f"{directory}/{product}" for product in sorted(products)]
        names.append(directory)
    moved = put_products_away(project, paths)
    look_again(project, [os.fsencode(name) for name in dict.fromkeys(names)])
    running.look()
    return Redone(tuple(jobs), moved.trash, tuple(moved.refused))


def said(stale: Sequence[Stale]) -> str:
    """Return a sentence about stale results; "" without any."""
    if not stale:
        return ""
    first = stale[0]
    change = " and ".join(
        f"{count:,} {what}" for count, what in ((first.added, "new"), (first.gone, "gone")) if count
    )
    return (
        f"{plural(len(stale), 'result was', 'results were')} made from other members than now, the "
        f"first {visible(first.directory)} ({change}): 'rowtui network redo' makes them again"
    )


def _recorded(path: Path) -> _Inputs | None:
    """Return the members that a result was made from; None if they were not recorded."""
    try:
        return _members(json.loads(read_bounded(path, LIMIT)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RowtuiError):
        return None


def _members(fields: Mapping[str, Any]) -> _Inputs:
    """Return the members that an inputs.json lists, without members that were left out."""
    return frozenset(
        (str(name), str(it["path"]), json.dumps(it["value"]) if "value" in it else "")
        for name, members in fields["inputs"].items()
        for it in members
    )
