"""What the sample engine says of a plan before it is sent; what it says can be set by a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rowtui.core.project.review.review import check_warnings
from rowtui.core.project.review.views import (
    NAMES,
    CheckState,
    ExportedFiles,
    PlanCheck,
    ScriptBefore,
    ScriptRequest,
)
from rowtui.core.project.review.without import export_plan, without
from rowtui.core.submission.plan.model import Plan


class SampleReview:
    """A part of `SampleEngine`. `checks`: instead of what it would say, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.checks: dict[str, PlanCheck] = {}
        self.checks_gate: asyncio.Event | None = None  # waited for before they are known
        self.script_of: dict[str, ScriptBefore] = {}  # by action
        self.asked_before: list[ScriptRequest] = []
        self.folder = Path("/nowhere")  # that `export_plan` writes below

    async def plans_review(self, plan: Plan) -> AsyncIterator[PlanCheck]:
        for name in NAMES:
            yield PlanCheck(name, CheckState.PENDING, "…")
        await asyncio.sleep(0)
        if self.checks_gate is not None:
            await self.checks_gate.wait()
        for check in (self.checks.get(name) or _usual(name, plan) for name in NAMES):
            yield check

    async def plans_script_before(self, asked: ScriptRequest) -> ScriptBefore | None:
        self.asked_before.append(asked)
        await asyncio.sleep(0)
        return self.script_of.get(asked.action)

    async def plans_without(self, plan: Plan, tokens: Sequence[str]) -> Plan:
        await asyncio.sleep(0)
        return without(plan, tokens)

    async def plans_export(
        self, plan: Plan, folder: str, *, overwrite: bool = False
    ) -> ExportedFiles:
        place = self.folder / folder
        return await asyncio.to_thread(export_plan, plan, place, {}, overwrite=overwrite)


def _usual(name: str, plan: Plan) -> PlanCheck:
    directories = sum(len(job.directories) for job in plan.jobs)
    if name == "warnings":
        return check_warnings(plan)
    texts = {
        "scripts": "bash -n reads 1 distinct script of all jobs",
        "dry check": "this machine can run all of them",
        "duplicates": f"none of {directories:,} directories is queued already",
    }
    if name in texts:
        return PlanCheck(name, CheckState.OK, texts[name])
    why = "no budget is set" if name == "budget" else "local keeps no accounts"
    return PlanCheck(name, CheckState.NOT_OFFERED, why)
