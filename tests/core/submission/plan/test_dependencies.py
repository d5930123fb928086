"""Jobs that wait for jobs: on a real Slurm, on the local queue, and what is told to either."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Launchers, Partition
from rowtui.core.clusters.schedulers.base import JobKey, JobSpec
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.clusters.schedulers.slurm.commands import dependency
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest
from rowtui.core.runs.execution.lists import one_after_another
from rowtui.core.state.model import State
from rowtui.core.submission.plan.arrays import with_arrays
from rowtui.core.submission.plan.dependencies import (
    NEEDS_MISSING,
    UPSTREAM_FAILED,
    UPSTREAM_NOT_SENT,
    after_of,
    can_depend,
)
from rowtui.core.submission.plan.draft import draft_jobs
from rowtui.core.submission.plan.json import plan_id
from rowtui.core.submission.plan.make_plan import make_plan
from rowtui.core.submission.plan.model import PackedJobs, Plan, PlannedJob
from rowtui.core.submission.plan.planner import Setting
from rowtui.core.submission.sending.job_records import job_records
from rowtui.core.workflow.model import Action, Workflow
from rowtui.core.workspace.sync import synchronise
from rowtui.core.workspace.update import Disk
from rowtui.core.workspace.workers import Workers

from tests.core.submission.conftest import RealProject
from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster

ALPHA = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu", memory_per_cpu_mb=60),))
NAMES = ("a", "b c", "$(touch pwned)")


class Chain(RealProject):
    """Two actions in each directory: `one` makes out, `two` needs it; a directory may spoil it."""

    def __init__(self, *args: object, **rest: object) -> None:
        super().__init__(*args, **rest)  # type: ignore[arg-type]
        self.two = Action(
            1,
            "two",
            "echo y >> workspace/{directory}/second; touch workspace/{directory}/end",
            products=("end",),
            previous_actions=("one",),
        )
        self.synchronise()

    def synchronise(self) -> None:
        actions = (self.action, self.two) if hasattr(self, "two") else (self.action,)
        workflow = Workflow(self.root, actions=actions)
        synchronise(self.store, workflow, disk=Disk(workers=Workers(1, 1)))

    def spoil(self, *names: str) -> Chain:
        """The first action fails there."""
        for name in names:
            (self.root / "workspace" / name / "spoiled").touch()
        spoiled = "test ! -e workspace/{directory}/spoiled || exit 7; "
        self.with_command(spoiled + self.action.command)
        return self

    def chain(
        self,
        *,
        arrays: bool = False,
        guard: bool = True,
        depends: bool = True,
        units: Sequence[Sequence[int]] = (),
    ) -> Plan:
        """Both actions in all directories; the second job of each after its first."""

        count = len(self.state.directories)
        groups = [Group(self.action, (at,)) for at in range(count)]
        groups += [Group(self.two, (at,)) for at in range(count)]
        requests = list(job_requests(groups))
        for at in range(count, 2 * count):
            name = self.state.directories.name(at - count)
            needs = (f"{name}/out",) if guard else ()
            requests[at] = requests[at]._replace(
                depends_on=(at - count,) if depends else (), requires=needs
            )
        return self.planned(requests, arrays=arrays, units=units)

    def planned(
        self, requests: Sequence[JobRequest], *, arrays: bool, units: Sequence[Sequence[int]] = ()
    ) -> Plan:
        def packed(jobs: tuple[PlannedJob, ...]) -> PackedJobs:
            return one_after_another(jobs, [[jobs[at] for at in unit] for unit in units])

        setting = Setting(
            self.cluster,
            Launchers({}),
            "2026-01-01T00:00:00Z",
            user_name(),
            secrets.token_hex(4),
            array_tasks=lambda _: 1000 if arrays else 0,
            pack=packed if units else None,
        )
        workflow = Workflow(self.root, actions=(self.action, self.two))
        return make_plan(draft_jobs(workflow, [requests], self.state.directories, setting))

    async def over(self, plan: Plan) -> None:
        """Until all of the plan's jobs are settled."""

        async def still_open() -> object:
            await self.settle()
            return self.journal.open_plan_ids() and self.said(plan)

        await eventually_async(still_open, lambda left: not left, every=0.1)

    def said(self, plan: Plan) -> dict[tuple[str, str], str]:
        """What is on record of each job: by action and directory, its step and why."""
        return {
            (it.action, it.directories[0]): f"{it.step.value}: {it.end_reason}"
            for it in job_records(plan, self.journal.entries(plan.id))
        }

    def seconds(self) -> dict[str, int]:
        """How often the second action ran."""
        found = {}
        for folder in (self.root / "workspace").iterdir():
            log = folder / "second"
            found[folder.name] = len(log.read_text().splitlines()) if log.exists() else 0
        return found


