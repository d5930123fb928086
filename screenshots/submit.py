"""Scenes of the Submit view: a plan as a review, and what is left where sending ended early."""

from __future__ import annotations

from dataclasses import replace

from rowtui.core.project.review.views import (
    Budget,
    CheckState,
    PlanCheck,
    PlanFinding,
    ScriptBefore,
)
from rowtui.core.submission.plan.model import JobStep, Plan
from rowtui.core.submission.sending.release_held import SendingProgress

from tests.tui.hand import Hand
from tests.tui.sample import SampleEngine

OK, WARNING, FAILED = CheckState.OK, CheckState.WARNING, CheckState.FAILED
WHOLE = ((0, 8),)


class ReviewedEngine(SampleEngine):
    """Something was submitted before, there is a budget, and the scheduler was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.destination, self.scheduler = "anvil", "slurm"
        new = self._planned(1, tuple(self.names[150:154]))
        old = new.script.replace("--time=240", "--time=120").replace("--ntasks=16", "--ntasks=8")
        old = old.replace("set -e\n", "set -e\nmodule load gsd\n")
        self.script_of["equilibrate"] = ScriptBefore(
            old, "9171002", "anvil", "shared", self.now - 200_000, 12
        )
        starts = "anvil/wholenode takes it, would start at once"
        self.checks = {
            "scripts": PlanCheck("scripts", OK, "bash -n reads 1 distinct script of 8 jobs"),
            "dry check": PlanCheck("dry check", OK, "asked about one job", findings=(
                PlanFinding(OK, starts, "", WHOLE),)),
            "budget": PlanCheck("budget", OK, budgets=(
                Budget("budget", "CPU-hours", 118_204, 200_000, WHOLE,
                       "of this project on anvil"),)),
            "allocation": PlanCheck("allocation", OK, "", findings=(
                PlanFinding(OK, "ab12 on anvil: fair share 0.41"),), budgets=(
                Budget("ab12", "CPU-hours", 2_000, 10_000, WHOLE, "on anvil"),)),
        }  # fmt: skip


class OverEngine(ReviewedEngine):
    """The budget does not suffice, and the scheduler would refuse a job."""

    def __init__(self) -> None:
        super().__init__()
        where = "of this project on anvil"
        self.checks["budget"] = PlanCheck(
            "budget", OK, budgets=(Budget("budget", "CPU-hours", 384, 20_000, WHOLE, where),)
        )
        refused = PlanFinding(
            FAILED, "anvil/shared: Requested time limit is invalid",
            "w shows other destinations; space leaves the job out", ((7, 8),),
        )  # fmt: skip
        self.checks["dry check"] = PlanCheck("dry check", FAILED, "", findings=(refused,))


class FaultyEngine(ReviewedEngine):
    """The third job is refused, and nobody knows of the second."""

    async def plans_submit(self, plan: Plan):  # type: ignore[no-untyped-def, override]
        number = 0
        async for step in super().plans_submit(plan):
            if step.done <= number:
                yield step
                continue
            number = step.done
            if number == 1:
                yield replace(step, became=JobStep.ACCEPTED)
            elif number == 2:
                why = "the submission of equilibrate is unconfirmed after 180 s: no answer"
                yield SendingProgress(2, step.total, step.token, "", why, JobStep.UNKNOWN)
                return


async def review(hand: Hand[SampleEngine]) -> None:
    for key in ("2", "a", "s", "j", "j", "j"):
        await hand.press(key)
        await hand.rests()
    await hand.press("space", "k")
    await hand.sees("☐")


async def over(hand: Hand[SampleEngine]) -> None:
    for key in ("2", "a", "s", "s"):
        await hand.press(key)
        await hand.rests()


async def ended(hand: Hand[SampleEngine]) -> None:
    for key in ("2", "a", "s", "s", "8", "enter"):
        await hand.press(key)
        await hand.rests()
