"""What a run will spend, is charged, and has used.

Takes the units that are submitted together (`charges_of` a plan); gives the journal events that
charge the run for them before they are submitted. Jobs that were not submitted are refunded by the
same amounts.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.base.text import Cost
from rowtui.core.network.definition.spec import Schedule
from rowtui.core.network.graph.job_model import LOST_STATES, STATES, GraphJobState
from rowtui.core.runs.model import Event, NotSent, PlanSubmitted
from rowtui.core.runs.views import RefusedJobs
from rowtui.core.submission.bundles.bundles import START_SECONDS, STEP_SECONDS
from rowtui.core.submission.bundles.pilot_model import is_in_pilot
from rowtui.core.submission.plan.charges import Charge
from rowtui.core.submission.plan.model import JobStep, JournalEntry, Plan
from rowtui.core.submission.sending.fence import seconds_of_job
from rowtui.core.submission.sending.journal import Journal

if TYPE_CHECKING:
    from rowtui.core.network.graph.dynamic_graph import Growth
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.limits.asked import AskedOfGraph, JobKind


# The upper bound of what the unsubmitted jobs of a network will ask for: the remaining cost.
#
# Takes the amounts of the jobs of a graph and their states; gives a cost as Row computes it, from
# what jobs ask for and not from what they will use. A user who lets a network run allows about this
# amount.


_TO_DO = (GraphJobState.WAITING, GraphJobState.ELIGIBLE)


class Sum(NamedTuple):
    """Sums over jobs, and maxima over them.

    `cpu_hours`, `gpu_hours` and `hours` are sums; `hours` is the time of all jobs one after
    another. `cpus` and `gpus` are the most that one of the jobs has.
    """

    jobs: int = 0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    cpus: int = 0
    gpus: int = 0
    hours: float = 0.0


class RemainingCost(NamedTuple):
    """The jobs left to submit, and the most that they ask for. `grows`: lists will add more jobs.

    `refused`: jobs that are not counted, because no plan would include them now.
    """

    jobs: int = 0
    cost: Cost = Cost()
    grows: bool = False
    refused: tuple[RefusedJobs, ...] = ()


def work_left(
    growth: Growth, asked: AskedOfGraph, execution: str, *, anew: bool = False
) -> RemainingCost:
    """Return the remaining cost of the unsubmitted jobs, for any grouping of their directories.

    `asked`: the amounts of the graph's jobs. `anew`: for a new run, which tries failed jobs again.
    Jobs that lists will add are not included.
    """
    to_do = (*_TO_DO, *LOST_STATES) if anew else _TO_DO
    states = np.frombuffer(growth.graph.snapshot().states, np.uint8)[: len(asked.kind_of)]
    counted = np.zeros(STATES, bool)
    counted[[int(state) for state in to_do]] = True
    kinds_of = asked.kind_of[: len(states)] + 1  # 0: without a kind
    every = np.bincount(kinds_of[counted[states]], minlength=len(asked.kinds) + 1)
    counts = every[1:].tolist()
    grows = any(run.opens.number for run in growth.flow.runs.values())
    kinds = zip(asked.kinds, counts, strict=True)
    return left_of(kinds, execution, growth.flow.network.schedule, grows=grows)


def left_of(
    counts: Iterable[tuple[JobKind, int]],
    execution: str,
    schedule: Schedule,
    *,
    grows: bool = False,
) -> RemainingCost:
    """Return the remaining cost for the given number of jobs of each kind."""
    total = Sum()
    refused: dict[tuple[str, str], int] = {}
    for kind, jobs in counts:
        if not jobs:
            continue
        if kind.refused:
            key = kind.node, kind.refused
            refused[key] = refused.get(key, 0) + jobs
            continue
        total = Sum(
            total.jobs + jobs,
            total.cpu_hours + jobs * kind.cost.cpu_hours,
            total.gpu_hours + jobs * kind.cost.gpu_hours,
            max(total.cpus, kind.cpus),
            max(total.gpus, kind.gpus),
            total.hours + jobs * kind.hours,
        )
    held = as_carried_out(total, execution, schedule)
    return RemainingCost(
        held.jobs,
        Cost(held.cpu_hours, held.gpu_hours),
        grows,
        tuple(RefusedJobs(node, jobs, why) for (node, why), jobs in refused.items()),
    )


def as_carried_out(asked: Sum, execution: str, schedule: Schedule) -> Sum:
    """Return what the execution plug-in asks for; lists and pilots hold more than the jobs ask for.

    For pilots, the result counts the pilots that the work fills, plus the pilots that the last jobs
    keep open.
    """
    cpus, gpus = asked.cpu_hours, asked.gpu_hours
    pilot = schedule.pilot
    if not asked.jobs:
        return asked
    if execution == "sequential" and schedule.gather.size != 1:
        hours = asked.hours + asked.jobs * (START_SECONDS + STEP_SECONDS) / 3600
        cpus, gpus = max(cpus, asked.cpus * hours), max(gpus, asked.gpus * hours)
    elif execution == "pilot" and pilot is not None:
        hours = pilot.walltime_seconds / 3600
        filled = asked.cpu_hours / (pilot.cpus * hours)
        if pilot.gpus:
            filled = max(filled, asked.gpu_hours / (pilot.gpus * hours))
        count = pilot.number + math.ceil(filled)
        cpus = max(cpus, count * pilot.cpus * hours)
        gpus = max(gpus, count * pilot.gpus * hours)
    return asked._replace(cpu_hours=cpus, gpu_hours=gpus)


_GONE = (JobStep.REJECTED, JobStep.ABANDONED)


def submitted_events(plan_id: str, units: Iterable[Charge]) -> list[PlanSubmitted]:
    """Return the events to write before jobs of a plan are submitted, one for each currency.

    Jobs without a price are in the event of the first currency.
    """
    by_currency: dict[str, list[Charge]] = {}
    unpriced: list[Charge] = []
    for unit in units:
        if unit.money is None:
            unpriced.append(unit)
        else:
            by_currency.setdefault(unit.money.currency, []).append(unit)
    if unpriced:
        currency = next(iter(by_currency), "")
        by_currency[currency] = [*by_currency.get(currency, ()), *unpriced]
    now = time.time()
    return [
        PlanSubmitted(
            now,
            plan_id,
            tuple(job.token for unit in those for job in unit.jobs),
            sum(unit.cost.cpu_hours for unit in those),
            sum(unit.cost.gpu_hours for unit in those),
            sum(unit.money.amount for unit in those if unit.money is not None),
            currency,
            sum(unit.retries for unit in those),
        )
        for currency, those in by_currency.items()
    ]


def not_sent_events(
    plan_id: str, units: Iterable[Charge], unsent: Collection[str]
) -> list[NotSent]:
    """Return the refunds after a plan was carried out: the units without any submitted job.

    `unsent`: tokens. A partly submitted bundle is charged in full.
    """
    free = [it for it in units if all(job.token in unsent for job in it.jobs)]
    return [NotSent(*it) for it in submitted_events(plan_id, free)] if free else []


def unsent_of(plan: Plan, journal: Journal) -> frozenset[str]:
    """Return the tokens of a plan's jobs that no scheduler accepted, by the submission journal."""
    latest = journal.latest(plan.id)
    return frozenset(
        job.token
        for job in plan.jobs
        if job.token not in latest or latest[job.token].step in (*_GONE, JobStep.PLANNED)
    )


