"""What may go wrong between rowtui and a cluster: each directory runs once, or one is told why."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    QueueSnapshot,
)
from rowtui.core.clusters.schedulers.local.machine import boot_time
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.submission.plan.json import save_plan
from rowtui.core.submission.plan.model import JobStep, JournalEntry, Plan
from rowtui.core.submission.reconcile.lost import ORPHAN_SECONDS
from rowtui.core.submission.reconcile.reconcile import settle
from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob
from rowtui.core.submission.sending.carry_out import carry_out
from rowtui.core.submission.sending.fence import ended_path
from rowtui.core.submission.sending.held import RELEASE_PAUSE, RELEASES
from rowtui.core.submission.sending.journal import RELEASED, SEEN
from rowtui.core.submission.sending.reservations import StoredReservations
from rowtui.core.workflow.model import SubmitOptions

from tests.core.submission.conftest import RealProject
from tests.eventually import WITHIN, eventually, eventually_async
from tests.rig.faults import DropAfter, DropBefore, Hang
from tests.rig.faulty import FaultyLogin, faulty_login
from tests.rig.login import LoginNode
from tests.rig.slurm import Node, SlurmCluster, SlurmRig, start_slurm

pytestmark = pytest.mark.slurm

NAMES = ["a", "b c"]


# Without a word on memory each job gets 2 GB for each CPU, of which a node has enough for them all.
CLUSTER = Cluster("alpha", Identify(always=True), "slurm", (Partition("cpu"),))


class Remote:
    """A project whose cluster is reached over a login node."""

    def __init__(self, folder: Path, scheduler: SlurmScheduler, names: Sequence[str] = NAMES):
        self.real = RealProject(folder, names, scheduler, CLUSTER)
        self.names = names
        self.nonce = secrets.token_hex(6)  # others use the same cluster

    def plan(self) -> Plan:
        return self.real.plan(self.nonce)

    async def settle(self, ahead: float = 0.0, **rest: Any) -> tuple[ReconciledJob, ...]:
        """As one whose clock is ahead."""
        real = self.real
        settled = await settle(
            real.journal,
            real.access,
            real.root,
            reservations=StoredReservations(real.store),
            **{
                "clock": lambda: time.time() + ahead,
                "uptime": lambda: boot_time() + ahead,
                **rest,
            },
        )
        real.synchronise()
        return real.enter(settled)

    async def until_over(
        self, ahead: float = 0.0, *, within: float = WITHIN
    ) -> list[ReconciledJob]:
        """Look again until all is over; what was settled. Raises: AssertionError, with a note."""
        settled: list[ReconciledJob] = []

        async def still_open() -> list[str]:
            settled.extend(await self.settle(ahead))
            return self.real.journal.open_plan_ids()

        try:
            await eventually_async(still_open, lambda plans: not plans, within=within, every=0.15)
        except AssertionError as error:
            error.add_note(await self.known())
            raise
        return settled

    async def known(self) -> str:
        """Of each open job its journal, what its script left, and what its scheduler says."""
        lines = []
        for plan_id in self.real.journal.open_plan_ids():
            entries = self.real.journal.entries(plan_id)
            tokens = list(dict.fromkeys(entry.token for entry in entries))
            traces = await self.real.access.site.traces(tokens)
            found = await self.real.scheduler.find(tokens)
            for token in tokens:
                steps = [(it.at, it.step.value, it.job_id, it.detail) for it in entries
                         if it.token == token]  # fmt: skip
                jobs = "no answer" if found is None else found.get(token, ())
                lines.append(f"{token}: {steps}\n    {traces.get(token)}\n    {jobs}")
        return "\n".join(lines)

    async def end(self) -> None:
        """Look again until all is over: then every directory ran exactly once."""
        await self.until_over()
        assert self.real.runs() == dict.fromkeys(self.names, 1)
        assert self.real.state.submitted == {}
        assert self.real.state.ends == {}

    async def jobs(self, token: str) -> list[JobState]:
        """How all jobs that ever had this token ended, oldest first.

        What a job leaves says that its script is over; Slurm itself takes a moment longer.
        """

        async def states() -> list[JobState]:
            found = await self.real.scheduler.find([token])
            assert found is not None
            return [job.state for job in found.get(token, ())]

        busy = {JobState.RUNNING, JobState.COMPLETING}
        return await eventually_async(states, busy.isdisjoint, every=0.15)


class Roads:
    """Ways to login nodes, closed at the end of the test."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self.stack = stack

    async def faulty(self, slurm: SlurmCluster) -> FaultyLogin:
        node = faulty_login(self.folder / "login", env=slurm.env)
        return await self.stack.enter_async_context(node)

    def to(self, node: FaultyLogin | LoginNode, **options: Any) -> AsyncsshTransport:
        target = SshTarget(node.name, config=(node.ssh_config,))
        transport = AsyncsshTransport(target, NoUser(), **options)
        self.stack.push_async_callback(transport.close)
        return transport


