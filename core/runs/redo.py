"""Results that are to be made again: stale ones, and those that a person does not want any more.

A result is stale if it was made from other members than it has now: a replica was added, taken out
of a source, or left out when it had failed and is there by now; or a link leads elsewhere. Contents
of files are not compared. What was made from a stale result is to be made again, too. Products are
moved to the trash, never deleted; their directories stay. What a list brought into this run stays
in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.files import read_bounded
from rowtui.core.network.job_model import JobState
from rowtui.core.project.scan import look_again
from rowtui.core.runs.inputs import FILE, LIMIT, inputs_bytes
from rowtui.core.runs.needs import inputs_of
from rowtui.core.runs.trash import Refused, put_products_away
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.runs.running import Running

_Inputs = frozenset[tuple[str, str, str]]  # input, path, entry of a list: what a result was made of


class Stale(NamedTuple):
    """A result made from other members: how many are new, and how many are there no more."""

    job: int
    node: str
    directory: str
    added: int
    gone: int


class Redone(NamedTuple):
    """What is to be made again: jobs, and the name in the trash of what they had made."""

    jobs: tuple[int, ...]
    trash: str
    refused: tuple[Refused, ...] = ()


def stale_results(running: Running) -> list[Stale]:
    """The complete jobs that were made from other members. Waits for the disk.

    Only jobs with an inputs.json can be stale: what any other job works on is in its directory. A
    result without that file was not made by a run, and what it was made from is unknown.
    """
    growth = running.growth
    workspace = running.project.workflow.workspace
    states = growth.graph.snapshot().states
    found = []
    for name in growth.flow.runs:
        if growth.flow.shape.home(name) != name:
            continue
        for job in growth.jobs(name).tolist():
            if states[job] != JobState.COMPLETE:
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


def with_what_follows(running: Running, jobs: Iterable[int]) -> list[int]:
    """These jobs, and all complete ones whose results come from theirs, upstream first."""
    seen = dict.fromkeys(jobs)
    todo = list(seen)
    for job in todo:  # it grows meanwhile
        for other in running.graph.dependents(job):
            if other not in seen and running.graph.state(other) is JobState.COMPLETE:
                seen[other] = None
                todo.append(other)
    return todo


def redo(running: Running, jobs: Sequence[int]) -> Redone:
    """Have these jobs (see `with_what_follows`) run again: their products go to the trash.

    Raises: RowtuiError if one of them is not complete, or is with a scheduler.
    """
    project, growth = running.project, running.growth
    paths: list[str] = []
    names: list[str] = []
    for job in jobs:
        node, directory = growth.where(job).node, growth.directory(job)
        if running.graph.state(job) is not JobState.COMPLETE:
            state = running.graph.state(job).name.lower()
            raise RowtuiError(
                f"'{visible(node)}' of {visible(directory)} is {state}: only what is complete can "
                "be made again",
                "'rowtui network retry' is for what failed",
            )
        spec = growth.flow.network.node(node)
        assert spec is not None
        products = {it for action in project.workflow.named(spec.action) for it in action.products}
        paths += [f"{directory}/{product}" for product in sorted(products)]
        names.append(directory)
    moved = put_products_away(project, paths)
    look_again(project, [os.fsencode(name) for name in dict.fromkeys(names)])
    running.look()
    return Redone(tuple(jobs), moved.trash, tuple(moved.refused))


def said(stale: Sequence[Stale]) -> str:
    """A sentence about stale results; "" without any."""
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
    """What a result was made from; None if that is not on record."""
    try:
        return _members(json.loads(read_bounded(path, LIMIT)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RowtuiError):
        return None


def _members(fields: Mapping[str, Any]) -> _Inputs:
    """The members that an inputs.json lists; not those that were left out."""
    return frozenset(
        (str(name), str(it["path"]), json.dumps(it["value"]) if "value" in it else "")
        for name, members in fields["inputs"].items()
        for it in members
    )