def given_up_of(plan_id: str, journal: Journal) -> frozenset[str]:
    """Return the tokens of a plan's jobs that never ran and never will, by the submission
    journal.
    """
    latest = journal.latest(plan_id)
    return frozenset(token for token, entry in latest.items() if entry.step in _GONE)


def never_begun(events: Sequence[Event], journal: Journal) -> list[NotSent]:
    """Return the refunds for the last plan if its driver was interrupted before it submitted any
    job.

    `events`: of the run; `journal`: of submissions, to which every job is written before
    submission.
    """
    charged = [it for it in events if isinstance(it, PlanSubmitted | NotSent)]
    if not charged or not isinstance(charged[-1], PlanSubmitted):
        return []
    plan_id = charged[-1].plan_id
    latest = journal.latest(plan_id)
    theirs = [it for it in charged if it.plan_id == plan_id]
    sent = {token for token, it in latest.items() if it.step not in (*_GONE, JobStep.PLANNED)}
    if any(isinstance(it, NotSent) or sent.intersection(it.jobs) for it in theirs):
        return []
    return [NotSent(*it) for it in theirs]


class UsedHours:
    """The hours that the ended jobs of a run used, read from the marks of the jobs."""

    def __init__(self, project: OpenProject) -> None:
        """Begin without any job."""
        self._project = project
        self._used: dict[str, Cost] = {}  # by token
        self._done: set[str] = set()  # plans whose jobs are all in `_used`
        self._stamp: tuple[tuple[str, int], ...] | None = None

    def total(self, plan_ids: AbstractSet[str], tokens: AbstractSet[str]) -> Cost | None:
        """Return the hours for the time that the jobs ran. `tokens`: of the jobs in these plans.

        The result is None if no run time is known, because the marks of the jobs are in a copy of
        the project on a cluster, or were removed.
        """
        jobs = self._project.jobs
        stamp = jobs.journal.stamp()
        if stamp != self._stamp:
            done = frozenset(jobs.journal.done_plan_ids())
            for plan_id in plan_ids - self._done:
                with contextlib.suppress(RowtuiError):  # a plan that was removed counts nothing
                    self._count(jobs.table.plan(plan_id), jobs.journal.latest(plan_id), tokens)
                if plan_id in done:
                    self._done.add(plan_id)
            self._stamp = stamp
        return Cost.total(self._used.values()) if self._used else None

    def _count(
        self, plan: Plan, latest: Mapping[str, JournalEntry], tokens: AbstractSet[str]
    ) -> None:
        for job in plan.jobs:
            entry = latest.get(job.token)
            if entry is None or entry.step is not JobStep.ENDED or is_in_pilot(job.token):
                continue
            if job.token in tokens and job.token not in self._used:
                seconds = seconds_of_job(self._project.root, job.token)
                if seconds is not None:
                    share = seconds / job.walltime_seconds if job.walltime_seconds else 0.0
                    self._used[job.token] = job.cost.times(share)
