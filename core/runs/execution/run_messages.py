"""The messages of the autopilot that a user who is away wants to know: the end, a pause, 80 %.

Failures of jobs are reported where jobs are polled (`core/project/messages.py`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.messages.model import StudyEventKind
from rowtui.core.project.messages import budget_uses
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.model import RunStatus
from rowtui.core.submission.plan.model import CPU_HOURS, GPU_HOURS

if TYPE_CHECKING:
    from rowtui.core.project.messages import ProjectMessages
    from rowtui.core.runs.limits.limits import Spent
    from rowtui.core.runs.store import Run


class RunCommands(NamedTuple):
    """What a message names: how to look at failures, and how to go on. `{run}`: the run's id."""

    show: str = "rowtui network show"
    go_on: str = "rowtui network run --run {run}"


NETWORK_COMMANDS = RunCommands()
PROJECT_COMMANDS = RunCommands("rowtui show status", "rowtui run")


def report_run(
    messages: ProjectMessages,
    run: Run,
    told: DriverMessage,
    now: float,
    commands: RunCommands = NETWORK_COMMANDS,
) -> None:
    """Report the end or the pause of a run. `now`: epoch seconds."""
    if told.kind is MessageKind.OVER:
        more = () if told.success else (f"See them with: {commands.show}",)
        text = f"run {run.id} is finished: {told.sentence}"
        messages.event(StudyEventKind.RUN_FINISHED, text, f"run:{run.id}:over:{now:.0f}", *more)
    elif told.kind is MessageKind.WAITING:
        messages.event(
            StudyEventKind.RUN_PAUSED,
            f"run {run.id} waits: {told.sentence}",
            f"run:{run.id}:waits:{now:.0f}",
            "Submitted jobs continue. The run goes on by itself as soon as it can.",
        )
    elif told.kind is MessageKind.PAUSED and run.status is not RunStatus.STOPPED:
        report_pause(messages, run, told.sentence, now, commands)


@contextlib.contextmanager
def reported_driver(
    messages: ProjectMessages | None, run: Run, commands: RunCommands = NETWORK_COMMANDS
) -> Iterator[None]:
    """Report that the driver before this one was killed, and an error that ends this one.

    A driver that cannot begin because nothing can be written is started again by its service.
    """
    if messages is None:
        yield
        return
    if run.status is RunStatus.RUNNING:
        report_lost_driver(messages, run, "Submitted jobs continued. The run goes on now.")
    try:
        yield
    except (RowtuiError, OSError) as error:
        if not isinstance(error, NotSavedError):
            report_pause(messages, run, str(error), time.time(), commands)
        raise
    except Exception as error:
        why = f"its driver ended with an unexpected {type(error).__name__}"
        report_pause(messages, run, why, time.time(), commands)
        raise


def report_lost_driver(messages: ProjectMessages, run: Run, *details: str) -> None:
    """Report that the driver of a run is gone, once for each death.

    The key has the time of the last event of the journal: all processes that look see the same.
    """
    messages.event(
        StudyEventKind.RUN_PAUSED,
        f"run {run.id} stood still: its driver ended without a word",
        f"run:{run.id}:killed:{run.standing.at or 0:.0f}",
        *details,
    )


def report_pause(
    messages: ProjectMessages,
    run: Run,
    why: str,
    now: float,
    commands: RunCommands = NETWORK_COMMANDS,
) -> None:
    """Report that a run does not go on without the user. `now`: epoch seconds."""
    messages.event(
        StudyEventKind.RUN_PAUSED,
        f"run {run.id} paused: {why}",
        f"run:{run.id}:paused:{now:.0f}",
        "Submitted jobs continue.",
        f"To continue: {commands.go_on.format(run=run.id)}",
    )


def has_budget(run: Run) -> bool:
    """Whether an amount of a run is limited."""
    limits = run.limits
    return any((limits.cpu_hours, limits.gpu_hours, limits.price))


def report_budget(messages: ProjectMessages, run: Run, spent: Spent) -> None:
    """Report each limit of which 80 % are charged, once for each confirmation of the limits."""
    limits = run.limits
    money = spent.money.get(limits.currency, 0.0)
    used = {
        CPU_HOURS: (spent.cpu_hours, limits.cpu_hours),
        GPU_HOURS: (spent.gpu_hours, limits.gpu_hours),
        limits.currency or "money": (money, limits.price),
    }
    for unit, share in budget_uses(used):
        messages.event(
            StudyEventKind.BUDGET,
            f"run {run.id} has used {share:.0%} of its limit in {unit}",
            f"budget:{run.id}:{run.about.limits_at}:{unit}",
            "The run stops and asks when the limit is reached; submitted jobs continue.",
        )
