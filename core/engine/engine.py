"""The interface between screens and a project.

The dashboard and the command line access a project only through `Engine`, which has one service for
each kind of request: `engine.queue.page(...)`. The classes in `core/engine/local` are the services;
an engine in a process of its own passes each request to them. Answers are snapshots with a
generation number, and pages are bounded: an answer about a million directories is as small as one
about ten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rowtui.core.engine.api.snapshot import ProjectSnapshot
    from rowtui.core.engine.local.jobs import JobsWork, QueueWork
    from rowtui.core.engine.local.logs import LogsWork
    from rowtui.core.engine.local.network import NetworkWork
    from rowtui.core.engine.local.pages import GroupsWork
    from rowtui.core.engine.local.past import PastWork
    from rowtui.core.engine.local.plans import MappingWork, PlansWork
    from rowtui.core.engine.local.polling import ClustersWork


class Engine(Protocol):
    """A project from the view of a screen. No method blocks the event loop."""

    @property
    def groups(self) -> GroupsWork: ...
    @property
    def mapping(self) -> MappingWork: ...
    @property
    def plans(self) -> PlansWork: ...
    @property
    def jobs(self) -> JobsWork: ...
    @property
    def queue(self) -> QueueWork: ...
    @property
    def logs(self) -> LogsWork: ...
    @property
    def clusters(self) -> ClustersWork: ...
    @property
    def network(self) -> NetworkWork: ...
    @property
    def past(self) -> PastWork: ...

    async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
        """Synchronise with the disk and the scheduler; `full` also re-reads every directory."""

    def changes(self) -> AsyncIterator[str]:
        """Yield a word whenever something on disk changes, and "watching ..." once changes are
        noticed.

        The words: "completed", "workspace", "workflow", "jobs", "products", "network". An engine in
        a process of its own also yields "engine lost: why" and "engine back". A word with
        the prefix `TERMINAL_NOTICE` is a sequence for the user's terminal.
        """

    async def close(self) -> None:
        """Stop watching and release all resources."""
