"""Which jobs of a plan a person leaves on, and what those come to: kept, not counted again.

Takes a plan; gives counts, cost and what budgets would have left. Switching a job costs what
changes, whatever the number of jobs: jobs that depend on one that is switched off follow it, and
those that one needs are switched on with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rowtui.core.text import Cost, visible

if TYPE_CHECKING:
    from rowtui.core.engine import Budget, Finding
    from rowtui.core.submission.model import Plan


class Chosen:
    """The choice over one plan. Jobs are positions in it; everything is on at the beginning."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.off: set[int] = set()
        self.requests = self.directories = self.units = 0
        self.budgets: Sequence[Budget] = ()
        self._cpu = self._gpu = 0.0
        self._spent: list[float] = []
        self._unit_of: list[int] = []  # of each job, the number of its scheduler job
        self._on_in: list[int] = []  # of each scheduler job, how many of its jobs are on
        self._on_at: Counter[str] = Counter()  # of each cluster
        self._index: dict[str, int] | None = None
        self._after: dict[int, list[int]] = {}  # who depends on a job
        bundle = ""
        for job in plan.jobs:
            token = job.bundle.token if job.bundle is not None else ""
            if not token or token != bundle:
                self._on_in.append(0)
            bundle = token
            self._unit_of.append(len(self._on_in) - 1)
        self._count_all()

    def _count_all(self) -> None:
        """Everything is on."""
        jobs = self.plan.jobs
        self.requests = len(jobs)
        self.directories = sum(len(job.directories) for job in jobs)
        self.units = len(self._on_in)
        self._cpu, self._gpu = self.plan.cost.cpu_hours, self.plan.cost.gpu_hours
        self._on_at = Counter(job.destination.cluster for job in jobs)
        self._on_in = [0] * len(self._on_in)
        for unit in self._unit_of:
            self._on_in[unit] += 1
        self.use_budgets(self.budgets)

    @property
    def cost(self) -> Cost:
        """Of the jobs that are on."""
        return Cost(max(0.0, self._cpu), max(0.0, self._gpu)) if self.requests else Cost()

    @property
    def where(self) -> str:
        """The clusters to which those go that are on, `delta` or `anvil, delta and gl`."""
        names = sorted(visible(name) for name, count in self._on_at.items() if count > 0)
        if len(names) < 2:
            return names[0] if names else visible(self.plan.cluster)
        return f"{', '.join(names[:-1])} and {names[-1]}"

    @property
    def tokens_off(self) -> tuple[str, ...]:
        """The jobs that are off."""
        return tuple(self.plan.jobs[at].token for at in sorted(self.off))

    def find(self, token: str) -> int | None:
        """The position of a job, if it is in the plan."""
        if self._index is None and self.plan.jobs:
            self.at(self.plan.jobs[0].token)
        return (self._index or {}).get(token)

    def at(self, token: str) -> int:
        """The position of a job."""
        if self._index is None:
            self._index = {job.token: at for at, job in enumerate(self.plan.jobs)}
            for at, job in enumerate(self.plan.jobs):
                for other in job.depends_on:
                    if other in self._index:
                        self._after.setdefault(self._index[other], []).append(at)
        return self._index[token]

    @property
    def all_units(self) -> int:
        """How many scheduler jobs the whole plan has."""
        return len(self._on_in)

    def is_on(self, token: str) -> bool:
        """Whether a job is sent."""
        return not self.off or self.at(token) not in self.off

    def switch(self, tokens: Iterable[str], *, on: bool | None = None) -> int:
        """Switch these on or off; None: off if any of them is on. How many others went along."""
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

    def switch_all(self) -> None:
        """Everything on; nothing, if everything is."""
        if self.off:
            self.off.clear()
            self._count_all()
            return
        self.off = set(range(len(self.plan.jobs)))
        self.requests = self.directories = self.units = 0
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
        self.units += bool(self._on_in[unit]) - bool(before)
        self.requests += sign
        self._on_at[job.destination.cluster] += sign
        self.directories += sign * len(job.directories)
        self._cpu += sign * job.cost.cpu_hours
        self._gpu += sign * job.cost.gpu_hours
        for number, budget in enumerate(self.budgets):
            if _holds(budget.jobs, at):
                self._spent[number] += sign * _hours(job.cost, budget)

    # Budgets, and what checks found

    def use_budgets(self, budgets: Sequence[Budget]) -> None:
        """What the jobs are paid from, as soon as it is known."""
        jobs, off = self.plan.jobs, self.off
        self.budgets = tuple(budgets)
        self._spent = [
            sum(
                _hours(jobs[at].cost, budget)
                for first, last in budget.jobs
                for at in range(first, min(last, len(jobs)))
                if at not in off
            )
            for budget in self.budgets
        ]

    def left_of(self, number: int) -> float:
        """What is left of a budget once the jobs that are on have taken theirs."""
        return self.budgets[number].left - max(0.0, self._spent[number])

    @property
    def overdrawn(self) -> list[tuple[Budget, float]]:
        """The budgets that do not suffice, and what is missing."""
        return [
            (budget, -left)
            for number, budget in enumerate(self.budgets)
            if (left := self.left_of(number)) < -1e-6 and self._spent[number] > 0
        ]

    def concerns(self, finding: Finding) -> bool:
        """Whether any job that it is about is on."""
        if not finding.jobs:
            return True
        if not self.off:
            return True
        return any(at not in self.off for first, last in finding.jobs for at in range(first, last))

    def numbers(self, finding: Finding, most: int = 3) -> list[int]:
        """The first jobs that it is about and that are on, by their numbers from 1."""
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
