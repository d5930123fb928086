"""What a run of a project has to do now: eligible directories, retries that are due, and the rest.

Takes the project's records, the jobs that the run submitted, and the retry policy. Gives
`OpenWork`; it submits nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.project.failed_jobs import ChosenFailures, FailedGroup, failed_work
from rowtui.core.project.next_attempt import NO_CHANGE, AmountChange
from rowtui.core.project.retry import mapping_rule, plan_again
from rowtui.core.project.retry_policy import RetryDecision, RetryPolicy
from rowtui.core.state.model import positions
from rowtui.core.submission.plan.model import JobRecord, JobStep, Plan

if TYPE_CHECKING:
    from rowtui.core.project.project import Project
    from rowtui.core.workflow.model import Action

MOST_SENDS = 5
"""Submissions of a directory without an end, before the user has to look."""


class DueRetry(NamedTuple):
    """Failed work that is retried now. `why`: for the journal and the user."""

    failed: FailedGroup
    change: AmountChange
    why: str


class RetryPlan(NamedTuple):
    """A plan that retries failed work, and the reasons. `problem`: why there is no plan."""

    plan: Plan | None
    whys: tuple[str, ...] = ()
    problem: str = ""


class FoundRetries(NamedTuple):
    """What becomes of failed work. `waiting` is retried not before `later` (epoch seconds).

    `left`: how many directories nothing retries, by the reason.
    """

    again: list[DueRetry]
    waiting: list[FailedGroup]
    later: float | None
    left: dict[str, int]
    problems: tuple[str, ...]


class OpenWork(NamedTuple):
    """What a turn found. `fresh`: positions by the action's index; `later`: when the next retry is
    due, in epoch seconds; `left`: failed directories that nothing retries, with the reasons.
    """

    fresh: dict[int, list[int]]
    again: list[DueRetry]
    later: float | None
    left: dict[str, int]
    problems: tuple[str, ...]
    running: int

    @property
    def failed(self) -> int:
        """Return how many directories stay failed."""
        return sum(self.left.values())


def open_work(
    project: Project, actions: tuple[Action, ...], records: Sequence[JobRecord], policy: RetryPolicy
) -> OpenWork:
    """Return what a run that submitted these jobs has to do. Waits for the disk.

    Raises: RowtuiError.
    """
    sends: Counter[tuple[str, str]] = Counter()
    good: set[tuple[str, str]] = set()
    for record in records:
        for name in record.directories:
            sends[record.action, name] += 1
            if record.step is JobStep.ENDED and not record.end_reason:
                good.add((record.action, name))
    fresh: dict[int, list[int]] = {}
    left: Counter[str] = Counter()
    problems = []
    running = 0
    directories = project.state.directories
    for action in actions:
        row = project.status_row(action)
        if row.problem:
            problems.append(f"action {visible(action.name)}: {row.problem}")
        running += row.submitted.bit_count()
        for at in positions(row.eligible & ~row.ended):
            key = (action.name, directories.name(at))
            if key in good:
                left[f"{visible(action.name)}: its job ended well, but it is not complete"] += 1
            elif sends[key] >= MOST_SENDS:
                left[f"{visible(action.name)}: submitted {MOST_SENDS} times, and never run"] += 1
            else:
                fresh.setdefault(action.index, []).append(at)
    retries = found_retries(project, ChosenFailures(actions), policy)
    left.update(retries.left)
    problems += retries.problems
    return OpenWork(fresh, retries.again, retries.later, dict(left), tuple(problems), running)


def found_retries(project: Project, choice: ChosenFailures, policy: RetryPolicy) -> FoundRetries:
    """Return which of the chosen failed work is retried now, which later, and which is not.

    Waits for the disk. Raises: RowtuiError.
    """
    again: list[DueRetry] = []
    waiting: list[FailedGroup] = []
    later: float | None = None
    left: Counter[str] = Counter()
    found = failed_work(project, choice)
    now = time.time()
    for failed in found.groups:
        decided, change = _decide(project, failed, policy)
        if decided.rule is None and decided.why:
            name = visible(failed.group.action.name)
            left[f"{name}: {visible(failed.cause)}; {decided.why}"] += len(failed.group.indices)
        elif decided.at > now:
            waiting.append(failed)
            later = decided.at if later is None else min(later, decided.at)
        else:
            again.append(DueRetry(failed, change, _why(failed, decided)))
    return FoundRetries(again, waiting, later, dict(left), found.skipped)


def plan_retries(project: Project, again: Sequence[DueRetry]) -> Iterator[RetryPlan]:
    """Yield a plan for each action and change of amounts. Waits for the disk."""
    by_change: dict[tuple[AmountChange, int], list[DueRetry]] = {}
    for each in again:
        by_change.setdefault((each.change, each.failed.group.action.index), []).append(each)
    for (change, index), its in by_change.items():
        among = sorted({at for each in its for at in each.failed.group.indices})
        choice = ChosenFailures((project.workflow.actions[index],), among=among)
        try:
            plan = plan_again(project, choice, change).plan
        except RowtuiError as error:
            yield RetryPlan(None, problem=str(error))
        else:
            yield RetryPlan(plan, tuple(dict.fromkeys(each.why for each in its)))


def _decide(
    project: Project, failed: FailedGroup, policy: RetryPolicy
) -> tuple[RetryDecision, AmountChange]:
    """Ask the `resubmit` rules of mapping files first, then the policy."""
    try:
        if mapping_rule(project, failed) is not None:
            return RetryDecision(), NO_CHANGE
    except RowtuiError as error:
        return RetryDecision(why=error.message), NO_CHANGE
    decided = policy.decide(project.root, failed)
    return decided, NO_CHANGE if decided.rule is None else decided.rule.change


def _why(failed: FailedGroup, decided: RetryDecision) -> str:
    """Return why and how failed work is retried, for example `simulate on 3 directories: ...`."""
    action = visible(failed.group.action.name)
    where = plural(len(failed.group.indices), "directory", "directories")
    attempt = f"attempt {failed.attempt + 1}"
    if decided.rule is None:
        return f"{action} on {where}: {visible(failed.cause)}; {attempt} by its resubmit rules"
    change = "the same again" if decided.rule.change.is_nothing else str(decided.rule.change)
    of = decided.rule.attempts
    return f"{action} on {where}: {visible(failed.cause)}; {attempt} of {of}, {change}"
