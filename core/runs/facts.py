"""What the project's records say of the jobs of a run: complete, with a scheduler, failed, neither.

The records are Row's: (action, directory). So what somebody submits by hand counts as well, nothing
runs twice, and a run that was cut off knows where it stood. Only what changed is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.network.job_model import JobState
from rowtui.core.state.model import (
    Directories,
    DirectorySet,
    LastEnd,
    Outcome,
    State,
    bit_set,
    positions,
)
from rowtui.core.submission.ending import NOT_BEGUN

if TYPE_CHECKING:
    from rowtui.core.network.growth import Growth

_MAY_BEGIN = (JobState.READY, JobState.WAITING, JobState.COMPLETE)  # the last if it is gone
_GIVEN_UP = (JobState.CANCELLED, JobState.MISSING)


class Failed(NamedTuple):
    """A job of the graph that failed by itself."""

    job: int
    failure: LastEnd


class News(NamedTuple):
    """What the records say that the graph does not know: numbers of jobs.

    `gone`: were complete, and are no longer. `back`: are with no scheduler any more, and did not
    fail: they may be submitted again. `unsaid`: those among `back` of which no record says why.
    `strays`: are with a scheduler though they were given up.
    """

    complete: list[int]
    gone: list[int]
    active: list[int]
    failed: list[Failed]
    back: list[int]
    unsaid: list[int]
    strays: list[int]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return any(self)


class Facts:
    """Compares a project's records with a graph, time after time: each thing is told once."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth
        self._directories: Directories | None = None
        self._counts: dict[str, int] = {}
        self._rows: dict[str, dict[int, int]] = {}  # node -> position -> row
        self._masks: dict[str, DirectorySet] = {}
        self._seen = bytearray()  # by job: that it is complete was told
        self._complete: dict[str, DirectorySet] = {}  # the same by position, for each node
        self._strays: dict[int, str] = {}  # by job: the token of the stray that was told last
        self._told: dict[int, str] = {}  # by job: the token of the failure that was told last

    def at(self, node: str, position: int) -> int | None:
        """The job of a node in the directory at a position."""
        row = self._rows[node].get(position)
        return None if row is None else self._growth.job(node, row)

    def mask(self, node: str) -> DirectorySet:
        """The directories of a node's samples, as far as they are there."""
        return self._masks[node]

    def forget(self, jobs: Iterable[int]) -> None:
        """Tell once more that these jobs are complete, if they are."""
        for job in jobs:
            if job < len(self._seen):
                self._seen[job] = 0
        self._complete.clear()

    def news(self, state: State, counts: Callable[[int, str], bool]) -> News:
        """What is new. `counts`: whether the failure of a job (graph) by a job (token) does."""
        graph = self._growth.graph
        self._seen.extend(bytes(len(graph) - len(self._seen)))
        self._find(state.directories)
        news = News([], [], [], [], [], [], [])
        active: set[int] = set()
        explained: set[int] = set()
        for node, mask in self._masks.items():
            action = self._action(node)
            complete = state.completed.get(action, 0) & mask
            before = self._before(node, news.gone)
            for job in self._jobs(node, complete & ~before):
                self._seen[job] = 1
                news.complete.append(job)
            for job in self._jobs(node, before & ~complete):
                self._seen[job] = 0
                news.gone.append(job)
            self._complete[node] = complete
            jobs = state.submitted.get(action, {})
            submitted = bit_set(jobs) & ~complete
            for position in positions(submitted & mask):
                job = self._growth.job(node, self._rows[node][position])
                active.add(job)
                now = graph.state(job)
                if now in _MAY_BEGIN:
                    news.active.append(job)
                elif now in _GIVEN_UP and self._strays.get(job) != jobs[position].token:
                    self._strays[job] = jobs[position].token
                    news.strays.append(job)
            ends = state.ends.get(action, {})
            for position in positions(bit_set(ends) & mask & ~complete & ~submitted):
                failure = ends[position]
                found = self.at(node, position)
                assert found is not None
                explained.add(found)
                if self._told.get(found) == failure.token or not counts(found, failure.token):
                    continue
                # What was not tried may be sent again as it is.
                not_begun = failure.reason.startswith(NOT_BEGUN)
                if failure.outcome is not Outcome.NOT_REACHED and not not_begun:
                    self._told[found] = failure.token
                    news.failed.append(Failed(found, failure))
        told = {it.job for it in news.failed} | set(news.complete)
        news.back.extend(job for job in self._active() if job not in active and job not in told)
        news.unsaid.extend(job for job in news.back if job not in explained)
        return news

    def _before(self, node: str, gone: list[int]) -> DirectorySet:
        """Where a node was complete when it was looked at last; `gone` gets those whose directory
        is no longer there.
        """
        if node not in self._complete:
            jobs = self._growth.jobs(node)
            rows = self._rows[node]
            seen = {at for at, row in rows.items() if self._seen[int(jobs[row])]}
            there = {int(jobs[row]) for row in rows.values()} if len(rows) < len(jobs) else None
            if there is not None:
                for job in jobs.tolist():
                    if self._seen[job] and job not in there:
                        self._seen[job] = 0
                        gone.append(job)
            self._complete[node] = bit_set(seen)
        return self._complete[node]

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
            self._complete.pop(node, None)
        self._directories = directories
