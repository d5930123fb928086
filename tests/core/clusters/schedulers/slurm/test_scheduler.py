"""SlurmScheduler against a real Slurm: what it answers is what the cluster did."""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import time
from collections.abc import Iterator

import pytest
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    DryVerdict,
    Job,
    JobKey,
    JobSpec,
    JobState,
    OutcomeUnknown,
    Rejected,
    task_token,
)
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.clusters.schedulers.slurm.kind import time_limit_signal_option
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from tests.eventually import eventually_async
from tests.rig.slurm import SlurmCluster

pytestmark = pytest.mark.slurm


@pytest.fixture
def scheduler(slurm: SlurmCluster) -> SlurmScheduler:
    return SlurmScheduler("alpha", LocalTransport({"SLURM_CONF": str(slurm.conf)}))


@pytest.fixture(scope="module")
def warned(slurm: SlurmCluster) -> int:
    """A job of one minute that asks for the signal. It runs beside all other tests here."""
    slurm.clean()
    script = "trap 'echo signalled after $SECONDS' USR1; sleep 300 & wait $!; echo went on; kill $!"
    return slurm.submit(script, f"--time=1 {time_limit_signal_option(60)}")


@pytest.fixture(scope="module")
def overdue(slurm: SlurmCluster, warned: int) -> int:
    """A job whose limit has passed. Slurm looks every 30 s: it runs beside all other tests, too."""
    job_id = slurm.submit("sleep 300", "--time=5")
    slurm.wait_for(job_id, "RUNNING")
    slurm.run(f"scontrol update JobId={job_id} EndTime=now+1")
    return job_id


def spec(slurm: SlurmCluster, body: str, header: str = "", **changes: object) -> JobSpec:
    lines = "".join(f"#SBATCH {line}\n" for line in header.splitlines())
    values: dict[str, object] = {
        "token": secrets.token_hex(8),
        "name": "test",
        "script": f"#!/bin/bash\n#SBATCH --output={slurm.work}/%j.out\n{lines}\n{body}\n",
        "workdir": slurm.work,
        "log_path": f"{slurm.work}/%j.out",
    }
    return JobSpec(**(values | changes))  # type: ignore[arg-type]


async def accepted(scheduler: SlurmScheduler, job: JobSpec) -> int:
    answer = await scheduler.submit(job)
    assert isinstance(answer, Accepted), answer
    return answer.job_id


async def job_in(scheduler: SlurmScheduler, job_id: int, *states: JobState) -> Job:
    """Poll until the job is in one of these states."""
    snapshot = await eventually_async(
        lambda: scheduler.queue([job_id]),
        lambda it: not it.error and it.jobs and it.jobs[0].state in states,
        every=0.15,
    )
    return snapshot.jobs[0]


async def found_in_time(scheduler: SlurmScheduler, token: str) -> tuple[Job, ...]:
    """A frozen controller takes in requests a moment after it goes on."""
    found = await eventually_async(lambda: scheduler.find([token]), every=0.15)
    assert found is not None
    return found[token]


