"""The jobs that a round may plan: groups of ready jobs, and of jobs that follow from these.

Takes a run; gives parts, which are groups formed by their actions, with the other parts that each
one waits for. Only jobs that the project's records allow to run become parts, so the conditions of
actions hold as well. A job is never planned ahead if a list that is not known yet would add to its
inputs.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.groups.form import cut_groups, job_requests
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.scan import look_again
from rowtui.core.runs.directories.inputs import required_of, stayed_on_node
from rowtui.core.runs.directories.readiness import values_of, with_planned
from rowtui.core.state.model import State, bit_set, positions

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun
    from rowtui.core.submission.plan.model import PlannedJob

# Directories planned at once; the user does not review more scripts, and they take seconds.
MOST = 10_000
# Jobs that are examined to find followers of parts.
FOLLOWING = 4 * MOST


class RoundPart(NamedTuple):
    """One job to be planned: its jobs of the graph, and the parts that must complete before it."""

    jobs: tuple[int, ...]
    request: JobRequest
    needs: tuple[int, ...] = ()

    @property
    def group(self) -> Group:
        """Return the group of directories of the job."""
        return self.request.group


class _Turn(NamedTuple):
    """A job of the graph, and its place in the order of the round."""

    job: int
    turn: int


_ByAction = dict[str, dict[int, _Turn]]  # by action and position


class Parts:
    """The parts of one round. A part has a higher number than the parts that it waits for."""

    def __init__(self, running: OpenRun, most: int = MOST, without: Iterable[int] = ()) -> None:
        """Make parts of the jobs that are ready now, by rank, except the jobs in `without`."""
        self._running = running
        self._part_of: dict[int, int] = {}  # by job of the graph
        self._number: dict[tuple[int, tuple[str, ...]], int] = {}
        self.all: list[RoundPart] = []
        self._left_out = frozenset(without)
        self._planned: State | None = None  # the state including directories that are not made yet
        most += len(self._left_out)
        while (held := take_back_scratch(running, ready := running.graph.ready(most))) is None:
            pass
        self._left_out |= held
        self.blocked = self._add([job for job in ready if job not in self._left_out])

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.all)

    @property
    def directories(self) -> int:
        """Return how many jobs of the graph are in the parts."""
        return len(self._part_of)

    def number(self, job: PlannedJob) -> int:
        """Return the number of the part that became this planned job."""
        return self._number[job.action_index, job.directories]

    def chain(self) -> Chain:
        """Return a chain, to find the jobs that wait only for parts."""
        if self._planned is None:
            self._plan_directories()
        return Chain(self, self._running)

    @contextlib.contextmanager
    def in_planned_directories(self) -> Iterator[None]:
        """Use a project state in which the directories of waiting parts exist already."""
        project = self._running.project
        real = project.state
        if self._planned is not None:
            project.use(self._planned)
        try:
            yield
        finally:
            if self._planned is not None:
                project.use(real)

    def _plan_directories(self) -> None:
        """Build a state that includes the directories of all jobs that can follow from
        the parts.
        """
        running = self._running
        growth, directories = running.growth, running.project.state.directories
        wanted = {
            name: value
            for name, value in values_of(growth, self._following())
            if directories.position(name) is None
        }
        if not wanted:
            return
        self._planned = with_planned(running.project, wanted)
        place = self._planned.directories.position
        for number, part in enumerate(self.all):  # positions have changed
            names = map(directories.name, part.group.indices)
            indices = tuple(at for name in names if (at := place(name)) is not None)
            group = part.group._replace(indices=indices)
            self.all[number] = part._replace(request=part.request._replace(group=group))

    def _following(self) -> list[int]:
        """Return the jobs that wait only for parts, or for other jobs in this result."""
        running = self._running
        met: Counter[int] = Counter()
        todo = list(self._part_of)
        ready = len(todo)
        for job in todo:  # the list grows during the loop
            if len(todo) > ready + FOLLOWING:
                break
            if running.makes_unknown_list(job):
                continue
            for other, unmet in running.graph.followers(job):
                met[other] += 1
                if met[other] == unmet:
                    todo.append(other)
        return todo[ready:]

    def follow(self, jobs: Sequence[int]) -> list[int]:
        """Make parts of jobs that wait only for parts; return the numbers of the new parts."""
        before = len(self.all)
        with self.in_planned_directories():
            self._add([it for it in jobs if it not in self._part_of and it not in self._left_out])
        return list(range(before, len(self.all)))

    def _add(self, jobs: Sequence[int]) -> tuple[str, ...]:
        """Make parts of these jobs; return why some cannot become parts."""
        if not jobs:
            return ()
        ready = [job for job in jobs if self._running.graph.state(job) is GraphJobState.ELIGIBLE]
        # the inputs of waiting jobs are not known yet
        unwritten = frozenset(self._running.write_inputs(ready))
        found, lost = self._by_action([job for job in jobs if job not in unwritten])
        groups, blocked = self._groups(found)
        for group in groups:
            theirs = found[group.action.name]
            self._append(group, tuple(theirs[at].job for at in group.indices))
        return (
            *self._lost(lost),
            *self._nowhere(sorted(unwritten), "its inputs from other jobs cannot be written there"),
            *blocked,
        )

    def _append(self, group: Group, jobs: tuple[int, ...]) -> None:
        running = self._running
        graph = running.graph
        needs: set[int] = set()
        for job in jobs:
            needs.update(self._part_of[it] for it in graph.dependencies(job) if it in self._part_of)
        required = required_of(running.project, running.growth, jobs, own=bool(needs))
        (request,) = job_requests([group])
        number = len(self.all)
        self.all.append(RoundPart(jobs, request._replace(requires=required), tuple(sorted(needs))))
        self._part_of.update(dict.fromkeys(jobs, number))
        names = tuple(map(running.project.state.directories.name, group.indices))
        self._number[group.action.index, names] = number

    def _by_action(self, jobs: Sequence[int]) -> tuple[_ByAction, list[int]]:
        """Return the jobs by action and position, and the jobs whose directories do not exist."""
        growth = self._running.growth
        directories = self._running.project.state.directories
        found: _ByAction = {}
        without: list[int] = []
        for turn, job in enumerate(jobs):
            node = growth.flow.network.node(growth.where(job).node)
            assert node is not None
            position = directories.position(growth.directory(job))
            if position is None:
                without.append(job)
            else:
                found.setdefault(node.action, {})[position] = _Turn(job, turn)
        return found, without

    def _groups(
        self, found: Mapping[str, Mapping[int, _Turn]]
    ) -> tuple[list[Group], tuple[str, ...]]:
        """Return the groups by the lowest rank in each, and why other jobs cannot be submitted."""
        project = self._running.project
        turns: list[tuple[int, Group]] = []
        blocked: list[str] = []
        for name, turn in found.items():
            left = bit_set(turn)
            for action in project.workflow.named(name):
                row = project.status_row(action)
                members = row.eligible & left
                left &= ~(row.eligible | row.submitted | row.completed)
                waits = positions(row.waiting & left)
                after = bit_set(
                    at for at in waits if self._comes_first(turn[at].job, action.previous_actions)
                )
                members |= after
                left &= ~after
                if not members:
                    continue
                directories = project.state.directories
                try:
                    cut = cut_groups(action, directories, members, project.order(action))
                except RowtuiError as error:
                    blocked.append(str(error))
                    continue
                every = cut.page()
                turns += [(min(turn[at].turn for at in group.indices), group) for group in every]
            if left:
                first = visible(project.state.directories.name((left & -left).bit_length() - 1))
                count = plural(left.bit_count(), "directory is", "directories are")
                blocked.append(
                    f"{count} ready for '{visible(name)}', but workflow.toml does not let it run "
                    "there (its include, or a previous action that is not complete), the first "
                    f"{first}"
                )
        turns.sort(key=lambda it: it[0])
        return [group for _, group in turns], tuple(blocked)

    def _comes_first(self, job: int, previous: Sequence[str]) -> bool:
        """Whether each previous action of a job is complete, or is a part that the job needs."""
        running = self._running
        growth, state = running.growth, running.project.state
        name = growth.directory(job)
        position = state.directories.position(name)
        assert position is not None
        planned: set[str] = set()
        for other in running.graph.dependencies(job):
            node = growth.flow.network.node(growth.where(other).node)
            if node is not None and other in self._part_of and growth.directory(other) == name:
                planned.add(node.action)
        return all(
            action in planned or state.completed.get(action, 0) >> position & 1
            for action in previous
        )

    def _lost(self, jobs: Sequence[int]) -> tuple[str, ...]:
        """Return why jobs without a directory cannot run; the network makes only some
        directories.
        """
        flow, where = self._running.growth.flow, self._running.growth.where
        made: list[int] = []
        others: list[int] = []
        for job in jobs:
            (made if flow.is_made(flow.shape.home(where(job).node)) else others).append(job)
        return (
            *self._nowhere(made, "it is no longer in the workspace: going on makes it again"),
            *self._nowhere(
                others, "it is no longer in the workspace: bring it back, or give it up"
            ),
        )

    def _nowhere(self, jobs: Sequence[int], why: str) -> tuple[str, ...]:
        if not jobs:
            return ()
        more = f" (and {len(jobs) - 1:,} more)" if len(jobs) > 1 else ""
        return (f"{visible(self._running.growth.directory(jobs[0]))}{more}: {why}",)


def take_back_scratch(running: OpenRun, jobs: Iterable[int]) -> set[int] | None:
    """Mark jobs as incomplete whose products these jobs need, and stayed on a list's machine.

    Return None if there were any; otherwise the jobs that have to wait until such a list is over.
    Blocks on the disk. Raises: RowtuiError.
    """
    project, growth, graph = running.project, running.growth, running.graph
    scratch = {node.name for node in growth.flow.network.nodes if node.scratch}
    held: set[int] = set()
    lost: dict[int, str] = {}
    for job in jobs if scratch else ():
        for it in growth.members(job):
            links = stayed_on_node(project, growth, it) if it.source in scratch else []
            if not links or it.job is None or graph.state(it.job) is not GraphJobState.COMPLETED:
                continue
            if GraphJobState.SUBMITTED in map(graph.state, graph.dependents(it.job)):
                held.add(job)
            else:
                lost[it.job] = it.directory
                for link in links:
                    with contextlib.suppress(OSError):  # then its job stays complete
                        link.unlink()
    if not lost:
        return held
    look_again(project, [os.fsencode(name) for name in dict.fromkeys(lost.values())])
    graph.reopen(list(lost))
    running.facts.forget(lost)
    return None


class Chain:
    """Find jobs that wait only for parts already taken, part after part."""

    def __init__(self, parts: Parts, running: OpenRun) -> None:
        self._parts = parts
        self._running = running
        self._met: Counter[int] = Counter()

    def after(self, numbers: Iterable[int]) -> list[int]:
        """Return the numbers of new parts that wait only for these parts and those taken before."""
        fresh: list[int] = []
        for number in numbers:
            for job in self._parts.all[number].jobs:
                if self._running.makes_unknown_list(job):
                    continue  # the job that collects this list has members that are not known yet
                for other, unmet in self._running.graph.followers(job):
                    self._met[other] += 1
                    if self._met[other] == unmet:
                        fresh.append(other)
        return self._parts.follow(fresh) if fresh else []
