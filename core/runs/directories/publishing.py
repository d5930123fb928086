"""Publish products through the sinks of a run, and record what was published. Blocks on the disk.

Each product is published once in a run, and again if it is made again. A file that no run published
is never replaced. A product that cannot be published is reported in a notice, and is tried again
the next time the run is driven.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, visible
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.directories.sinks import Owner, Publication, Targets, publish
from rowtui.core.runs.model import Published
from rowtui.core.runs.store import Run, RunStore

if TYPE_CHECKING:
    from rowtui.core.network.definition.spec import Sink
    from rowtui.core.network.graph.dynamic_graph import Growth
    from rowtui.core.project.project import Project

_NAMED = 20  # samples named in the notices of one round


class Publishing:
    """The sinks of one run."""

    def __init__(self, project: Project, run: Run) -> None:
        self._project = project
        self._run = run
        self._targets = Targets(project.root)
        self._done: dict[str, set[str]] = {}  # sample names by sink
        self._earlier: set[str] | None = None  # paths that runs published; None until first needed

    def remember(self, event: Published) -> None:
        """Record a publication from the journal."""
        self._done.setdefault(event.sink, set()).add(event.sample)
        self._targets.take(event.path, Owner(event.sink, event.sample))

    def withdraw(self, growth: Growth, node: str, samples: Iterable[str]) -> None:
        """Mark a node's samples as unpublished, because their products no longer exist."""
        for sink in growth.flow.network.sinks:
            if sink.source == node:
                self._done.get(sink.name, set()).difference_update(samples)

    def publish(self, growth: Growth) -> int:
        """Publish what complete jobs made for sinks; return the number. Raises: RowtuiError."""
        flow = growth.flow
        project, workspace = self._project, self._project.workflow.workspace
        count = 0
        for sink in flow.network.sinks:
            if sink.source not in flow.runs:
                continue
            done = self._done.setdefault(sink.name, set())
            fresh = [name for name in _complete_in(growth, sink) if name not in done]
            if not fresh:
                continue
            places = growth.places(sink.source)
            samples = [Publication(name, flow.values(sink.source, places[name])) for name in fresh]
            result = publish(
                project.root,
                workspace,
                sink,
                flow.network.name,
                samples,
                targets=self._targets,
                was_published=self._was_published,
            )
            now = time.time()
            copied = [*result.published, *result.unchanged]
            if copied:
                self._run.append(*(Published(now, sink.name, name, path) for name, path in copied))
            for name, why in result.failed[:_NAMED]:
                project.notice(f"sink {sink.name}: {visible(name)}: {why}")
            if (more := len(result.failed) - _NAMED) > 0:
                project.notice(f"sink {sink.name}: {plural(more, 'more sample')} likewise")
            done.update(fresh)
            count += len(result.published)
        return count

    def _was_published(self, path: str) -> bool:
        """Whether a run published the file at a path; otherwise the file is the user's."""
        if self._earlier is None:
            runs = RunStore(self._project.root).runs()
            self._earlier = {
                event.path
                for run in runs
                if isinstance(run, Run)
                for event in run.events()
                if isinstance(event, Published)
            }
        return path in self._earlier


def _complete_in(growth: Growth, sink: Sink) -> list[str]:
    states = growth.graph.snapshot().states
    names = growth.flow.directories(sink.source)
    jobs = growth.jobs(sink.source).tolist()
    return [
        name
        for name, job in zip(names, jobs, strict=True)
        if states[job] == GraphJobState.COMPLETED
    ]
