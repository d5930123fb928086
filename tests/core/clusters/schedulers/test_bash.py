"""Jobs that run at once."""

import asyncio
import os
import pty
import secrets
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import Accepted, JobKey, JobSpec, Rejected
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.clusters.schedulers.local.processes import identify_process

PROGRAM = """
import asyncio, secrets, sys
from pathlib import Path
from rowtui.core.clusters.schedulers.base import JobSpec
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
job = JobSpec(secrets.token_hex(6), "name", sys.argv[2], Path(sys.argv[1]), "log")
print(asyncio.run(BashScheduler().submit(job)), flush=True)
"""


def spec(script: str, workdir: Path) -> JobSpec:
    return JobSpec(secrets.token_hex(6), "name", script, workdir, "log-%j")


async def test_jobs_run_in_order_where_they_belong_and_write_to_our_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scheduler = BashScheduler()
    results = [
        await scheduler.submit(spec("pwd; echo one >&2", tmp_path)),
        await scheduler.submit(spec("echo two", tmp_path)),
    ]
    assert results == [Accepted(1), Accepted(2)]
    assert capfd.readouterr() == (f"{tmp_path}\ntwo\n", "one\n")
    assert (await scheduler.queue()).jobs == ()
    assert await scheduler.find(["token"]) == {}
    assert scheduler.immediate
    for ask in (scheduler.cancel, scheduler.hold, scheduler.release):
        (answer,) = await ask([JobKey(1)])
        assert "are over" in answer.error


async def test_a_command_that_reads_its_input_does_not_swallow_the_script(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = await BashScheduler().submit(spec("cat\necho after", tmp_path))
    assert result == Accepted(1)
    assert capfd.readouterr().out == "after\n"


async def test_a_long_script_and_bytes_that_are_not_utf_8_arrive_as_they_are(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    script = "#" * 3_000_000 + "\necho 'a\udcff'\n"
    assert await BashScheduler().submit(spec(script, tmp_path)) == Accepted(1)
    assert capfdbinary.readouterr().out == b"a\xff\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "exited with code 3"),
        ("kill -9 $$", "terminated by signal 9"),
        ("if", "exited with code 2"),
    ],
)
async def test_a_job_that_fails_says_how_it_ended(
    script: str, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await BashScheduler().submit(spec(script, tmp_path)) == Rejected(reason)


async def test_a_place_that_does_not_exist_is_named(tmp_path: Path) -> None:
    result = await BashScheduler().submit(spec("true", tmp_path / "nowhere"))
    assert isinstance(result, Rejected)
    assert str(tmp_path / "nowhere") in result.reason


async def test_a_job_ends_when_whoever_waits_for_it_is_cancelled(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    fd = os.open(tmp_path / "told", os.O_RDONLY | os.O_NONBLOCK)
    script = "setsid sleep 600 & echo $$ $! > told; wait"
    task = asyncio.create_task(BashScheduler().submit(spec(script, tmp_path)))
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    loop.add_reader(fd, told.set)
    await asyncio.wait_for(told.wait(), 20)
    loop.remove_reader(fd)
    pids = [int(word) for word in os.read(fd, 100).split()]
    os.close(fd)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids) == 2
    assert not [pid for pid in pids if identify_process(pid)]


def start(script: str, workdir: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, workdir, script],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_we_get_reaches_all_processes_of_the_job(
    number: signal.Signals, tmp_path: Path
) -> None:
    name = number.name[3:]
    script = (
        f"bash -c 'trap \"echo inner; exit 5\" {name}; echo ready; while :; do sleep 0.02; done'\n"
        "echo outer $?; exit 6"
    )
    script = f"trap 'echo trapped' {name}\n{script}"
    with start(script, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.read().splitlines() == [
            "inner",
            "trapped",
            "outer 5",
            "Rejected(reason='exited with code 6')",
        ]


def test_a_second_signal_kills_a_job_that_does_not_listen(tmp_path: Path) -> None:
    script = "trap 'echo heard' TERM; setsid sleep 600 & echo $!; while :; do sleep 0.02; done"
    with start(script, tmp_path) as process:
        assert process.stdout is not None
        sleeper = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "heard\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "Rejected(reason='terminated by signal 9')\n"
    assert identify_process(sleeper) is None


def test_a_job_that_ends_well_in_spite_of_a_signal_is_still_an_interruption(
    tmp_path: Path,
) -> None:
    script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    with start(script, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "Rejected(reason='interrupted by SIGTERM')\n"


def test_control_c_reaches_the_job_once(tmp_path: Path) -> None:
    script = (
        "trap 'echo trapped; n=1' INT; echo ready\n"
        'until [ "$n" ]; do sleep 0.02; done; sleep 0.3; exit 6'
    )
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM, str(tmp_path), script])
    shown = b""
    pressed = False
    while b"Rejected" not in shown:
        assert select.select([terminal], [], [], 20)[0]
        shown += os.read(terminal, 1000)
        if b"ready" in shown and not pressed:
            pressed = bool(os.write(terminal, b"\x03"))
    os.waitpid(child, 0)
    os.close(terminal)
    assert shown.count(b"trapped") == 1
    assert b"exited with code 6" in shown
