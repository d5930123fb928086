"""The network of a project as in network.toml, outside of any run: its graph and directories.

Takes a project and its study; makes the directories of jobs that wait for no other job, or reports
which ones would be made. Also finds directories that belong to no sample any more, neither of a
source nor of an open run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rowtui.core.network.graph.dynamic_graph import Growth
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.directories.directories import (
    MadeDirectories,
    Value,
    compare,
    make_directories,
    required_value_file,
)
from rowtui.core.runs.directories.dynamic_lists import TakenLists
from rowtui.core.runs.directories.readiness import (
    bring_directories,
    left_out,
    refused,
    unprepared,
    values_of,
)
from rowtui.core.runs.model import BY_HAND
from rowtui.core.runs.observed_states import ObservedStates
from rowtui.core.runs.snapshot import Study, source_directories
from rowtui.core.runs.store import RunStore

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject


class Unstarted:
    """A network that no run drives: its graph, from the project's records and lists."""

    def __init__(self, project: OpenProject, study: Study) -> None:
        self.project = project
        self.study = study
        self.growth = Growth(study.flow)
        self.facts = ObservedStates(self.growth)
        self._taken = TakenLists(study.network)

    def look(self) -> None:
        """Update the graph from the records. All failures and cancellations count."""
        graph = self.growth.graph
        news = self.facts.news(self.project.state, lambda *_: True)
        graph.reopen(news.gone)
        graph.activate(news.active)
        graph.release(news.back)
        workspace = self.project.workflow.workspace
        broken = self._taken.take(self.growth, workspace, news.complete).broken
        graph.complete([job for job in news.complete if job not in broken])
        for failed in news.failed:
            graph.fail(failed.job, failed.failure.reason)
        graph.cancel(news.cancelled, BY_HAND)
        for job, why in broken.items():
            graph.fail(job, why)
        for job, why in left_out(self.project, self.growth, self.facts).items():
            graph.fail(job, why)

    def make(self, progress: Callable[[int], None] = lambda _: None) -> MadeDirectories:
        """Make the directories of all jobs that wait for no other job. Raises: RowtuiError."""
        project, note = self.project, RunStore(self.project.root).note_made
        made = make_directories(project, source_directories(self.growth.flow), note, progress)
        if made.made:
            project.synchronise()
        self.look()
        more = bring_directories(project, self.growth, self.facts, self._taken.known, note)
        made.made.extend(more.made)
        made.conflicts.extend(more.conflicts)
        self._refuse(made)
        if more.made:
            project.synchronise()
        return made

    def advance(self) -> MadeDirectories:
        """Make the directories of jobs that became ready when others completed.

        Raises: RowtuiError.
        """
        graph = self.growth.graph
        made = bring_directories(
            self.project,
            self.growth,
            self.facts,
            self._taken.known,
            RunStore(self.project.root).note_made,
            those=lambda job: bool(graph.dependencies(job)),
        )
        self._refuse(made)
        if made.made:
            self.project.synchronise()
        return made

    def _refuse(self, made: MadeDirectories) -> None:
        for job, why in refused(self.growth, made.conflicts).items():
            self.growth.graph.fail(job, why)

    @property
    def waiting(self) -> int:
        """Return how many jobs wait for inputs."""
        counts = self.growth.graph.counts()
        return sum(each[GraphJobState.WAITING] for each in counts)

    def what_to_make(self) -> MadeDirectories:
        """Return what `make` would do: `made` are directories to be made. Raises: RowtuiError."""
        self.look()
        value_file = required_value_file(self.project)
        try:
            there = set(os.listdir(self.project.workflow.workspace))
        except OSError:
            there = set()
        found = MadeDirectories([], [], [])
        old = []
        for name, value in self._wanted():
            if name in there:
                old.append((name, value))
            else:
                found.made.append(name)
        compare(self.project, value_file, old, found)
        return found

    def _wanted(self) -> Iterator[tuple[str, Value]]:
        yield from source_directories(self.growth.flow)
        yield from values_of(self.growth, unprepared(self.growth, self.facts))
