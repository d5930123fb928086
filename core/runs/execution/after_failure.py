"""After a failure in a network's run: retry what the policy retries, cancel what is not needed.

`NetworkRetries` takes an open run and a policy; it gives plans with the amounts of the next
attempt, and lets the jobs of the graph run again when such a plan is about to be submitted. A run
that is interrupted between that decision and the submission retries the jobs with their former
amounts; if they fail again, the policy decides again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.failed_jobs import ChosenFailures, FailedGroup
from rowtui.core.project.queue.verbs import cancel_jobs
from rowtui.core.project.retry_policy import RetryPolicy
from rowtui.core.runs.execution.execution import Resting
from rowtui.core.runs.execution.open_work import (
    DueRetry,
    RetryPlan,
    by_change,
    found_retries,
    plan_retries,
)
from rowtui.core.runs.execution.parts import take_back_scratch

if TYPE_CHECKING:
    from rowtui.core.runs.running import OpenRun, RunUpdate
    from rowtui.core.submission.plan.model import Plan


@dataclass
class NetworkRetries:
    """`resting`: jobs that no cluster accepted. `due_at`: when to call `plans` next, in monotonic
    seconds; None if only a further failure is a reason to.
    """

    running: OpenRun
    policy: RetryPolicy
    resting: Resting
    due_at: float | None = 0.0
    _due: dict[str, float] = field(default_factory=dict)  # see `found_retries`

    def plans(self, happened: RunUpdate) -> list[RetryPlan]:
        """Return plans of what is retried now. `happened`: what the last poll found.

        Failures that are retried do not count as failures in a row. Waits for the disk.
        Raises: RowtuiError.
        """
        if not self.policy.rules:
            self.due_at = None
            return []
        ended = happened.failed or happened.continued
        if not ended and (self.due_at is None or time.monotonic() < self.due_at):
            return []
        again: list[DueRetry] = []
        times: list[float] = []
        retried: set[int] = set()
        resting = self.resting.at(time.monotonic())
        project = self.running.project
        for action in project.workflow.actions:
            among = self._failed_in(action.name)
            if not among:
                continue
            choice = ChosenFailures((action,), among=among)
            found = found_retries(project, choice, self.policy, self._due)
            again += [it for it in found.again if resting.isdisjoint(self._jobs(it.failed))]
            times += [] if found.later is None else [found.later]
            for group in (*(it.failed for it in found.again), *found.waiting):
                retried.update(self._jobs(group))
        if self.resting.will_be_tried and not resting.isdisjoint(retried):
            times.append(time.monotonic())
        self.due_at = min(times, default=None)
        counted = self.running.failures_in_a_row - len(retried.intersection(happened.failed))
        self.running.failures_in_a_row = max(0, counted)
        for each in tuple(again):
            jobs = self._jobs(each.failed)
            if take_back_scratch(self.running, jobs) != set():
                # The jobs before them run again, too: an ordinary round plans all of them.
                self.running.retry(jobs, each.why)
                again.remove(each)
        return [plan_retries(project, each) for each in by_change(again)]

    def reopen(self, plan: Plan, retried: RetryPlan) -> dict[int, str]:
        """Let the failed jobs of a plan run again; return the reason of each one's failure.

        Raises: RowtuiError if the journal cannot be written.
        """
        running = self.running
        jobs = (it for job in plan.jobs for it in running.jobs_of(job.action, job.directories))
        reasons = {job: running.graph.reason(job) for job in jobs if self._has_failed(job)}
        running.retry(list(reasons), "; ".join(retried.whys), continues=retried.continues)
        return reasons

    def close_unsent(self, reasons: Mapping[int, str]) -> None:
        """Let those of these jobs that no cluster accepted stay failed until they are tried again.

        An ordinary submission would not have the amounts of the next attempt.
        """
        for job in self.resting.at(time.monotonic()) & reasons.keys():
            self.running.graph.fail(job, reasons[job])
            self.due_at = time.monotonic()

    def _failed_in(self, action: str) -> list[int]:
        """Return the positions of the directories in which jobs of an action failed."""
        growth, directories = self.running.growth, self.running.project.state.directories
        found: set[int] = set()
        for name in growth.flow.runs:
            node = growth.flow.network.node(name)
            if node is None or node.action != action:
                continue
            jobs: Iterable[int] = growth.jobs(name).tolist()
            names = (growth.directory(job) for job in jobs if self._has_failed(job))
            found.update(at for at in map(directories.position, names) if at is not None)
        return sorted(found)

    def _has_failed(self, job: int) -> bool:
        return self.running.graph.state(job) is GraphJobState.FAILED

    def _jobs(self, failed: FailedGroup) -> list[int]:
        name = self.running.project.state.directories.name
        group = failed.group
        return self.running.jobs_of(group.action.name, map(name, group.indices))


async def cancel_unneeded(running: OpenRun, jobs: Sequence[int]) -> None:
    """Cancel scheduler jobs all of whose directories are no longer needed."""
    state = running.project.state
    meant: dict[str, set[tuple[str, int]]] = {}
    # tokens of jobs that failed themselves, not because of their inputs
    given_up: set[str] = set()
    for job in jobs:
        node = running.growth.flow.network.node(running.growth.where(job).node)
        position = state.directories.position(running.growth.directory(job))
        if node is None or position is None:
            continue
        found = state.submitted.get(node.action, {}).get(position)
        if found is not None and found.token in running.tokens:
            meant.setdefault(found.token, set()).add((node.action, position))
            if job in running.graph.root_causes(job):
                given_up.add(found.token)
    # An ordered scheduler job that waits for others there is cancelled by the component that
    # keeps the order; it has not failed.
    if meant:
        for record in await asyncio.to_thread(running.project.jobs.records):
            ordered = record.planned is not None and record.planned.depends_on
            if ordered and record.token in meant.keys() - given_up:
                del meant[record.token]
    for action, submitted in state.submitted.items() if meant else ():
        for position, each in submitted.items():
            if each.token in meant and (action, position) not in meant[each.token]:
                del meant[each.token]
    if meant:
        await cancel_jobs(running.project, sorted(meant), for_run=True)
