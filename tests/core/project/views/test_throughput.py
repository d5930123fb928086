"""How fast directories complete."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.project.queue.throughput import HOURS, ActionThroughput, paces
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.submission.plan.record import JobRecord

from tests.job_records import a_record

NOW = 1_795_236_600.0


def record(action: str, count: int, ended: float, reason: str = "") -> JobRecord:
    names = [f"d{number}" for number in range(count)]
    end = read_old_end(0, reason, ended)
    step = JobStep.ENDED
    return a_record(action=action, directories=names, step=step, at=ended - 60, end=end)


def test_directories_count_in_the_hour_in_which_their_job_ended_well() -> None:
    found = paces(
        [
            record("one", 3, NOW - 1),
            record("one", 4, NOW - 3599),
            record("one", 5, NOW - 3601),
            record("one", 9, NOW - 60, "exit code 2"),
            record("one", 9, NOW - 60, "time limit"),
            record("two", 7, NOW - 3600 * HOURS - 1),  # too long ago
            record("two", 7, NOW + 3601),  # a clock that was wrong
            record("ahead", 7, NOW + 60),  # a clock that is a little ahead
        ],
        NOW,
    )
    one, ahead = found
    assert (one.action, ahead.action) == ("one", "ahead")
    assert ahead.hours[-1] == sum(ahead.hours) == 7
    assert one.hours[-2:] == (5, 7)
    assert sum(one.hours) == 12
    assert one.failed[-1] == sum(one.failed) == 18


def test_the_end_is_told_from_the_hours_since_work_began() -> None:
    assert ActionThroughput().hours_left(10) is None
    hours = (0,) * (HOURS - 2) + (10, 30)
    assert ActionThroughput("a", hours).lately == (40, 2)
    assert ActionThroughput("a", hours).hours_left(100) == 5.0
    assert (
        ActionThroughput("a", (1000,) + (0,) * (HOURS - 1)).hours_left(5) is None
    )  # all stands still now


def test_the_rate_of_what_began_minutes_ago_is_not_that_of_a_whole_hour() -> None:
    [pace] = paces([record("a", 10, NOW - 30), record("a", 20, NOW - 300)], NOW)
    assert pace.begun * 60 == 6  # the first was submitted six minutes ago
    assert pace.lately == (30, pace.begun)
    [pace] = paces([record("a", 10, NOW)._replace(submitted_at=NOW)], NOW)
    assert pace.lately == (10, 1 / 60)  # as if it had taken a minute


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 3600 * 40))))
def test_nothing_is_counted_twice_or_lost(jobs: list[tuple[int, float]]) -> None:
    found = paces([record("a", count, NOW - ago) for count, ago in jobs], NOW)
    within = sum(count for count, ago in jobs if int(ago // 3600) < HOURS)
    assert sum(found[0].hours if found else ()) == within
