"""The scene of the view Projects: six projects, each in another state."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from rowtui.core.home.known import ActionCounts, KnownProject, KnownProjects, ProjectSummary
from rowtui.core.project.queue.needs import STUCK, QueueNeed
from rowtui.core.project.views.needs import FailureCause
from rowtui.tui.home.screen import HomeScreen

from tests.tui.hand import Hand
from tests.tui.sample import SampleEngine

HOUR, DAY = 3600.0, 86_400.0


def summed(*actions: ActionCounts, **more: object) -> ProjectSummary:
    """A summary with the sums of its actions."""
    names = ("completed", "submitted", "eligible", "waiting", "failed")
    sums = {name: sum(getattr(it, name) for it in actions) for name in names}
    total = sum(sums.values()) - sums["failed"]
    cost = sum(it.cpu_hours for it in actions)
    plain = ProjectSummary(directories=240, total=total, cpu_hours=cost, actions=actions, **sums)
    return plain._replace(**more)  # type: ignore[arg-type]


FLUID = summed(
    ActionCounts(0, "initialize", 240),
    ActionCounts(1, "equilibrate", 150, 46, 44, 0, 3, cpu_hours=944.5),
    ActionCounts(2, "sample", 80, 16, 54, 90, cpu_hours=5_120.0),
    ActionCounts(3, "analyze", 30, 0, 50, 160, cpu_hours=2_129.5),
    jobs=6, running=4, pending=2, silent=("delta",),
    failures=(FailureCause(1, "exit code 2", 3, 1),),
    lately=(4, 9, 10, 18, 29, 40, 31, 22, 31, 48, 55, 31),
)  # fmt: skip
BOILING = summed(
    ActionCounts(0, "boil", 490, 51, 490, 0, 490, cpu_hours=355_646.0),
    jobs=51, running=41, pending=10, failures=(FailureCause(0, "out of memory", 490, 12),),
    stuck=(QueueNeed(STUCK, "anvil", "boil", "InvalidAccount", 2, 0.0, ()),),
    lately=(36, 36, 31, 36, 36, 36, 36, 36, 31, 36, 36, 36),
)  # fmt: skip
HYDROGEN = summed(
    ActionCounts(0, "relax", 82, 12, 0, 6, cpu_hours=1_204.0), jobs=12, running=12, pending=0,
    lately=(1, 1, 1, 1, 1, 8, 8, 1, 1, 8, 1, 1),
)  # fmt: skip
DONE = summed(ActionCounts(0, "spread", 400), ActionCounts(1, "count", 400), running=0, pending=0)
NEW = summed(ActionCounts(0, "mix", 0, 0, 16, cpu_hours=5_120.0), running=0, pending=0)


def listed(now: float) -> Iterator[KnownProject]:
    """The projects, the last opened first."""
    yield KnownProject("/home/jane/lj-fluid", now, FLUID, now - 2)
    yield KnownProject("/home/jane/percolation", now - 2 * HOUR, DONE, now - 2)
    yield KnownProject(
        "/scratch/jane/boiling", now - 16 * HOUR, BOILING, now - 3 * HOUR, now - HOUR
    )
    yield KnownProject("/home/jane/hydrogen", now - 2 * DAY, HYDROGEN, now - 2)
    yield KnownProject("/home/jane/alloys", now - 9 * DAY, NEW, now - 2)
    yield KnownProject("/home/jane/old-study", now - 40 * DAY, ProjectSummary(gone=True), now - 2)


async def projects(hand: Hand[SampleEngine]) -> None:
    """Open the view on these projects, which no process reads."""
    now = hand.engine.now
    with tempfile.TemporaryDirectory() as folder:
        known = KnownProjects(Path(folder))
        for one in listed(now):
            known.add(one.root, one.opened)
            known.store(one)
        screen = HomeScreen(
            known, "/home/jane/lj-fluid", clock=lambda: now, read=lambda *_, **__: iter(())
        )
    await hand.app.push_screen(screen)
