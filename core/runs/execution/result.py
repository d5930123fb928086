"""How a run of a project stands: its ended jobs, complete directories, and why others are not.

The counts follow from the project's records, so that a driver that is started again, and a command
without a driver, count as the driver before them did. Every pair of a chosen action and a directory
counts once; only work that no record explains is taken from what the run itself found (`left_out`,
`refused`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural, visible
from rowtui.core.project.failed_jobs import FailedAttempt, failed_before
from rowtui.core.project.retry_policy import RetryEffect, RetryPolicy
from rowtui.core.runs.model import JobFailed, PlanSubmitted
from rowtui.core.runs.run import Run
from rowtui.core.state.model import LastOutcome, positions
from rowtui.core.submission.bundles.pilot_model import is_pilot
from rowtui.core.submission.plan.model import Plan, RefusedAt
from rowtui.core.submission.plan.outcome import PREEMPTED
from rowtui.core.submission.plan.record import JobRecord

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.workflow.model import Action, Workflow

Pair = tuple[str, str]
"""The name of an action, and of a directory."""

FAILED, REFUSED, NOT_PLACEABLE = "failed", "refused", "not placeable"
CANCELLED, NOT_REACHED = "cancelled", "not reached"
ENDED_WELL, NEVER_SENT, WAITING = "ended well, but not complete", "never sent", "wait for others"
KINDS = (
    FAILED, PREEMPTED, REFUSED, NOT_PLACEABLE, CANCELLED, NOT_REACHED, ENDED_WELL, NEVER_SENT,
    WAITING,
)  # fmt: skip
"""Why a directory is not complete, the worst first."""

_MOST_REASONS = 3


class RunResult(NamedTuple):
    """The pairs of a run. `rest`: those that are not complete, by kind and reason.

    `problems`: sentences about actions whose directories cannot be counted.
    """

    complete: int
    total: int
    rest: Mapping[str, Counter[str]]
    problems: tuple[str, ...] = ()
    actions: int = 1

    @property
    def success(self) -> bool:
        """Whether every directory is complete."""
        return self.complete == self.total and not self.problems

    @property
    def sentence(self) -> str:
        """Return how many directories are complete, and why the others are not."""
        if self.success:
            return "all directories are complete"
        words = [*self.problems]
        for kind in KINDS:
            reasons = self.rest.get(kind, Counter())
            if reasons:
                words.append(f"{reasons.total():,} {kind}{_reasons(reasons)}")
        of = plural(self.total, "directory", "directories")
        where = f" in {self.actions} actions" if self.actions > 1 else ""
        return "; ".join([f"{self.complete:,} of {of} complete{where}", *words])


def _reasons(reasons: Counter[str]) -> str:
    known = [(reason, count) for reason, count in reasons.most_common() if reason]
    shown = [
        reason if len(reasons) == 1 else f"{count:,}: {reason}"
        for reason, count in known[:_MOST_REASONS]
    ]
    if more := len(known) - len(shown):
        shown.append(f"{more:,} more reasons")
    return f" ({'; '.join(shown)})" if shown else ""


def left_out_by(plan: Plan) -> dict[Pair, str]:
    """Return the pairs that a plan could not place, with the reasons; limits leave none out."""
    return {
        (refused.action, name): refused.reason
        for refused in plan.refused
        if refused.stage not in (RefusedAt.LIMIT, RefusedAt.BUDGET)
        for names in refused.jobs
        for name in names
    }


def run_result(
    project: OpenProject,
    actions: Sequence[Action],
    left_out: Mapping[Pair, str],
    refused: Mapping[Pair, str],
    ended_well: frozenset[Pair] = frozenset(),
) -> RunResult:
    """Return how the directories of these actions stand.

    `left_out`: pairs that no plan could place, `refused`: pairs that a scheduler refused, with the
    reasons. `ended_well`: pairs whose last job ended well.
    """
    complete = total = 0
    rest: dict[str, Counter[str]] = {}
    problems = []
    name = project.state.directories.name
    for action in actions:
        row = project.status_row(action)
        whose = f"{visible(action.name)}: " if len(actions) > 1 else ""
        if row.problem:
            problems.append(f"action {visible(action.name)}: {row.problem}")
        complete += row.completed.bit_count()
        every = row.completed | row.submitted | row.eligible | row.waiting
        total += every.bit_count()
        if row.waiting:
            rest.setdefault(WAITING, Counter())[""] += row.waiting.bit_count()
        ends = project.state.ends.get(action.name, {})
        for at in positions(row.eligible):
            pair, end = (action.name, name(at)), ends.get(at)
            outcome = end.outcome if end is not None else None
            reason = ""
            if end is not None and outcome is LastOutcome.FAILED:
                kind = PREEMPTED if end.reason == PREEMPTED else FAILED
                reason = end.reason if kind is FAILED else ""
                if pair in left_out:
                    reason = f"{end.reason}; {left_out[pair]}"
            elif outcome is LastOutcome.CANCELLED:
                kind = CANCELLED
            elif pair in left_out:
                kind, reason = NOT_PLACEABLE, left_out[pair]
            elif pair in refused:
                kind, reason = REFUSED, refused[pair]
            elif outcome is LastOutcome.NOT_REACHED:
                kind = NOT_REACHED
            else:
                kind = ENDED_WELL if pair in ended_well else NEVER_SENT
            rest.setdefault(kind, Counter())[f"{whose}{visible(reason)}" if reason else ""] += 1
    return RunResult(complete, total, rest, tuple(problems), len(actions))


class NewlyEnded(NamedTuple):
    """The number of good jobs that ended since the last look, and an event for each failure."""

    good: int
    events: tuple[JobFailed, ...]

    @property
    def sentence(self) -> str:
        """Return the numbers as text; "" without any."""
        words = [f"{plural(self.good, 'job')} completed"] * bool(self.good)
        words += [f"{plural(len(self.events), 'job')} failed"] * bool(self.events)
        return ", ".join(words)


@dataclass
class EndedJobs:
    """The ends of a run's jobs. `noted`: tokens of failures that are in the run's journal."""

    noted: set[str] = field(default_factory=set)
    # By token: when it ended, and whether this is a failure that no rule retries; None: good.
    _ends: dict[str, tuple[float, bool | None]] = field(default_factory=dict)

    def take(
        self,
        records: Sequence[JobRecord],
        mine: Collection[str],
        workflow: Workflow,
        policy: RetryPolicy,
    ) -> NewlyEnded:
        """Take the run's jobs that ended since the last call. Waits for the disk.

        `records`: all of the project, the newest first; `mine`: tokens of the run's jobs.
        """
        good, events = 0, []
        failed: list[JobRecord] = []
        for record in records:
            if record.end is None or record.token not in mine or record.token in self._ends:
                continue
            if is_pilot(record.token):  # its requests ended well or badly
                continue
            if record.end.outcome.failed:
                failed.append(record)
            elif record.end.outcome.good:
                good += 1
                self._ends[record.token] = record.ended_at, None
        before = failed_before(records, failed)
        gone_on = continued_jobs(records) if failed else frozenset()
        for record in failed:
            decided = policy.decide(
                workflow, FailedAttempt.of(record, before.get(record.token, ()))
            )
            goes_on = record.token in gone_on or decided.effect is RetryEffect.CONTINUES
            self._ends[record.token] = record.ended_at, not goes_on and bool(decided.why)
            if not goes_on and record.token not in self.noted:
                self.noted.add(record.token)
                first = record.directories[0] if record.directories else ""
                why = record.end_reason
                events.append(JobFailed(time.time(), record.action, first, why, record.token))
        return NewlyEnded(good, tuple(events))

    @property
    def good(self) -> int:
        """Return how many jobs ended well."""
        return sum(is_final is None for _, is_final in self._ends.values())

    def failures_in_a_row(self, since: float) -> int:
        """Return how many jobs failed for good after the last good job ended.

        `since`: failures before this time (epoch seconds) do not count.
        """
        count = 0
        for ended_at, is_final in sorted(self._ends.values(), key=itemgetter(0), reverse=True):
            if is_final is None or ended_at < since:
                break
            count += is_final
        return count


def continued_jobs(records: Sequence[JobRecord]) -> frozenset[str]:
    """Return the tokens of jobs that a later job continued. `records`: the newest first."""
    later: set[Pair] = set()  # continued by a newer job
    found = set()
    for record in records:
        pairs = {(record.action, name) for name in record.directories} if later else set()
        if not later.isdisjoint(pairs):
            found.add(record.token)
            later -= pairs
        if record.planned is not None and record.planned.continues:
            later.update((record.action, name) for name in record.directories)
    return frozenset(found)


def failed_jobs(run: Run, records: Sequence[JobRecord]) -> set[str]:
    """Return the tokens of a run's jobs that failed, also while no process drove the run."""
    events = run.events()
    noted = {it.token for it in events if isinstance(it, JobFailed)}
    sent = {token for it in events if isinstance(it, PlanSubmitted) for token in it.jobs}
    ended = {it.token for it in records if it.end is not None and it.end.outcome.failed}
    return noted | (sent & ended - continued_jobs(records))
