"""The plan of a network run between its confirmation and its submission.

The services `network` (which plans), `plans` (which removes jobs and submits) share it. Importing
this module does not import the network.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.store import Run
    from rowtui.core.submission.plan.model import Plan


class PlannedRun:
    """At most one plan of a run, which waits for the user's confirmation."""

    def __init__(self) -> None:
        self._planned: tuple[Networks, Run, Plan] | None = None

    def clear(self) -> None:
        """Drop the plan, because the run continues by itself."""
        self._planned = None

    def set(self, networks: Networks, run: Run, plan: Plan) -> None:
        """Store the plan of the next round of a run."""
        self._planned = networks, run, plan

    def replace(self, before: Plan, left: Plan) -> None:
        """Replace the plan by the reduced one after the user removed jobs."""
        if self._planned is not None and self._planned[2].id == before.id:
            self._planned = (*self._planned[:2], left)

    @contextlib.asynccontextmanager
    async def submitting(self, plan: Plan) -> AsyncGenerator[None]:
        """Record a run's plan before its submission, and its unsent jobs afterwards."""
        if self._planned is None or self._planned[2].id != plan.id:
            yield
            return
        networks, run, _ = self._planned
        self._planned = None
        await asyncio.to_thread(networks.note_submitted, run, plan)
        try:
            yield
        finally:
            await asyncio.to_thread(networks.note_unsent, run, plan)
