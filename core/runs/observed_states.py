"""Compare the project's records of a run's jobs with the graph: completed, submitted, failed.

The records are Row's, by action and directory. Jobs that the user submits outside the run count as
well, nothing runs twice, and an interrupted run resumes. Only changes are processed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.lazy import NDArray, np
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.state.model import (
    Directories,
    DirectorySet,
    LastEnd,
    LastOutcome,
    State,
    bit_set,
    positions,
)

if TYPE_CHECKING:
    from rowtui.core.network.graph.dynamic_graph import Growth

# a completed job begins again if its product is gone
_MAY_BEGIN = (GraphJobState.ELIGIBLE, GraphJobState.WAITING, GraphJobState.COMPLETED)
_GIVEN_UP = (GraphJobState.CANCELLED, GraphJobState.SKIPPED, GraphJobState.BLOCKED)


class Failed(NamedTuple):
    """A job of the graph that failed itself, not because of its inputs."""

    job: int
    failure: LastEnd


class StateChanges(NamedTuple):
    """What the records contain and the graph does not: numbers of jobs.

    `cancelled`: by the user, outside of the run. `gone`: completed before, and no longer. `back`:
    no longer submitted, without a failure, so they may be submitted again. `unsaid`: jobs in `back`
    for which no record gives a reason. `strays`: submitted although the run had given them up.
    """

    complete: list[int]
    gone: list[int]
    active: list[int]
    failed: list[Failed]
    cancelled: list[int]
    back: list[int]
    unsaid: list[int]
    strays: list[int]

    def __bool__(self) -> bool:
        """Whether anything is new."""
        return any(self)


class ObservedStates:
    """Compare a project's records with a graph repeatedly; report each change once."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth
        self._directories: Directories | None = None
        self._counts: dict[str, int] = {}
        self._rows: dict[str, dict[int, int]] = {}  # node -> position -> row
        self._masks: dict[str, DirectorySet] = {}
        self._seen = bytearray()  # by job: 1 if its completion was reported
        self._prepared = bytearray()  # by job: 1 if its own directory was made or checked
        # reported completions by position, for each node
        self._complete: dict[str, DirectorySet] = {}
        self._strays: dict[int, str] = {}  # by job: the token of the stray reported last
        self._told: dict[int, str] = {}  # by job: the token of the failure reported last

    def at(self, node: str, position: int) -> int | None:
        """Return the job of a node in the directory at a position; None if there is none."""
        row = self._rows[node].get(position)
        return None if row is None else self._growth.job(node, row)

    def mask(self, node: str) -> DirectorySet:
        """Return the existing directories of a node's samples."""
        return self._masks[node]

    def rows_there(self, node: str) -> NDArray[np.int64]:
        """Return the rows of a node whose directories existed at the last comparison."""
        rows = self._rows.get(node, {})
        return np.fromiter(rows.values(), np.int64, len(rows))

    def are_prepared(self, jobs: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return a mask: for which of these jobs the directory is known to be correct."""
        marks = np.zeros(len(self._growth.graph), np.bool_)
        marks[: len(self._prepared)] = np.frombuffer(self._prepared, np.bool_)
        found: NDArray[np.bool_] = marks[jobs]
        return found

    def prepare(self, jobs: Iterable[int], *, done: bool = True) -> None:
        """Record whether the directories of these jobs are correct."""
        self._prepared.extend(bytes(len(self._growth.graph) - len(self._prepared)))
        for job in jobs:
            self._prepared[job] = done

    def forget(self, jobs: Iterable[int]) -> None:
        """Report these jobs as complete once more, if they are."""
        for job in jobs:
            if job < len(self._seen):
                self._seen[job] = 0
        self._complete.clear()

    def news(self, state: State, counts: Callable[[int, str], bool]) -> StateChanges:
        """Return what is new.

        `counts`: whether the end of a scheduler job (token) fails a graph job.
        """
        graph = self._growth.graph
        self._seen.extend(bytes(len(graph) - len(self._seen)))
        self._find(state.directories)
        news = StateChanges([], [], [], [], [], [], [], [])
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
                # A job that was not reached may be submitted again unchanged.
                if failure.outcome in (LastOutcome.NOT_REACHED, LastOutcome.RETRIED):
                    continue
                self._told[found] = failure.token
                if failure.outcome is LastOutcome.FAILED:
                    news.failed.append(Failed(found, failure))
                elif graph.state(found) not in _GIVEN_UP:
                    news.cancelled.append(found)
        answer = {it.job for it in news.failed} | {*news.cancelled, *news.complete}
        news.back.extend(job for job in self._active() if job not in active and job not in answer)
        news.unsaid.extend(job for job in news.back if job not in explained)
        return news

    def _before(self, node: str, gone: list[int]) -> DirectorySet:
        """Return where a node was complete at the last comparison.

        Completed jobs whose directories no longer exist are appended to `gone`.
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
        at = states.find(GraphJobState.SUBMITTED)
        while at >= 0:
            yield at
            at = states.find(GraphJobState.SUBMITTED, at + 1)

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
        """Find the positions of the samples' directories again after either has changed."""
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
