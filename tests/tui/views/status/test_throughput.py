"""The last day of an action, without a terminal."""

from __future__ import annotations

from dataclasses import replace

from rowtui.core.project.queue.throughput import HOURS, ActionThroughput
from rowtui.core.project.views.views import JobsView
from rowtui.tui.views.status.status import pace_lines
from rowtui.tui.widgets.cells import plain
from rowtui.tui.widgets.short_text import in_words

from tests.tui.sample import SampleEngine


async def test_the_last_day_is_bars_and_the_rest_is_told() -> None:
    action = (await SampleEngine().refresh()).actions[1]
    hours = (0,) * (HOURS - 3) + (4, 8, 0)
    view = JobsView(1, 0.0, (), paces=(ActionThroughput(action.name, hours),))
    left = action.submitted + action.eligible + action.waiting
    assert [plain(part) for part in pace_lines(view, action)] == [
        "▁" * (HOURS - 3) + "▅█▁  24 h",
        "best hour  8   this hour  0",
        f"the rest  in {in_words(left / 4)} after 12 in 3 h",
    ]
    still = JobsView(1, 0.0, (), paces=(ActionThroughput(action.name, (5, *hours[1:-3], 0, 0, 0)),))
    assert plain(pace_lines(still, action)[-1]) == "nothing completed for some hours"
    assert "no job of it ended well" in plain(pace_lines(JobsView(1, 0.0, ()), action)[0])
    assert pace_lines(None, action) == []


async def test_no_number_of_what_just_began_is_above_that_of_the_best_hour() -> None:
    action = (await SampleEngine().refresh()).actions[1]
    began = ActionThroughput(action.name, (*(0,) * (HOURS - 1), 240), begun=1 / 60)
    _, counts, rest = pace_lines(JobsView(1, 0.0, (), paces=(began,)), action)
    assert plain(counts) == "best hour  240   this hour  240"
    assert plain(rest).endswith(" after 240 in 1 min")
    done = replace(action, submitted=0, eligible=0, waiting=0)
    assert plain(pace_lines(JobsView(1, 0.0, (), paces=(began,)), done)[-1]) == (
        "all of it is completed"
    )


def test_times_are_told_as_people_do() -> None:
    assert [in_words(hours) for hours in (0.001, 0.5, 1, 12.5, 47.9, 55.2, 24 * 400)] == [
        "1 min", "30 min", "1 h", "12 h 30 min", "47 h 54 min", "2 d 7 h", "400 d",
    ]  # fmt: skip
