"""Requests about the project's network and its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rowtui.core.project.views.views import AS_IS, ListRequest

if TYPE_CHECKING:
    from rowtui.core.network.graph.job_model import GraphJobState
    from rowtui.core.runs.limits.limits import RunLimits
    from rowtui.core.runs.views import NetworkView, RedoView, SamplesPage, WaitPath
    from rowtui.core.submission.plan.model import Plan


class NetworkService(Protocol):
    """The network of the project, its newest run, and driving that run."""

    async def view(self, *, frozen: bool = True) -> NetworkView | None:
        """Return the network and its newest run; None without a network.toml. Raises: RowtuiError.

        `frozen` False: the present network.toml, independent of the run.
        """

    async def samples(
        self,
        node: str,
        states: Sequence[GraphJobState],
        start: int,
        length: int,
        *,
        frozen: bool = True,
        asked: ListRequest = AS_IS,
        find: str = "",
    ) -> SamplesPage:
        """Return a page of the samples of a source or node in these states (none given: all).

        `frozen`: as in `network`; `asked`: as for `groups`; `find`: a job's number, or the
        directory of a source's sample. Raises: RowtuiError.
        """

    async def waits(self, job: int) -> WaitPath:
        """Return what a job of the graph waits for, or why it was lost. Raises: RowtuiError."""

    async def redo_view(self, jobs: Sequence[int]) -> RedoView:
        """Return what would run again with these complete jobs; without jobs, with all stale ones.

        Raises: RowtuiError.
        """

    async def redo(self, jobs: Sequence[int], expected: int) -> tuple[int, tuple[str, ...]]:
        """Run these jobs and the jobs that used their results again; move products to the trash.

        Returns the number of jobs and notices for the user. Raises: RowtuiError, also if the number
        would not be `expected`.
        """

    async def dependents(self, jobs: Sequence[int]) -> int:
        """Return how many further jobs that may still run depend on these of the newest run."""

    async def start(self, limits: RunLimits, *, anew: bool = False) -> None:
        """Drive the newest open run, or a new one, within limits that were confirmed.

        The run continues in the background; `changes` yields "network" after each of its steps.
        Raises: RowtuiError.
        """

    async def stop(self) -> None:
        """Stop driving. Submitted jobs go on."""

    async def plan(self) -> tuple[Plan | None, tuple[str, ...]]:
        """Return what the run would submit next, for confirmation, and why some jobs cannot be
        submitted.

        Raises: RowtuiError.
        """

    async def retry(self, jobs: Sequence[int]) -> None:
        """Retry failed jobs of the graph. Raises: RowtuiError."""

    async def cancel(self, jobs: Sequence[int]) -> None:
        """Give up jobs of the graph, with their dependents. Raises: RowtuiError."""
