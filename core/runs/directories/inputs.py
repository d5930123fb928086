"""inputs.json: what a job of the graph needs from other jobs, written when the job becomes ready.

Takes the members of each input of a sample; gives a file that is identical for the same inputs, and
that is replaced only if it changed. Paths in the file are relative to the directory.
"""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.graph.dynamic_graph import Growth, InputMember
from rowtui.core.network.graph.job_model import GONE, KIND, LOST
from rowtui.core.network.samples.domain import natural
from rowtui.core.network.samples.sample_flow import Flow, Lists
from rowtui.core.project.scan import look_again
from rowtui.core.runs.model import json_line
from rowtui.core.submission.scripts.fixed_part import SCRATCH_FOLDER

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


# What a job of the graph gets from other jobs: for inputs.json, and as files that must exist.
#
# Takes a growth and the lists that were read; gives `SampleInputs`, and paths in the workspace. A
# job that gets one sample in its own directory needs neither.


# Find products that jobs need and that no longer exist, although the records have them complete.
#
# A job that did not find its inputs is returned without having run. If the inputs are missing here
# as well, their directories are scanned again; they are then no longer complete, and are made once
# more. Files missing from a copy on a cluster prove nothing about this machine, so projects with
# copies are left alone.


def look_for_lost(project: OpenProject, growth: Growth, jobs: Iterable[int]) -> bool:
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


def stayed_on_node(project: OpenProject, growth: Growth, member: InputMember) -> list[Path]:
    """Return the products of a member that are links to the machine of a list (`scratch`)."""
    paths = (project.workflow.workspace / it for it in _paths(project, growth, member))
    return [it for it in paths if it.is_symlink() and f"/{SCRATCH_FOLDER}/" in os.readlink(it)]


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
            inputs[member.input].append(_member_needs(growth, lists, member))
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


def _member_needs(growth: Growth, lists: Lists, member: InputMember) -> InputSample:
    sample = growth.flow.values(member.source, member.row)
    if member.entry is not None:
        known = lists.get((member.source, member.output, member.expanded), {})
        entries = known.get(member.directory, ())
        if member.entry < len(entries):
            value = entries[member.entry].value
            return InputSample(member.directory, member.output, sample, value, True)
    return InputSample(member.directory, member.output, sample)


def required_of(
    project: OpenProject, growth: Growth, jobs: Iterable[int], *, own: bool = False
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


def _paths(project: OpenProject, growth: Growth, member: InputMember) -> Iterator[str]:
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


# Run a function on many files, in several threads where the file system is slow.


# Several threads are used where the file system blocks a thread more often than once in this many
# files (network file systems and syncs). Elsewhere several threads are four times slower than one.
_FILES_PER_WAIT = 4
_THREADS = 8
_PROBE = 64


def for_each(act: Callable[[int], None], count: int) -> None:
    """Call `act` with each number below `count`. Raises: the exceptions of `act`."""
    probed = min(count, _PROBE)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    for at in range(probed):
        act(at)
    waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
    if count > probed and waits * _FILES_PER_WAIT > probed:
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(act, range(probed, count)):
                pass
    else:
        for at in range(probed, count):
            act(at)


VERSION = 1
FILE = "inputs.json"
LIMIT = 1 << 30


class InputSample(NamedTuple):
    """One sample of an input: its directory, and the product that is taken from the directory.

    `output` is a path in that directory, "" for the directory itself. `value` is the selected entry
    of a list product, if `is_entry`.
    """

    directory: str
    output: str
    sample: Mapping[str, JSON]
    value: JSON = None
    is_entry: bool = False


class MissingMember(NamedTuple):
    """A missing member of a collapsed sample, as `require` allows."""

    directory: str
    input: str
    reason: str


class SampleInputs(NamedTuple):
    """All inputs of one sample of a node; `directory` is where the sample's job runs."""

    directory: str
    node: str
    sample: Mapping[str, JSON]
    inputs: Mapping[str, tuple[InputSample, ...]]
    left_out: tuple[MissingMember, ...] = ()


class WrittenInputs(NamedTuple):
    """The results of writing: directories by name; `failed` with the reasons."""

    written: list[str]
    unchanged: list[str]
    failed: list[tuple[str, str]]


def write_inputs(workspace: Path, samples: Iterable[SampleInputs]) -> WrittenInputs:
    """Update inputs.json of each directory.

    A file that cannot be written does not stop the others.
    """
    wanted = list(samples)
    became: list[bool | str] = [False] * len(wanted)  # whether the file was written; or the error

    def write(at: int) -> None:
        each = wanted[at]
        try:
            became[at] = _write(workspace / each.directory, inputs_bytes(each))
        except OSError as error:
            became[at] = f"its {FILE} cannot be written: {error.strerror or error}"
        except (RowtuiError, ValueError) as error:
            became[at] = f"its {FILE} cannot be written: {error}"

    for_each(write, len(wanted))
    result = WrittenInputs([], [], [])
    for each, said in zip(wanted, became, strict=True):
        if isinstance(said, str):
            result.failed.append((each.directory, said))
        else:
            (result.written if said else result.unchanged).append(each.directory)
    return result


def inputs_bytes(inputs: SampleInputs) -> bytes:
    """Return the bytes of the file. Raises: RowtuiError for a value that JSON cannot represent."""
    fields = {
        "version": VERSION,
        "node": inputs.node,
        "sample": inputs.sample,
        "inputs": {
            name: [_member(inputs.directory, member) for member in members]
            for name, members in inputs.inputs.items()
        },
        "left_out": [each._asdict() for each in inputs.left_out],
    }
    return json_line(fields) + b"\n"


def _member(own: str, member: InputSample) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "directory": member.directory,
        "path": _path(own, member.directory, member.output),
        "sample": member.sample,
    }
    if member.is_entry:
        fields["value"] = member.value
    return fields


def _path(own: str, directory: str, output: str) -> str:
    if directory == own:
        return output or "."
    return f"../{directory}/{output}" if output else f"../{directory}"


def _write(folder: Path, data: bytes) -> bool:
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise RowtuiError(f"{visible(folder.name)} is not a directory")
    path = folder / FILE
    try:
        if stat.S_ISREG(os.lstat(path).st_mode) and read_bounded(path, LIMIT) == data:
            return False
    except (OSError, RowtuiError):
        pass  # the file is missing or unreadable: a new one replaces it
    replace_file(path, data)
    return True
