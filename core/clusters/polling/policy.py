"""Decide when a shared queue may be polled again, with a low load on its controller.

The input is the history of polls and the interval that the user configured; the result is the time
of the next poll. The module is pure: the caller passes the clock and the random number. Times are
epoch seconds. Source: Slurm's manual pages, which ask for few polls.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

FLOOR_SECONDS = 30.0  # between two polls, unless the user configures a shorter interval
AFTER_SUBMISSION_SECONDS = 10.0  # when a new job is first polled
BY_HAND_SECONDS = 5.0  # between two polls, however often the user presses the key
LONGEST_SECONDS = 600.0  # errors and slow answers lengthen the wait at most to this
JITTER = 0.1  # share of the interval by which polls are moved, so that users' polls are spread
LOAD_SHARE = 50  # a controller is busy with polls for at most 1/50 of the time
_CLOCK_STEP = 1.0  # seconds that a clock may run backwards without counting as set back


class PollHistory(NamedTuple):
    """The results of the polls of one queue. The default: never polled.

    `began` and `ended`: of the last poll; `seconds`: how long the last answer took (failed polls
    are not counted); `errors`: consecutive failed polls; `hurried`: when the last poll began that
    was made early because of a submission; `submitted`: when jobs were last submitted; `chance`: in
    [0, 1), drawn once for each poll.
    """

    began: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    errors: int = 0
    hurried: float = 0.0
    submitted: float = 0.0
    chance: float = 0.5


class PollPace(enum.Enum):
    """Why a queue is polled at its present rate."""

    AT_WILL = "on request"
    AS_CONFIGURED = "as configured"
    SLOWED = "slowed down"  # its answers are slow
    BACKING_OFF = "backing off"  # it did not answer


def pace_of(latency: float, failures: int, interval: float) -> PollPace:
    """Return the pace of polling, from the seconds of the last answer and the failures."""
    if interval <= 0.0:
        return PollPace.AT_WILL
    if failures:
        return PollPace.BACKING_OFF
    return PollPace.SLOWED if LOAD_SHARE * latency > interval else PollPace.AS_CONFIGURED


def next_look(history: PollHistory, interval: float) -> float:
    """Return when to poll again; 0.0 if the queue was never polled.

    `interval`: the cluster's poll_seconds; with 0 the queue is polled each time.
    """
    if not history.began:
        return 0.0
    due = history.ended + _pause(history, interval)
    if history.submitted >= history.began:
        due = min(due, _after_submission(history, interval))
    return due


def next_look_by_hand(history: PollHistory) -> float:
    """Return when to poll again on the user's request; 0.0: at once.

    After a submission, hold or cancellation the user wants to see the effect at once.
    """
    new = history.submitted >= history.began
    return 0.0 if new else history.ended + BY_HAND_SECONDS


def is_due(history: PollHistory, interval: float, now: float, *, by_hand: bool = False) -> bool:
    """Whether to poll now. A history from the future means that the clock was set back."""
    if history.ended > now + _CLOCK_STEP:
        return True
    if history.submitted > now + _CLOCK_STEP:
        history = history._replace(submitted=0.0)
    due = next_look(history, interval)
    return now >= (min(due, next_look_by_hand(history)) if by_hand else due)


def after_answer(
    history: PollHistory,
    interval: float,
    *,
    began: float,
    ended: float,
    seconds: float,
    chance: float,
) -> PollHistory:
    """Return the history with one more poll, which was answered after `seconds`."""
    return history._replace(
        began=began,
        ended=ended,
        seconds=seconds,
        errors=0,
        hurried=_hurried(history, interval, began),
        chance=chance,
    )


def after_error(
    history: PollHistory, interval: float, *, began: float, ended: float, chance: float
) -> PollHistory:
    """Return the history with one more poll, which failed."""
    return history._replace(
        began=began,
        ended=ended,
        errors=history.errors + 1,
        hurried=_hurried(history, interval, began),
        chance=chance,
    )


def _pause(history: PollHistory, interval: float) -> float:
    """Return the seconds from the end of the last poll to the next, without submissions."""
    if interval <= 0.0:
        return 0.0  # with an interval of 0 every request is a poll
    longest = max(LONGEST_SECONDS, interval)
    load = min(LOAD_SHARE * history.seconds, longest)
    floor = min(FLOOR_SECONDS, interval)
    doublings = min(history.errors, 64)  # a larger exponent would overflow
    pause = min(max(interval, load) * 2.0**doublings, longest)
    pause *= 1.0 - JITTER + 2.0 * JITTER * history.chance
    return max(pause, load, floor)


def _after_submission(history: PollHistory, interval: float) -> float:
    """Return when to poll for new jobs: soon, but early polls are a regular pause apart."""
    due = history.submitted + AFTER_SUBMISSION_SECONDS
    return max(due, history.hurried + _pause(history, interval)) if history.hurried else due


def _hurried(history: PollHistory, interval: float, began: float) -> float:
    """Return when the last poll for a submission began; the present one begins at `began`."""
    early = history.began and began < history.ended + _pause(history, interval)
    for_jobs = history.submitted >= history.began
    return began if early and for_jobs else history.hurried
