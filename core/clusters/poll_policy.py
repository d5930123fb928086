"""When a shared queue may be looked at again, so that its administrators never notice.

Takes what the looks so far have come to, and how often the user wants to look; gives the time of
the next look. Pure: the clock and the random number come from the caller. Times are epoch seconds.
Source: Slurm's manual pages, which ask for few polls.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

FLOOR_SECONDS = 30.0  # between two looks, unless the user wants to look more often than that
AFTER_SUBMISSION_SECONDS = 10.0  # when a new job is first looked for
BY_HAND_SECONDS = 5.0  # between two looks, however often a person presses the key
LONGEST_SECONDS = 600.0  # what neither errors nor slow answers make the wait exceed
JITTER = 0.1  # share of the interval by which looks are moved, so that users do not fall in step
LOAD_SHARE = 50  # of all time, a controller is kept busy for at most one part in so many
_CLOCK_STEP = 1.0  # seconds that a clock may seem to run backwards without having been set back


class PollHistory(NamedTuple):
    """What the looks at one queue have come to. The default: nobody ever looked.

    `began` and `ended`: of the last look; `seconds`: how long the last answer took (looks that
    failed only waited); `errors`: looks in a row that failed; `hurried`: when the last look began
    that came before its time for the sake of a submission; `submitted`: when jobs were last
    submitted; `chance`: in [0, 1), drawn once for each look.
    """

    began: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    errors: int = 0
    hurried: float = 0.0
    submitted: float = 0.0
    chance: float = 0.5


class Pace(enum.Enum):
    """Why a queue is looked at as often as it is."""

    AT_WILL = "whenever somebody wants to know"
    AS_CONFIGURED = "as configured"
    SLOWED = "slowed down"  # its answers take long
    BACKING_OFF = "backing off"  # it did not answer


def pace_of(latency: float, failures: int, interval: float) -> Pace:
    """The pace at which a queue is looked at, from its last answer's seconds and its failures."""
    if interval <= 0.0:
        return Pace.AT_WILL
    if failures:
        return Pace.BACKING_OFF
    return Pace.SLOWED if LOAD_SHARE * latency > interval else Pace.AS_CONFIGURED


def next_look(history: PollHistory, interval: float) -> float:
    """When to look again; 0.0 if nobody looked yet.

    `interval`: the cluster's poll_seconds; with 0 the queue is asked each time.
    """
    if not history.began:
        return 0.0
    due = history.ended + _pause(history, interval)
    if history.submitted >= history.began:
        due = min(due, _after_submission(history, interval))
    return due


def next_look_by_hand(history: PollHistory) -> float:
    """When to look again for a person who asks for it; 0.0: at once.

    Who has just sent, held or cancelled jobs wants to see that.
    """
    new = history.submitted >= history.began
    return 0.0 if new else history.ended + BY_HAND_SECONDS


def is_due(history: PollHistory, interval: float, now: float, *, by_hand: bool = False) -> bool:
    """Whether to look now. A history from the future means that the clock was set back."""
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
    """The history with one more look, which was answered after `seconds`."""
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
    """The history with one more look, which failed."""
    return history._replace(
        began=began,
        ended=ended,
        errors=history.errors + 1,
        hurried=_hurried(history, interval, began),
        chance=chance,
    )


def _pause(history: PollHistory, interval: float) -> float:
    """Seconds from the end of the last look to the next, submissions aside."""
    if interval <= 0.0:
        return 0.0  # who says so is asked whenever somebody wants to know
    longest = max(LONGEST_SECONDS, interval)
    load = min(LOAD_SHARE * history.seconds, longest)
    floor = min(FLOOR_SECONDS, interval)
    doublings = min(history.errors, 64)  # more would leave the range of numbers
    pause = min(max(interval, load) * 2.0**doublings, longest)
    pause *= 1.0 - JITTER + 2.0 * JITTER * history.chance
    return max(pause, load, floor)


def _after_submission(history: PollHistory, interval: float) -> float:
    """When to look for new jobs: soon, but not again and again before the time."""
    due = history.submitted + AFTER_SUBMISSION_SECONDS
    return max(due, history.hurried + _pause(history, interval)) if history.hurried else due


def _hurried(history: PollHistory, interval: float, began: float) -> float:
    """When the last look for the sake of a submission began, given one that begins now."""
    early = history.began and began < history.ended + _pause(history, interval)
    for_jobs = history.submitted >= history.began
    return began if early and for_jobs else history.hurried
