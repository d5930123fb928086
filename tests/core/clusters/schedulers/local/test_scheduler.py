"""The embedded queue, with real jobs."""

import asyncio
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import Accepted, Job, JobKey, JobState, Rejected
from rowtui.core.clusters.schedulers.local.processes import ProcessIdentity, identify_process
from rowtui.core.clusters.schedulers.local.queue import LocalQueue
from rowtui.core.clusters.schedulers.local.records import Claim
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler

from tests.core.clusters.schedulers.local_rig import LocalRig, wait_for_process, wait_until

WAIT_FOR_GO = "until [ -e go ]; do sleep 0.1; done\n"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalRig]:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "3")
    rig = LocalRig(tmp_path)
    yield rig
    rig.close()


def identities(line: str) -> list[ProcessIdentity]:
    found = [identify_process(int(word)) for word in line.split()]
    return [identity for identity in found if identity]


async def test_jobs_get_increasing_ids_and_start_in_the_order_of_submission(rig: LocalRig) -> None:
    numbers = [rig.submit(f"echo {i} >> order", cpus=3) for i in range(5)]
    jobs = await rig.ended(*numbers)
    assert numbers == [1, 2, 3, 4, 5]
    assert (rig.work / "order").read_text().split() == ["0", "1", "2", "3", "4"]
    assert {job.state for job in jobs} == {JobState.COMPLETED}


async def test_jobs_together_never_use_more_cores_than_there_are(rig: LocalRig) -> None:
    asked = [1, 2, 3, 1, 1, 1, 2, 3, 2, 1, 1]
    script = "a=$(date +%s.%N); sleep 0.1; echo $a $(date +%s.%N) $ROWTUI_LOCAL_CPUS >> times"
    await rig.ended(*[rig.submit(script, cpus=cpus) for cpus in asked])
    events = []
    for line in (rig.work / "times").read_text().splitlines():
        begin, end, cpus = line.split()
        events += [(float(begin), int(cpus)), (float(end), -int(cpus))]
    used, most = 0, 0
    for _, change in sorted(events):
        used += change
        most = max(most, used)
    assert len(events) == 2 * len(asked)
    assert most == 3


async def test_the_end_of_a_job_is_told_with_its_exit_code_or_signal(rig: LocalRig) -> None:
    good, bad, killed = (rig.submit(script) for script in ("exit 0", "exit 7", "kill -9 $$"))
    jobs = await rig.ended(good, bad, killed)
    assert [(job.state, job.exit_code, job.exit_signal) for job in jobs] == [
        (JobState.COMPLETED, 0, None),
        (JobState.FAILED, 7, None),
        (JobState.FAILED, None, 9),
    ]


async def test_a_script_is_warned_before_its_time_limit_and_then_ended(rig: LocalRig) -> None:
    number = rig.submit(
        "trap 'echo warned' USR1; trap 'echo ended; exit 9' TERM\n"
        "sleep 60 & until ! kill -0 $!; do wait $!; done",
        walltime_seconds=1,
    )
    (job,) = await rig.ended(number)
    assert (rig.work / "job-1.out").read_text() == "warned\nended\n"
    assert (job.state, job.exit_code, job.limit) == (JobState.TIMEOUT, 9, 1)


async def test_a_script_that_ends_when_warned_has_timed_out(rig: LocalRig) -> None:
    number = rig.submit("trap 'exit 138' USR1; sleep 60 & wait", walltime_seconds=1)
    (job,) = await rig.ended(number)
    assert job.state is JobState.TIMEOUT


async def test_a_job_that_ignores_its_time_limit_is_killed(rig: LocalRig) -> None:
    number = rig.submit("trap '' TERM; for i in 1 2 3; do sleep 60; done", walltime_seconds=1)
    (job,) = await rig.ended(number)
    assert (job.state, job.exit_signal) == (JobState.TIMEOUT, signal.SIGKILL)


async def test_a_job_at_its_time_limit_has_the_cpu_time_of_programs_whose_shell_dies_first(
    rig: LocalRig,
) -> None:
    number = rig.submit("(trap '' TERM; while :; do :; done); true", "token", walltime_seconds=1)
    await rig.ended(number)

    measured = await rig.scheduler.measured({JobKey(number): "token"})

    cpu = measured[JobKey(number)].cpu
    assert cpu is not None
    assert cpu > 0.1  # of a second, on a machine that does other work too
    assert await rig.scheduler.measured({JobKey(number): "another"}) == {}


