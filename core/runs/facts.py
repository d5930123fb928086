"""What the project's records say of the jobs of a run: complete, with a scheduler, failed, neither.

The records are Row's: (action, directory). So what somebody submits by hand counts as well, nothing
runs twice, and a run that was cut off knows where it stood. Only what changed is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.network.job_model import JobState
from rowtui.core.state.model import Directories, DirectorySet, Failure, State, bit_set, positions
from rowtui.core.submission.ending import NOT_BEGUN, NOT_REACHED

if TYPE_CHECKING:
    from rowtui.core.network.growth import Growth

# A failure only after the job was with a scheduler for nothing: it may be sent again as it is.
_NOT_TRIED = (NOT_REACHED, NOT_BEGUN)


class Failed(NamedTuple):
    """A job of the graph that failed by itself."""

    job: int
    failure: Failure


class News(NamedTuple):
    """What the records say that the graph does not know: numbers of jobs.

    `gone`: were complete, and are no longer. `back`: are with no scheduler any more, and did not
    fail: they may be submitted again.
    """

    complete: list[int]
    gone: list[int]
    active: list[int]
    failed: list[Failed]
    back: list[int]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return any(self)


class Facts:
    """Compares a project's records with a graph, time after time."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth
        self._directories: Directories | None = None
        self._counts: dict[str, int] = {}
        self._rows: dict[str, dict[int, int]] = {}  # node -> position -> row
        self._masks: dict[str, DirectorySet] = {}
        self._complete: dict[str, DirectorySet] = {}

    def at(self, node: str, position: int) -> int | None:
        """The job of a node in the directory at a position."""
        row = self._rows[node].get(position)
        return None if row is None else self._growth.job(node, row)

    def mask(self, node: str) -> DirectorySet:
        """The directories of a node's samples, as far as they are there."""
        return self._masks[node]

    def news(self, state: State, counts: Callable[[int, str], bool]) -> News:
        """What is new. `counts`: whether the failure of a job (graph) by a job (token) does."""
        self._find(state.directories)
        news = News([], [], [], [], [])
        graph = self._growth.graph
        active: set[int] = set()
        for node, mask in self._masks.items():
            action = self._action(node)
            complete = state.completed.get(action, 0) & mask
            before = self._complete.get(node, 0)
            news.complete.extend(self._jobs(node, complete & ~before))
            for job in self._jobs(node, before & ~complete):
                if graph.state(job) is JobState.COMPLETE:
                    news.gone.append(job)
            self._complete[node] = complete
            submitted = state.submitted.get(action, {})
            for job in self._jobs(node, bit_set(submitted) & mask & ~complete):
                active.add(job)
                if graph.state(job) in (JobState.READY, JobState.WAITING):
                    news.active.append(job)
            failed = state.failed.get(action, {})
            with_jobs = bit_set(submitted)
            for position in positions(bit_set(failed) & mask & ~complete & ~with_jobs):
                failure = failed[position]
                found = self.at(node, position)
                if found is None or not counts(found, failure.token):
                    continue
                if failure.reason.startswith(_NOT_TRIED):
                    continue
                if graph.state(found) is not JobState.FAILED:
                    news.failed.append(Failed(found, failure))
        told = {it.job for it in news.failed} | set(news.complete)
        news.back.extend(job for job in self._active() if job not in active and job not in told)
        return news

    def _active(self) -> Iterator[int]:
        states = self._growth.graph.snapshot().states
        at = states.find(JobState.ACTIVE)
        while at >= 0:
            yield at
            at = states.find(JobState.ACTIVE, at + 1)

    def _jobs(self, node: str, members: DirectorySet) -> list[int]:
        if not members:
            return []
        rows, jobs = self._rows[node], self._growth.jobs(node)
        return [int(jobs[rows[at]]) for at in positions(members)]

    def _action(self, node: str) -> str:
        found = self._growth.flow.network.node(node)
        assert found is not None
        return found.action

    def _find(self, directories: Directories) -> None:
        """Where the samples' directories are, again wherever either has changed."""
        flow = self._growth.flow
        moved = directories is not self._directories
        place: dict[str, int] | None = None
        for node, run in flow.runs.items():
            if not moved and self._counts.get(node) == run.columns.count:
                continue
            if place is None:
                names = directories.names()
                place = dict(zip(names, range(len(names)), strict=True))
            rows = {}
            for row, name in enumerate(flow.directories(node)):
                position = place.get(name)
                if position is not None:
                    rows[position] = row
            self._rows[node] = rows
            self._masks[node] = bit_set(rows)
            self._counts[node] = run.columns.count
            if moved:
                self._complete.pop(node, None)
        self._directories = directories
