"""The embedded queue when its processes are killed, at every step."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import Accepted, JobState
from rowtui.core.clusters.schedulers.local.processes import identify_process, signal_process
from rowtui.core.clusters.schedulers.local.wake import take_lock

from tests.core.clusters.schedulers.local_rig import LocalRig, wait_for_process

WAIT_FOR_GO = "until [ -e go ]; do sleep 0.1; done\n"

# In a child of its own, `armed(n, work)` runs `work` and kills it just before its nth call of the
# system; it tells whether work got that far before it ended, or before `done()`.
KILLED_AT_A_STEP = """
import os, select, signal, subprocess, sys, time
from pathlib import Path
from rowtui.core.clusters.schedulers.base import JobSpec

CALLS = ("open", "mkdir", "mkfifo", "link", "replace", "rename", "unlink", "write", "fsync",
         "close", "listdir", "fork", "pidfd_open", "waitpid")

def arm(n):
    own, calls = os.getpid(), [0]
    def armed(call):
        def step(*args, **kwargs):
            if os.getpid() == own:
                calls[0] += 1
                if calls[0] == n:
                    os.kill(own, signal.SIGKILL)
            return call(*args, **kwargs)
        return step
    for name in CALLS:
        setattr(os, name, armed(getattr(os, name)))
    subprocess.run = armed(subprocess.run)