async def test_a_script_that_takes_no_warning_works_until_its_limit(rig: LocalRig) -> None:
    number = rig.submit("sleep 60", walltime_seconds=1)
    (job,) = await rig.ended(number)
    assert (job.state, job.exit_signal) == (JobState.TIMEOUT, signal.SIGTERM)


async def test_cancelling_ends_grandchildren_also_those_in_sessions_of_their_own(
    rig: LocalRig,
) -> None:
    number = rig.submit(
        "setsid sleep 600 & a=$!\n"
        "env -i sleep 600 & b=$!\n"
        "(setsid bash -c 'trap \"\" TERM; echo $$ > deaf; sleep 600; sleep 600' &)\n"
        "until [ -s deaf ]; do :; done\n"
        'echo $$ $a $b "$(cat deaf)" > pids\nwait'
    )
    processes = identities(rig.wait_for("pids"))
    assert len(processes) == 4
    (result,) = await rig.scheduler.cancel([JobKey(number)])
    (job,) = await rig.ended(number)
    assert not result.error
    assert job.state is JobState.CANCELLED
    assert not [p for p in processes if identify_process(p.pid) == p]


async def test_what_a_script_leaves_behind_ends_with_it(rig: LocalRig) -> None:
    number = rig.submit("setsid sleep 600 & echo $! > pids")
    await rig.ended(number)
    assert not identities((rig.work / "pids").read_text())


async def test_a_cancelled_waiting_job_never_runs_and_takes_its_dependents_along(
    rig: LocalRig,
) -> None:
    blocker = rig.submit(WAIT_FOR_GO, cpus=3)
    waiting = rig.submit("touch ran")
    dependent = rig.submit("touch ran", after=(waiting,))
    (result,) = await rig.scheduler.cancel([JobKey(waiting)])
    jobs = await rig.ended(waiting, dependent)
    (rig.work / "go").touch()
    await rig.ended(blocker)
    assert not result.error
    assert [job.state for job in jobs] == [JobState.CANCELLED] * 2
    assert jobs[1].reason == f"Dependency: job {waiting} did not end well"
    assert not (rig.work / "ran").exists()


async def test_cancelling_says_of_each_job_what_is_wrong(rig: LocalRig) -> None:
    over = rig.submit("exit 0")
    await rig.ended(over)
    results = await rig.scheduler.cancel([JobKey(over), JobKey(999)])
    assert [result.error for result in results] == [
        "job 1 has ended already",
        "job 999 is unknown here",
    ]


async def test_a_job_starts_when_those_it_waits_for_have_ended_well(rig: LocalRig) -> None:
    first = rig.submit(WAIT_FOR_GO + "echo first >> order")
    second = rig.submit("echo second >> order", after=(first,))
    free = rig.submit("echo free >> order")
    await rig.ended(free)
    assert (await rig.jobs())[second].reason == "Dependency"
    (rig.work / "go").touch()
    await rig.ended(first, second)
    assert (rig.work / "order").read_text().split() == ["free", "first", "second"]


async def test_waiting_jobs_say_why(rig: LocalRig) -> None:
    running = rig.submit(WAIT_FOR_GO, cpus=2)
    big = rig.submit("true", cpus=3)
    small = rig.submit("true", cpus=1, walltime_seconds=60)
    rig.submit("true", cpus=2)
    jobs = await rig.jobs()
    assert [jobs[i].reason for i in (big, small, small + 1)] == [
        "Resources",
        "Priority",
        "Resources",
    ]
    (rig.work / "go").touch()
    await rig.ended(running, big, small, small + 1)


async def test_a_job_larger_than_the_machine_is_rejected_with_the_numbers(
    rig: LocalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "1000")
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "1")
    specs = [
        rig.spec("true", cpus=4),
        rig.spec("true", memory_mb=1001),
        rig.spec("true", gpus=2),
        rig.spec("true", after=(77,)),
    ]
    results = [await rig.scheduler.submit(spec) for spec in specs]
    assert results == [
        Rejected("the job asks for 4 CPUs, this machine has 3"),
        Rejected("the job asks for 1,001 MiB of memory, this machine has 1,000 MiB"),
        Rejected("the job asks for 2 GPUs, this machine has 1"),
        Rejected("the job waits for job 77, which is unknown here"),
    ]
    assert await rig.jobs() == {}