@pytest.fixture
async def roads(tmp_path: Path) -> AsyncIterator[Roads]:
    async with AsyncExitStack() as stack:
        yield Roads(tmp_path, stack)


@pytest.fixture(scope="module")
def own_rig() -> Iterator[SlurmRig]:
    """A small cluster of this module's own: room for eight jobs, and it may lose its memory."""
    rig = start_slurm(
        nodes=(Node("s1", 16, 64000),),
        partitions=("PartitionName=cpu Nodes=s1 Default=YES DefaultTime=10",),
        settings={"MaxJobCount": 8, "MaxArraySize": 9},
    )
    yield rig
    rig.close()


@pytest.fixture
def own(own_rig: SlurmRig) -> SlurmCluster:
    """The small cluster, which remembers nothing."""
    own_rig.cluster.wipe_controller()
    return own_rig.cluster


# -- the connection ------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [DropBefore(), DropAfter()], ids=["before", "after"])
async def test_a_line_that_is_cut_before_or_after_sbatch_costs_no_run(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path, fault: DropBefore | DropAfter
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))
    node.inject("sbatch", fault)

    progress = await remote.real.submit(remote.plan())

    assert not any(step.error for step in progress)
    await remote.end()
    assert await remote.jobs(f"{remote.nonce}-0") == [JobState.COMPLETED]


async def test_a_line_that_is_cut_during_sbatch_costs_no_run_and_what_comes_late_is_taken_away(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))
    go_on = asyncio.Event()
    node.inject("sbatch", Hang(go_on))
    sending = asyncio.create_task(remote.real.submit(remote.plan()))
    first = await node.asked_for("sbatch")
    await asyncio.sleep(0.05)  # its script is on the way

    node.cut()
    await node.asked_for("sbatch", 2)  # it was looked for and not found, so it is sent again
    go_on.set()
    await first.ended.wait()
    await sending

    await remote.end()
    states = await remote.jobs(f"{remote.nonce}-0")
    assert states.count(JobState.COMPLETED) == 1
    assert set(states) <= {JobState.COMPLETED, JobState.CANCELLED}


async def test_ids_with_a_cluster_behind_a_banner_and_a_slow_noisy_start_up_file_are_read(
    slurm_rig: SlurmRig, slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    real_one = shutil.which("sbatch", path=slurm.env["PATH"])
    (folder / "sbatch").write_text(
        f'#!/bin/sh\nid=$({real_one} "$@") || exit\necho "sbatch: notice" >&2\necho "$id;alpha"\n'
    )
    (folder / "sbatch").chmod(0o755)
    node = LoginNode(
        slurm_rig.keeper,
        slurm,
        name="chatty",
        banner="Authorised use only!\n",
        bashrc=f"echo 12345; echo oops >&2; sleep 0.1; PATH={folder}:$PATH",
    )
    try:
        remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))

        progress = await remote.real.submit(remote.plan())

        assert not any(step.error for step in progress)
        ids = {record.job_id for record in remote.real.state.submitted["one"].values()}
        assert len(ids) == 2
        assert 12345 not in ids
        await remote.end()
    finally:
        node.kill()
        node.cut()


