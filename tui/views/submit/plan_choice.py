"""The jobs of a plan that the user leaves on, and their totals, which are updated incrementally.

The input is a plan; the output is counts, cost and the budgets that would remain. The time to
switch a job depends on the changes, not on the number of jobs. Jobs that depend on a job that is
switched off are switched off as well, and jobs that one needs are switched on with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.text import Cost, visible
from rowtui.core.submission.plan.charges import charges_of
from rowtui.core.submission.plan.model import JobCounts

if TYPE_CHECKING:
    from rowtui.core.project.review.views import Budget, PlanFinding
    from rowtui.core.submission.plan.model import Plan


class PlanChoice:
    """The choice over one plan. Jobs are positions in the plan; at first, all jobs are on."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.off: set[int] = set()
        self.requests = self.directories = self.units = 0
        self.bundles = 0
        self.budgets: Sequence[Budget] = ()
        self._cpu = self._gpu = 0.0
        self._spent: list[float] = []
        self._unit_of: list[int] = []  # By job, the number of its scheduler job.
        self._on_in: list[int] = []  # By scheduler job, the number of its jobs that are on.
        self._is_bundle: list[bool] = []  # By scheduler job.
        self._on_at: Counter[str] = Counter()  # By cluster, the number of jobs that are on.
        self._index: dict[str, int] | None = None
        self._after: dict[int, list[int]] = {}  # By job, the jobs that depend on it.
        bundle = ""
        for job in plan.jobs:
            token = job.bundle.token if job.bundle is not None else ""
            if not token or token != bundle:
                self._on_in.append(0)
                self._is_bundle.append(bool(token))
            bundle = token
            self._unit_of.append(len(self._on_in) - 1)
        # The amounts that budgets are charged for each scheduler job, if any of its jobs is on.
        self._charged = [Cost()] * len(self._on_in)
        at = 0
        for charge in charges_of(plan):
            unit = self._unit_of[at]
            self._charged[unit] = self._charged[unit].plus(charge.cost)
            at += len(charge.jobs)
        self._count_all()

    def _count_all(self) -> None:
        """Count with all jobs on."""
        jobs = self.plan.jobs
        self.requests = len(jobs)
        self.directories = sum(len(job.directories) for job in jobs)
        self.units = len(self._on_in)
        self.bundles = sum(self._is_bundle)
        self._cpu, self._gpu = self.plan.cost.cpu_hours, self.plan.cost.gpu_hours
        self._on_at = Counter(job.destination.cluster for job in jobs)
        self._on_in = [0] * len(self._on_in)
        for unit in self._unit_of:
            self._on_in[unit] += 1
        self.use_budgets(self.budgets)

    @property
    def cost(self) -> Cost:
        """The cost of the jobs that are on."""
        return Cost(max(0.0, self._cpu), max(0.0, self._gpu)) if self.requests else Cost()

    @property
    def where(self) -> str:
        """The clusters of the jobs that are on, `delta` or `anvil, delta and gl`."""
        names = sorted(visible(name) for name, count in self._on_at.items() if count > 0)
        if len(names) < 2:
            return names[0] if names else visible(self.plan.cluster)
        return f"{', '.join(names[:-1])} and {names[-1]}"

    @property
    def tokens_off(self) -> tuple[str, ...]:
        """The jobs that are off."""
        return tuple(self.plan.jobs[at].token for at in sorted(self.off))

    def find(self, token: str) -> int | None:
        """Return the position of a job, if the job is in the plan."""
        if self._index is None and self.plan.jobs:
            self.at(self.plan.jobs[0].token)
        return (self._index or {}).get(token)

    def at(self, token: str) -> int:
        """Return the position of a job."""
        if self._index is None:
            self._index = {job.token: at for at, job in enumerate(self.plan.jobs)}
            for at, job in enumerate(self.plan.jobs):
                for other in job.depends_on:
                    if other in self._index:
                        self._after.setdefault(self._index[other], []).append(at)
        return self._index[token]

    @property
    def counts(self) -> JobCounts:
        """The number of jobs that are on, and of their bundles."""
        return JobCounts(self.requests, self.bundles, self.units - self.bundles)

    def is_on(self, token: str) -> bool:
        """Whether a job is submitted."""
        return not self.off or self.at(token) not in self.off

    def switch(self, tokens: Iterable[str], *, on: bool | None = None) -> int:
        """Switch these jobs on or off; None: off if any of them is on.

        Return the number of other jobs that were switched with them.
        """
        wanted = {self.at(token) for token in tokens}
        turn_off = not wanted <= self.off if on is None else not on
        found = self._along(wanted, turn_off)
        changed = found - self.off if turn_off else found & self.off
        for at in changed:
            self._count(at, -1 if turn_off else 1)
        if turn_off:
            self.off |= changed
        else:
            self.off -= changed
        return len(changed - wanted)

    def switch_to(self, off: Iterable[int]) -> None:
        """Switch exactly these jobs off, by their positions."""
        wanted = set(off)
        for at in wanted ^ self.off:
            self._count(at, -1 if at in wanted else 1)
        self.off = wanted

    def switch_all(self) -> None:
        """Switch everything on, or everything off if everything is on."""
        if self.off:
            self.off.clear()
            self._count_all()
            return
        self.off = set(range(len(self.plan.jobs)))
        self.requests = self.directories = self.units = self.bundles = 0
        self._cpu = self._gpu = 0.0
        self._on_at.clear()
        self._on_in = [0] * len(self._on_in)
        self._spent = [0.0] * len(self.budgets)

    def _along(self, wanted: set[int], turn_off: bool) -> set[int]:
        seen, todo = set(wanted), list(wanted)
        while todo:
            at = todo.pop()
            if turn_off:
                others: Iterable[int] = self._after.get(at, ())
            else:
                known, job = self._index or {}, self.plan.jobs[at]
                others = [known[token] for token in job.depends_on if token in known]
            for other in others:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    def _count(self, at: int, sign: int) -> None:
        job, unit = self.plan.jobs[at], self._unit_of[at]
        before = self._on_in[unit]
        self._on_in[unit] += sign
        came = bool(self._on_in[unit]) - bool(before)
        self.units += came
        self.bundles += came * self._is_bundle[unit]
        self.requests += sign
        self._on_at[job.destination.cluster] += sign
        self.directories += sign * len(job.directories)
        self._cpu += sign * job.cost.cpu_hours
        self._gpu += sign * job.cost.gpu_hours
        if bool(self._on_in[unit]) == bool(before):
            return
        for number, budget in enumerate(self.budgets):
            if _holds(budget.jobs, at):
                self._spent[number] += sign * _hours(self._charged[unit], budget)

    # Budgets, and the findings of checks

    def use_budgets(self, budgets: Sequence[Budget]) -> None:
        """Set the budgets from which the jobs are paid, as soon as the budgets are known."""
        units, off = self._unit_of, self.off
        self.budgets = tuple(budgets)
        self._spent = [
            sum(
                _hours(self._charged[unit], budget)
                for unit in {
                    units[at]
                    for first, last in budget.jobs
                    for at in range(first, min(last, len(units)))
                    if at not in off
                }
            )
            for budget in self.budgets
        ]

    def left_of(self, number: int) -> float:
        """Return the rest of a budget after the jobs that are on have used their parts."""
        return self.budgets[number].left - max(0.0, self._spent[number])

    @property
    def overdrawn(self) -> list[tuple[Budget, float]]:
        """The budgets that do not suffice, and the missing amounts."""
        return [
            (budget, -left)
            for number, budget in enumerate(self.budgets)
            if (left := self.left_of(number)) < -1e-6 and self._spent[number] > 0
        ]

    def concerns(self, finding: PlanFinding) -> bool:
        """Whether any job of the finding is on."""
        if not finding.jobs:
            return True
        if not self.off:
            return True
        return any(at not in self.off for first, last in finding.jobs for at in range(first, last))

    def numbers(self, finding: PlanFinding, most: int = 3) -> list[int]:
        """Return the numbers, from 1, of the finding's first jobs that are on."""
        found: list[int] = []
        for first, last in finding.jobs:
            for at in range(first, last):
                if at not in self.off:
                    found.append(at + 1)
                    if len(found) == most:
                        return found
        return found


def _holds(ranges: Sequence[tuple[int, int]], at: int) -> bool:
    number = bisect_right(ranges, (at, len(ranges) + (1 << 62))) - 1
    return number >= 0 and ranges[number][0] <= at < ranges[number][1]


def _hours(cost: Cost, budget: Budget) -> float:
    return cost.gpu_hours if budget.unit == "GPU-hours" else cost.cpu_hours
