"""Jobs of a network that workflow.toml would never let run, found before anything runs.

Takes a project and its flow of samples; gives a problem for each node. The directories that the
samples will have stand beside those of the workspace, and the very rules that groups are formed by
are asked: `include`, the order of a group, and the values that a command names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rowtui.core.errors import Problem, RowtuiError
from rowtui.core.grouping.form import cut_groups
from rowtui.core.grouping.include import included
from rowtui.core.network.flow import Flow
from rowtui.core.network.spec import NODE_KEY, Node
from rowtui.core.network.structure import problem_at
from rowtui.core.runs.study import wanted_directories
from rowtui.core.state.columns import RankColumn, build_column
from rowtui.core.state.model import DirectorySet, bit_set, positions
from rowtui.core.text import plural, visible
from rowtui.core.workflow.model import Action, Selector
from rowtui.core.workflow.template import parse_command

if TYPE_CHECKING:
    from rowtui.core.project.project import Project

_POINTER = f"/{NODE_KEY}"


class _Expected:
    """The `Directories` that there will be. `values`: for each name how to get its value."""

    def __init__(self, values: Mapping[str, Callable[[], Any]], bad: frozenset[str]) -> None:
        self._names = sorted(values, key=os.fsencode)
        self._values = [values[name] for name in self._names]
        self._position = {name: at for at, name in enumerate(self._names)}
        self._columns: dict[str, RankColumn] = {}
        self.bad: Mapping[int, str] = {self._position[name]: "" for name in bad}
        self.everything: DirectorySet = ((1 << len(self._names)) - 1) & ~bit_set(self.bad)

    def __len__(self) -> int:
        return len(self._names)

    def name(self, position: int) -> str:
        return self._names[position]

    def names(self) -> Sequence[str]:
        return self._names

    def position(self, name: str) -> int | None:
        return self._position.get(name)

    def value(self, position: int) -> Any:
        return self._values[position]()

    def column(self, pointer: str) -> RankColumn:
        if pointer not in self._columns:
            self._columns[pointer] = build_column(pointer, (value() for value in self._values))
        return self._columns[pointer]


def never_ready(project: Project, flow: Flow, file: str) -> Iterator[Problem]:
    """What is wrong with each node, in the order of the flow: an error for its first fault."""
    expected = _expected(project, flow)
    for name in flow.runs:
        node = flow.network.node(name)
        assert node is not None
        actions = project.workflow.named(node.action)
        if flow.columns(name).count:
            found = (expected.position(each) for each in flow.directories(name))
            members = bit_set(at for at in found if at is not None)
            fault = _fault(node, flow.shape.home(name), actions, expected, members)
        else:  # lists will bring its samples: all that is known of them is whose they are
            fault = _foreign(node, flow.shape.home(name), actions)
        if fault is not None:
            message = f"node '{visible(name)}': {fault.message}"
            yield problem_at(file, node.place, message, fault.hint)._replace(
                action=actions[0].index
            )


def _expected(project: Project, flow: Flow) -> _Expected:
    directories = project.state.directories
    values: dict[str, Callable[[], Any]] = {
        name: _there(project, at) for at, name in enumerate(directories.names())
    }
    bad = frozenset(directories.name(at) for at in directories.bad)
    made = {name: _constant(value) for name, value in wanted_directories(flow)}
    return _Expected(values | made, bad - made.keys())


def _there(project: Project, position: int) -> Callable[[], Any]:
    return lambda: project.state.directories.value(position)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _fault(
    node: Node,
    home: str,
    actions: Sequence[Action],
    expected: _Expected,
    members: DirectorySet,
) -> RowtuiError | None:
    """Why some of these directories would never be in a job; None: all of them will be."""
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
    node: Node, home: str, expected: _Expected, members: DirectorySet, left: DirectorySet
) -> RowtuiError:
    first = expected.name((left & -left).bit_length() - 1)
    many = plural(members.bit_count(), "directory", "directories")
    return RowtuiError(
        f"its `include` keeps action '{visible(node.action)}' out of {left.bit_count():,} of the "
        f"{many} of the node, the first {visible(first)}: these jobs would never run",
        _hint(node, home),
    )


def _foreign(node: Node, home: str, actions: Sequence[Action]) -> RowtuiError | None:
    """The same of directories of which only the home is known."""
    known = _Expected({home: _constant({NODE_KEY: home})}, frozenset())
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
    action: Action, expected: _Expected, members: DirectorySet
) -> RowtuiError | None:
    """Why a command cannot be filled in for some of its directories."""
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
