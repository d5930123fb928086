"""Results of the review of a plan: checks, findings, budgets, and the script submitted before.

These values for screens and commands are bounded by the plan. A finding names its jobs by ranges of
positions, so that a screen on which the user excludes jobs can show the findings that remain.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.arrays import SubmissionCall, units_of
from rowtui.core.submission.plan.model import JobStep, JournalEntry, Plan, PlannedJob
from rowtui.core.submission.sending.journal import Journal


class CheckState(enum.Enum):
    """State of a check, in the order of severity."""

    OK = "ok"
    NOT_OFFERED = "not offered"
    PENDING = "pending"
    WARNING = "warning"
    FAILED = "failed"

    @property
    def weight(self) -> int:
        """Return the severity; the worst of several findings has the greatest."""
        return list(CheckState).index(self)


Ranges = tuple[tuple[int, int], ...]
"""Positions of jobs in a plan as (from, to) with `to` exclusive, in order."""


class PlanFinding(NamedTuple):
    """One finding of a check. `fix`: what the user can do; `jobs`: the affected jobs."""

    state: CheckState
    text: str
    fix: str = ""
    jobs: Ranges = ()


class Budget(NamedTuple):
    """Hours that may be spent, and how many remain before this plan.

    `unit`: "CPU-hours" or "GPU-hours". `whole`: the initial amount, None if unknown. `jobs`: the
    jobs that are charged to the budget. `where`: text for the user that names where the budget is
    kept.
    """

    name: str
    unit: str
    left: float
    whole: float | None
    jobs: Ranges
    where: str = ""


class PlanCheck(NamedTuple):
    """One check of a plan: its overall result and all findings.

    `text`: the result without findings, the progress, or why the check is not offered.
    """

    name: str
    state: CheckState
    text: str = ""
    fix: str = ""
    findings: tuple[PlanFinding, ...] = ()
    budgets: tuple[Budget, ...] = ()


NAMES = ("scripts", "dry check", "duplicates", "warnings", "budget", "allocation")
"""All checks, in the order in which they are shown."""


class ScriptRequest(NamedTuple):
    """The request for an earlier script to compare with: of an action, or of a bundle.

    `size`: directories of the job, or requests of the bundle; the earlier script of the nearest
    size is used. `plan_id`: the current plan, which does not count as an earlier one.
    """

    action: str
    cluster: str
    scheduler: str
    size: int
    bundle: str | None = None  # the node type; None for a job
    plan_id: str = ""


class ScriptBefore(NamedTuple):
    """The script last submitted, and its job. `at`: epoch seconds; `job`: the scheduler's id."""

    script: str
    job: str
    cluster: str
    partition: str
    at: float
    directories: int


class ExportedFiles(NamedTuple):
    """The files written to a folder.

    `there`: names that exist already; if any, nothing was written.
    """

    folder: str
    files: int
    there: tuple[str, ...] = ()


def ranges_of(positions: Iterable[int]) -> Ranges:
    """Return ascending positions as ranges."""
    found: list[tuple[int, int]] = []
    for at in positions:
        if found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return tuple(found)


def worst(states: Iterable[CheckState]) -> CheckState:
    """Return the state with the greatest weight; OK for an empty input."""
    return max(states, key=lambda state: state.weight, default=CheckState.OK)


# The script that was last submitted for an action on a cluster, for comparison with a new one.
#
# The module finds the newest submitted script in the journal and the saved plans. If no script of
# the action went to the cluster yet, a script that went to another cluster with the same kind of
# scheduler is used. Bundles are compared with bundles.


MOST_PLANS = 200
"""Number of plans that are searched, newest first; an action that is in none of them is treated as
never submitted.
"""

_SENT = (JobStep.SENDING, JobStep.ACCEPTED, JobStep.UNKNOWN, JobStep.ENDED)


class _Sent(NamedTuple):
    """A submitted plan, split into scheduler jobs, with the latest journal entry of each job."""

    at: float
    scheduler: str
    units: Sequence[SubmissionCall]
    latest: Mapping[str, JournalEntry]


