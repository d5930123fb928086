"""The resources that each job of a run's graph asks for, and the directories that a run will have.

Takes a project and a job graph; gives kinds of jobs, and the kind of each job. The amounts are
those of a plan: mapping files are evaluated as for a plan. Directories that are not made yet take
part with the values that the network will give them. A forecast cannot predict in which groups
directories become ready. A kind therefore has the amounts that one directory asks for alone, and
the maximum of these amounts in any group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import NDArray, np
from rowtui.core.base.text import Cost
from rowtui.core.groups.form import cut_groups, job_requests
from rowtui.core.groups.include import included
from rowtui.core.groups.model import Group
from rowtui.core.network.samples.sample_flow import Flow
from rowtui.core.project.planning.asked import AmountsOfJobs, AskedAmounts, spacing
from rowtui.core.runs.snapshot import wanted_directories
from rowtui.core.state.columns import RankColumn, build_column
from rowtui.core.state.model import DirectorySet, bit_set, positions

if TYPE_CHECKING:
    from rowtui.core.mapping.engine.mapper import Mapper
    from rowtui.core.network.graph.dynamic_graph import Growth
    from rowtui.core.network.samples.sample_flow import Flow
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action, Workflow


# The directories that a project will have once all samples of a network have theirs, in memory.
#
# Takes a project and its flow of samples; gives `Directories` that can be grouped, and for which
# mapping files can be evaluated, before any of the directories is made.


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


def expected_directories(project: OpenProject, flow: Flow) -> ExpectedDirectories:
    """Return the directories that a project will have once all samples of a flow have theirs."""
    directories = project.state.directories
    values: dict[str, Callable[[], Any]] = {
        name: _there(project, at) for at, name in enumerate(directories.names())
    }
    bad = frozenset(directories.name(at) for at in directories.bad)
    made = {name: constant(value) for name, value in wanted_directories(flow)}
    return ExpectedDirectories(values | made, bad - made.keys())


def _there(project: OpenProject, position: int) -> Callable[[], Any]:
    return lambda: project.state.directories.value(position)


def constant(value: Any) -> Callable[[], Any]:
    """Return a function that returns this value."""
    return lambda: value


_HOUR = 3600
NONE = -1  # the kind of a job whose action is not in workflow.toml


class JobKind(NamedTuple):
    """Jobs of one node that ask for the same resources.

    `alone`: the request of one directory as a job of its own. The other fields are maxima over any
    job that holds the directory: `cost` and `hours` are the directory's share of that job's cost
    and walltime.
    """

    node: str
    alone: AskedAmounts
    cost: Cost
    cpus: int
    gpus: int
    hours: float

    @property
    def refused(self) -> str:
        """Return why these jobs may not run; "" if they may."""
        return self.alone.refused


class AskedOfGraph(NamedTuple):
    """The kinds, and the position of the kind (or `NONE`) by the number of each job of
    the graph.
    """

    kinds: tuple[JobKind, ...]
    kind_of: NDArray[np.int32]


class GraphAmounts:
    """The amounts of one graph, cached until the graph, workflow.toml or a mapping changes."""

    def __init__(self, project: OpenProject, growth: Growth) -> None:
        self._project, self._growth = project, growth
        self._last: tuple[Flow, Workflow, Mapper | None, AskedOfGraph] | None = None

    def now(self) -> AskedOfGraph:
        """Return the amounts at this moment.

        Raises: RowtuiError if mapping files cannot be evaluated.
        """
        project, flow = self._project, self._growth.flow
        amounts = AmountsOfJobs(project, project.mapping_in_use())
        mapper = project.mapping.mapper if amounts.maps else None
        last = self._last
        if last is None or last[0] is not flow or last[1] is not project.workflow:
            last = None
        if last is None or last[2] is not mapper:
            found = _Finder(project, self._growth).found()
            self._last = last = (flow, project.workflow, mapper, found)
        return last[3]


def kind_of_jobs(amounts: AmountsOfJobs, node: str, action: Action, directories: int) -> JobKind:
    """Return the one kind of a node's jobs whose requests do not depend on the directory.

    `directories`: the number of the node's directories. Amounts that grow with a group grow with
    the group's size or with the square of the size, so the maximum is at size 1 or at the largest
    size.
    """
    largest = max(1, min(directories, action.group.maximum_size or directories))
    return _kind(node, amounts.of_size(action, 1), amounts.of_size(action, largest), largest)


def _kind(node: str, alone: AskedAmounts, group: AskedAmounts, size: int) -> JobKind:
    """Make a kind from what one directory asks for alone and what a group of `size` asks for."""
    share = Cost(group.cost.cpu_hours / size, group.cost.gpu_hours / size)
    return JobKind(
        node,
        alone._replace(refused=group.refused or alone.refused),
        Cost(
            max(alone.cost.cpu_hours, share.cpu_hours), max(alone.cost.gpu_hours, share.gpu_hours)
        ),
        max(alone.cpus, group.cpus),
        max(alone.gpus, group.gpus),
        max(alone.walltime_seconds, group.walltime_seconds / size) / _HOUR,
    )


class _Finder:
    """Compute the amounts of a graph once."""

    def __init__(self, project: OpenProject, growth: Growth) -> None:
        self._project, self._growth = project, growth
        self._kinds: dict[JobKind, int] = {}
        self._expected: ExpectedDirectories | None = None
        self._amounts = AmountsOfJobs(project, project.mapping_in_use())

    def found(self) -> AskedOfGraph:
        growth = self._growth
        flow = growth.flow
        kind_of = np.full(len(growth.graph), NONE, np.int32)
        for name in flow.runs:
            node = flow.network.node(name)
            actions = () if node is None else self._project.workflow.named(node.action)
            count = flow.columns(name).count
            if not count or not actions:
                continue
            kind_of[growth.jobs(name)] = self._node(name, actions, count)
        return AskedOfGraph(tuple(self._kinds), kind_of)

    def _node(self, node: str, actions: Sequence[Action], count: int) -> int | list[int]:
        """Return one kind for all jobs of a node, or a list with the kind of each job."""
        try:
            if len(actions) > 1 or not self._amounts.are_alike(actions[0]):
                return self._rows(node, actions)
            return self._number(kind_of_jobs(self._amounts, node, actions[0], count))
        except RowtuiError as error:  # a plan cannot contain these jobs
            return self._number(_kind(node, AskedAmounts(refused=error.message), AskedAmounts(), 1))

    def _number(self, kind: JobKind) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    def _rows(self, node: str, actions: Sequence[Action]) -> list[int]:
        """Return the kind of each row of a node; `NONE` for a directory that no action includes."""
        if self._expected is None:
            self._expected = expected_directories(self._project, self._growth.flow)
            self._amounts = AmountsOfJobs(
                self._project, self._project.mapping_in_use(), self._expected
            )
        expected = self._expected
        names = self._growth.flow.directories(node)
        there = [at for name in names if (at := expected.position(name)) is not None]
        left, kinds = bit_set(there), {}
        for action in actions:
            members = included(action, expected, expected.everything) & left
            left &= ~members
            if members and self._amounts.are_alike(action):
                kind = kind_of_jobs(self._amounts, node, action, members.bit_count())
                kinds.update(dict.fromkeys(positions(members), self._number(kind)))
            elif members:
                kinds.update(self._one_by_one(node, action, members, expected))
        return [
            kinds.get(at, NONE) if at is not None else NONE for at in map(expected.position, names)
        ]

    def _one_by_one(
        self, node: str, action: Action, members: DirectorySet, expected: ExpectedDirectories
    ) -> Iterator[tuple[int, int]]:
        """Yield position and kind of directories whose requests may differ from one another."""
        groups = cut_groups(action, expected, members).page()
        alone = self._alone(action, positions(members))
        step = spacing(len(groups))
        for first in range(0, len(groups), step):
            size = len(groups[first].indices)
            (request,) = job_requests([groups[first]])
            asked = self._amounts.of(request) if size > 1 else None
            for group in groups[first : first + step]:
                for at in group.indices:
                    own = alone[at]
                    yield at, self._number(_kind(node, own, own if asked is None else asked, size))

    def _alone(self, action: Action, members: Sequence[int]) -> dict[int, AskedAmounts]:
        step = spacing(len(members))
        found: dict[int, AskedAmounts] = {}
        for first in range(0, len(members), step):
            (request,) = job_requests([Group(action, (members[first],))])
            asked = self._amounts.of(request)
            found.update(dict.fromkeys(members[first : first + step], asked))
        return found