async def test_a_kept_shell_that_is_cut_after_sbatch_costs_no_run(
    slurm_rig: SlurmRig, slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    real_one = shutil.which("sbatch", path=slurm.env["PATH"])
    (folder / "sbatch").write_text(
        f'#!/bin/sh\nid=$({real_one} "$@") || exit\nif mkdir {folder}/sent 2>/dev/null; then\n'
        f'until [ -e {folder}/go ]; do sleep 0.05; done; fi\necho "$id"\n'
    )
    (folder / "sbatch").chmod(0o755)
    node = LoginNode(slurm_rig.keeper, slurm, name="kept", bashrc=f"PATH={folder}:$PATH")
    try:
        transport = roads.to(node, keep_after=0)
        remote = Remote(tmp_path / "project", SlurmScheduler("alpha", transport))
        sending = asyncio.create_task(remote.real.submit(remote.plan()))
        await asyncio.to_thread(eventually, (folder / "sent").exists, what="the first sbatch")

        await asyncio.to_thread(node.cut)
        progress = await sending
        (folder / "go").touch()

        assert not any(step.error for step in progress)
        await remote.end()
        assert await remote.jobs(f"{remote.nonce}-0") == [JobState.COMPLETED]
    finally:
        (folder / "go").touch()
        node.kill()
        node.cut()


async def test_a_job_that_ended_since_the_queue_was_looked_at_is_not_cancelled(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    # Given a look at the queue at which a job was held,
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", HeldFast("alpha", roads.to(node)), ["a"])
    real = remote.real.with_command(
        "echo x >> workspace/{directory}/runs; until [ -e go ]; do sleep 0.1; done"
    )
    await real.submit(remote.plan())
    [job] = (await real.scheduler.find([f"{remote.nonce}-0"]) or {})[f"{remote.nonce}-0"]
    before = await real.scheduler.queue()
    # that has begun since then, and has said that it is done, though Slurm still has it running,
    slurm.run(f"scontrol release {job.id}")
    await asyncio.to_thread(eventually, lambda: real.runs() == {"a": 1}, what="the job to begin")
    ended = ended_path(real.root, job.token)
    ended.parent.mkdir(exist_ok=True)
    ended.write_text(f"0\nexit\nslurm:{job.id}\n{time.time():.0f}\n\n\n")

    # when it is settled with that look,
    await remote.settle(snapshot=before)
    assert real.journal.open_plan_ids() == []

    # then it ends in peace: else what waits for its good end would never run.
    (real.root / "go").touch()
    assert await remote.jobs(job.token) == [JobState.COMPLETED]


async def test_whether_a_job_whose_command_died_was_cancelled_is_asked_of_its_scheduler(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    # Given a job that runs, and says that its command died of SIGTERM,
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)), ["a"])
    real = remote.real.with_command("echo x >> workspace/{directory}/runs; sleep 600")
    await real.submit(remote.plan())
    await asyncio.to_thread(eventually, lambda: real.runs() == {"a": 1}, what="the job to begin")
    [job] = (await real.scheduler.find([f"{remote.nonce}-0"]) or {})[f"{remote.nonce}-0"]
    ended = ended_path(real.root, job.token)
    ended.parent.mkdir(exist_ok=True)
    ended.write_text(f"1\nexit\nslurm:{job.id}\n{time.time():.0f}\n143\n0\n")

    # when it is looked at while Slurm has it running, then nothing is concluded;
    await remote.settle()
    assert real.journal.open_plan_ids() != []

    # when Slurm has it cancelled, then it was.
    slurm.run(f"scancel {job.id}")
    await eventually_async(remote.settle, lambda _: not real.journal.open_plan_ids(), every=0.15)
    assert [failure.reason for failure in real.state.ends["one"].values()] == ["cancelled"]


# -- the controller ------------------------------------------------------------------------------


