"""What a job of the graph gets from other jobs: for inputs.json, and as files that must exist.

Takes a growth and the lists that were read; gives `SampleInputs`, and paths in the workspace. A job
that gets one sample in its own directory needs neither.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rowtui.core.network.graph.dynamic_graph import Growth, InputMember
from rowtui.core.network.graph.job_model import GONE, KIND, LOST
from rowtui.core.network.samples.domain import natural
from rowtui.core.network.samples.sample_flow import Flow, Lists
from rowtui.core.project.scan import look_again
from rowtui.core.runs.directories.inputs import InputSample, MissingMember, SampleInputs

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


# Find products that jobs need and that no longer exist, although the records have them complete.
#
# A job that did not find its inputs is returned without having run. If the inputs are missing here
# as well, their directories are scanned again; they are then no longer complete, and are made once
# more. Files missing from a copy on a cluster prove nothing about this machine, so projects with
# copies are left alone.


def look_for_lost(project: Project, growth: Growth, jobs: Iterable[int]) -> bool:
    """Scan the directories again that lack inputs of these jobs; return whether the records
    changed.

    Blocks on the disk. Raises: RowtuiError.
    """
    if project.copies.known():
        return False
    workspace = project.workflow.workspace
    lacking = [
        path for path in required_of(project, growth, jobs) if not (workspace / path).exists()
    ]
    names = dict.fromkeys(path.partition("/")[0] for path in lacking)
    if not names:
        return False
    return look_again(project, list(map(os.fsencode, names)))


_ABSENT = "its data is not there"


def inputs_of(growth: Growth, lists: Lists, job: int) -> SampleInputs | None:
    """Return the content of a job's inputs.json; None if the job has no such file."""
    node, row = growth.where(job)
    flow = growth.flow
    spec = flow.network.node(node)
    assert spec is not None
    if flow.shape.home(node) != node:
        return None
    inputs: dict[str, list[InputSample]] = {it.name: [] for it in spec.inputs}
    left: list[MissingMember] = []
    for member in _in_order(flow, growth.members(job)):
        if _is_lost(growth, member):
            left.append(MissingMember(member.directory, member.input, _reason(growth, member.job)))
        else:
            inputs[member.input].append(_member(growth, lists, member))
    for name, lost in growth.lost_lists(job):
        left.append(MissingMember(growth.directory(lost), name, _reason(growth, lost)))
    return SampleInputs(
        flow.directories(node)[row],
        node,
        flow.values(node, row),
        {name: tuple(members) for name, members in inputs.items()},
        tuple(left),
    )


def _is_lost(growth: Growth, member: InputMember) -> bool:
    """Whether a member is missing or will be, even if its job was complete when others used it."""
    if member.job is None:
        return member.absent
    return KIND[growth.graph.state(member.job)] in (LOST, GONE)


def _in_order(flow: Flow, members: list[InputMember]) -> list[InputMember]:
    """Return members in the order of their samples' values, not in the order of arrival of lists.

    Values of a source are in the source's order; values that only lists add are in natural order.
    """
    of_sources = {name for names in flow.shape.sources.values() for name in names}

    def place(member: InputMember) -> tuple[tuple[int, Any], ...]:
        table = flow.columns(member.source)
        return tuple(
            (0, int(codes[member.row]))
            if axis.name in of_sources
            else natural(axis.values[codes[member.row]])
            for axis, codes in zip(table.axes, table.codes, strict=True)
        )

    found: list[InputMember] = []
    for _, those in groupby(members, key=lambda it: (it.input, it.source, it.output)):
        alike = list(those)
        if set(flow.columns(alike[0].source).names) <= of_sources:
            found += alike
        else:
            found += sorted(alike, key=place)
    return found


def _reason(growth: Growth, job: int | None) -> str:
    """Return why a member is missing."""
    if job is None:
        return _ABSENT
    graph = growth.graph
    if reason := graph.reason(job):
        return reason
    for cause in graph.root_causes(job):
        if cause != job and (reason := graph.reason(cause)):
            return f"it needs {growth.directory(cause)}: {reason}"
    return _ABSENT


def _member(growth: Growth, lists: Lists, member: InputMember) -> InputSample:
    sample = growth.flow.values(member.source, member.row)
    if member.entry is not None:
        known = lists.get((member.source, member.output, member.expanded), {})
        entries = known.get(member.directory, ())
        if member.entry < len(entries):
            value = entries[member.entry].value
            return InputSample(member.directory, member.output, sample, value, True)
    return InputSample(member.directory, member.output, sample)


def required_of(
    project: Project, growth: Growth, jobs: Iterable[int], *, own: bool = False
) -> tuple[str, ...]:
    """Return the files of other directories that jobs use, each once, as paths in the workspace.

    For a sample as a whole, the files are all products of its action and its value file. For a
    source's sample that has a directory, the path is that directory. `own`: include files of the
    jobs' own directories, which may be missing where jobs are queued before the jobs that they
    need.
    """
    found: dict[str, None] = {}
    for job in jobs:
        mine = growth.directory(job)
        for member in growth.members(job):
            elsewhere = member.directory != mine or (own and member.job is not None)
            if elsewhere and not _is_lost(growth, member):
                found.update(dict.fromkeys(_paths(project, growth, member)))
    return tuple(found)


def _paths(project: Project, growth: Growth, member: InputMember) -> Iterator[str]:
    if member.job is None:
        if project.state.directories.position(member.directory) is not None:
            yield member.directory
    elif member.output:
        yield f"{member.directory}/{member.output}"
    else:
        node = growth.flow.network.node(member.source)
        assert node is not None
        if project.workflow.value_file:
            yield f"{member.directory}/{project.workflow.value_file}"
        for action in project.workflow.named(node.action):
            for product in action.products:
                yield f"{member.directory}/{product}"
