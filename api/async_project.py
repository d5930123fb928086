"""A project for coroutines: each method runs in a thread, so that the caller's loop goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

from rowtui.project import (
    WAIT_SECONDS,
    Confirmation,
    Plan,
    Project,
    Status,
    sent_of,
    unended,
)

if TYPE_CHECKING:
    from rowtui.cli.jobs.json import JobJson
    from rowtui.cli.show.json import ShownGroup
    from rowtui.cli.submit.json import SentJson
    from rowtui.cli.usage.usage_json import UsageDocument
    from rowtui.core.mapping.model.decision_json import ShownDecision


class AsyncProject:
    """The methods of `Project` as coroutines. A method that is cancelled runs on to its end."""

    def __init__(self, project: Project) -> None:
        """Take an open project; `open` opens one without blocking the loop."""
        self.project = project

    @classmethod
    async def open(
        cls, folder: str | os.PathLike[str] = ".", *, cluster: str | None = None
    ) -> Self:
        """Open the project of this folder or of one above it. See `Project`."""
        return cls(await asyncio.to_thread(Project, folder, cluster=cluster))

    async def status(self) -> Status:
        """See `Project.status`."""
        return await asyncio.to_thread(self.project.status)

    async def groups(self, action: str, *, status: str | None = None) -> Sequence[ShownGroup]:
        """See `Project.groups`."""
        return await asyncio.to_thread(self.project.groups, action, status=status)

    async def explain(self, action: str, directory: str | None = None) -> ShownDecision:
        """See `Project.explain`."""
        return await asyncio.to_thread(self.project.explain, action, directory)

    async def plan(
        self,
        action: str = "*",
        directories: Iterable[str] | None = None,
        *,
        most: int | None = None,
    ) -> Plan:
        """See `Project.plan`."""
        return await asyncio.to_thread(self.project.plan, action, directories, most=most)

    async def submit(self, plan: Plan, confirmation: Confirmation) -> SentJson:
        """See `Project.submit`."""
        return await asyncio.to_thread(self.project.submit, plan, confirmation)

    async def jobs(self) -> Sequence[JobJson]:
        """See `Project.jobs`."""
        return await asyncio.to_thread(self.project.jobs)

    async def usage(self, by: str = "action") -> UsageDocument:
        """See `Project.usage`."""
        return await asyncio.to_thread(self.project.usage, by)

    async def wait(self, sent: SentJson | None = None) -> Sequence[JobJson]:
        """See `Project.wait`; `asyncio.timeout` ends the waiting."""
        while True:
            jobs = sent_of(await self.jobs(), sent)
            if not unended(jobs):
                return jobs
            await asyncio.sleep(WAIT_SECONDS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.project.close)
