"""The messages of the autopilot, and its question to the user."""

from __future__ import annotations

import enum
from collections.abc import (
    Awaitable,
    Callable,
)
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.runs.limits.limits import Breach, RunLimits

if TYPE_CHECKING:
    from rowtui.core.runs.running import Happened, OpenRun
    from rowtui.core.submission.plan.model import Plan


class MessageKind(enum.Enum):
    """The kind of a message of the autopilot."""

    BEGUN = "begun"
    HAPPENED = "happened"  # jobs ended, or files of lists arrived
    SENT = "sent"
    PROBLEM = "problem"
    PAUSED = "paused"
    OVER = "over"


class AutopilotMessage(NamedTuple):
    """One message of the autopilot. `happened`: what a poll found; `plan`: what was submitted."""

    kind: MessageKind
    sentence: str
    happened: Happened | None = None
    plan: Plan | None = None
    success: bool = True


class PlanAnswer(NamedTuple):
    """The user's answer to a plan that the limits do not allow, or that must be confirmed.

    `send`: submit this plan once, unchanged. `limits`: the limits from now on, if not None. With
    neither, the run pauses.
    """

    send: bool = False
    limits: RunLimits | None = None


Ask = Callable[["Plan", tuple[Breach, ...]], Awaitable[PlanAnswer]]


def begun_text(running: OpenRun, made: int) -> str:
    """Return the size of a run that begins. `made`: directories made now."""
    jobs = plural(len(running.graph), "job")
    return f"{jobs}, {plural(made, 'new directory', 'new directories')}"


def happened_text(happened: Happened) -> str:
    """Return what a poll found."""
    parts = []
    if happened.completed:
        parts.append(f"{plural(happened.completed, 'job')} completed")
    if happened.failed:
        parts.append(f"{plural(len(happened.failed), 'job')} failed")
    if happened.cancelled:
        parts.append(f"{happened.cancelled:,} cannot run for that")
    if happened.new:
        parts.append(f"{plural(happened.new, 'new job')}")
    if happened.published:
        parts.append(f"{happened.published:,} published")
    return ", ".join(parts)


def over_text(running: OpenRun, lost: int) -> str:
    """Return how a run ended. `lost`: jobs that are not complete."""
    if not lost:
        return "all is done"
    failed = sum(each[GraphJobState.FAILED] for each in running.graph.counts())
    cancelled = running.cancelled_by_hand()
    more = lost - failed - cancelled
    what = [f"{plural(failed, 'job')} failed"] if failed or not cancelled else []
    if cancelled:
        what.append(f"{plural(cancelled, 'job was', 'jobs were')} cancelled")
    return f"nothing is left to do: {', '.join(what)}" + (
        f", and {more:,} that need their results cannot run" if more else ""
    )