async def test_what_a_frozen_controller_took_is_known_when_it_goes_on(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)), ["a"])
    plan = remote.plan()
    slurm.stop_controller()
    try:
        progress = await remote.real.submit(plan, patience=0.0)
    finally:
        slurm.continue_controller()

    assert "is unconfirmed" in progress[-1].error
    assert remote.real.steps(plan) == ["unknown"]
    await remote.end()
    assert JobState.COMPLETED in await remote.jobs(f"{remote.nonce}-0")


class HeldFast(SlurmScheduler):
    """Jobs stay held: what comes then happens before they start."""

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        return tuple(JobAnswer(job, "not yet") for job in jobs)


async def test_who_waits_in_vain_for_a_job_is_told_what_is_known_of_it(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", HeldFast("alpha", roads.to(node)), ["a"])
    await remote.real.submit(remote.plan())

    with pytest.raises(AssertionError, match="still_open") as caught:
        await remote.until_over(within=0.0)

    [note] = caught.value.__notes__
    token = f"{remote.nonce}-0"
    assert note.startswith(f"{token}: [(")
    assert "'accepted'" in note
    assert "JobHeldUser" in note
    [job] = (await remote.real.scheduler.find([token]) or {})[token]
    await remote.real.scheduler.cancel([job.key])


async def test_what_a_killed_controller_forgot_is_sent_again(
    own: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(own)
    remote = Remote(tmp_path / "project", HeldFast("alpha", roads.to(node)))
    await remote.real.submit(remote.plan())

    own.kill_controller()
    own.restart_controller()

    remote.real.scheduler = SlurmScheduler("alpha", roads.to(node))
    await remote.end()


async def test_jobs_whose_ids_were_given_to_others_are_sent_again_and_the_others_left_alone(
    own: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(own)
    remote = Remote(tmp_path / "project", HeldFast("alpha", roads.to(node)))
    await remote.real.submit(remote.plan())
    own.wipe_controller()
    others = [own.submit("true", "--hold --comment=mine") for _ in NAMES]
    ours = {record.job_id for record in remote.real.state.submitted["one"].values()}
    assert ours == set(others)

    remote.real.scheduler = SlurmScheduler("alpha", roads.to(node))
    await remote.end()

    held = own.run(f"squeue -h -o %r -j {','.join(map(str, others))}").stdout.split()
    assert held == ["JobHeldUser"] * 2


async def test_a_job_that_began_and_was_forgotten_is_given_time_before_it_is_taken_for_dead(
    own: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(own)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)), ["a"])
    remote.real.with_command("touch began; sleep 1000 # {directory}")
    plan = remote.plan()
    await remote.real.submit(plan)
    began = remote.real.root / "began"
    eventually(began.exists, what="the job to begin")
    own.wipe_controller()

    await remote.settle()
    await remote.settle(ORPHAN_SECONDS / 2)
    # a clock that jumps, or that of another login node, proves nothing
    await remote.settle(0.0, clock=lambda: time.time() + 2 * ORPHAN_SECONDS)
    assert remote.real.steps(plan) == ["accepted"]
    await remote.settle(ORPHAN_SECONDS + 1)

    assert remote.real.steps(plan) == ["ended"]
    assert remote.real.state.ends["one"][0].reason == "ended without a word"


async def test_a_job_that_ended_and_is_started_again_by_its_scheduler_is_over(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    # As after a crash of the controller, which then knows it as it was before.
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)), ["a"])
    await remote.real.submit(remote.plan())
    job_id = remote.real.state.submitted["one"][0].job_id
    slurm.wait_for(job_id, "COMPLETED")
    slurm.run(f"scontrol requeuehold {job_id}")
    slurm.wait_for(job_id, "PENDING")

    await remote.end()

    assert slurm.state(job_id) in ("", "CANCELLED")


