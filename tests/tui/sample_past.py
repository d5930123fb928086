"""The past of the sample project: empty, unless a test gives jobs that have ended."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from rowtui.core.base.text import Cost
from rowtui.core.clusters.model import BudgetLimit
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.charges import DatedCharge
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.past import PastRequest, PastView, past_view
from rowtui.core.usage.past_intervals import UnendedJob
from rowtui.core.usage.past_shares import budgets_left
from rowtui.core.usage.store import UsageColumns, UsageStore
from rowtui.core.usage.table import UsageRow, usage_table

KINDS = (
    UsageKind("equilibrate", "alpha", "cpu", "jane", 1, 4, 0, 2048, 3600),
    UsageKind("sample", "beta", "gpu", "jane", 1, 8, 1, 4096, 7200),
)


def ended_jobs(now: float, jobs: int = 600, bad: str = "n07") -> list[JobUsage]:
    """Jobs of the last three days on ten nodes; on the bad one every third fails."""
    luck, sizes = random.Random(7), random.Random(8)
    found = []
    for number in range(jobs):
        kind = luck.choice(KINDS)
        node = f"n{luck.randrange(10):02}"
        fails = luck.random() < (0.33 if node == bad else 0.04)
        ended = now - 3 * 86_400 * (1 - number / jobs) ** 2 - 60
        wall = luck.uniform(300, 7000)
        found.append(
            JobUsage(
                f"abc-{number}", kind, 4000 + number, 1,
                read_old_end(int(fails), "exit code 1" if fails else "", ended),
                ended - wall - luck.expovariate(1 / 900),
                Used(wall, wall, int(kind.memory_mb * 1024 * sizes.betavariate(2, 3)), node=node),
                True,
            )
        )  # fmt: skip
    return found


def columns_of(jobs: list[JobUsage]) -> UsageColumns:
    """Return the jobs as their records give them."""
    with TemporaryDirectory() as folder:
        store = UsageStore(Path(folder))
        store.append(jobs)
        return store.columns()


def running_jobs(now: float) -> tuple[UnendedJob, ...]:
    """Two jobs that run, one for an hour and one for ten minutes."""
    return (
        UnendedJob("4600", "equilibrate", "n01", now - 3600, now + 1200, 4),
        UnendedJob("4601", "sample", "n02", now - 600, now + 6600, 8),
    )


def charges(now: float) -> list[DatedCharge]:
    """What was charged to a budget on each of the last three days."""
    return [DatedCharge("alpha", now - at * 7200, Cost(20.0 + at % 5)) for at in range(36)]


class SamplePast:
    """The service `past` of the sample engine."""

    now: float
    past_jobs: UsageColumns | None = None
    past_running: tuple[UnendedJob, ...] = ()
    past_budget: float | None = None
    past_error: Exception | None = None

    async def past_view(self, asked: PastRequest) -> PastView:
        if self.past_error is not None:
            raise self.past_error
        columns = self.past_jobs or UsageColumns(b"", b"")
        past = past_view(columns, asked, self.now, self.past_running)
        if self.past_budget is None:
            return past
        budgets = {"alpha": BudgetLimit(self.past_budget, None)}
        return past._replace(budgets=budgets_left(budgets, charges(self.now), past.ends))

    async def past_used(self) -> tuple[UsageRow, ...]:
        return tuple(usage_table(self.past_jobs)) if self.past_jobs else ()
