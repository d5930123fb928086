"""The directories that a project will have once all samples of a network have theirs, in memory.

Takes a project and its flow of samples; gives `Directories` that can be grouped, and for which
mapping files can be evaluated, before any of the directories is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.runs.study import wanted_directories
from rowtui.core.state.columns import RankColumn, build_column
from rowtui.core.state.model import DirectorySet, bit_set

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


class ExpectedDirectories:
    """See `Directories`. `values`: a function that returns the value, by directory name."""

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


def expected_directories(project: Project, flow: Flow) -> ExpectedDirectories:
    """Return the directories that a project will have once all samples of a flow have theirs."""
    directories = project.state.directories
    values: dict[str, Callable[[], Any]] = {
        name: _there(project, at) for at, name in enumerate(directories.names())
    }
    bad = frozenset(directories.name(at) for at in directories.bad)
    made = {name: constant(value) for name, value in wanted_directories(flow)}
    return ExpectedDirectories(values | made, bad - made.keys())


def _there(project: Project, position: int) -> Callable[[], Any]:
    return lambda: project.state.directories.value(position)


def constant(value: Any) -> Callable[[], Any]:
    """Return a function that returns this value."""
    return lambda: value
