"""The Submit view as a review: differences, checks, jobs left out, the yes, and faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.review.views import (
    Budget,
    CheckState,
    PlanCheck,
    PlanFinding,
    ScriptBefore,
)
from rowtui.core.submission.plan.model import JobStep, Plan
from rowtui.core.submission.sending.release_held import SendingProgress
from rowtui.tui.views.questions import ConfirmScreen
from rowtui.tui.views.submit.view import SubmitView

from tests.tui.hand import Hand, opened
from tests.tui.sample import SampleEngine

OK, WARNING, FAILED = CheckState.OK, CheckState.WARNING, CheckState.FAILED


class FaultyEngine(SampleEngine):
    """What becomes of each job of a plan, in order; all others are accepted."""

    def __init__(self, *faults: JobStep | Exception) -> None:
        super().__init__()
        self.faults = faults
        self.why = "Invalid account"

    async def plans_submit(self, plan: Plan) -> AsyncIterator[SendingProgress]:
        total = len(plan.jobs)
        async for step in super().plans_submit(plan):
            fault = self.faults[step.done - 1] if 0 < step.done <= len(self.faults) else None
            if step.message.startswith("submitting") or fault is JobStep.ACCEPTED:
                yield step
            elif isinstance(fault, Exception):
                raise fault
            elif fault is JobStep.ABANDONED:
                said = f"skipped {step.token}: d0 is submitted already"
                yield SendingProgress(step.done, total, step.token, said, "", fault)
            elif fault is not None:
                why = f"fault {step.done}: {self.why}"
                yield SendingProgress(step.done, total, step.token, "", why, fault)
                return
            else:
                yield step


async def planned(hand: Hand[SampleEngine]) -> None:
    await hand.press("2")
    await hand.sees("8 groups")
    await hand.press("a", "s")
    await hand.sees("8 jobs", "▲ warnings")


@pytest.mark.parametrize(("left", "sent"), [(1000, True), (100, False)])
async def test_a_yes_before_the_budgets_are_known_counts_once_they_are(
    left: float, sent: bool
) -> None:
    engine = SampleEngine()
    engine.checks_gate = asyncio.Event()
    budget = Budget("budget", "CPU-hours", left, 2000, ((0, 8),))
    engine.checks["budget"] = PlanCheck("budget", OK, budgets=(budget,))
    async with opened(engine, size=(120, 50)) as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("s asks for the number of jobs (8)")
        await hand.press("s", "8", "enter")
        await hand.sees("Reading the budgets; the answer counts after that")
        assert not hand.app.session.has_submitted

        engine.checks_gate.set()

        await hand.sees("8 of 8" if sent else "'8' is not '8 anyway'")
        assert hand.app.session.has_submitted is sent


async def test_a_plan_is_looked_over_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SampleEngine()
    engine.folder = tmp_path
    engine.checks_gate = asyncio.Event()
    engine.checks["budget"] = PlanCheck(
        "budget", OK, budgets=(Budget("budget", "CPU-hours", 1000, 2000, ((0, 8),)),)
    )
    engine.checks["dry check"] = PlanCheck(
        "dry check", FAILED, "", "", (PlanFinding(FAILED, "too wide", "less", ((7, 8),)),)
    )
    new = engine._planned(1, tuple(engine.names[:10])).script
    old = new.replace("--time=240", "--time=1\x1b[31m")
    engine.script_of["equilibrate"] = ScriptBefore(old, "77", "local", "", engine.now, 10)
    async with opened(engine, size=(120, 50)) as hand:
        # The plan is there before its checks are.
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees(
            "Jobs to submit", "◌ scripts", "◌ dry check", "s asks for the number of jobs (8)"
        )
        engine.checks_gate.set()
        await hand.sees("✓ scripts", "✗ dry check  job 8: too wide", "1,000 → 488 of 2,000 CPU-h")
        await hand.sees("✗ dry check: too wide", "s asks for “8 anyway”")

        # The script as a difference, in full, and unfolded again.
        await hand.sees("compared with job 77", "~ other ")
        await hand.sees("- #SBATCH --time=1\\x1b[31m", "+ #SBATCH --time=240", "unchanged lines")
        await hand.press("z")
        await hand.sees_no("unchanged lines")
        await hand.press("equals_sign")
        await hand.sees("19 lines", "= compares with job 77")
        assert "- #SBATCH" not in hand.text()
        await hand.press(
            "equals_sign",
            "z",
            "right_square_bracket",
            "right_square_bracket",
            "left_square_bracket",
        )
        await hand.sees("Script 2 of 8")
        for key, number in (("n", 4), ("n", 8), ("n", 4), ("N", 8), ("N", 4)):  # round the ends
            await hand.press(key)
            await hand.sees(f"Script {number} of 8")
        sizes = {asked.size for asked in engine.asked_before}
        assert len(engine.asked_before) == len(sizes) == 3  # once for each size

        # Jobs are left out; cost, budget and checks follow.
        await hand.press("G", "space")
        await hand.sees(
            "7 of 8 jobs", "☐    8", "448 CPU-hours at most", "1,000 → 552", "✓ dry check"
        )
        await hand.sees("the number of jobs (7)")
        await hand.press("a")
        await hand.sees("512 CPU-hours at most", "“8 anyway”")
        await hand.press("a")
        await hand.sees("0 of 8 jobs", "Every job is switched off")
        await hand.press("s")
        await hand.sees("send: every job is switched off")
        await hand.press("g", "space", "space", "space")
        await hand.sees("3 of 8 jobs", "☐    4", "192 CPU-hours at most")

        # To files, and not over what is there.
        await hand.press("E")
        await hand.sees("Write 3 scripts to which folder?")
        await hand.press(*["backspace"] * 20, *"out", "enter")
        await hand.sees("4 files written to")
        assert len(list((tmp_path / "out").iterdir())) == 4
        (tmp_path / "out" / "plan.json").write_text("mine")
        await hand.press("E", *["backspace"] * 20, *"out", "enter")
        await hand.sees("Files are there already. Overwrite them?")
        await hand.press("escape")
        await hand.sees("Nothing was written.")
        assert (tmp_path / "out" / "plan.json").read_text() == "mine"

        # Why it goes there, and back; the pager has the script.
        await hand.press("g", "j", "w")
        await hand.until(lambda: hand.app.view_name == "explain")
        assert hand.app.session.chosen_group is not None
        assert hand.app.session.chosen_group[2] == 1
        await hand.press("5")
        await hand.sees("3 of 8 jobs")
        opened_texts: list[tuple[str, str]] = []

        async def pager(_: object, text: str, name: str) -> bool:
            opened_texts.append((text, name))
            return True

        monkeypatch.setattr("rowtui.tui.views.submit.script.open_in_pager", pager)
        await hand.press("O")
        await hand.until(lambda: opened_texts)
        assert opened_texts[0][0].startswith("#!/bin/bash")

        # Only what is left is sent, after its number.
        await hand.press("s", "8", "enter")
        await hand.sees("'8' is not '3'")
        await hand.press("s", "3", "enter")
        await hand.sees("3 of 3 jobs accepted")
        [plan] = engine.submitted_plans
        assert len(plan.jobs) == 3
        assert plan.skipped == ("left out by hand: 5 jobs",)


async def test_what_depends_on_a_job_follows_it_and_over_budget_needs_one_word_more() -> None:
    engine = SampleEngine()
    really = engine.plans_make

    async def chained(*asked: object) -> Plan:
        plan = await really(*asked)  # type: ignore[arg-type]
        jobs = list(plan.jobs)
        for at in (1, 2):
            jobs[at] = jobs[at]._replace(depends_on=(jobs[at - 1].token,))
        return plan._replace(jobs=tuple(jobs))

    engine.plans_make = chained  # type: ignore[method-assign, assignment]
    where = "of this project"
    budget = Budget("budget", "CPU-hours", 100, 2000, ((0, 8),), where)
    engine.checks["budget"] = PlanCheck("budget", OK, budgets=(budget,))
    async with opened(engine, size=(80, 24)) as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("✗ over budget by 412 CPU-hours", "s asks for “8 anyway”")
        await hand.press("space")
        await hand.sees("2 jobs depending on it: off as well", "5 of 8 jobs")
        await hand.press("g", "j", "j", "space")
        await hand.sees("2 jobs needed by it: on as well", "budget -412 h left")
        await hand.press("s", "8", "enter")
        await hand.sees("'8' is not '8 anyway'")
        assert engine.submitted_plans == []
        await hand.press("s", *"8 Anyway", "enter")
        await hand.sees("8 of 8 jobs accepted")


async def test_at_80_columns_the_job_id_and_the_reason_of_a_refusal_are_whole() -> None:
    engine = FaultyEngine(JobStep.ACCEPTED, JobStep.REJECTED)
    engine.why = (
        "sbatch: error: Batch job submission failed: Invalid account or account/partition "
        "combination specified for this user"
    )
    engine._next_id = 123_456_788
    async with opened(engine, size=(80, 24)) as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("Nothing is sent yet")
        await hand.press("s", "8", "enter")
        await hand.sees("1 of 8 jobs accepted  ✗ 1 refused", "✓ job 123456789 ")
        await hand.press("j")
        await hand.sees("account/partition", "for this user")


async def test_what_goes_wrong_on_the_way_is_told_job_by_job_with_what_there_is_to_do() -> None:
    engine = FaultyEngine(JobStep.ACCEPTED, JobStep.ABANDONED, JobStep.UNKNOWN)
    async with opened(engine, size=(160, 45)) as hand:
        await planned(hand)
        await hand.press("s", "8", "enter")
        await hand.sees("▲ 1 of 8 jobs accepted  ▲ 1 unclear  – 1 skipped  · 5 not sent")
        await hand.sees("✗ fault 3: Invalid account", "✓ job 4717", "– skipped", "▲ unclear")
        await hand.sees("1 job unclear: the connection broke", "5 jobs not sent: nothing of them")

    engine = FaultyEngine(JobStep.REJECTED)
    async with opened(engine) as hand:
        await planned(hand)
        await hand.press("s", "8", "enter")
        await hand.sees("0 of 8 jobs accepted  ✗ 1 refused  · 7 not sent", "1 job refused")

        engine.faults = (JobStep.ACCEPTED, RowtuiError("the disk is full"))
        await hand.press("2")
        await hand.sees("Groups of equilibrate")
        await hand.press("s")
        await hand.sees("Nothing is sent yet")
        await hand.press("s", *f"{hand.app.session.sending.chosen.units}", "enter")  # type: ignore[union-attr]
        await hand.sees("✗ the disk is full  1 of")


async def test_it_goes_on_behind_other_views_and_who_leaves_is_asked() -> None:
    engine = SampleEngine()
    gates = [asyncio.Event() for _ in range(9)]

    async def gate(number: int) -> None:
        await gates[number].wait()

    engine.gate = gate
    async with opened(engine) as hand:
        await planned(hand)
        await hand.press("s", "8", "enter")
        await hand.sees("sending: 0 of 8", "▶ sending", "· not sent")
        await hand.press("1")
        await hand.sees("sending 0/8")
        gates[1].set()
        gates[2].set()
        await hand.until(lambda: len(engine.jobs_by_token) == 7)
        await hand.press("r")
        await hand.sees("sending 2/8")
        await hand.press("q")
        await hand.sees("Jobs are being sent. Stop and leave?", "2 of 8 have their answer")
        await hand.press("n", "o", "enter")
        await hand.sees("sending 2/8")
        await hand.press("q", "y", "e", "s", "enter")
        await hand.sees("stopping 2/8")
        assert hand.app.return_code is None
        gates[3].set()
        await hand.until(lambda: hand.app.return_code == 0)
        assert len(engine.jobs_by_token) == 8  # the one under way was waited for


async def test_what_a_filter_hides_is_sent_too_and_what_is_shown_is_switched(
    tmp_path: Path,
) -> None:
    engine = SampleEngine()
    gates = [asyncio.Event() for _ in range(9)]

    async def gate(number: int) -> None:
        await gates[number].wait()

    engine.gate = gate
    async with opened(engine, size=(80, 24), state=tmp_path) as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("s asks for the number of jobs (8)")

        # Fewer are shown; all are sent, and that is said in both frames.
        await hand.press("slash", *"T1.2")
        await hand.sees(
            "4 of 8 shown · all that are ticked are sent: 8 jobs", "Nothing is sent yet"
        )
        await hand.sees("4 jobs are hidden by the filter, and are sent too")
        await hand.press("enter")
        await hand.sees("Jobs to submit · / T1", "Script 5 of 8")
        await hand.press("right_square_bracket")
        await hand.sees("Script 6 of 8")

        # What is switched is what is shown; space keeps to the job under the cursor.
        await hand.press("a")
        await hand.sees("4 jobs switched off; what the")
        await hand.sees("all that are ticked are sent: 4 jobs", "the number of jobs (4)")
        await hand.press("space")
        await hand.sees("sent: 5 jobs", "Script 7 of 8")
        await hand.press("a")
        await hand.sees("3 jobs switched on", "sent: 8 jobs")
        await hand.press("g", "v", "j", "v")
        await hand.sees("2 jobs switched off", "sent: 6 jobs")

        # The order is another, the choice and the cursor stay with their jobs.
        await hand.press("o", "o", "o", "o")
        await hand.sees("#▼", "Script 6 of 8")
        await hand.press("g")
        await hand.sees("Script 8 of 8")
        await hand.press("escape")
        await hand.sees("6 of 8 jobs", "the number of jobs (6)")
        await hand.sees_no("hidden by the filter")
        await hand.press("slash", *"off", "enter")
        await hand.sees("2 of 8 shown · all that are ticked are sent: 6 jobs")
        await hand.press("slash", *["backspace"] * 3, *"nobody", "enter")
        await hand.sees(
            "No job fits the filter", "6 jobs are hidden by the filter, and are sent too"
        )

        # The number of all is typed; a number in the filter sends nothing.
        await hand.press("slash", *["backspace"] * 6, *"6", "enter")
        assert "submit" not in engine.calls
        await hand.press("slash", "backspace", *"waiting", "enter")
        await hand.sees("0 of 8 shown")
        await hand.press("s", "6", "enter")

        # While it is sent the filter follows what becomes of the jobs.
        await hand.sees("Jobs of this plan · / waiting", "shown · 6 jobs")
        assert hand.app.session.sending is not None
        await hand.until(lambda: hand.app.session.sending.under_way)  # type: ignore[union-attr]
        await hand.press("slash", *["backspace"] * 7, *"accepted", "enter")
        await hand.sees("0 of 6 shown")
        for number in (1, 2):
            gates[number].set()
            await hand.sees(f"{number} of 6 shown · 6 jobs", f"✓ {number} accepted")
        await hand.press("space")
        await hand.sees("this plan was already")
        for one in gates:
            one.set()
        await hand.sees("6 of 6 shown", "6 of 6 jobs accepted")
        [plan] = engine.submitted_plans
        assert len(plan.jobs) == 6

        # The next plan is another list.
        await hand.press("2", "f", "f", "g", "s")
        hand.app.verbs.review(plan, "groups", None)
        await hand.sees("Jobs to submit", "Nothing is sent yet")
        assert "shown" not in hand.text()


async def test_a_check_that_ends_while_the_question_opens_does_no_harm() -> None:
    async with opened() as hand:
        await hand.press("2", "s")
        await hand.sees("Nothing is sent yet")
        view = hand.app.view
        assert isinstance(view, SubmitView)
        view.command_confirm()
        question = hand.app.screen
        assert isinstance(question, ConfirmScreen)
        async with asyncio.timeout(30):
            while not question.query("#answer"):  # one after another its widgets are there
                question.show_question()
                await asyncio.sleep(0)
        await hand.sees("Send 1 job to local?", "Type yes")