@pytest.fixture
def chain(slurm: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chain:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    return Chain(tmp_path / "pro ject", NAMES, SlurmScheduler("alpha"), ALPHA)


@pytest.fixture
def here(tmp_path: Path, scheduler: LocalScheduler) -> Chain:
    return Chain(tmp_path / "project", NAMES, scheduler)


def everything(state: State) -> bool:
    return state.completed["one"] == state.completed["two"] == state.everything


# -- what is told to whom --------------------------------------------------------------------------


def test_slurm_is_told_of_jobs_of_tasks_and_of_the_same_task() -> None:
    spec = JobSpec("t", "n", "", Path(), "")
    tasks = (JobKey(5, 0), JobKey(5, 3))
    assert dependency(spec) == ""
    assert dependency(spec._replace(after=(3, 4))) == "afterok:3:4"
    assert dependency(spec._replace(after=(3,), after_tasks=tasks)) == "afterok:3:5_0:5_3"
    assert dependency(spec._replace(after_each=8)) == "aftercorr:8"


@pytest.mark.parametrize(
    ("kind", "can"), [("slurm", True), ("local", True), ("bash", False), ("grid_engine", False)]
)
def test_it_is_known_where_a_chain_may_be_queued(kind: str, can: bool) -> None:
    assert can_depend(Cluster("c", Identify(always=True), kind)) is can


def test_arrays_follow_arrays_task_by_task(here: Chain) -> None:
    plan = here.chain()
    jobs = with_arrays([job._replace(log_path="x-%j.out") for job in plan.jobs], {"local": 1000})
    first, second = jobs[:3], jobs[3:]
    assert len({job.array for job in first}) == len({job.array for job in second}) == 1
    assert [job.depends_on for job in second] == [(job.token,) for job in first]
    keys = {job.token: JobKey(9, job.task) for job in first}
    assert after_of(second, keys, array=True).each == 9
    # Of which one ended before: all wait for the others then.
    keys.pop(first[1].token)
    assert after_of(second, keys, array=True).tasks == (JobKey(9, 0), JobKey(9, 2))
    # What waits for another task than its own is no task.
    crossed = [*jobs[:3], *(job._replace(depends_on=()) for job in plan.jobs[3:])]
    crossed[3] = crossed[3]._replace(depends_on=(first[1].token,))
    assert with_arrays(crossed, {"local": 1000})[3].array == ""


# -- on Slurm --------------------------------------------------------------------------------------


class TestSlurm:
    pytestmark = [pytest.mark.slurm, pytest.mark.slow]

    @pytest.mark.parametrize("arrays", [False, True])
    async def test_a_chain_is_queued_at_once_and_what_failed_is_the_only_failure(
        self, chain: Chain, arrays: bool
    ) -> None:
        plan = chain.spoil("b c").chain(arrays=arrays)
        assert ({job.array for job in plan.jobs} == {""}) is not arrays

        progress = await chain.submit(plan)
        assert [step.error for step in progress if step.error] == []
        await chain.over(plan)

        said = chain.said(plan)
        assert said["one", "b c"] == "ended: exit code 7 in directory b c"
        assert said["two", "b c"] == f"abandoned: {UPSTREAM_FAILED}"
        assert chain.seconds() == {"a": 1, "b c": 0, "$(touch pwned)": 1}
        assert list(chain.state.ends) == ["one"]
        assert chain.state.submitted == {}

    async def test_what_is_needed_and_not_there_keeps_a_job_from_running(
        self, chain: Chain
    ) -> None:
        # As when a controller forgot what a job was to wait for.
        plan = chain.spoil("a").chain(depends=False)
        plan = plan._replace(jobs=tuple(job for job in plan.jobs if job.action == "two"))
        plan = plan._replace(id=plan_id(plan))
        (chain.root / "workspace" / "b c" / "out").touch()
        await chain.submit(plan)
        await chain.over(plan)

        said = chain.said(plan)
        assert said["two", "a"] == f"abandoned: {NEEDS_MISSING}"
        assert said["two", "b c"] == "ended: "
        assert (chain.state.submitted, chain.state.ends) == ({}, {})
        logs = "".join(path.read_text() for path in chain.root.glob("two-*.out"))
        assert "workspace/a/out, which this job needs, is not there." in logs

    async def test_a_lost_answer_of_the_first_leaves_one_chain(self, chain: Chain) -> None:
        from tests.core.submission.bundles.test_bundles import Answering

        scheduler = chain.scheduler = Answering("alpha")
        scheduler.lose = 2
        plan = chain.chain()
        await chain.submit(plan)
        await chain.over(plan)
        assert everything(chain.state)
        assert chain.seconds() == dict.fromkeys(NAMES, 1) == chain.runs()

    async def test_a_chain_that_never_arrived_is_sent_again_in_its_order(
        self, chain: Chain
    ) -> None:
        from tests.core.submission.bundles.test_bundles import Answering

        scheduler = chain.scheduler = Answering("alpha")
        plan = chain.chain(arrays=True)
        scheduler.deaf = True  # nothing is let go
        await chain.submit(plan)
        scheduler.deaf = False
        # the controller forgot them all
        await scheduler.cancel(
            [JobKey(key.job_id) for key in chain.journal.latest(plan.id).values()]
        )
        forgotten = Forgetting("alpha", {job.array for job in plan.jobs})
        forgotten.old = max(it.job_id for it in chain.journal.latest(plan.id).values())
        chain.scheduler = forgotten
        await chain.settle()
        await chain.over(plan)

        assert everything(chain.state)
        assert chain.seconds() == dict.fromkeys(NAMES, 1) == chain.runs()

    async def test_a_job_whose_first_was_not_sent_is_not_sent(self, chain: Chain) -> None:
        plan = chain.chain()
        taken = plan._replace(jobs=plan.jobs[:1])
        other = taken.jobs[0]._replace(token="other")
        chain.tools().reservations.reserve([other])
        progress = await chain.submit(plan)
        skipped = [step.message for step in progress if step.message.startswith("skipped")]
        assert len(skipped) == 2
        assert skipped[1].endswith(UPSTREAM_NOT_SENT)
        await chain.over(plan)


class Forgetting(SlurmScheduler):
    """Knows no job up to an id, as after a crash."""

    old = 0

    def __init__(self, cluster: str, tokens: set[str]) -> None:
        super().__init__(cluster)

    async def find(self, tokens):  # type: ignore[no-untyped-def]
        found = await super().find(tokens)
        kept = {token: tuple(j for j in jobs if j.id > self.old) for token, jobs in found.items()}
        return {token: jobs for token, jobs in kept.items() if jobs}

    async def queue(self, job_ids=None):  # type: ignore[no-untyped-def]
        snapshot = await super().queue(job_ids)
        return snapshot._replace(jobs=tuple(job for job in snapshot.jobs if job.id > self.old))


# -- on this machine -------------------------------------------------------------------------------


async def test_the_local_queue_keeps_chains_too(here: Chain) -> None:
    plan = here.spoil("a").chain()
    await here.submit(plan)
    await here.over(plan)
    said = here.said(plan)
    assert said["two", "a"] == f"abandoned: {UPSTREAM_FAILED}"
    assert here.seconds() == {"a": 0, "b c": 1, "$(touch pwned)": 1}
    assert (list(here.state.ends), here.state.submitted) == (["one"], {})
