"""Find jobs of a network that workflow.toml would never let run, before anything runs.

Takes a project and its flow of samples; gives a problem for each node. The future directories of
the samples are added to those of the workspace in memory. The rules that form groups are then
applied: `include`, the order of a group, and the values that a command names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.groups.form import cut_groups
from rowtui.core.groups.include import included
from rowtui.core.network.definition.check import check_against_workflow
from rowtui.core.network.definition.load import NETWORK_FILE, load_network
from rowtui.core.network.definition.spec import NODE_KEY, NetworkPosition, Node, SourceRows
from rowtui.core.network.definition.structure import problem_at
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.network.samples.shape import Home, homes_of
from rowtui.core.runs.directories.source_files import read_source
from rowtui.core.runs.limits.asked import (
    ExpectedDirectories,
    constant,
    expected_directories,
)
from rowtui.core.runs.snapshot import make_study
from rowtui.core.state.model import DirectorySet, bit_set, positions
from rowtui.core.workflow.model import Action, Selector
from rowtui.core.workflow.template import parse_command

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


# Find all errors of a network, file by file, without stopping at the first.
#
# Takes a project's folder, and the project if its workflow is valid; gives problems with their
# places, notices about entries that sources left out, and the number of jobs if nothing is wrong.


class Checked(NamedTuple):
    """The result of a check.

    `jobs`: how many are known before anything runs; None if errors prevent counting. `homes`: whose
    directories each node uses, and why; empty if the network has errors.
    """

    problems: tuple[Problem, ...]
    notices: tuple[str, ...] = ()
    jobs: int | None = None
    homes: Mapping[str, Home] = {}


def check_network(root: Path, project: OpenProject | None) -> Checked:
    """Return all problems of a network.

    With `project` None, only network.toml itself is checked.
    """
    file = visible(str(root / NETWORK_FILE))
    try:
        loaded = load_network(root)
    except InvalidFileError as error:
        return Checked(error.problems)
    except RowtuiError as error:
        return Checked((Problem(file, 0, 0, error.message, error.hint),))
    found = list(loaded.problems)
    if project is None:
        return Checked(tuple(found))
    of_workflow = project.workflow.problems
    found += check_against_workflow(loaded.network, project.workflow, file)
    rows: dict[str, SourceRows] = {}
    notices: list[str] = []
    for source in loaded.network.sources:
        try:
            read = read_source(project, source)
        except RowtuiError as error:
            found.append(_at(file, source.place, error))
        else:
            rows[source.name] = read.rows
            notices += read.notices
    jobs = None
    homes: dict[str, Home] = {}
    if len(rows) == len(loaded.network.sources) and not any(it.severity == "error" for it in found):
        try:
            flow = make_study(project, loaded.network, rows).flow
        except InvalidFileError as error:
            found += error.problems
        except RowtuiError as error:
            found.append(_at(file, NetworkPosition(), error))
        else:
            jobs = sum(run.columns.count for run in flow.runs.values())
            every = homes_of(loaded.network)
            homes = {node.name: every[node.name] for node in loaded.network.nodes}
            found += never_ready(project, flow, file)
    found.sort(key=lambda it: (it.line, it.column))
    return Checked((*of_workflow, *dict.fromkeys(found)), tuple(notices), jobs, homes)


def _at(file: str, place: NetworkPosition, error: RowtuiError) -> Problem:
    message = error.message.removeprefix(f"{file}: ")
    return Problem(file, place.line, place.column, message, error.hint)


_POINTER = f"/{NODE_KEY}"


def never_ready(project: OpenProject, flow: Flow, file: str) -> Iterator[Problem]:
    """Yield the first fault of each node as an error, in the order of the flow."""
    expected = expected_directories(project, flow)
    for name in flow.runs:
        node = flow.network.node(name)
        assert node is not None
        actions = project.workflow.named(node.action)
        if flow.columns(name).count:
            found = (expected.position(each) for each in flow.directories(name))
            members = bit_set(at for at in found if at is not None)
            fault = _fault(node, flow.shape.home(name), actions, expected, members)
        else:  # lists will add the samples: only the home of their directories is known
            fault = _foreign(node, flow.shape.home(name), actions)
        if fault is not None:
            message = f"node '{visible(name)}': {fault.message}"
            yield problem_at(file, node.place, message, fault.hint)._replace(
                action=actions[0].index
            )


def _fault(
    node: Node,
    home: str,
    actions: Sequence[Action],
    expected: ExpectedDirectories,
    members: DirectorySet,
) -> RowtuiError | None:
    """Return why some of these directories would never be in a job; None if all of them will be."""
    left = members
    for action in actions:
        try:
            inside = included(action, expected, expected.everything)
            if inside & members:
                cut_groups(action, expected, inside & members)
        except RowtuiError as error:
            return error
        if (lacks := _without_value(action, expected, inside & members)) is not None:
            return lacks
        left &= ~inside
    return _left_out(node, home, expected, members, left) if left else None


def _left_out(
    node: Node, home: str, expected: ExpectedDirectories, members: DirectorySet, left: DirectorySet
) -> RowtuiError:
    first = expected.name((left & -left).bit_length() - 1)
    many = plural(members.bit_count(), "directory", "directories")
    return RowtuiError(
        f"its `include` keeps action '{visible(node.action)}' out of {left.bit_count():,} of the "
        f"{many} of the node, the first {visible(first)}: these jobs would never run",
        _hint(node, home),
    )


def _foreign(node: Node, home: str, actions: Sequence[Action]) -> RowtuiError | None:
    """Return why directories would never be in a job, if only the node of their values is known."""
    known = ExpectedDirectories({home: constant({NODE_KEY: home})}, frozenset())
    for action in actions:
        selectors = tuple(
            Selector(tuple(it for it in selector.conditions if it.pointer == _POINTER))
            for selector in action.group.include
        )
        narrow = action._replace(group=action.group._replace(include=selectors))
        try:
            if included(narrow, known, known.everything):
                return None
        except RowtuiError as error:
            return error
    return RowtuiError(
        f"its `include` keeps action '{visible(node.action)}' out of all directories of the node: "
        "these jobs would never run",
        _hint(node, home),
    )


def _hint(node: Node, home: str) -> str:
    hint = f'the value files of these directories have "{NODE_KEY}": "{visible(home)}"'
    if home != node.name:
        hint += f", as the node shares those of '{visible(home)}'; it has its own with "
        hint += 'directories = "own"'
    return f"{hint}. Change the `include` of the action in workflow.toml"


def _without_value(
    action: Action, expected: ExpectedDirectories, members: DirectorySet
) -> RowtuiError | None:
    """Return why a command cannot be filled in for some of its directories; None if it can."""
    for pointer in parse_command(action.command).pointers:
        column = expected.column(pointer)
        lacking = [at for at in positions(members) if column.codes[at] == column.missing]
        if lacking:
            more = f" (and {len(lacking) - 1:,} more)" if len(lacking) > 1 else ""
            return RowtuiError(
                f"the value of directory {visible(expected.name(lacking[0]))}{more} has no "
                f"{visible(pointer)}, which the command of action '{visible(action.name)}' needs",
                "add the key to a source or to `constants`, or take it out of the command",
            )
    return None