@pytest.mark.usefixtures("warned", "overdue")
async def test_a_job_runs_in_its_folder_and_its_end_carries_token_name_and_exit_code(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    header = "--job-name=a|b\n--partition=cpu\n--time=5"
    good = spec(slurm, "pwd", header)
    bad = spec(slurm, "exit 3", header)
    killed = spec(slurm, "kill -SEGV $$", header)
    ids = [await accepted(scheduler, job) for job in (good, bad, killed)]

    done = await job_in(scheduler, ids[0], JobState.COMPLETED)
    failed = await job_in(scheduler, ids[1], JobState.FAILED)
    crashed = await job_in(scheduler, ids[2], JobState.FAILED)

    assert (done.token, done.name, done.partition) == (good.token, "a|b", "cpu")
    assert (done.exit_code, done.limit, done.reason) == (0, 300, "")
    assert (slurm.work / f"{ids[0]}.out").read_text() == f"{slurm.work}\n"
    assert (failed.exit_code, failed.exit_signal) == (3, None)
    assert failed.reason == "NonZeroExitCode"
    assert (crashed.exit_code, crashed.exit_signal) == (None, 11)


@pytest.mark.parametrize(
    ("header", "verdict", "words"),
    [
        ("--partition=cpu\n--time=5", DryVerdict.TAKES, ""),
        ("--partition=nosuch", DryVerdict.REFUSES, "invalid partition specified: nosuch; Invalid"),
        ("--partition=shared\n--time=600", DryVerdict.REFUSES, "Requested time limit is invalid"),
        ("--time=banana", DryVerdict.REFUSES, "Invalid --time specification"),
        ("--gres=tpu:1", DryVerdict.REFUSES, "Invalid generic resource (gres) specification"),
    ],
)
async def test_a_dry_check_tells_when_and_where_a_job_would_start_or_why_it_would_not(
    slurm: SlurmCluster, scheduler: SlurmScheduler, header: str, verdict: DryVerdict, words: str
) -> None:
    asked = spec(slurm, "true", header)
    answer = await scheduler.test_only(asked)
    assert (answer.verdict, answer.reason[: len(words)]) == (verdict, words)
    if verdict is DryVerdict.TAKES:
        assert answer.start is not None
        assert abs(answer.start - time.time()) < 600
        assert "in partition cpu" in answer.detail
    assert await scheduler.find([asked.token]) == {}


async def test_a_token_finds_its_job_while_it_waits_and_after_it_was_cancelled(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    held = spec(slurm, "true", "--hold\n--comment=the_users")
    job_id = await accepted(scheduler, held)

    waiting = await scheduler.find([held.token])
    assert waiting is not None
    assert [(job.id, job.state, job.reason) for job in waiting[held.token]] == [
        (job_id, JobState.HELD, "JobHeldUser")
    ]
    assert [result.error for result in await scheduler.cancel([JobKey(job_id)])] == [""]
    cancelled = await found_in_time(scheduler, held.token)
    assert [(job.id, job.state) for job in cancelled] == [(job_id, JobState.CANCELLED)]
    assert await scheduler.find(["a-token-that-nobody-has"]) == {}


async def test_a_running_job_that_is_cancelled_ends_as_cancelled(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job_id = await accepted(scheduler, spec(slurm, "sleep 300"))
    running = await job_in(scheduler, job_id, JobState.RUNNING)
    assert running.nodes
    await scheduler.cancel([JobKey(job_id)])
    await job_in(scheduler, job_id, JobState.CANCELLED)


async def test_cancelling_jobs_that_never_were_or_have_ended_is_no_error(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    ended = await accepted(scheduler, spec(slurm, "true"))
    await job_in(scheduler, ended, JobState.COMPLETED)
    results = await scheduler.cancel([JobKey(ended), JobKey(999_999)])
    assert [(result.job.id, result.error) for result in results] == [(ended, ""), (999_999, "")]


async def test_ids_that_slurm_does_not_know_are_missing_and_all_jobs_come_without_ids(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job_id = await accepted(scheduler, spec(slurm, "true", "--hold"))
    some = await scheduler.queue([job_id, 999_999])
    every = await scheduler.queue()
    nothing = await scheduler.queue([])
    assert [job.id for job in some.jobs] == [job_id]
    assert job_id in {job.id for job in every.jobs}
    assert (nothing.jobs, nothing.error) == ((), "")
    await scheduler.cancel([JobKey(job_id)])


async def test_a_job_after_another_starts_only_when_that_one_has_ended_well(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    fails = await accepted(scheduler, spec(slurm, "exit 1", "--hold"))
    follows = await accepted(scheduler, spec(slurm, "true", after=(fails,)))
    waiting = await scheduler.queue([follows])
    assert waiting.jobs[0].reason == "Dependency"
    slurm.run(f"scontrol release {fails}")
    never = await job_in(scheduler, follows, JobState.CANCELLED)
    assert never.elapsed == 0


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("--partition=nosuch", "invalid partition specified: nosuch; Invalid partition name"),
        ("--partition=closed", "Required partition not available (inactive or drain)"),
        ("--partition=shared\n--time=600", "Requested time limit is invalid"),
        ("--partition=cpu\n--gres=gpu:1", "Requested node configuration is not available"),
        ("--partition=highmem\n--mem=1950G", "Memory required by task is not available"),
        ("--gres=tpu:1", "Invalid generic resource (gres) specification"),
        ("--time=banana", "Invalid --time specification"),
        ("--nosuch=3", "unrecognized option '--nosuch=3'"),
        ("--nodes=5", "Node count specification invalid"),
        ("--constraint=nosuch", "Invalid feature specification"),
    ],
)
async def test_what_slurm_refuses_is_rejected_in_its_own_words(
    slurm: SlurmCluster, scheduler: SlurmScheduler, header: str, words: str
) -> None:
    job = spec(slurm, "true", header)
    answer = await scheduler.submit(job)
    assert isinstance(answer, Rejected)
    assert answer.reason.startswith(words)
    # Some refused jobs stay on the books for a while, as failed before they began.
    remembered = await scheduler.find([job.token])
    assert remembered is not None
    assert [it.reason for it in remembered.get(job.token, ())] in ([], ["BadConstraints"])


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no shebang\n", "This does not look like a batch script."),
        ("#!/bin/sh\r\ntrue\r\n", "Batch script contains DOS line breaks"),
        ("", "Batch script is empty!"),
    ],
)
async def test_a_script_that_is_none_is_rejected(
    slurm: SlurmCluster, scheduler: SlurmScheduler, script: str, words: str
) -> None:
    answer = await scheduler.submit(spec(slurm, "", script=script))
    assert isinstance(answer, Rejected)
    assert answer.reason.startswith(words)


async def test_a_working_folder_that_is_gone_and_a_missing_sbatch_are_rejected(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    gone = await scheduler.submit(spec(slurm, "true", workdir=slurm.work / "gone"))
    nowhere = SlurmScheduler("alpha", LocalTransport({"PATH": "/nonexistent"}))
    missing = await nowhere.submit(spec(slurm, "true"))
    assert isinstance(gone, Rejected)
    assert isinstance(missing, Rejected)
    assert (await nowhere.queue()).error == "squeue could not be started: No such file or directory"
    assert await nowhere.find(["token"]) is None


async def test_variables_of_the_caller_bend_neither_submission_nor_poll(
    slurm: SlurmCluster, scheduler: SlurmScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "gpu")
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    monkeypatch.setenv("SQUEUE_STATES", "RUNNING")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    job_id = await accepted(scheduler, spec(slurm, "true", "--hold"))
    snapshot = await scheduler.queue([job_id])
    assert snapshot.jobs[0].partition == "cpu"
    await scheduler.cancel([JobKey(job_id)])


@pytest.mark.parametrize("named", [True, False])
async def test_an_account_from_the_environment_counts_only_if_the_script_names_none(
    slurm: SlurmCluster, scheduler: SlurmScheduler, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setenv("SBATCH_ACCOUNT", "environment")
    job = spec(slurm, "true", "--hold\n--account=script" if named else "--hold")
    job_id = await accepted(scheduler, job)
    account = slurm.run(f"squeue -h -j {job_id} -o %a").stdout.strip()
    assert account == ("script" if named else "environment")
    await scheduler.cancel([JobKey(job_id)])


async def test_names_with_newlines_and_separators_are_read_back_whole(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    name = "line one\n17|RUNNING|0:00|\x1b[31m\udcff'\""
    slurm_argv = ["sbatch", "--parsable", "--hold", f"--job-name={name}", "--wrap=true"]
    done = subprocess.run(  # noqa: ASYNC221
        [os.fsencode(part) for part in slurm_argv],
        env=slurm.env,
        cwd=slurm.work,
        capture_output=True,
        check=True,
    )
    job_id = int(done.stdout)
    snapshot = await scheduler.queue([job_id])
    assert snapshot.jobs[0].name == name
    await scheduler.cancel([JobKey(job_id)])


async def tasks_in(
    scheduler: SlurmScheduler, job_id: int, count: int, *states: JobState
) -> dict[int | None, Job]:
    """Poll until so many tasks of an array are in one of these states; all its tasks."""
    snapshot = await eventually_async(
        lambda: scheduler.queue([job_id]),
        lambda it: not it.error and sum(job.state in states for job in it.jobs) >= count,
        every=0.15,
    )
    return {job.task: job for job in snapshot.jobs}


async def test_a_held_job_waits_until_it_is_released_and_releasing_again_is_harmless(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job = spec(slurm, "echo ran", held=True)
    array = spec(slurm, "exit $SLURM_ARRAY_TASK_ID", held=True, tasks=(0, 1, 2, 3, 7))
    ids = [await accepted(scheduler, it) for it in (job, array)]
    waiting = await scheduler.queue(ids)

    keys = [JobKey(ids[0]), JobKey(999_999), JobKey(ids[1]), JobKey(999_999, 3)]
    answers = [await scheduler.release(keys) for _ in range(2)]
    done = await job_in(scheduler, ids[0], JobState.COMPLETED)
    tasks = await tasks_in(scheduler, ids[1], 5, JobState.COMPLETED, JobState.FAILED)
    after = await scheduler.release(keys)
    too_late = await scheduler.hold([JobKey(ids[0])])

    assert {it.state for it in waiting.jobs} == {JobState.HELD}
    assert len(waiting.jobs) == 6
    for answer in (*answers, after):
        assert [it.job for it in answer] == keys
        assert [it.error for it in answer] == [
            "", "Invalid job id specified", "", "Invalid job id specified",
        ]  # fmt: skip
    assert done.token == job.token
    assert {task: (it.token, it.exit_code) for task, it in tasks.items()} == {
        task: (task_token(array.token, task), task) for task in array.tasks
    }
    assert too_late[0].error == "Job has already finished"


async def test_tasks_of_an_array_are_jobs_of_their_own(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    first = slurm.submit("sleep 300", "--array=0-8,10-30:4%2 --comment=rowtui:array-token")
    numbers = [*range(9), 10, 14, 18, 22, 26, 30]
    tasks = await tasks_in(scheduler, first, 2, JobState.RUNNING)
    tokens = [task_token("array-token", task) for task in (0, 9, 30)]
    found = await scheduler.find(tokens)

    cancelled = await scheduler.cancel([JobKey(first, task) for task in (5, 99, 0, 14)])
    tasks_after = await tasks_in(scheduler, first, 3, JobState.CANCELLED)
    others = [JobKey(first, task) for task in numbers]
    cancelled += await scheduler.cancel(others)
    at_last = await tasks_in(scheduler, first, len(numbers), JobState.CANCELLED)

    states = [job.state for job in tasks.values()]
    assert sorted(task for task in tasks if task is not None) == numbers
    assert states.count(JobState.RUNNING) == 2
    assert states.count(JobState.PENDING) == len(numbers) - 2
    assert found is not None
    assert {token: [job.key for job in jobs] for token, jobs in found.items()} == {
        tokens[0]: [JobKey(first, 0)],
        tokens[2]: [JobKey(first, 30)],
    }
    assert {answer.error for answer in cancelled} == {""}
    ended = {task for task, job in tasks_after.items() if not job.state.active}
    assert ended == {0, 5, 14}
    assert set(tasks_after) == set(at_last) == set(numbers)


async def test_tasks_that_are_held_are_told_from_those_that_wait_for_others(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job = spec(slurm, "sleep 300", "--nodes=2\n--begin=now+1hour", tasks=tuple(range(300)))
    array = await accepted(scheduler, job)
    held = [JobKey(array, task) for task in (*range(0, 300, 2), 500)]

    answers = await scheduler.hold(held)
    some = {it.task: it.state for it in (await scheduler.queue([array])).jobs}
    await scheduler.release([JobKey(array)])
    none = {it.state for it in (await scheduler.queue([array])).jobs}
    await scheduler.cancel([JobKey(array)])

    assert [answer.error for answer in answers] == [""] * 150 + ["Invalid job id specified"]
    assert some == {task: JobState.PENDING if task % 2 else JobState.HELD for task in range(300)}
    assert none == {JobState.PENDING}


@pytest.fixture
def frozen(slurm: SlurmCluster) -> Iterator[SlurmCluster]:
    slurm.stop_controller()
    yield slurm
    slurm.continue_controller()


async def test_a_submission_to_a_frozen_controller_is_unknown_and_found_when_it_goes_on(
    frozen: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job = spec(frozen, "true", "--hold")
    answer, found, snapshot, cancelled = await asyncio.gather(
        scheduler.submit(job),
        scheduler.find([job.token]),
        scheduler.queue(),
        scheduler.cancel([JobKey(999_999)]),
    )
    released = await scheduler.release([JobKey(999_999)])
    assert answer == OutcomeUnknown("Socket timed out on send/recv operation")
    assert found is None
    assert snapshot.error == "slurm_load_jobs error: Socket timed out on send/recv operation"
    assert "it may still be cancelled" in cancelled[0].error
    assert "it may still be released" in released[0].error

    frozen.continue_controller()
    assert [job.state for job in await found_in_time(scheduler, job.token)] == [JobState.HELD]


async def test_an_sbatch_that_takes_too_long_is_unknown_and_its_job_is_found_later(
    frozen: SlurmCluster,
) -> None:
    transport = LocalTransport({"SLURM_CONF": str(frozen.conf)})
    hasty = SlurmScheduler("alpha", transport, submit_timeout=0.5, query_timeout=0.5)
    job = spec(frozen, "true", "--hold")
    answer = await hasty.submit(job)
    assert isinstance(answer, OutcomeUnknown)
    assert "no answer within" in answer.reason
    assert "no answer within" in (await hasty.queue()).error

    frozen.continue_controller()
    patient = SlurmScheduler("alpha", transport)
    assert len(await found_in_time(patient, job.token)) == 1


class AsAnother(LocalTransport):
    """Another user's commands: `squeue --me` has none of our jobs, everything else does."""

    async def run(self, argv, **options) -> CommandResult:  # type: ignore[no-untyped-def]
        if "--me" in argv:
            return CommandResult(tuple(argv), 0)
        return await super().run(argv, **options)


async def test_jobs_of_another_user_of_the_project_are_not_taken_for_gone(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job = spec(slurm, "true", "--hold")
    ids = [await accepted(scheduler, it) for it in (job, spec(slurm, "true", "--hold"))]
    another = SlurmScheduler("alpha", AsAnother({"SLURM_CONF": str(slurm.conf)}))

    one = await another.queue([ids[0]])
    some = await another.queue([*ids, 999_999])
    none = await another.queue([999_999])

    assert [(it.id, it.state, it.token) for it in one.jobs] == [(ids[0], JobState.HELD, job.token)]
    assert sorted(it.id for it in some.jobs) == ids
    assert (none.jobs, none.error) == ((), "")
    assert (await another.queue()).jobs == ()
    await scheduler.cancel([JobKey(it) for it in ids])


if os.geteuid() == 0:  # nobody else can act as two users

    async def test_foreign_jobs_can_not_be_cancelled_and_that_is_said_for_each(
        slurm: SlurmCluster, scheduler: SlurmScheduler
    ) -> None:
        job_id = await accepted(scheduler, spec(slurm, "true", "--hold"))

        class AsNobody(LocalTransport):
            async def run(self, argv, **options) -> CommandResult:  # type: ignore[no-untyped-def]
                prefix = ["setpriv", "--reuid=65534", "--clear-groups"]
                return await super().run([*prefix, *argv], **options)

        nobody = SlurmScheduler("alpha", AsNobody({"SLURM_CONF": str(slurm.conf)}))
        results = await nobody.cancel([JobKey(job_id), JobKey(999_999)])
        assert [result.error for result in results] == ["Access/permission denied", ""]
        await scheduler.cancel([JobKey(job_id)])


@pytest.mark.timeout(180)  # Slurm's shortest time limit is a minute, which it checks every half
async def test_the_signal_before_the_time_limit_reaches_a_script_that_waits(
    slurm: SlurmCluster, warned: int
) -> None:
    log = slurm.work / f"{warned}.out"
    await asyncio.to_thread(slurm.wait_for, warned, "COMPLETED", "FAILED", "TIMEOUT")
    words = log.read_text().split()
    assert words[:2] == ["signalled", "after"]
    assert int(words[2]) < 60
    assert words[3:5] == ["went", "on"]  # Slurm may add why it ended the job


async def test_a_job_that_runs_into_its_time_limit_says_so(
    slurm: SlurmCluster, scheduler: SlurmScheduler, overdue: int
) -> None:
    job = await job_in(scheduler, overdue, JobState.TIMEOUT)
    assert (job.reason, job.exit_code) == ("TimeLimit", None)
    assert "DUE TO TIME LIMIT" in (slurm.work / f"{overdue}.out").read_text()


async def test_a_dead_controller_is_an_error_never_an_empty_queue(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    job = spec(slurm, "true", "--hold")
    slurm.kill_controller()
    try:
        snapshot = await scheduler.queue()
        answer = await scheduler.submit(job)
        found = await scheduler.find([job.token])
    finally:
        slurm.clean()
    assert snapshot.jobs == ()
    # "Unable to contact slurm controller", or "Connection reset by peer" in its last moment.
    assert snapshot.error.startswith("slurm_load_jobs error: ")
    assert isinstance(answer, OutcomeUnknown)
    assert found is None
    assert await scheduler.find([job.token]) == {}


async def test_why_jobs_do_not_run_is_told_by_scontrol_squeue_and_a_sentence(
    slurm: SlurmCluster, scheduler: SlurmScheduler
) -> None:
    slurm.clean()
    whole = "--exclusive --nodes=2 --partition=cpu --time=5"
    runs = slurm.submit("sleep 300", whole)
    slurm.wait_for(runs, "RUNNING")
    first = slurm.submit("true", f"{whole} --job-name='a b=c' --comment=rowtui:mine")
    second = slurm.submit("true", whole)
    array = slurm.submit("true", f"{whole} --hold --array=1-3")
    after = slurm.submit("true", f"{whole} --dependency=afterok:{runs}")
    later = slurm.submit("true", f"{whole} --begin=now+2hours")

    sentences = {
        (first, "Resources"): "until enough CPUs, memory or GPUs are free",
        (second, "Priority"): "Jobs of higher priority are before it",
        (array, "JobHeldUser"): "It was held",
        (after, "Dependency"): "It waits for other jobs to end",
        (later, "BeginTime"): "may not start before its time",
    }

    async def all_waits() -> dict[tuple[int, str], Job]:
        snapshot = await scheduler.queue([number for number, _ in sentences])
        return {(job.id, job.reason): job for job in snapshot.jobs}

    waits = await eventually_async(
        all_waits,
        lambda found: sentences.keys() <= found.keys() and found[first, "Resources"].start_estimate,
        every=0.1,
    )
    for told, sentence in sentences.items():
        assert sentence in explain(waits[told], time.time()).sentence

    transport = LocalTransport({"SLURM_CONF": str(slurm.conf)})
    detail = await scheduler_kind("slurm").detail(transport, JobKey(second), estimate=True)
    shown, sprio, *estimated = detail.asked
    fields = dict(shown.fields)
    assert (fields["JobId"], fields["JobState"], fields["Partition"]) == (
        str(second), "PENDING", "cpu",
    )  # fmt: skip
    assert "supported priority plugin" in sprio.problem  # this cluster has no priorities
    assert [one.problem for one in estimated] == ["", ""]
    assert detail.start is not None
    assert detail.start > time.time()
    assert (detail.ahead, detail.waiting) == (1, 5)  # the array counts as one
    slurm.run(f"scontrol update jobid={first},{second},{after},{later} priority=7000")
    equal = await scheduler_kind("slurm").detail(transport, JobKey(second), estimate=True)
    assert (equal.ahead, equal.waiting) == (1, 5)

    named = await scheduler_kind("slurm").detail(transport, JobKey(first), estimate=False)
    assert dict(named.asked[0].fields)["JobName"] == "a b=c"
    held = await scheduler_kind("slurm").detail(transport, JobKey(array, 2), estimate=True)
    assert dict(held.asked[0].fields)["ArrayTaskId"] == "2"
    assert "Invalid" not in held.asked[1].problem
    assert held.ahead is None
    running = await scheduler_kind("slurm").detail(transport, JobKey(runs), estimate=True)
    assert [one.command.split()[0] for one in running.asked] == ["scontrol"]
    assert "does not wait" in running.problem
    gone = await scheduler_kind("slurm").detail(transport, JobKey(999_999), estimate=False)
    assert "Invalid job id" in gone.asked[0].problem

    everybody = await scheduler_kind("slurm").everybody(transport, 1_000)
    assert not everybody.problem
    assert {job.id for _, job in everybody.jobs} >= {runs, first, second, array, after, later}
    [(user, job)] = [it for it in everybody.jobs if it[1].id == first]
    assert (job.name, job.token) == ("a b=c", "")
    assert user == slurm.run("id -un").stdout.strip()
    few = await scheduler_kind("slurm").everybody(transport, 2)
    assert (len(few.jobs), few.cut) == (2, True)
    slurm.clean()
