"""The home view: every project at every size, what needs the user, and what can be opened."""

from __future__ import annotations

import contextlib
import queue
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rowtui.core.home.known import ActionCounts, KnownProject, KnownProjects, ProjectSummary
from rowtui.core.project.views.needs import FailureCause
from rowtui.tui.home.app import HomeApp
from rowtui.tui.home.projects import needs_of
from rowtui.tui.home.screen import HomeScreen
from rowtui.tui.views.status.needs import needs

from tests.tui.hand import Hand, hand_on, opened

NOW = 1_800_000_000.0
SIZES = [(40, 12), (80, 24), (120, 36), (300, 80)]

GOOD = ProjectSummary(
    directories=1000, total=2000, completed=1990, eligible=10, failed=3, jobs=4, running=2,
    pending=1, cpu_hours=12.0, paused="the limit of CPU-hours is reached", silent=("alpha",),
    actions=(ActionCounts(0, "melt", 995, eligible=5, failed=3), ActionCounts(1, "cool", 995,
                                                                              eligible=5)),
    failures=(FailureCause(0, "time limit", 3, 2),), lately=(0, *[5] * 11),
)  # fmt: skip


def nothing_read(*_: object, **__: object) -> Iterator[KnownProject]:
    """No answer of any reader: the stored summaries stay."""
    return iter(())


def stored(folder: Path) -> KnownProjects:
    known = KnownProjects(folder)
    every = [
        KnownProject("/data/hydrogen", NOW - 60, GOOD, NOW - 30),
        KnownProject("/data/frozen", NOW - 120, GOOD, NOW - 9000, NOW - 7200),
        KnownProject("/data/lost", NOW - 180, ProjectSummary(gone=True), NOW - 30),
        KnownProject("/data/broken", NOW - 240, ProjectSummary(problem="no [[action]]"), NOW - 30),
        KnownProject("/data/new", 0.0),
    ]
    for one in every:
        known.add(one.root, one.opened)
        known.store(one)
    return known