def start(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child

def armed(n, work, done):
    child = start(lambda: (arm(n), work()))
    fd = os.pidfd_open(child)
    deadline = time.monotonic() + 20
    while not select.select([fd], [], [], 0.02)[0]:
        assert time.monotonic() < deadline, f"with step {n}: it neither gets there nor ends"
        if done():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
    os.close(fd)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
"""

SUBMIT = (
    KILLED_AT_A_STEP
    + """
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
folder, place = map(Path, sys.argv[1:])
def submit():
    job = JobSpec(f"step-{n}", "n", f"echo {n} >> runs", place, "log-%j")
    LocalScheduler(folder=folder).submit_now(job)
n = 1
while armed(n, submit, lambda: False):
    n += 1
print(n)
"""
)

SUPERVISE = (
    KILLED_AT_A_STEP
    + """
from rowtui.core.clusters.schedulers.local.queue import LocalQueue
from rowtui.core.clusters.schedulers.local.supervisor import main
folder, place = map(Path, sys.argv[1:])
n, reached = 0, True
while reached:
    n += 1
    queue = LocalQueue(folder / str(n))
    first = queue.commit(JobSpec(f"{n}-1", "n", f"echo {n}-1 >> runs", place, "log"), 10, 1)
    queue.commit(JobSpec(f"{n}-2", "n", f"echo {n}-2 >> runs", place, "log", after=(first,)), 10, 1)
    over = lambda: queue.has_ended(first + 1)
    supervise = lambda: main([str(queue.folder)])
    reached = armed(n, supervise, over)
    deadline = time.monotonic() + 20
    while not over():
        assert time.monotonic() < deadline, f"killed at step {n}: the jobs do not end"
        # It ends at once while the keeper that the killed one had just forked still has the lock.
        child = start(supervise)
        fd = os.pidfd_open(child)
        while not over() and not select.select([fd], [], [], 0.01)[0]:
            assert time.monotonic() < deadline, f"step {n}: the next one does not end them"
        os.close(fd)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
print(n)
"""
)


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalRig]:
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "3")
    rig = LocalRig(tmp_path)
    yield rig
    rig.close()


def run_killed_at_every_step(program: str, rig: LocalRig) -> int:
    """How often the program ran, with the last time, in which it was not killed."""
    command = [sys.executable, "-c", program, rig.folder, rig.work]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return int(done.stdout)


async def test_a_submitter_killed_at_any_step_leaves_one_job_or_none(rig: LocalRig) -> None:
    count = run_killed_at_every_step(SUBMIT, rig)
    assert count > 20
    numbers = []
    for n in range(1, count + 1):
        spec = rig.spec(f"echo {n} >> runs", f"step-{n}", log_path="log-%j")
        found = await rig.scheduler.find([spec.token])
        assert found is not None
        result = await rig.scheduler.submit(spec)
        assert isinstance(result, Accepted)
        assert not found or [result.job_id] == [job.id for job in found[spec.token]]
        numbers.append(result.job_id)
    jobs = await rig.ended(*numbers)
    assert len(set(numbers)) == count
    assert {job.state for job in jobs} == {JobState.COMPLETED}
    runs = (rig.work / "runs").read_text().split()
    assert sorted(map(int, runs)) == list(range(1, count + 1))


def test_a_supervisor_killed_at_any_step_runs_every_job_exactly_once(rig: LocalRig) -> None:
    count = run_killed_at_every_step(SUPERVISE, rig)
    assert count > 20
    runs = (rig.work / "runs").read_text().split()
    assert sorted(runs) == sorted(f"{n}-{i}" for n in range(1, count + 1) for i in (1, 2))


def test_of_many_keepers_of_one_job_only_one_runs_it(rig: LocalRig) -> None:
    number = rig.queue.commit(rig.spec("sleep 0.5; echo run >> runs"), 10, 1)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rowtui.core.clusters.schedulers.local.keeper import keep_job\n"
        "from rowtui.core.clusters.schedulers.local.queue import LocalQueue\n"
        "queue = LocalQueue(Path(sys.argv[1]))\n"
        "keep_job(queue, queue.read_job(int(sys.argv[2])), ())\n"
    )
    command = [sys.executable, "-c", program, str(rig.folder), str(number)]
    keepers = [subprocess.Popen(command) for _ in range(5)]
    assert [keeper.wait() for keeper in keepers] == [0] * 5
    assert (rig.work / "runs").read_text() == "run\n"
    end = rig.queue.read_end(number)
    assert end is not None
    assert end.state is JobState.COMPLETED


async def test_jobs_go_on_without_their_supervisor_and_the_next_one_takes_them_over(
    rig: LocalRig,
) -> None:
    running = rig.submit("echo begun > begun\n" + WAIT_FOR_GO + "exit 5", cpus=3)
    ended_alone = rig.submit("true", cpus=3)
    rig.wait_for("begun")
    supervisor = rig.supervisor()
    signal_process(supervisor, signal.SIGKILL)
    wait_for_process(supervisor)
    jobs = await rig.jobs()  # starts the next supervisor, which must not start another job yet
    assert jobs[running].state is JobState.RUNNING
    assert jobs[ended_alone].state is JobState.PENDING
    assert rig.supervisor() != supervisor
    (rig.work / "go").touch()
    first, second = await rig.ended(running, ended_alone)
    assert (first.exit_code, second.state) == (5, JobState.COMPLETED)


async def test_a_job_that_ends_while_there_is_no_supervisor_leaves_its_exit_code(
    rig: LocalRig,
) -> None:
    number = rig.submit("echo begun > begun\n" + WAIT_FOR_GO + "exit 5")
    rig.wait_for("begun")
    signal_process(rig.supervisor(), signal.SIGKILL)
    (rig.work / "go").touch()
    (job,) = await rig.ended(number)
    assert (job.state, job.exit_code) == (JobState.FAILED, 5)


async def test_a_time_limit_holds_without_a_supervisor(rig: LocalRig) -> None:
    number = rig.submit("echo begun > begun; sleep 600", walltime_seconds=1)
    rig.wait_for("begun")
    signal_process(rig.supervisor(), signal.SIGKILL)
    (job,) = await rig.ended(number)
    assert job.state is JobState.TIMEOUT


async def test_a_job_whose_keeper_is_killed_is_ended_and_has_failed(rig: LocalRig) -> None:
    number = rig.submit("setsid sleep 600 & echo $$ $! > pids; wait")
    processes = [identify_process(int(pid)) for pid in rig.wait_for("pids").split()]
    claim = rig.queue.read_claim(number)
    assert claim is not None
    os.kill(claim.pid, signal.SIGKILL)
    (job,) = await rig.ended(number)
    assert (job.state, job.exit_code) == (JobState.FAILED, None)
    assert job.reason == "the process that watched over the job was killed"
    assert all(process and identify_process(process.pid) != process for process in processes)


def test_a_job_survives_the_end_of_the_terminal_and_of_all_that_ran_in_it(
    rig: LocalRig,
) -> None:
    program = (
        "import os, sys, signal\n"
        "from pathlib import Path\n"
        "from rowtui.core.clusters.schedulers.base import JobSpec\n"
        "from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler\n"
        "folder, place = map(Path, sys.argv[1:])\n"
        f"script = 'echo begun > begun\\n' + {WAIT_FOR_GO!r} + 'echo over > over'\n"
        "job = JobSpec('token', 'n', script, place, 'log')\n"
        "LocalScheduler(folder=folder).submit_now(job)\n"
        "os.killpg(0, signal.SIGKILL)\n"
    )
    rig.tokens.append("token")
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", program, str(rig.folder), str(rig.work)])
    os.waitpid(child, 0)
    os.close(terminal)
    rig.wait_for("begun")
    (rig.work / "go").touch()
    rig.wait_for("over")


async def test_a_rowtui_inside_a_job_starts_a_supervisor_that_outlives_the_job(
    rig: LocalRig, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    other = LocalRig(inner)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rowtui.core.clusters.schedulers.base import JobSpec\n"
        "from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler\n"
        "folder, place = map(Path, sys.argv[1:])\n"
        f"script = {WAIT_FOR_GO!r} + 'echo $ROWTUI_TOKEN > it'\n"
        "job = JobSpec('inner', 'n', script, place, 'log')\n"
        "print(LocalScheduler(folder=folder).submit_now(job))\n"
    )
    (rig.work / "program").write_text(program)
    other.tokens.append("inner")
    try:
        outer = rig.submit(f"{sys.executable} program {other.folder} {other.work}")
        (job,) = await rig.ended(outer)
        assert job.state is JobState.COMPLETED
        (other.work / "go").touch()
        (job,) = await other.ended(1)
        assert (other.work / "it").read_text() == "inner\n"
    finally:
        other.close()


def test_the_lock_of_a_killed_supervisor_is_free_although_its_jobs_run_on(rig: LocalRig) -> None:
    rig.submit("echo begun > begun; sleep 600")
    rig.wait_for("begun")
    supervisor = rig.supervisor()
    assert take_lock(rig.folder) is None
    signal_process(supervisor, signal.SIGKILL)
    wait_for_process(supervisor)
    lock = take_lock(rig.folder)
    assert lock is not None
    os.close(lock)