async def test_jobs_that_ask_for_memory_share_what_there_is(
    rig: LocalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "1000")
    first = rig.submit(WAIT_FOR_GO, memory_mb=600)
    second = rig.submit("true", memory_mb=600)
    third = rig.submit("true")  # asks for none, so memory is no reason to wait
    await rig.ended(third)
    assert (await rig.jobs())[second].state is JobState.PENDING
    (rig.work / "go").touch()
    await rig.ended(first, second)


async def test_jobs_get_gpus_of_their_own(rig: LocalRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_GPUS", "2")
    numbers = [
        rig.submit(f"echo $CUDA_VISIBLE_DEVICES > gpu{i}\n" + WAIT_FOR_GO, gpus=1) for i in range(2)
    ]
    seen = {rig.wait_for(f"gpu{i}").strip() for i in range(2)}
    (rig.work / "go").touch()
    await rig.ended(*numbers)
    assert seen == {"0", "1"}


async def test_the_log_can_be_read_while_the_job_runs(rig: LocalRig) -> None:
    number = rig.submit("echo out; echo err >&2\n" + WAIT_FOR_GO)
    assert rig.wait_for("job-1.out").startswith("out\n")
    job = (await rig.jobs())[number]
    assert (job.state, job.log_path) == (JobState.RUNNING, str(rig.work / "job-1.out"))
    (rig.work / "go").touch()
    await rig.ended(number)
    assert (rig.work / "job-1.out").read_text() == "out\nerr\n"


async def test_a_job_has_an_empty_stdin_and_a_session_of_its_own(rig: LocalRig) -> None:
    number = rig.submit('read -r line || echo end; [ "$(ps -o sid= $$)" -eq $$ ] && echo leads')
    await rig.ended(number)
    assert (rig.work / "job-1.out").read_text() == "end\nleads\n"


async def test_the_end_of_a_job_spares_those_with_its_token_in_other_queues(
    rig: LocalRig, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("other")
    other = LocalRig(tmp_path / "link")
    try:
        script = "echo begun > begun\n" + WAIT_FOR_GO + "setsid sleep 600 & echo $! > left"
        long = other.submit(script, "same")
        other.wait_for("begun")
        (job,) = await rig.ended(rig.submit("setsid sleep 600 & echo $! > left", "same"))
        assert job.state is JobState.COMPLETED
        assert not identities(rig.wait_for("left"))
        (other.work / "go").touch()
        (job,) = await other.ended(long)
        assert job.state is JobState.COMPLETED
        assert not identities(other.wait_for("left"))
    finally:
        other.close()


async def test_any_name_of_a_directory_a_log_or_a_token_works(rig: LocalRig) -> None:
    workdir = rig.work / os.fsdecode(b"a'; \"$(touch x)`\n\x1b[31m \xff")
    workdir.mkdir()
    token = os.fsdecode(b"../'\n\xff" + b"t" * 300)
    number = rig.submit("echo here > it", token, workdir=workdir, log_path="l'\n\udcff/%j\n.out")
    (job,) = await rig.ended(number)
    assert (workdir / "it").read_text() == "here\n"
    assert job.log_path == f"{workdir}/l'\n\udcff/1\n.out"
    assert os.listdir(workdir / "l'\n\udcff") == ["1\n.out"]
    found = await rig.scheduler.find([token, "nobody's"])
    assert found == {token: (job,)}


async def test_a_job_that_cannot_start_says_why(rig: LocalRig) -> None:
    nowhere = rig.submit("true", workdir=rig.work / "nowhere", log_path="/dev/null/log")
    (job,) = await rig.ended(nowhere)
    assert job.state is JobState.FAILED
    assert "cannot start" in job.reason
    assert "/dev/null" in job.reason


async def test_a_job_has_the_environment_umask_and_limits_of_its_submitter(
    rig: LocalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rig.submit("true")  # the supervisor is older than what follows
    await rig.ended(first)
    monkeypatch.setenv("FROM_HERE", "a b\nc")
    monkeypatch.setenv("ROWTUI_TOKEN", "another job's")
    mask = os.umask(0o077)
    core = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, core[1]))
    try:
        number = rig.submit(
            'printf "%s|%s|%s|%s" "$FROM_HERE" $ROWTUI_JOB_ID "$(umask)" "$(ulimit -s)" > it',
            "mine",
        )
    finally:
        os.umask(mask)
        resource.setrlimit(resource.RLIMIT_STACK, core)
    await rig.ended(number)
    assert (rig.work / "it").read_text() == "a b\nc|2|0077|4096"


async def test_the_environment_lies_about_for_this_user_only_and_until_the_job_has_begun(
    rig: LocalRig,
) -> None:
    running = rig.submit("echo begun > begun\n" + WAIT_FOR_GO, cpus=3)
    waiting = rig.submit("true")
    rig.wait_for("begun")
    stored = rig.folder / "jobs" / str(waiting) / "environ"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert stat.S_IMODE(rig.folder.stat().st_mode) == 0o700
    await rig.scheduler.cancel([JobKey(waiting)])
    (rig.work / "go").touch()
    await rig.ended(running, waiting)
    assert not list(rig.folder.glob("jobs/*/environ"))


def by_id(job: Job) -> int:
    return job.id


async def test_the_same_token_is_one_job_however_often_it_is_submitted_at_once(
    rig: LocalRig,
) -> None:
    specs = [rig.spec(f"echo {i} >> runs", f"token-{i % 2}") for i in range(12)]
    others = [LocalScheduler(folder=rig.folder) for _ in specs]
    results = await asyncio.gather(
        *(other.submit(spec) for other, spec in zip(others, specs, strict=True))
    )
    assert all(isinstance(result, Accepted) for result in results)
    ids = [{result.job_id for result in results[i::2]} for i in range(2)]
    assert [len(found) for found in ids] == [1, 1]
    numbers = [found.pop() for found in ids]
    jobs = await rig.ended(*numbers)
    assert len((rig.work / "runs").read_text().split()) == 2
    assert sorted((await rig.jobs()).values(), key=by_id) == sorted(jobs, key=by_id)
    assert await rig.scheduler.submit(specs[0]) == Accepted(numbers[0])


def test_a_full_disk_rejects_a_job_and_leaves_nothing_of_it(rig: LocalRig) -> None:
    # A limit on the size of files stands for the full disk: the write fails half way.
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from rowtui.core.clusters.schedulers.base import JobSpec\n"
        "from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "folder = Path(sys.argv[1])\n"
        "job = JobSpec('t', 'n', '#' * 9000, folder, 'log')\n"
        "print(LocalScheduler(folder=folder).submit_now(job))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, rig.folder], capture_output=True, text=True, check=True
    )
    assert "Rejected" in done.stdout
    assert f"the queue in {rig.folder} cannot be used: File too large" in done.stdout
    assert rig.queue.ids() == []
    assert rig.queue.find_token("t") is None