async def test_a_job_that_arrives_after_all_is_over_is_taken_away(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)), ["a"])
    plan = remote.plan()
    await remote.real.submit(plan)
    await remote.end()
    job = plan.jobs[0]
    spec = JobSpec(job.token, job.name, job.script, remote.real.root, "", held=True)
    await remote.real.scheduler.submit(spec)
    await remote.real.scheduler.submit(spec._replace(token="of-another"))

    snapshot = await remote.real.scheduler.queue()
    await remote.settle(snapshot=snapshot)

    assert await remote.jobs(job.token) == [JobState.COMPLETED, JobState.CANCELLED]
    assert await remote.jobs("of-another") == [JobState.HELD]
    found = await remote.real.scheduler.find(["of-another"])
    await remote.real.scheduler.cancel([job.key for job in (found or {})["of-another"]])


async def test_a_full_queue_leaves_the_outcome_open_until_there_is_room(
    own: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(own)
    impatient = SlurmScheduler("alpha", roads.to(node), submit_timeout=0.5)
    remote = Remote(tmp_path / "project", impatient, ["a"])
    plan = remote.plan()
    own.submit("true", "--hold --array=0-6")

    progress = await remote.real.submit(plan, patience=0.0)

    assert "sbatch gave no answer" in progress[-1].error
    assert remote.real.steps(plan) == ["unknown"]
    own.wipe_controller()
    remote.real.scheduler = SlurmScheduler("alpha", roads.to(node))
    await remote.end()


class Stuck(SlurmScheduler):
    """One job is held, and never starts."""

    def __init__(self, token: str, reason: str) -> None:
        super().__init__("alpha")
        self.job = Job(7, JobState.HELD, token=token, reason=reason)
        self.released = 0

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        return QueueSnapshot("alpha", time.time(), (self.job,))

    async def find(self, tokens: Any) -> dict[str, tuple[Job, ...]]:
        return {self.job.token: (self.job,)}

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        self.released += len(jobs)
        return tuple(JobAnswer(job) for job in jobs)


@pytest.mark.parametrize(
    ("reason", "times"), [("launch failed requeued held", RELEASES - 1), ("JobHeldUser", 0)]
)
async def test_what_could_not_be_started_is_let_go_again_and_what_a_person_holds_is_not(
    tmp_path: Path, reason: str, times: int
) -> None:
    scheduler = Stuck("n-0", reason)
    remote = Remote(tmp_path / "project", scheduler, ["a"])
    plan = remote.real.plan("n")
    save_plan(remote.real.root, plan)
    remote.real.tools().reservations.reserve(plan.jobs)
    began = time.time()
    for step, detail in (
        (JobStep.SENDING, ""),
        (JobStep.ACCEPTED, RELEASED),
        (JobStep.ACCEPTED, SEEN),
    ):
        entry = JournalEntry("n-0", plan.id, step, began, 7, detail, "alpha")
        remote.real.journal.append([entry])

    await remote.settle(1.0)
    assert scheduler.released == 0  # it failed just now
    ahead = 0.0
    for number in range(RELEASES + 2):
        ahead += RELEASE_PAUSE * 2**number
        await remote.settle(ahead + 1)
        await remote.settle(ahead + 2)

    assert scheduler.released == times


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--partition=nosuch", "Invalid partition name specified"),
        ("--partition=shared --time=61", "Requested time limit is invalid (missing or exceeds"),
        ("--partition=highmem --mem=1950G", "Memory required by task is not available"),
    ],
    ids=["partition", "time", "memory"],
)
async def test_slurms_own_reason_reaches_the_user_and_the_directories_are_free(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path, option: str, words: str
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))
    options = SubmitOptions(custom=tuple(option.split()))
    remote.real.action = remote.real.action._replace(submit_options={"alpha": options})
    plan = remote.plan()

    progress = await remote.real.submit(plan)

    errors = [step.error for step in progress if step.error]
    assert words in errors[0]
    assert "1 job was not sent" in errors[1]
    assert remote.real.steps(plan) == ["rejected", "abandoned"]
    assert remote.real.state.submitted == {}


