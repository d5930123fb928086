"""The past of the sample project: empty, unless a test gives jobs that have ended."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.past import PastRequest, PastView, past_view
from rowtui.core.usage.store import UsageColumns, UsageStore
from rowtui.core.usage.table import UsageRow, usage_table

KINDS = (
    UsageKind("equilibrate", "alpha", "cpu", "jane", 1, 4, 0, 2048, 3600),
    UsageKind("sample", "beta", "gpu", "jane", 1, 8, 1, 4096, 7200),
)


def ended_jobs(now: float, jobs: int = 600, bad: str = "n07") -> list[JobUsage]:
    """Jobs of the last three days on ten nodes; on the bad one every third fails."""
    luck = random.Random(7)
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
                Used(wall=wall, cpu=wall, node=node), True,
            )
        )  # fmt: skip
    return found


def columns_of(jobs: list[JobUsage]) -> UsageColumns:
    """Return the jobs as their records give them."""
    with TemporaryDirectory() as folder:
        store = UsageStore(Path(folder))
        store.append(jobs)
        return store.columns()


class SamplePast:
    """The service `past` of the sample engine."""

    now: float
    past_jobs: UsageColumns | None = None
    past_error: Exception | None = None

    async def past_view(self, asked: PastRequest) -> PastView:
        if self.past_error is not None:
            raise self.past_error
        return past_view(self.past_jobs or UsageColumns(b"", b""), asked, self.now)

    async def past_used(self) -> tuple[UsageRow, ...]:
        return tuple(usage_table(self.past_jobs)) if self.past_jobs else ()