async def test_a_folder_that_cannot_be_used_is_an_error_and_never_an_empty_queue(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    scheduler = LocalScheduler(folder=tmp_path / "file" / "queue")
    snapshot = await scheduler.queue()
    assert "cannot be used: Not a directory" in snapshot.error
    assert not await scheduler.find(["t"])
    rig = LocalRig(tmp_path)
    result = await scheduler.submit(rig.spec("true"))
    assert isinstance(result, Rejected)
    assert "Not a directory" in result.reason


async def test_a_job_that_ran_when_the_machine_was_restarted_has_failed_with_it(
    rig: LocalRig,
) -> None:
    number = rig.queue.commit(rig.spec("touch ran"), 10, 5)
    rig.queue.claim(number, Claim(pid=1, start=1, boot="an earlier boot", since=1.0))
    assert (await rig.jobs())[number].state is JobState.NODE_FAIL
    other = rig.submit("true")
    (job, _) = await rig.ended(number, other)
    assert (job.state, job.reason) == (
        JobState.NODE_FAIL,
        "the machine was restarted while the job ran",
    )
    assert not (rig.work / "ran").exists()


async def test_a_damaged_record_stops_no_other_job(rig: LocalRig) -> None:
    damaged = rig.queue.commit(rig.spec("true"), 10, 5)
    (rig.folder / "jobs" / str(damaged) / "spec.json").write_text('{"version": 1, "id"')
    good = rig.submit("true")
    await rig.ended(good)
    jobs = await rig.jobs()
    assert jobs[good].state is JobState.COMPLETED
    assert jobs[damaged].state is JobState.UNKNOWN
    assert "is damaged" in jobs[damaged].reason


def test_a_job_is_not_seen_before_all_of_it_is_written(
    rig: LocalRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, seen = os.write, []

    def look_and_write(fd: int, data: bytes) -> int:
        seen.append([rig.queue.read_job(number) for number in rig.queue.ids()])
        return really(fd, data)

    monkeypatch.setattr(os, "write", look_and_write)
    assert rig.queue.commit(rig.spec("true"), 1.0, 1.0) == 1

    assert [None] in seen  # not committed yet, and no error
    job = rig.queue.read_job(1)
    assert job is not None
    assert job.token == rig.tokens[0]


async def test_a_record_that_could_not_be_read_for_a_while_is_read_later(rig: LocalRig) -> None:
    # Given a supervisor that came upon a damaged record while another job ran,
    running = rig.submit(WAIT_FOR_GO)
    wait_until((rig.folder / "jobs/1/claim").exists, rig.folder / "jobs/1")
    waiting = rig.submit("touch done", after=(running,))
    spec = rig.folder / "jobs" / str(waiting) / "spec.json"
    (rig.folder / "jobs/7").mkdir()
    (rig.folder / "jobs/7/spec.json").write_text("{")
    log = rig.folder / "supervisor.log"
    cancelled = rig.submit(WAIT_FOR_GO)
    wait_until(lambda: "damaged" in log.read_text(), rig.folder)
    # when it can be read, and everything is looked at again,
    record = json.loads(spec.read_text())
    job = rig.spec("touch mended")
    record |= {"id": 7, "token": job.token, "after": []}
    (rig.folder / "jobs/7/script").write_text(job.script)
    (rig.folder / "jobs/7/environ").write_bytes(b"")
    (rig.folder / "jobs/7/spec.json").write_text(json.dumps(record))
    os.link(rig.folder / "jobs/7/spec.json", rig.queue._token_path(job.token))
    await rig.scheduler.cancel([JobKey(cancelled)])
    # then the job runs.
    await rig.ended(7)
    assert (rig.work / "mended").exists()
    (rig.work / "go").touch()
    await rig.ended(running, waiting)


async def test_a_supervisor_leaves_when_there_is_nothing_to_do(rig: LocalRig) -> None:
    await rig.ended(rig.submit("true"))
    wait_for_process(rig.supervisor())
    await rig.ended(rig.submit("true"))


def test_nobody_stays_with_a_queue_that_was_removed(rig: LocalRig) -> None:
    # Given jobs that run, one that waits, and those who look after them,
    script = "echo $PPID $(sed 's/.*) . //; s/ .*//' /proc/$PPID/stat) > who\n" + WAIT_FOR_GO
    rig.submit(script, cpus=3)
    rig.submit("touch ran", cpus=3)
    wait_until((rig.work / "who").exists, rig.work)
    wait_until(lambda: (rig.work / "who").read_text().endswith("\n"), rig.work)
    who = identities((rig.work / "who").read_text())
    assert len(who) == 2
    # when the whole queue is removed, and the job ends,
    shutil.rmtree(rig.folder)
    (rig.work / "go").touch()
    # then they end, too, and nothing starts.
    for process in who:
        wait_for_process(process)
    assert not (rig.work / "ran").exists()


async def test_old_jobs_are_forgotten_but_not_their_tokens_nor_the_last_id(rig: LocalRig) -> None:
    old, recent, last = (rig.submit("exit 3", token) for token in ("old", "recent", "last"))
    await rig.ended(old, recent, last)
    end = rig.folder / "jobs" / str(old) / "end"
    now = end.stat().st_mtime
    os.utime(end, (now - 8 * 86_400,) * 2)
    os.utime(rig.folder / "jobs" / str(last) / "end", (now - 8 * 86_400,) * 2)
    rig.queue.remove_old(now)
    fresh = LocalScheduler(folder=rig.folder)
    assert [job.id for job in (await fresh.queue()).jobs] == [recent, last]
    found = await fresh.find(["old"])
    assert found is not None
    assert [(job.id, job.state, job.exit_code) for job in found["old"]] == [
        (old, JobState.FAILED, 3)
    ]
    assert await fresh.submit(rig.spec("exit 3", "old")) == Accepted(old)


def test_what_a_killed_submitter_left_is_removed_but_nothing_that_is_committed(
    tmp_path: Path,
) -> None:
    rig = LocalRig(tmp_path)
    committed = rig.queue.commit(rig.spec("true"), 10, 5)
    litter = rig.folder / "jobs" / "2"
    litter.mkdir()
    record = json.loads((rig.folder / "jobs" / "1" / "spec.json").read_text())
    (litter / "spec.json").write_text(json.dumps({**record, "id": 2}))
    last = rig.queue.commit(rig.spec("true"), 10, 5)
    rig.queue.remove_old(litter.stat().st_mtime + 86_401)
    assert LocalQueue(rig.folder).ids() == [committed, last] == [1, 3]