@pytest.mark.parametrize(
    "words",
    [
        "Invalid account or account/partition combination specified",
        "I/O error writing script/environment to file",
    ],
    ids=["account", "state folder full"],
)
async def test_a_refusal_that_only_some_sites_have_reaches_the_user_too(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path, words: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    said = f"sbatch: error: Batch job submission failed: {words}"  # as Slurm 22.05 does
    (folder / "sbatch").write_text(f"#!/bin/sh\ncat > /dev/null\necho '{said}' >&2\nexit 1\n")
    (folder / "sbatch").chmod(0o755)
    node = await roads.faulty(slurm)
    node.env["PATH"] = f"{folder}:{node.env['PATH']}"
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))

    progress = await remote.real.submit(remote.plan())

    assert [words in step.error for step in progress if step.error] == [True, False]
    assert remote.real.state.submitted == {}


@pytest.mark.parametrize("keeps", [False, True], ids=["refuses", "takes it all the same"])
async def test_a_command_that_fails_in_unknown_words_is_believed_only_if_there_is_no_job(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path, keeps: bool
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    real_one = shutil.which("sbatch", path=slurm.env["PATH"])
    takes = f'{real_one} "$@" >/dev/null' if keeps else "cat >/dev/null"
    said = "Ask Dr. Nobody for a project first."
    (folder / "sbatch").write_text(f"#!/bin/sh\n{takes}\necho '{said}' >&2\nexit 7\n")
    (folder / "sbatch").chmod(0o755)
    node = await roads.faulty(slurm)
    node.env["PATH"] = f"{folder}:{node.env['PATH']}"
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))
    plan = remote.plan()

    progress = await remote.real.submit(plan)

    errors = [step.error for step in progress if step.error]
    if keeps:
        assert errors == []
        await remote.end()
    else:
        assert said in errors[0]
        assert remote.real.state.submitted == {}
        assert remote.real.steps(plan) == ["rejected", "abandoned"]


# -- clocks, and others at the same time ---------------------------------------------------------


@pytest.mark.parametrize("skew", [-90_000.0, 90_000.0], ids=["behind", "ahead"])
async def test_a_clock_that_differs_from_the_schedulers_misjudges_nothing(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path, skew: float
) -> None:
    def ours() -> float:
        return time.time() + skew

    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node), clock=ours))
    plan = remote.plan()
    async for step in carry_out(plan, remote.real.tools(clock=ours)):
        assert not step.error

    seen = await remote.until_over(skew)

    assert remote.real.runs() == dict.fromkeys(NAMES, 1)
    assert [it.message for it in seen if it.message] == []
    assert await remote.jobs(f"{remote.nonce}-1") == [JobState.COMPLETED]


async def test_a_job_that_was_accepted_after_the_queue_was_looked_at_is_not_taken_for_gone(
    slurm: SlurmCluster, roads: Roads, tmp_path: Path
) -> None:
    node = await roads.faulty(slurm)
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha", roads.to(node)))
    before = await remote.real.scheduler.queue()
    await remote.real.submit(remote.plan())
    asked = len(node.asked)

    assert await remote.settle(snapshot=before) == ()

    assert len(node.asked) == asked
    await remote.end()


async def test_of_two_processes_that_submit_the_same_directories_one_gets_each(
    slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    names = [f"d{number}" for number in range(6)]
    remote = Remote(tmp_path / "project", SlurmScheduler("alpha"), names)
    plans = [remote.real.plan(f"{remote.nonce}{which}") for which in "xy"]
    start = tmp_path / "start"

    def submit(plan: Plan) -> int:
        child = os.fork()
        if child:
            return child
        try:
            eventually(start.exists, every=0.0005)
            asyncio.run(remote.real.submit(plan))
            os._exit(0)
        finally:
            os._exit(70)

    children = [await asyncio.to_thread(submit, plan) for plan in plans]
    start.touch()
    for child in children:
        assert await asyncio.to_thread(os.waitpid, child, 0) == (child, 0)

    steps = [step for plan in plans for step in remote.real.steps(plan)]
    assert steps.count("accepted") == steps.count("abandoned") == len(names)
    await remote.end()
