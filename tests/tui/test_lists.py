"""View 2 and its long lists, with the keys that people press."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rowtui.tui.views.groups.view import GroupsView

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine


async def test_the_directories_of_a_group_are_read_at_once_unless_the_cursor_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int | None] = []

    class Read(SampleEngine):
        async def groups_members(self, action: int, statuses: Any, group: int | None, *page: int,
                                 **more: Any) -> Any:  # fmt: skip
            read.append(group)
            return await super().groups_members(action, statuses, group, *page, **more)

    async with opened(Read()) as hand:
        await hand.press("2")
        await hand.until(lambda: read == [0])
        monkeypatch.setattr("rowtui.tui.views.groups.view.SETTLE_SECONDS", 0.0)
        await hand.press("down")
        await hand.until(lambda: read == [0, 1])
        monkeypatch.setattr("rowtui.tui.views.groups.view.SETTLE_SECONDS", 3600.0)
        await hand.press("down", "down")
        await hand.rests()
        assert read == [0, 1]


async def test_groups_are_known_by_their_numbers_whatever_the_filter_and_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = SampleEngine()
    engine.group_problems = {8: "no partition takes 16 CPUs"}
    engine.group_warnings = {3: "local: CPUs (388) not a preferred multiple: 384 would be"}
    async with opened(engine, state=tmp_path) as hand:
        await hand.press("2")
        await hand.sees("8 groups · 78 directories", "/ filter", "d directories")
        view = hand.app.screen
        assert isinstance(view, GroupsView)

        # a filter and an order: what is under the cursor is group 8, in the first row
        await hand.press("slash", *"T1.2")
        await hand.sees("4 of 8 · 40 directories")
        await hand.press("enter", "o", "o")
        await hand.sees("#▼", "Directories of group 5")
        assert view.table.cursor_key == "T1.2-rho0.1-s1"  # it stays, at the end of the list
        await hand.press("g")
        await hand.sees("▲ Group 8 cannot be submitted", "no partition takes 16 CPUs")
        assert hand.app.session.group == 7
        await hand.press("w")
        await hand.sees("group 8")
        await hand.press("2", "s")
        await hand.sees("Nothing is sent yet", "equilibrate-T1.2-rho0.8-s2")

        # marks are of rows, not of places: all that match, then without the filter
        await hand.press("2", "a")
        await hand.sees("4 of 8 shown · 4 of 8 groups marked · 40 directories, 256 CPU-h")
        await hand.sees("Groups of equilibrate · / ")  # a kept filter is named
        await hand.press("escape")
        await hand.sees("4 of 8 groups marked · 40 directories")
        await hand.press("s")
        await hand.sees("Nothing is sent yet", "4 jobs")
        await hand.press("2", "escape")
        await hand.sees("8 groups · 78 directories")

        # what cannot be used is said, and the list stays
        await hand.press("slash", *"cpus<x")
        await hand.sees("▲ < compares with a number: 'x' is not a number (at character 6).")
        await hand.press("escape")
        await hand.sees_no("▲ < compares")

        # the columns that were chosen are kept
        await hand.press("vertical_line")
        await hand.sees("[x] Dirs")
        await hand.press("j", "space", "enter")
        await hand.sees_no(" Dirs ")
        assert '"hidden": [\n    "size"' in (tmp_path / "lists.json").read_text()

        # all directories of the action, with a list of their own
        await hand.press("d")
        await hand.sees("Directories of equilibrate", "78 directories", " rho ")
        await hand.press("slash", *"T=1.0 s2", "enter")
        await hand.sees("2 of 78")
        await hand.press("space", "space")
        await hand.sees("2 of 78 shown · 2 of 78 directories marked")
        await hand.press("w")
        await hand.sees("Groups have jobs, directories do not")
        await hand.press("s")
        await hand.sees("Nothing is sent yet", "1 job")
        [job] = hand.app.session.sending.plan.jobs  # type: ignore[union-attr]
        assert job.directories == ("T1.0-rho0.7-s2", "T1.0-rho0.8-s2")
        await hand.press("2", "E")
        await hand.sees("Write 2 rows", "directories.csv")
        await hand.press("enter")
        path = tmp_path / "directories.csv"
        await hand.until(path.exists)
        head, first, _ = path.read_text().splitlines()
        assert head.startswith("Directory,State,")
        assert first.startswith("T1.0-rho0.7-s2,eligible,")
        await hand.press("escape", "escape", "d")
        await hand.sees("Groups of equilibrate", "8 groups")

        # marks and the filter outlive what happens elsewhere
        await hand.press("slash", *"T1.1", "enter", "j", "space")
        await hand.sees("3 of 8 shown · 1 of 8 groups marked")
        engine.complete("equilibrate", [name for name in engine.names if "T1.0" in name])
        await hand.sees("3 of 7 shown · 1 of 7 groups marked")
        assert "T1.1-rho0.5-s5" in view.table.marks


async def test_a_group_that_is_not_whole_says_why_and_names_no_destination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = SampleEngine()
    engine.group_problems = {1: "it is not whole: 1 directory of the whole group is not eligible"}
    engine.groups_not_whole = {1}
    async with opened(engine, state=tmp_path) as hand:
        await hand.press("2")
        await hand.sees("▲ it is not", "▲ Group 1 cannot be submitted")
        await hand.sees("groups of directories in other states")
        await hand.sees_no("packs its job")
        await hand.press("j")
        await hand.sees_no("cannot be submitted")
