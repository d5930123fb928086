"""What waits for a person, without a terminal."""

from __future__ import annotations

from dataclasses import replace

from rowtui.core.base.errors import Problem, RowtuiError, WorkflowError
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.project.views.views import JobsView
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.service import RunStanding
from rowtui.tui.views.status.needs import (
    NeedItem,
    NextStep,
    complete,
    distinct,
    finished,
    need_detail,
    needs,
    nothing_needed,
)
from rowtui.tui.widgets.cells import plain

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_needs import MAPPING_FILE


def texts(found: list[NeedItem]) -> list[str]:
    return [plain(need.spans) for need in found]


async def test_what_needs_a_person_comes_worst_first_with_its_cause_and_next_step() -> None:
    engine = SampleEngine()
    engine.problems = (Problem("/p/workflow.toml", 3, 1, "odd", severity="warning"),)
    engine.bad = (("x\n", "not JSON"),)
    engine.untrusted = [MAPPING_FILE]
    engine.failed["equilibrate"][engine.names[153]] = "time limit"
    snapshot = await engine.refresh()
    found = needs(snapshot, None, JobsView(1, 0.0, (), "squeue: no answer"))
    assert texts(found) == [
        "✗ equilibrate: 2 failed, exit code 2",
        "✗ equilibrate: 1 failed, time limit",
        "▲ local: squeue: no answer",
        "▲ mapping.yml is not trusted: its code does not run",
        "▲ 1 directory is not counted",
        "▲ workflow.toml:3:1: odd",
        *(text for text in texts(found)[6:]),
    ]
    assert texts(found)[-1] == "○ analyze: 34 eligible"
    [rest] = [need for need in found if need.text.startswith("equilibrate: ") and need.glyph == "○"]
    # as many as in the table above it; those that failed are needs of their own
    assert rest.text == f"equilibrate: {snapshot.actions[1].eligible} eligible"
    assert rest.more == ("with the 3 that failed",)
    steps = [need.step for need in found]
    assert steps[:6] == [
        NextStep.FAILED, NextStep.FAILED, NextStep.QUEUE, NextStep.TRUST, NextStep.BAD,
        NextStep.EDIT,
    ]  # fmt: skip
    assert set(steps[6:]) == {NextStep.SUBMIT}
    assert (found[1].action_index, found[1].cause) == (1, "time limit")
    assert found[4].more == ("x\n: not JSON",)
    shown = [plain(part) for part in need_detail(found[4], 60)]
    assert shown == ["▲ 1 directory is not counted", "  x\\n: not JSON", "Enter see which, and why"]
    assert "R retry the directories with this failure" in plain(need_detail(found[0], 60)[-1])


async def test_failures_whose_cause_is_not_known_are_told_by_action() -> None:
    snapshot = replace(await SampleEngine().refresh(), failures=())
    assert texts(needs(snapshot))[0] == "✗ equilibrate: 3 failed"


async def test_a_need_is_the_same_one_when_its_numbers_change() -> None:
    engine = SampleEngine()
    before = needs(await engine.refresh())
    engine.failed["equilibrate"].popitem()
    after = needs(await engine.refresh())
    assert [need.key for need in before] == [need.key for need in after]
    assert texts(before) != texts(after)


async def test_what_says_the_same_twice_is_one_row() -> None:
    one = NeedItem("▲", "again", "warning")
    assert distinct([one, NeedItem("○", "other", ""), one]) == [one, NeedItem("○", "other", "")]


async def test_a_broken_workflow_shows_every_problem_with_its_place() -> None:
    error = WorkflowError(
        (Problem("/p/workflow.toml", 2, 5, "no", "try yes"), Problem("b", 0, 0, "x"))
    )
    first, second = needs(None, error)
    assert texts([first, second]) == ["✗ workflow.toml:2:5: no (try yes)", "✗ b: x"]
    assert (first.step, first.place, first.line) == (NextStep.EDIT, "/p/workflow.toml", 2)
    assert second.step is NextStep.NOTHING
    assert needs(None, RowtuiError("gone", "come back"))[0].more == ("come back",)
    assert texts(needs(None, ValueError())) == ["✗ ValueError"]


async def test_the_calm_line_says_why_nothing_is_needed() -> None:
    snapshot = await SampleEngine(fresh=True).refresh()
    empty = replace(snapshot, actions=())
    assert "no action yet" in plain(nothing_needed(empty))
    assert "no directories yet" in plain(nothing_needed(replace(snapshot, directories=0)))
    done = tuple(
        replace(action, completed=240, eligible=0, waiting=0, failed=0, submitted=0)
        for action in snapshot.actions
    )
    assert not complete(snapshot)
    assert complete(whole := replace(snapshot, actions=done))
    assert [plain(need.spans) for need in finished(whole, None)] == [
        "✓ all 960 are completed, in 4 actions",
        f"› results of {done[-1].name}: its directories",
    ]


async def test_a_complete_project_lists_what_can_be_done_next() -> None:
    engine = SampleEngine(fresh=True)
    snapshot = await engine.refresh()
    done = tuple(
        replace(one, completed=one.total, eligible=0, waiting=0, failed=0, submitted=0)
        for one in snapshot.actions
    )

    async def refresh(*, full: bool = False) -> ProjectSnapshot:
        return replace(snapshot, actions=done)

    engine.refresh = refresh  # type: ignore[method-assign]
    async with opened(engine, size=(80, 24)) as hand:
        await hand.sees("The study is complete: what next?", "✓ all 960 are completed")
        await hand.press("tab", "down", "enter")
        await hand.sees("[2 Groups]", "[all 240]")
        await hand.press("1", "up", "enter")
        await hand.sees("[9 Past]")


async def test_a_problem_of_an_action_opens_the_workflow() -> None:
    snapshot = await SampleEngine().refresh()
    first = replace(snapshot.actions[0], problem="T is missing in a, b\nand in c")
    [found] = [
        need
        for need in needs(replace(snapshot, root="/p", actions=(first, *snapshot.actions[1:])))
        if need.subject == "problem 0"
    ]
    assert (found.step, found.place) == (NextStep.EDIT, "/p/workflow.toml")
    assert plain(need_detail(found, 80)[-1]) == "Enter open the file"


async def test_the_driver_of_the_run_is_shown_stopped_and_given_new_limits() -> None:
    engine = SampleEngine()
    limits = RunLimits(cpu_hours=100.0)
    engine.project_run = RunStanding("2026-11-21-1", "job alpha/7 on n3, since Sun", "", limits)
    first = needs(await engine.refresh())
    [driven] = [need for need in first if need.step is NextStep.STOP_RUN]
    assert driven.text == "run 2026-11-21-1: driven by job alpha/7 on n3, since Sun"
    assert driven.more[0] == "it waits for the jobs of 28 submitted directories"
    assert "at most 100 CPU-hours" in driven.more
    async with opened(engine, size=(120, 36)) as hand:
        await hand.press("tab", *["down"] * first.index(driven), "enter")
        await hand.sees("Stop the run?", "Submitted jobs continue.")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("run 2026-11-21-1: its user stopped it")
        await hand.press("enter")
        await hand.sees("Let the run go on?")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("`rowtui run --resume` goes on")
    assert engine.project_run.limits == limits
