"""How often a queue is looked at, whatever happens: bounds that administrators can rely on."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.polling.policy import (
    AFTER_SUBMISSION_SECONDS,
    BY_HAND_SECONDS,
    FLOOR_SECONDS,
    LONGEST_SECONDS,
    PollHistory,
    after_answer,
    after_error,
    is_due,
    next_look,
    next_look_by_hand,
)

T0 = 1_795_000_000.0
MINUTE = 60.0
NEVER = PollHistory()

chances = st.floats(0, 1, exclude_max=True)
intervals = st.floats(0.1, 5000)


@st.composite
def histories(draw: st.DrawFn) -> PollHistory:
    """A queue that was looked at, now and then with an error or for a submission."""
    history = PollHistory(submitted=draw(st.sampled_from((0.0, T0 - 5))))
    now = T0
    for _ in range(draw(st.integers(1, 6))):
        now += draw(st.floats(0.0, 1000))
        began, took = now, draw(st.floats(0, 90))
        now += took
        if draw(st.booleans()):
            history = after_answer(
                history, MINUTE, began=began, ended=now, seconds=took, chance=draw(chances)
            )
        else:
            history = after_error(history, MINUTE, began=began, ended=now, chance=draw(chances))
        if draw(st.booleans()):
            now += draw(st.floats(0.0, 100))
            history = history._replace(submitted=now)
    return history


def answered(
    history: PollHistory = NEVER,
    *,
    at: float = T0,
    seconds: float = 0.1,
    interval: float = MINUTE,
    chance: float = 0.5,
) -> PollHistory:
    return after_answer(
        history, interval, began=at, ended=at + seconds, seconds=seconds, chance=chance
    )


def test_a_queue_that_nobody_looked_at_is_looked_at_once() -> None:
    assert next_look(PollHistory(), MINUTE) == 0.0
    assert is_due(PollHistory(), MINUTE, T0)
    # also where jobs were submitted a moment ago
    assert is_due(PollHistory(submitted=T0 - 1), MINUTE, T0)


@given(histories(), intervals)
def test_no_look_comes_before_the_floor_but_for_a_submission_or_a_person(
    history: PollHistory, interval: float
) -> None:
    seen = history._replace(submitted=0.0)
    pause = next_look(seen, interval) - history.ended
    assert pause >= min(FLOOR_SECONDS, interval) - 1e-6
    assert pause <= max(LONGEST_SECONDS, interval) * 1.1 + 1e-6


@given(histories(), intervals)
def test_asking_takes_at_most_one_part_in_fifty_of_the_time(
    history: PollHistory, interval: float
) -> None:
    pause = next_look(history._replace(submitted=0.0), interval) - history.ended
    assert pause >= min(50 * history.seconds, LONGEST_SECONDS) - 1e-6


@given(chances, st.floats(FLOOR_SECONDS / 0.9, 5000))
def test_users_fall_out_of_step_by_a_tenth_at_most(chance: float, interval: float) -> None:
    history = answered(chance=chance, seconds=0.0)
    pause = next_look(history, interval) - history.ended
    assert pause == pytest.approx(interval * (0.9 + 0.2 * chance))


@given(chances)
def test_jitter_never_undercuts_the_floor(chance: float) -> None:
    history = answered(chance=chance, seconds=0.0)
    assert next_look(history, FLOOR_SECONDS) >= history.ended + FLOOR_SECONDS


def test_each_error_doubles_the_wait_up_to_ten_minutes_and_an_answer_ends_that() -> None:
    history, pauses = answered(seconds=0.1), []
    for _ in range(6):
        history = after_error(history, MINUTE, began=T0, ended=T0, chance=0.5)
        pauses.append(next_look(history, MINUTE) - T0)
    assert pauses == [120, 240, 480, 600, 600, 600]
    history = answered(history, seconds=0.1)
    assert next_look(history, MINUTE) - history.ended == pytest.approx(MINUTE)


def test_ever_so_many_errors_are_no_error() -> None:
    history = PollHistory(began=T0, ended=T0, errors=10**30)
    assert next_look(history, MINUTE) - T0 == LONGEST_SECONDS


def test_who_asks_for_rare_looks_gets_them_also_after_errors() -> None:
    history = after_error(PollHistory(), 3600, began=T0, ended=T0, chance=0.5)
    assert next_look(history, 3600) - T0 == 3600


@given(histories())
def test_without_an_interval_the_queue_is_asked_each_time(history: PollHistory) -> None:
    assert is_due(history, 0.0, history.ended)
    assert is_due(history, 0.0, history.ended, by_hand=True)


def test_a_login_that_took_a_minute_does_not_hide_the_queue_for_an_hour() -> None:
    history = answered(seconds=60)
    assert next_look(history, MINUTE) - history.ended == LONGEST_SECONDS


def test_new_jobs_are_looked_for_ten_seconds_after_their_submission() -> None:
    history = answered(seconds=0.1)._replace(submitted=T0 + 3)
    assert next_look(history, MINUTE) == T0 + 3 + AFTER_SUBMISSION_SECONDS
    # the look that follows sees them: then the usual pause
    history = answered(history, at=T0 + 13)
    assert next_look(history, MINUTE) - history.ended == pytest.approx(MINUTE)


def test_a_submission_never_delays_a_look() -> None:
    history = answered(seconds=0.1)._replace(submitted=T0 + 58)
    assert next_look(history, MINUTE) == pytest.approx(T0 + 60.1)
    often = answered(seconds=0.0, interval=0.2)._replace(submitted=T0 + 0.1)
    assert next_look(often, 0.2) == pytest.approx(T0 + 0.2)


@given(st.lists(st.floats(0.01, 100), max_size=60), st.floats(FLOOR_SECONDS, 300), chances)
def test_submitting_all_the_time_at_most_doubles_the_looks(
    gaps: list[float], interval: float, chance: float
) -> None:
    # given looks whenever they are due, and submissions at any time
    history, looks, now = PollHistory(), [T0], T0
    history = answered(history, at=T0, seconds=0.0, interval=interval, chance=chance)
    submissions = []
    for gap in gaps:
        now += gap
        while (due := next_look(history, interval)) <= now:
            looks.append(due)
            history = answered(history, at=due, seconds=0.0, interval=interval, chance=chance)
        history = history._replace(submitted=now)
        submissions.append(now)
    looks.append(next_look(history, interval))
    # then any three looks are an interval apart, and jobs are seen in time
    for first, third in zip(looks, looks[2:], strict=False):
        assert third - first >= interval * 0.9 - 1e-6
    for at in submissions:
        assert min(look for look in looks if look >= at) - at <= interval * 1.1 + 1e-6


@given(histories(), st.floats(FLOOR_SECONDS, 5000), st.floats(0, 5000))
def test_a_person_may_look_every_five_seconds_and_not_more_often(
    history: PollHistory, interval: float, later: float
) -> None:
    now = history.ended + later
    if later >= BY_HAND_SECONDS + 0.01:
        assert is_due(history, interval, now, by_hand=True)
    if later <= BY_HAND_SECONDS - 0.01 and history.submitted < history.began:
        assert not is_due(history, interval, now, by_hand=True)
        assert now < next_look_by_hand(history)


@given(histories(), intervals, st.floats(1.5, 1e9), st.booleans())
def test_a_clock_that_was_set_back_hides_no_queue(
    history: PollHistory, interval: float, back: float, by_hand: bool
) -> None:
    assert is_due(history, interval, history.ended - back, by_hand=by_hand)


@given(histories(), intervals)
def test_what_is_due_stays_due_and_everything_becomes_due(
    history: PollHistory, interval: float
) -> None:
    due = next_look(history, interval)
    assert math.isfinite(due)
    moments = [history.ended + step for step in (0, 1, 10, 100, 1000, 10_000)]
    answers = [is_due(history, interval, now) for now in moments]
    assert not any(earlier and not later for earlier, later in pairwise(answers))
    assert answers[-1]
