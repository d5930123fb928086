"""Empty, broken and hostile projects: a readable screen, never a traceback."""

from __future__ import annotations

import pytest
from rowtui.core.base.errors import Problem, RowtuiError, WorkflowError
from rowtui.core.engine.api.groups import GroupsPage
from rowtui.core.engine.api.snapshot import ProjectSnapshot
from rowtui.core.project.views.views import LogState
from rowtui.tui.widgets.short_text import JOB_MARKS, STATUS_MARKS

from tests.tui.hand import opened
from tests.tui.sample import ACTIONS, SampleAction, SampleEngine


async def test_no_actions() -> None:
    async with opened(SampleEngine(actions=())) as hand:
        await hand.sees("workflow.toml has no action yet.")
        await hand.press("s", "enter", "2")
        await hand.sees("There is no action yet.")
        await hand.press("5", "6", "7", "1")
        await hand.sees("[1 Status]")


async def test_no_directories() -> None:
    async with opened(SampleEngine(directories=0)) as hand:
        await hand.sees("The workspace has no", "no directory belongs to this action")
        await hand.press("enter")
        await hand.sees("Nothing here.")


async def test_what_breaks_while_one_watches_is_told_and_what_is_old_is_marked() -> None:
    async with opened() as hand:
        await hand.sees("150")
        # a workflow that breaks and is mended
        hand.engine.refresh_error = WorkflowError(
            (Problem("workflow.toml", 12, 1, "unknown key `comand`", "did you mean `command`?"),)
        )
        hand.engine.tell("workflow")
        await hand.sees("▲ STALE", "✗ workflow.toml:12:1: unknown", "150")
        hand.engine.refresh_error = None
        hand.engine.tell("workflow")
        await hand.sees_no("▲ STALE")
        await hand.sees("78 eligible")
        # an unreachable queue is shown with its age and the last jobs
        await hand.press("6")
        await hand.sees("5 jobs")
        hand.engine.queue_error = "squeue: timed out"
        await hand.press("r")
        await hand.sees("▲ no answer  last answer now: squeue: timed out", "4716")
        # old data is marked as such, new data is not
        await hand.press("1")
        assert "STALE" not in hand.text()
        hand.engine.now += 3600  # a laptop that slept
        hand.app._tick()
        await hand.sees("▲ STALE 1 h")


async def test_a_project_that_cannot_be_opened_says_why_and_waits() -> None:
    engine = SampleEngine()
    engine.refresh_error = RowtuiError("workspace is not a folder", "make the folder")
    async with opened(engine) as hand:
        await hand.sees("✗ NOT LOADED", "✗ workspace is not a folder", "make the folder")
        engine.refresh_error = None
        await hand.press("r")
        await hand.sees("78 eligible")
        await hand.sees_no("NOT LOADED")


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ZeroDivisionError("x")])
async def test_any_exception_of_the_engine_becomes_a_sentence(error: Exception) -> None:
    class Failing(SampleEngine):
        async def groups_page(self, *args: object, **options: object) -> GroupsPage:  # type: ignore[override]
            raise error

        async def logs_look(self, *args: object, **options: object) -> LogState:  # type: ignore[override]
            raise error

    engine = Failing()
    engine.plan_error = error
    async with opened(engine) as hand:
        await hand.sees("78 eligible")
        await hand.press("s")
        await hand.sees(f"no plan: {type(error).__name__}")
        await hand.press("2")
        await hand.sees("the groups cannot be listed")
        await hand.press("7")
        await hand.sees("the log cannot be read")
        await hand.press("at")
        await hand.sees("error     no plan", "error     the groups")
        assert "Traceback" not in hand.text()


async def test_a_submission_that_breaks_says_how_far_it_got() -> None:
    engine = SampleEngine()

    async def gate(number: int) -> None:
        if number == 3:
            raise RowtuiError("the disk is full", "make room")

    engine.gate = gate
    async with opened(engine) as hand:
        await hand.press("2")
        await hand.sees("8 groups")
        await hand.press("a", "s")
        await hand.sees("8 jobs")
        await hand.press("s", "8", "enter")
        await hand.sees("✗ the disk is full  2 of 8 were accepted.", "make room")


