"""What waits for a person leads, with Enter, to where the person can act."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import Problem

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_needs import MAPPING_FILE


async def test_enter_leads_to_the_next_step_of_each_need() -> None:
    engine = SampleEngine()
    engine.untrusted = [MAPPING_FILE]
    engine.bad = (("x\n", "not JSON"),)
    async with opened(engine) as hand:
        await hand.sees("✗ equilibrate: 3 failed, exit code 2")
        await hand.press("tab")
        await hand.sees("What needs you", "retry the directories with this failure")
        await hand.press("enter")
        await hand.sees("[failed 3]")
        await hand.press("1", "R")
        await hand.sees("Retry 1 failed job?", "exit code 2")
        await hand.press("escape", "down", "enter")
        await hand.sees("Trust mapping.yml?", "if: len(directories) > 4")
        await hand.press("tab", "tab", *"trus", "enter")
        await hand.sees("Nothing was trusted")
        assert engine.trusted_now == []
        await hand.press("enter")
        await hand.sees("Trust mapping.yml?")
        await hand.press(*"trust", "enter")
        await hand.sees("Trusted as it is now")
        assert engine.trusted_now == [MAPPING_FILE.place]
        await hand.sees_no("is not trusted")
        await hand.press("enter")
        await hand.sees("Directories that are not counted", "x\\n: not JSON")
        await hand.press("q", "G", "enter")
        await hand.sees("Jobs to submit")
        assert engine.calls[-1] != "submit"


async def test_the_cursor_stays_on_its_need_while_others_come_and_go() -> None:
    engine = SampleEngine()
    async with opened(engine) as hand:
        await hand.sees("3 failed, exit code 2")
        await hand.press("tab", "down")
        await hand.until(lambda: hand.app.session.need is not None)
        chosen = hand.app.session.need
        engine.problems = (Problem("/p/workflow.toml", 3, 1, "odd"),)
        engine.tell("workflow")
        await hand.sees("workflow.toml:3:1: odd")
        assert chosen is not None
        await hand.until(lambda: hand.app.session.need == chosen, "the same need is chosen")
        await hand.press("escape")
        await hand.until(lambda: hand.app.session.need is None)


async def test_read_only_lets_one_look_but_not_act() -> None:
    engine = SampleEngine()
    engine.untrusted = [MAPPING_FILE]
    async with opened(engine, read_only=True) as hand:
        await hand.sees("is not trusted")
        await hand.press("tab", "R")
        await hand.sees("opened read-only")
        await hand.press("down", "enter")
        await hand.sees("Trust mapping.yml?")
        await hand.press(*"trust", "enter")
        await hand.sees("nothing can be trusted")
        assert engine.trusted_now == []


async def test_a_problem_in_a_file_opens_the_editor_at_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened_at: list[tuple[str, int, int]] = []

    async def note(_: object, path: Path, __: bool, *, line: int, column: int) -> bool:
        opened_at.append((str(path), line, column))
        return True

    monkeypatch.setattr("rowtui.tui.shell.external_program.open_in_editor", note)
    engine = SampleEngine()
    engine.problems = (Problem("/p/workflow.toml", 16, 3, "odd"),)
    async with opened(engine) as hand:
        await hand.sees("workflow.toml:16:3: odd")
        await hand.press("tab")
        await hand.sees("open the file")
        await hand.press("enter")
        await hand.until(lambda: opened_at)
        assert opened_at == [("/p/workflow.toml", 16, 3)]