@asynccontextmanager
async def home(known: KnownProjects, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Hand]:  # type: ignore[type-arg]
    app = HomeApp(HomeScreen(known, clock=lambda: NOW, read=nothing_read))
    async with hand_on(app, None, size) as hand:  # type: ignore[arg-type, type-var]
        yield hand


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_project_is_listed_with_what_needs_the_user(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with home(stored(tmp_path), size) as hand:
        await hand.sees("hydrogen", "frozen", "lost", "broken", "new", "melt", "99%", "5 projects")
        await hand.sees("Enter open")
        if size[0] >= 80:
            await hand.sees("melt: 3 failed, time limit", "hydrogen: 5 things need you")
            await hand.sees("run paused: the limit", "alpha: its queue did not answer")
            await hand.sees("folder is gone: Del removes", "no [[action]]", "not read yet")
        if size[0] >= 120:
            await hand.sees("directories per 2 hours", "▁███████████")
        if size[0] >= 300:
            await hand.sees("does not answer for 2 h; figures of 2 h ago")


async def test_the_needs_of_a_project_are_those_that_its_status_lists(tmp_path: Path) -> None:
    """The counts of the sample project, as a summary and in the dashboard."""
    async with opened(size=(120, 36), state=tmp_path) as hand:
        await hand.sees("equilibrate")
        snapshot = hand.app.session.snapshot
        assert snapshot is not None
        summary = ProjectSummary(
            actions=tuple(
                ActionCounts(
                    it.index, it.name, it.completed, it.submitted, it.eligible, it.waiting,
                    it.failed, it.not_reached, it.cancelled,
                )
                for it in snapshot.actions
            ),
            failures=snapshot.failures, bad=snapshot.bad_count,
        )  # fmt: skip
        listed = [need.text for need in needs_of(KnownProject("/data/x", summary=summary))]
        assert listed
        assert listed == [need.text for need in needs(snapshot)]


async def test_a_project_without_an_answer_is_not_opened_and_a_good_one_is(tmp_path: Path) -> None:
    async with home(stored(tmp_path)) as hand:
        await hand.sees("hydrogen")
        await hand.press("down", "enter")
        await hand.sees("frozen does not answer; r asks again")
        await hand.press("down", "enter")
        await hand.sees("lost is gone")
        assert hand.app.chosen == ""  # type: ignore[attr-defined]
        await hand.press("g", "enter")
        await hand.until(lambda: hand.app.chosen == "/data/hydrogen")  # type: ignore[attr-defined]


async def test_a_project_that_is_being_read_is_opened_once_it_answers(tmp_path: Path) -> None:
    known, answers = stored(tmp_path), queue.SimpleQueue[KnownProject]()

    def read(*_: object, stopped: Callable[[], bool], **__: object) -> Iterator[KnownProject]:
        while not stopped():
            with contextlib.suppress(queue.Empty):
                yield answers.get(timeout=0.05)

    app = HomeApp(HomeScreen(known, clock=lambda: NOW, read=read))
    async with hand_on(app, None, (120, 36)) as hand:  # type: ignore[arg-type, type-var]
        await hand.sees("reading 5")
        await hand.press("enter")
        await hand.sees("hydrogen is opened once it answers")
        assert app.chosen == ""
        answers.put(KnownProject("/data/hydrogen", NOW, GOOD, NOW))
        await hand.until(lambda: app.chosen == "/data/hydrogen", "the choice")


async def test_a_project_leaves_the_list_after_a_yes(tmp_path: Path) -> None:
    known = stored(tmp_path)
    async with home(known) as hand:
        await hand.sees("hydrogen")
        await hand.press("x")
        await hand.sees("x is now Del")
        await hand.press("delete")
        await hand.sees("Take hydrogen off the list?")
        await hand.press("escape", "down", "down", "delete")
        await hand.sees("Take lost off the list?", "has no workflow.toml")
        await hand.press(*"yes", "enter")
        await hand.sees("4 projects")
    roots = [one.root for one in known.load()]
    assert "/data/hydrogen" in roots
    assert "/data/lost" not in roots


async def test_the_list_is_filtered_and_escape_first_clears_the_filter(tmp_path: Path) -> None:
    async with home(stored(tmp_path)) as hand:
        await hand.sees("hydrogen")
        await hand.press("slash", *"failed>0", "enter")
        await hand.sees("2 of 5")
        await hand.press("escape")
        await hand.sees("5 projects")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_without_projects_the_screen_explains_how_to_begin(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with home(KnownProjects(tmp_path), size) as hand:
        await hand.sees("This folder is not a project", "rowtui init ", "projects find", "demo")
        await hand.press("2")
        await hand.until(lambda: not hand.app.is_running, "the end")
        assert hand.app.words == ("demo",)  # type: ignore[attr-defined]


async def test_the_total_row_sums_and_the_list_is_sorted(tmp_path: Path) -> None:
    async with home(stored(tmp_path)) as hand:
        await hand.sees("hydrogen")
        total = next(it for it in hand.text().splitlines() if "5 projects" in it)
        assert re.findall(r"\d need you|\d+%|(?<=  )\d+(?=  )", total) == [
            "4 need you", "99%", "4", "2", "24",
        ]  # fmt: skip
        await hand.press("o")
        await hand.until(lambda: "broken" in hand.text().splitlines()[2], "the order of names")
        await hand.press("question_mark")
        await hand.sees(
            "Keys of Projects", "remove this project from the list", "show the rows that match"
        )


@pytest.mark.parametrize(("size", "parts"), [((40, 12), 0), ((80, 24), 1), ((120, 36), 2)], ids=str)
async def test_details_and_chart_need_room(
    tmp_path: Path, size: tuple[int, int], parts: int
) -> None:
    async with home(stored(tmp_path), size) as hand:
        await hand.sees("hydrogen")
        assert ("Workflow" in hand.text()) == (parts > 0)
        assert ("All projects, last 24 hours" in hand.text()) == (parts > 1)


async def test_control_characters_in_names_do_not_reach_the_screen(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path)
    known.add("/data/a\x1b[31mred", NOW)
    async with home(known) as hand:
        await hand.sees("red")
        assert "\x1b" not in hand.text()


async def test_p_opens_the_view_in_the_dashboard_and_escape_goes_back(tmp_path: Path) -> None:
    stored(tmp_path)
    async with opened(size=(100, 30), state=tmp_path) as hand:
        await hand.sees("equilibrate")
        await hand.press("P")
        await hand.sees("Projects", "hydrogen")
        await hand.press("escape")
        await hand.sees("Workflow")


async def test_a_chosen_project_ends_the_dashboard_only_if_it_can_be_opened_here(
    tmp_path: Path,
) -> None:
    KnownProjects(tmp_path).add("/data/new", NOW)
    async with opened(size=(100, 30), state=tmp_path) as hand:
        await hand.sees("equilibrate")
        await hand.press("P")
        await hand.sees("new")
        hand.app.screen.dismiss("/data/new")
        await hand.sees("cannot be opened here")
        hand.app.can_switch = True
        await hand.press("P")
        await hand.sees("Projects")
        hand.app.screen.dismiss("/data/new")
        await hand.until(lambda: hand.app.chosen_project == "/data/new", "the choice")
