"""The interface between screens and a project.

The dashboard and the command line access a project only through `Engine`, which has one service for
each kind of request: `engine.queue.page(...)`. Answers are snapshots with a generation number: a
screen with an older generation requests them again. Pages are bounded, so that an answer about a
million directories is as small as one about ten.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rowtui.core.base.text import Cost
from rowtui.core.engine.api.groups import GroupsService
from rowtui.core.engine.api.services import (
    JobsService,
    LogsService,
    MappingService,
    NetworkService,
    PastService,
    PlansService,
    QueueService,
)

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.clusters.command_log import RanCommand
    from rowtui.core.project.context.clusters import ClusterNodes, ClustersView
    from rowtui.core.project.context.questions import LoginQuestion, Withdrawn
    from rowtui.core.project.views.mapping_trust import UntrustedFile
    from rowtui.core.project.views.needs import FailureCause


class ClustersService(Protocol):
    """The clusters of the project."""

    async def view(self) -> ClustersView:
        """Return the clusters as they are known now, without waiting for any of them."""

    async def nodes(self, cluster: str) -> ClusterNodes:
        """Return a cluster's nodes, queried at most once a minute. Raises: RowtuiError."""

    async def commands_ran(self, after: int) -> tuple[RanCommand, ...]:
        """Return the commands run on clusters and here, with numbers above `after`; bounded."""

    async def connect(self, cluster: str) -> None:
        """Log in to a cluster; its prompts come from `questions`. Raises: RowtuiError."""

    def questions(self) -> AsyncIterator[LoginQuestion | Withdrawn]:
        """Yield the questions of logins to the user."""

    def answer(self, number: int, answers: Sequence[str] | None) -> None:
        """Answer a question; None: the user cancels the login."""


@dataclass(frozen=True, slots=True)
class ActionSummary:
    """One row of the status screen. Counts are directories.

    `failed`, `not_reached` and `cancelled` are part of `eligible`: how the last job there ended.
    """

    index: int
    name: str
    command: str
    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int
    remaining_cost: Cost
    products: tuple[str, ...]
    previous_actions: tuple[str, ...]
    resources: str  # "4 processes, 2 threads each, 01:00:00 per directory"
    grouping: str  # "sort by /T, split, at most 100"
    problem: str = ""
    not_reached: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        """Return how many directories the action includes."""
        return self.completed + self.submitted + self.eligible + self.waiting


@dataclass(frozen=True, slots=True)
class ProjectSnapshot:
    """The project as a whole at one generation. `at`: epoch seconds of the synchronisation."""

    generation: int
    at: float
    root: str
    cluster: str
    cluster_because: str
    scheduler: str
    directories: int
    bad: tuple[tuple[str, str], ...]  # (name, reason), the first few
    bad_count: int
    actions: tuple[ActionSummary, ...]
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    failures: tuple[FailureCause, ...] = ()
    untrusted: tuple[UntrustedFile, ...] = ()


ENGINE_LOST = "engine lost"  # words of `changes`; the first one is followed by ": " and the reason
ENGINE_BACK = "engine back"
TERMINAL_NOTICE = "terminal: "  # prefix of a word whose rest is written to the user's terminal

SERVICES: dict[str, type] = {
    "groups": GroupsService,
    "mapping": MappingService,
    "plans": PlansService,
    "jobs": JobsService,
    "queue": QueueService,
    "logs": LogsService,
    "clusters": ClustersService,
    "network": NetworkService,
    "past": PastService,
}
"""The protocol of each service, by the attribute of `Engine` that holds the service."""


class Engine(Protocol):
    """A project from the view of a screen. No method blocks the event loop."""

    @property
    def groups(self) -> GroupsService: ...
    @property
    def mapping(self) -> MappingService: ...
    @property
    def plans(self) -> PlansService: ...
    @property
    def jobs(self) -> JobsService: ...
    @property
    def queue(self) -> QueueService: ...
    @property
    def logs(self) -> LogsService: ...
    @property
    def clusters(self) -> ClustersService: ...
    @property
    def network(self) -> NetworkService: ...
    @property
    def past(self) -> PastService: ...

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


def engine_methods() -> dict[str, Callable[..., Any]]:
    """Return every request of an `Engine` by its name: `refresh`, `queue.page`."""
    found: dict[str, Callable[..., Any]] = {
        name: getattr(Engine, name) for name in ("refresh", "changes", "close")
    }
    for service, protocol in SERVICES.items():
        for name, method in vars(protocol).items():
            if not name.startswith("_") and callable(method):
                found[f"{service}.{name}"] = method
    return found
