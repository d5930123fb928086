"""The last day of an action, without a terminal."""

from __future__ import annotations

from dataclasses import replace

from rowtui.core.base.text import in_words
from rowtui.core.engine.api.snapshot import ActionSummary
from rowtui.core.project.queue.throughput import HOURS, ActionThroughput
from rowtui.core.project.views.views import JobsView
from rowtui.tui.views.status.status import pace_of
from rowtui.tui.widgets.cells import plain
from rowtui.tui.widgets.short_text import moment

from tests.tui.sample import SampleEngine

NOON = 12 * 3600.0  # of the first of January, 1970


def pace(action: ActionSummary, *paces: ActionThroughput) -> str:
    return plain(pace_of(JobsView(1, 0.0, (), paces=paces), action, NOON))


async def test_the_pace_names_the_rate_and_when_the_rest_ends() -> None:
    action = (await SampleEngine().refresh()).actions[1]
    hours = (0,) * (HOURS - 3) + (4, 8, 0)
    left = action.submitted + action.eligible + action.waiting
    assert pace(action, ActionThroughput(action.name, hours)) == (
        f"4 an hour, in the last 3 h; the other {left} end {moment(NOON + left * 900, NOON)}"
    )
    slow = ActionThroughput(action.name, (*(0,) * (HOURS - 5), 1, *(0,) * 4))
    assert pace(action, slow).startswith("4.8 a day, in the last 5 h; the other 90 end about ")
    still = ActionThroughput(action.name, (5, *hours[1:-7], *(0,) * 7))
    assert pace(action, still) == "no directory completed in the last 23 hours"
    assert pace(action) == "no directory completed in the last 24 hours"
    assert pace_of(None, action, NOON) == ()
    began = ActionThroughput(action.name, (*(0,) * (HOURS - 1), 20), begun=1 / 60)
    assert pace(action, began).startswith("1,200 an hour, in the last 1 min; the other 90 end")
    done = replace(action, submitted=0, eligible=0, waiting=0)
    assert not pace(done, began)


def test_moments_ahead_are_named_by_clock_by_day_or_by_date() -> None:
    assert [moment(NOON + hours * 3600, NOON) for hours in (1, 12, 36.5, 24 * 400)] == [
        "about 13:00", "about 00:00 tomorrow", "about 3 January", "about 5 February 1971",
    ]  # fmt: skip


def test_times_are_told_as_people_do() -> None:
    assert [in_words(hours) for hours in (0.001, 0.5, 1, 12.5, 47.9, 55.2, 24 * 400)] == [
        "1 min", "30 min", "1 h", "12 h 30 min", "47 h 54 min", "2 d 7 h", "400 d",
    ]  # fmt: skip
