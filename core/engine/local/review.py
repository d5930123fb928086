"""The review of a plan: its checks, earlier scripts, a reduced plan, and its files."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.project.review.before import ScriptsBefore
from rowtui.core.project.review.review import review, scheduler_kinds
from rowtui.core.project.review.views import ExportedFiles, PlanCheck, ScriptAsked, ScriptBefore
from rowtui.core.project.review.without import export_plan, without

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.submission.plan.model import Plan


class ReviewWork:
    """The review work of one project. `turn`: the lock of the project's records."""

    def __init__(self, project: Project, turn: asyncio.Lock) -> None:
        self._project = project
        self._turn = turn
        self._before: ScriptsBefore | None = None

    async def checks(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        """See `Engine.review`. Clusters are queried without holding the lock of the records."""
        async with contextlib.aclosing(review(self._project, plan)) as checks:
            async for check in checks:
                yield check

    async def before(self, asked: ScriptAsked) -> ScriptBefore | None:
        """See `Engine.script_before`."""
        async with self._turn:
            if self._before is None:
                jobs = self._project.jobs
                self._before = ScriptsBefore(jobs.journal, jobs.plan)
            return await asyncio.to_thread(self._before.find, asked)

    async def without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        """See `Engine.without`."""
        return await asyncio.to_thread(without, plan, frozenset(tokens))

    async def export(self, plan: Plan, folder: str, *, overwrite: bool) -> ExportedFiles:
        """See `Engine.export_plan`."""
        return await asyncio.to_thread(self._export, plan, folder, overwrite)

    def _export(self, plan: Plan, folder: str, overwrite: bool) -> ExportedFiles:
        place = Path(os.path.expanduser(folder))
        if not place.is_absolute():
            place = self._project.root / place
        kinds = scheduler_kinds(self._project, plan)
        return export_plan(plan, place, kinds, overwrite=overwrite)
