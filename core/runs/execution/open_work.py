"""What a run of a project has to do now: eligible directories, retries that are due, and the rest.

Takes the project's records, the jobs that the run submitted, and the retry policy. Gives
`OpenWork`; it submits nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.project.failed_jobs import ChosenFailures, FailedGroup, failed_work
from rowtui.core.project.next_attempt import NO_CHANGE, AmountChange, nodes_text
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.project.retry import mapping_rule, plan_again
from rowtui.core.project.retry_policy import RetryDecision, RetryEffect, RetryPolicy
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.result import Pair
from rowtui.core.state.model import bit_set, positions
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.basis import read_basis
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.plan.outcome import JobOutcome
from rowtui.core.submission.plan.record import JobRecord

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.workflow.model import Action

MOST_SENDS = 5
"""Submissions of a directory without an end, before the user has to look."""
_NEVER_RUN = f"submitted {MOST_SENDS} times, and never run"


class DueRetry(NamedTuple):
    """Failed work that is retried now. `why`: for the journal and the user."""

    failed: FailedGroup
    change: AmountChange
    why: str


class RetryPlan(NamedTuple):
    """A plan that retries failed work, and the reasons. `problem`: why there is no plan.

    `pairs`: actions and directories that it is about. `continues`: the jobs are continued.
    """

    plan: Plan | None
    whys: tuple[str, ...] = ()
    problem: str = ""
    pairs: tuple[Pair, ...] = ()
    continues: bool = False

    @property
    def messages(self) -> Iterator[DriverMessage]:
        """Return a message for each reason."""
        kind = MessageKind.CONTINUES if self.continues else MessageKind.RETRY
        return (DriverMessage(kind, why) for why in self.whys)


FIRST_ATTEMPTS = RetryPlan(None)


class FoundRetries(NamedTuple):
    """What becomes of failed work. `waiting` is retried not before `later` (monotonic seconds).

    `left`: how many directories nothing retries, by the reason.
    """

    again: list[DueRetry]
    waiting: list[FailedGroup]
    later: float | None
    left: dict[str, int]
    problems: tuple[str, ...]


class OpenWork(NamedTuple):
    """What a turn found. `fresh`: positions by the action's index; `later`: when the next retry is
    due, in monotonic seconds; `left`: directories that nothing tries again, with the reasons;
    `refused` by a scheduler, `ended_well`: see `run_result`.
    """

    fresh: dict[int, list[int]]
    again: list[DueRetry]
    later: float | None
    left: dict[str, int]
    problems: tuple[str, ...]
    running: int
    refused: dict[Pair, str]
    ended_well: frozenset[Pair]


def open_work(
    project: OpenProject,
    actions: tuple[Action, ...],
    records: Sequence[JobRecord],
    policy: RetryPolicy,
    *,
    due: dict[str, float],
    left_out: Collection[Pair] = (),
) -> OpenWork:
    """Return what a run that submitted these jobs has to do. Waits for the disk.

    `due`: see `found_retries`. `left_out`: pairs that no plan could place. Raises: RowtuiError.
    """
    sends: Counter[tuple[str, str]] = Counter()
    good: set[Pair] = set()
    refused: dict[Pair, str] = {}
    # Allocations that ended early: that a request did not begin there says nothing of the request.
    lost = {it.token for it in records if is_pilot(it.token) and it.end and not it.ended_well}
    for record in records:  # the newest first
        outcome = None if record.end is None else record.end.outcome
        if outcome is JobOutcome.NEVER_SENT:
            continue
        if outcome is JobOutcome.NOT_REACHED and token_in_queue(record.token) in lost:
            continue
        last = record.end.at_directory if record.end is not None else None
        for name in record.directories[: None if last is None else last + 1]:  # not those behind
            pair = (record.action, name)
            sends[pair] += 1
            if record.ended_well:
                good.add(pair)
            if record.end is not None and record.end.outcome is JobOutcome.REFUSED:
                refused.setdefault(pair, record.end.cause)
    fresh: dict[int, list[int]] = {}
    left: Counter[str] = Counter()
    problems = []
    running = 0
    directories = project.state.directories
    retries = found_retries(project, ChosenFailures(actions), policy, due)
    for action in actions:
        row = project.status_row(action)
        if row.problem:
            problems.append(f"action {visible(action.name)}: {row.problem}")
        running += row.submitted.bit_count()
        # What a job did not reach is sent on its own, unless a retry takes it along.
        groups = (*(it.failed for it in retries.again), *retries.waiting)
        taken = bit_set(
            at
            for it in groups
            if it.group.action is action
            for at in it.group.indices
            if (action.name, directories.name(at)) not in left_out
        )
        for at in positions((row.eligible & ~row.ended) | (row.not_reached & ~taken)):
            key = (action.name, directories.name(at))
            if key in good:
                left[f"{visible(action.name)}: its job ended well, but it is not complete"] += 1
            elif sends[key] >= MOST_SENDS:
                why = (
                    f"refused {MOST_SENDS} times: {refused[key]}" if key in refused else _NEVER_RUN
                )
                left[f"{visible(action.name)}: {why}"] += 1
            else:
                fresh.setdefault(action.index, []).append(at)
    left.update(retries.left)
    problems += retries.problems
    return OpenWork(
        fresh, retries.again, retries.later, dict(left), tuple(problems), running, refused,
        frozenset(good),
    )  # fmt: skip


def found_retries(
    project: OpenProject, choice: ChosenFailures, policy: RetryPolicy, due: dict[str, float]
) -> FoundRetries:
    """Return which of the chosen failed work is retried now, which later, and which is not.

    `due`: when the retries of failed jobs are due, by token, in monotonic seconds; entries of newly
    found failures are added. A failure that an earlier driver saw waits for what is left of its
    wait by the clock of the day, but never longer than the rule says. Waits for the disk.
    Raises: RowtuiError.
    """
    again: list[DueRetry] = []
    waiting: list[FailedGroup] = []
    later: float | None = None
    left: Counter[str] = Counter()
    found = failed_work(project, choice)
    now = time.monotonic()
    for failed in found.groups:
        decided, change = _decide(project, failed, policy)
        record, at = failed.record, now
        if decided.rule is not None and record is not None:
            passed = max(0.0, time.time() - record.ended_at)
            at = due.setdefault(record.token, now + max(0.0, decided.wait_seconds - passed))
        row = project.status_row(failed.group.action)
        if decided.why:
            name = visible(failed.group.action.name)
            count = sum(bool(row.failed >> at & 1) for at in failed.group.indices)
            left[f"{name}: {visible(failed.cause)}; {decided.why}"] += count
        elif at > now:
            waiting.append(failed)
            later = at if later is None else min(later, at)
        else:
            again.append(DueRetry(failed, change, _why(failed, decided)))
    return FoundRetries(again, waiting, later, dict(left), found.skipped)


def together(
    project: OpenProject, actions: Sequence[Action], fresh: Mapping[int, Sequence[int]]
) -> Iterator[tuple[list[Action], Sequence[int]]]:
    """Yield actions with the directories to submit: in one plan where all are to be submitted for
    all of these actions, so that jobs of several actions can share nodes.

    `fresh`: see `OpenWork`.
    """
    meant = [it for it in actions if it.index in fresh]
    every = bit_set(at for those in fresh.values() for at in those)
    if all(project.status_row(it).eligible & every == bit_set(fresh[it.index]) for it in meant):
        if meant:
            yield meant, positions(every)
        return
    for action in meant:
        yield [action], fresh[action.index]


def plan_fresh(
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int],
    most: int | None = None,
    packing: Pack | None = None,
) -> RetryPlan:
    """Return the plan of first attempts, at most so many jobs. Waits for the disk.

    Raises: PlanError.
    """
    plan = plan_submission(project, actions, among, limit=most, packing=packing)
    return FIRST_ATTEMPTS._replace(plan=plan)


def by_change(again: Sequence[DueRetry]) -> list[list[DueRetry]]:
    """Return the retries that make a plan together: those of one action with one change."""
    found: dict[tuple[AmountChange, int], list[DueRetry]] = {}
    for each in again:
        found.setdefault((each.change, each.failed.group.action.index), []).append(each)
    return [*found.values()]


def plan_retries(
    project: OpenProject,
    alike: Sequence[DueRetry],
    most: int | None = None,
    packing: Pack | None = None,
) -> RetryPlan:
    """Return the plan of these retries of `by_change`, at most so many. Waits for the disk."""
    change, action = alike[0].change, alike[0].failed.group.action.index
    among = sorted({at for each in alike for at in each.failed.group.indices})
    name = project.workflow.actions[action].name
    pairs = tuple((name, project.state.directories.name(at)) for at in among)
    choice = ChosenFailures((project.workflow.actions[action],), among=among)
    try:
        plan = plan_again(project, choice, change, limit=most, packing=packing).plan
    except RowtuiError as error:
        return RetryPlan(None, problem=str(error), pairs=pairs)
    nodes = {node: None for job in plan.jobs for node in read_basis(job.basis).excluded}
    where = f", {nodes_text([*nodes])}" if nodes or change.exclude else ""
    whys = tuple(dict.fromkeys(f"{each.why}{where}" for each in alike))
    return RetryPlan(plan, whys, pairs=pairs, continues=change.continues)


def _decide(
    project: OpenProject, failed: FailedGroup, policy: RetryPolicy
) -> tuple[RetryDecision, AmountChange]:
    """Ask the `resubmit` rules of mapping files before the policy, unless the work continues."""
    decided = policy.decide(project.workflow, failed.failure)
    try:
        continues = decided.effect is RetryEffect.CONTINUES
        if not continues and mapping_rule(project, failed) is not None:
            return RetryDecision(RetryEffect.RETRIED), NO_CHANGE
    except RowtuiError as error:
        return RetryDecision(RetryEffect.NONE, why=error.message), NO_CHANGE
    return decided, NO_CHANGE if decided.rule is None else decided.rule.change


def _why(failed: FailedGroup, decided: RetryDecision) -> str:
    """Return why and how failed work is retried, for example `simulate on 3 directories: ...`."""
    action = visible(failed.group.action.name)
    where = plural(len(failed.group.indices), "directory", "directories")
    what = f"{action} on {where}: {visible(failed.cause)}"
    if decided.rule is None:
        return f"{what}; attempt {failed.attempt + 1} by its resubmit rules"
    if decided.rule.continues:
        return f"{what}; continuation {decided.attempt} of {decided.rule.continues:,}"
    change = "the same again" if decided.rule.change.is_nothing else str(decided.rule.change)
    return f"{what}; attempt {decided.attempt} of {decided.rule.attempts}, {change}"
