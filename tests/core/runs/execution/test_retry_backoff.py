"""How long jobs rest before they are tried again: five times if refused, without end if silent."""

from __future__ import annotations

import pytest
from rowtui.core.runs.execution.execution import FIRST_SECONDS, LONGEST_SECONDS, TRIES, Resting


def test_a_job_that_was_refused_rests_twice_as_long_each_time_and_is_tried_five_times() -> None:
    resting = Resting()
    now = 0.0
    for number in range(TRIES - 1):
        resting.refused([3], now)
        pause = FIRST_SECONDS * 2**number
        assert resting.at(now + pause - 0.01) == {3}
        now += pause
        assert resting.at(now) == set()
        assert resting.will_be_tried
    resting.refused([3], now)
    assert resting.at(now + 1e9) == {3}
    assert not resting.will_be_tried


def test_a_job_of_a_silent_cluster_is_tried_without_end_at_least_once_in_the_longest_pause() -> (
    None
):
    resting = Resting(first=LONGEST_SECONDS / 4)
    now = 0.0
    for number in range(10 * TRIES):
        resting.refused([3], now, by_silence=True)
        assert resting.at(now) == {3}
        assert resting.will_be_tried
        now += LONGEST_SECONDS
        assert resting.at(now) == set(), number


@pytest.mark.parametrize("silences", [1, TRIES - 1, 3 * TRIES])
def test_a_silence_does_not_count_as_a_refusal(silences: int) -> None:
    resting = Resting()
    for _ in range(silences):
        resting.refused([3], 0.0, by_silence=True)
    for _ in range(TRIES):
        assert resting.will_be_tried
        resting.refused([3], 0.0)
    assert not resting.will_be_tried


def test_only_the_jobs_that_were_refused_rest_and_a_job_that_was_sent_starts_from_the_first() -> (
    None
):
    resting = Resting()
    for _ in range(TRIES):
        resting.refused([1, 2], 0.0)
    resting.refused([4], 0.0, by_silence=True)
    assert resting.at(LONGEST_SECONDS) == {1, 2}
    resting.sent([1, 9])
    resting.refused([1], 100.0)
    assert resting.at(100.0 + FIRST_SECONDS) == {2}
