"""A project with a pilot, on the local queue or on a real Slurm."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

from rowtui.core.clusters.model import Cluster, Identify, Launchers, Partition
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group
from rowtui.core.submission.bundles.pilot import (
    IntoPilot,
    PilotFacts,
    WantedPilot,
    look_at,
    start_pilots,
    take_numbers,
)
from rowtui.core.submission.bundles.pilot_model import Allocation, is_in_pilot
from rowtui.core.submission.plan.draft import draft_jobs
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import JournalEntry, Plan, PlannedJob
from rowtui.core.submission.plan.planner import Setting
from rowtui.core.submission.sending.job_records import job_records
from rowtui.core.submission.sending.site import Access, LocalSite, Site
from rowtui.core.workflow.model import Resources, Walltime, Workflow

from tests.core.submission.conftest import RealProject
from tests.eventually import eventually_async

NAMES = ("a", "b c", "$(touch pwned)", "d", "e")
ALPHA = Cluster(
    "alpha",
    Identify(always=True),
    "slurm",
    (Partition("cpu", memory_per_cpu_mb=60), Partition("gpu", memory_per_cpu_mb=60)),
)
SMALL = Allocation(cpus=2, memory_mb=500, gpus=0, seconds=600, idle_seconds=1)


class Piloted(RealProject):
    """A project with a pilot; `go` files let commands end."""

    pilot: PlannedJob
    pilot_plan: Plan
    site: Site | None = None

    @property
    def access(self) -> Access:
        return Access(self.scheduler, self.site or LocalSite(self.root))

    async def start(self, allocation: Allocation = SMALL) -> None:
        kind = "gpu" if allocation.gpus else "cpu"
        partition = kind if self.cluster.scheduler == "slurm" else ""
        self.pilot_plan = start_pilots(
            [(WantedPilot(allocation, partition=partition), self.cluster)],
            created="2026-01-01T00:00:00Z",
            user=user_name(),
            nonce=secrets.token_hex(4),
        )
        (self.pilot,) = self.pilot_plan.jobs
        progress = await self.submit(self.pilot_plan)
        assert [step.error for step in progress if step.error] == []

    def for_pilot(self, *names: str, cpus: int = 1, seconds: int = 60, gpus: int = 0) -> Plan:
        """A plan that hands these directories over, each as a request."""
        action = self.action._replace(
            resources=Resources(
                threads_per_process=cpus,
                walltime=Walltime(seconds, per_directory=False),
                gpus_per_process=gpus or None,
            )
        )
        state = self.state
        positions = [state.directories.position(name) for name in names]
        groups = [Group(action, (at,)) for at in positions if at is not None]
        setting = Setting(
            self.cluster,
            Launchers({}),
            "2026-01-01T00:00:00Z",
            user_name(),
            secrets.token_hex(4),
            pack=IntoPilot(self.pilot, partial(take_numbers, self.root, self.pilot.token)),
        )
        workflow = Workflow(self.root, actions=(action,))
        return make_plan(draft_jobs(workflow, [job_requests(groups)], state.directories, setting))

    async def hand(self, *names: str, cpus: int = 1) -> Plan:
        plan = self.for_pilot(*names, cpus=cpus)
        assert all(is_in_pilot(job.token) for job in plan.jobs)
        progress = await self.submit(plan)
        assert [step.error for step in progress if step.error] == []
        return plan

    async def until(self, holds: Callable[[], object], what: str) -> None:
        async def look() -> object:
            found = holds()
            if not found:
                await self.settle()
            return found

        await eventually_async(look, every=0.1, what=what)

    async def over(self) -> None:
        """Until everything is settled, the pilot too."""
        await self.until(lambda: not self.journal.open_plan_ids(), f"the end: {self.logs()}")

    def logs(self) -> str:
        found = self.root.glob("rowtui-pilot-*.out")
        return "".join(path.read_text(errors="replace") for path in found)

    def ran(self, *names: str) -> bool:
        return all(self.runs()[name] for name in names)

    def said(self, plan: Plan) -> dict[str, str]:
        return {
            it.directories[0]: f"{it.step.value}: {it.end_reason}"
            for it in job_records(plan, self.journal.entries(plan.id))
        }

    async def pilot_key(self) -> JobKey:
        found = await self.scheduler.find([self.pilot.token])
        assert found is not None
        return found[self.pilot.token][0].key

    async def look(self) -> PilotFacts:
        return (await look_at([self.pilot.token], self.access))[self.pilot.token]

    def entries(self, plan: Plan) -> list[JournalEntry]:
        return self.journal.entries(plan.id)

    def wait_for_go(self) -> None:
        self.with_command(
            "echo x >> workspace/{directory}/runs; "
            "until [ -e go ]; do sleep 0.2; done; touch workspace/{directory}/out"
        )

    def go(self) -> None:
        (self.root / "go").touch()
