"""The jobs that a round may plan: groups of what is ready, and of what follows from that.

Takes a run; gives parts, which are groups as their actions form them, with what each waits for
among the others. Only what the project's own records let run becomes a part, so that an action's
own conditions hold as well. What follows is never what a list that is not known yet would add to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.form import cut_groups
from rowtui.core.grouping.model import Group, JobRequest
from rowtui.core.grouping.request import job_requests
from rowtui.core.runs.needs import required_of
from rowtui.core.state.model import bit_set, positions
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    from rowtui.core.runs.running import Running
    from rowtui.core.submission.model import PlannedJob

# Directories planned at once: scripts of more are not looked at by anybody, and take seconds.
MOST = 10_000


class Part(NamedTuple):
    """One job to be planned: its jobs of the graph, and the parts that must end well before it."""

    jobs: tuple[int, ...]
    request: JobRequest
    needs: tuple[int, ...] = ()

    @property
    def group(self) -> Group:
        """What it works on."""
        return self.request.group


class _Turn(NamedTuple):
    """A job of the graph, and when it is its turn."""

    job: int
    turn: int


_ByAction = dict[str, dict[int, _Turn]]  # by action and position


class Parts:
    """The parts of one round. Those that wait for others have higher numbers than these."""

    def __init__(self, running: Running, most: int = MOST, without: Iterable[int] = ()) -> None:
        """Those that are ready now, in the order of their turns; without some jobs of the graph."""
        self._running = running
        self._part_of: dict[int, int] = {}  # by job of the graph
        self._number: dict[tuple[int, tuple[str, ...]], int] = {}
        self.all: list[Part] = []
        self._left_out = frozenset(without)
        ready = running.graph.ready(most + len(self._left_out))
        self.blocked = self._add([job for job in ready if job not in self._left_out])

    def __len__(self) -> int:
        """How many there are."""
        return len(self.all)

    @property
    def directories(self) -> int:
        """How many jobs of the graph are in them."""
        return len(self._part_of)

    def number(self, job: PlannedJob) -> int:
        """Which part became this planned job."""
        return self._number[job.action_index, job.directories]

    def chain(self) -> Chain:
        """To go on from parts to what waits for nothing but these."""
        return Chain(self, self._running)

    def follow(self, jobs: Sequence[int]) -> list[int]:
        """Make parts of jobs that wait for nothing but parts; the numbers of the new ones."""
        before = len(self.all)
        self._add([it for it in jobs if it not in self._part_of and it not in self._left_out])
        return list(range(before, len(self.all)))

    def _add(self, jobs: Sequence[int]) -> tuple[str, ...]:
        """Make parts of these; why some cannot be."""
        if not jobs:
            return ()
        unwritten = frozenset(self._running.write_inputs(jobs))
        found, lost = self._by_action([job for job in jobs if job not in unwritten])
        groups, blocked = self._groups(found)
        for group in groups:
            theirs = found[group.action.name]
            self._append(group, tuple(theirs[at].job for at in group.indices))
        return (
            *self._lost(lost),
            *self._nowhere(sorted(unwritten), "what it gets from others cannot be written there"),
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
        self.all.append(Part(jobs, request._replace(requires=required), tuple(sorted(needs))))
        self._part_of.update(dict.fromkeys(jobs, number))
        names = tuple(map(running.project.state.directories.name, group.indices))
        self._number[group.action.index, names] = number

    def _by_action(self, jobs: Sequence[int]) -> tuple[_ByAction, list[int]]:
        """By action: the directories that are meant; and the jobs whose directory is not there."""
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
        """The groups, in the order of the first turn in each; and what cannot be submitted."""
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
        """Whether all previous actions of a job are complete, or among the parts that it needs."""
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
        """Why jobs without a directory cannot run: some directories a network makes, some not."""
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


class Chain:
    """Goes on from part to part: to what waits for nothing but the parts that were taken."""

    def __init__(self, parts: Parts, running: Running) -> None:
        self._parts = parts
        self._running = running
        self._met: Counter[int] = Counter()

    def after(self, numbers: Iterable[int]) -> list[int]:
        """The numbers of new parts that wait for nothing but what was taken before, and these."""
        fresh: list[int] = []
        for number in numbers:
            for job in self._parts.all[number].jobs:
                if self._running.makes_unknown_list(job):
                    continue  # who collects its list does not know all its members yet
                for other, unmet in self._running.graph.followers(job):
                    self._met[other] += 1
                    if self._met[other] == unmet:
                        fresh.append(other)
        return self._parts.follow(fresh) if fresh else []