class ScriptsBefore:
    """The submitted scripts of one project.

    All methods wait for the disk: call them in a thread.
    """

    def __init__(self, journal: Journal, plan_of: Callable[[str], Plan]) -> None:
        self._journal = journal
        self._plan_of = plan_of
        self._sent: dict[str, _Sent | None] = {}
        self._open: frozenset[str] = frozenset()
        self._stamp: object = None

    def find(self, asked: ScriptRequest) -> ScriptBefore | None:
        """Return the script to compare with; None if no similar script was submitted."""
        elsewhere: ScriptBefore | None = None
        for sent in self._newest_first(asked.plan_id):
            fitting = [those for unit in sent.units for those in _like(unit, asked)]
            here = [those for those in fitting if those[0].destination.cluster == asked.cluster]
            if here:
                return _told(_nearest(here, asked.size), sent, asked.scheduler)
            if fitting and elsewhere is None and sent.scheduler == asked.scheduler:
                elsewhere = _told(_nearest(fitting, asked.size), sent, sent.scheduler)
        return elsewhere

    def _newest_first(self, besides: str) -> list[_Sent]:
        plan_ids = self._journal.plan_ids()
        stamp = (self._journal.stamp(), len(plan_ids))
        if stamp != self._stamp:  # plans that were open at the last read may have progressed
            for plan_id in self._open:
                self._sent.pop(plan_id, None)
            self._open = frozenset(self._journal.open_plan_ids())
            self._stamp = stamp
        for plan_id in plan_ids:
            if plan_id not in self._sent:
                self._sent[plan_id] = self._read(plan_id)
        known = (sent for plan_id, sent in self._sent.items() if plan_id != besides)
        found = sorted((it for it in known if it is not None), key=lambda it: -it.at)
        return found[:MOST_PLANS]

    def _read(self, plan_id: str) -> _Sent | None:
        try:
            plan, latest = self._plan_of(plan_id), self._journal.latest(plan_id)
        except RowtuiError:
            return None
        sent = {token: entry for token, entry in latest.items() if entry.step in _SENT}
        units = [unit for unit in units_of(plan.jobs) if unit.jobs[0].token in sent]
        newest = max((entry.at for entry in sent.values()), default=0.0)
        return _Sent(newest, plan.scheduler, units, sent) if units else None


Jobs = tuple[PlannedJob, ...]


def _like(unit: SubmissionCall, asked: ScriptRequest) -> list[Jobs]:
    """Return what can be compared: the bundle as a whole, or each of its jobs."""
    if asked.bundle is None:
        return [(job,) for job in unit.jobs if job.action == asked.action and job.directories]
    if unit.bundle is None or unit.bundle.node_type != asked.bundle:
        return []
    return [unit.jobs] if any(job.action == asked.action for job in unit.jobs) else []


def _nearest(those: Sequence[Jobs], size: int) -> Jobs:
    return min(those, key=lambda jobs: abs(size_of(jobs) - size))


def size_of(jobs: Sequence[PlannedJob]) -> int:
    """Return the number of directories of a job, or of requests of a bundle."""
    return len(jobs) if len(jobs) > 1 else len(jobs[0].directories)


def _told(jobs: Jobs, sent: _Sent, scheduler: str) -> ScriptBefore | None:
    job, script = jobs[0], jobs[0].script
    if len(jobs) > 1:
        try:
            script = bundle_script(jobs, scheduler)
        except (RowtuiError, AssertionError):  # written by another version
            return None
    entry = sent.latest.get(job.token)
    return ScriptBefore(
        script,
        str(entry.key) if entry is not None and entry.job_id else "",
        job.destination.cluster,
        job.destination.partition,
        sent.at if entry is None else entry.at,
        sum(len(one.directories) for one in jobs),
    )


def asked_for(jobs: Sequence[PlannedJob], scheduler: str, plan_id: str) -> ScriptRequest:
    """Return the request for a script to compare with this job, or with these jobs' bundle."""
    job = jobs[0]
    bundle = job.bundle.node_type if job.bundle is not None and len(jobs) > 1 else None
    where = job.destination.cluster
    return ScriptRequest(job.action, where, scheduler, size_of(jobs), bundle, plan_id)