async def test_hostile_names_do_not_steer_the_terminal() -> None:
    nasty = "evil\x1b]0;owned\x07\n‮name"
    engine = SampleEngine(actions=[SampleAction(nasty, nasty, (), nasty, 10, 1, 60)])
    engine.values = {f"{nasty}{at}": {"T": 1.0} for at in range(12)}
    engine.names = sorted(engine.values)
    engine.notices = (nasty,)
    engine.bad = ((nasty, nasty),)
    async with opened(engine) as hand:
        await hand.sees("evil\\x1b]0;owned\\x07")
        for key in ("2", "s", "6", "7", "1"):
            await hand.press(key)
            await hand.rests()
            assert "\x1b" not in hand.text()
            assert "\x07" not in hand.text()
            assert "‮" not in hand.text()


async def test_markup_in_a_name_is_only_text() -> None:
    engine = SampleEngine(actions=[SampleAction("[b]bold[/b]", "[red]x", (), "[/]", 10, 1, 60)])
    async with opened(engine) as hand:
        await hand.sees("─ [b]bold[/b] ─", "[red]x")
        await hand.press("2")
        await hand.sees("Groups of [b]bold[/b]")
        await hand.press("y")
        await hand.sees("Copied T0.7")


async def test_no_size_is_refused_not_at_the_start_and_not_later() -> None:
    async with opened(size=(20, 5)) as hand:
        await hand.until(lambda: hand.app.session.snapshot)
        for size in ((20, 5), (40, 12), (250, 70), (99, 30), (80, 24)):
            await hand.pilot.resize_terminal(*size)
            for key in ("2", "5", "6", "7", "1", "question_mark", "escape", "at", "escape"):
                await hand.press(key)
                assert len(hand.text().splitlines()) == size[1]
            assert "lj" in hand.text().splitlines()[0]
        await hand.sees("Workflow", "need you")


async def test_without_colours_every_state_is_told_by_its_mark_and_its_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(size=(140, 36)) as hand:
        await hand.sees("78 eligible")
        colours = {
            colour
            for strip in hand.app.screen._compositor.render_strips()
            for part in strip
            if part.style
            for colour in (part.style.color, part.style.bgcolor)
            if colour is not None
        }
        assert colours
        for colour in colours:
            red, green, blue = colour.get_truecolor()
            assert max(red, green, blue) - min(red, green, blue) <= 1, colour
        await hand.sees("✓ 150 completed", "▶ 12 submitted", "○ 78 eligible", "✗ 3 of them failed")
        await hand.press("6")
        await hand.sees("✗ failed", "✓ completed", "· pending", "▶ running")
    marks = [*STATUS_MARKS.values(), *JOB_MARKS.values()]
    assert all(mark.glyph and mark.word for mark in marks)
    for kind in (STATUS_MARKS, JOB_MARKS):
        assert len({(mark.glyph, mark.word) for mark in kind.values()}) == len(kind)


async def test_the_first_action_is_there_however_many_follow() -> None:
    many = [SampleAction(f"action-{at:03d}", "x", (), "y", 10, 1, 60) for at in range(100)]
    async with opened(SampleEngine(actions=many, directories=3), size=(80, 24)) as hand:
        await hand.sees("action-000", "100 actions")
        await hand.press("G")
        await hand.sees("› action-099")


async def test_the_snapshot_may_come_after_every_key() -> None:
    import asyncio

    class Slow(SampleEngine):
        let = asyncio.Event()

        async def refresh(self, *, full: bool = False) -> ProjectSnapshot:
            await self.let.wait()
            return await super().refresh(full=full)

    engine = Slow(actions=ACTIONS)
    engine.let = asyncio.Event()
    async with opened(engine) as hand:
        await hand.sees("Reading the project…")
        await hand.press("s", "enter", "x", "2", "s", "a", "space", "5", "s", "6", "c", "7", "1")
        hand.text()
        engine.let.set()
        await hand.sees("78 eligible")
