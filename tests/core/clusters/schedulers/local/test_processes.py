"""Processes that are never mistaken for others."""

import os
import signal
import subprocess
import sys

import pytest
from rowtui.core.clusters.schedulers.local import processes
from rowtui.core.clusters.schedulers.local.processes import (
    ProcessIdentity,
    catches_signal,
    end_job_processes,
    identify_process,
    is_running,
    open_process,
    processes_of_job,
    signal_process,
    used_by,
)

from tests.eventually import eventually


def test_a_process_id_with_another_start_time_is_another_process() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        identity = identify_process(process.pid)
        assert identity is not None
        other = ProcessIdentity(identity.pid, identity.start - 1)
        assert is_running(identity)
        assert not is_running(other)
        assert open_process(other) is None
        assert not signal_process(other, signal.SIGKILL)
        assert process.poll() is None
        assert signal_process(identity, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not signal_process(identity, signal.SIGKILL)


def test_a_zombie_does_not_run() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert identify_process(process.pid) is None


def test_a_process_whose_name_holds_parentheses_and_spaces_is_read_right() -> None:
    program = "open('/proc/self/comm', 'w').write(') R 1 (x')\nprint('ready', flush=True)\ninput()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before = identify_process(os.getpid())
        identity = identify_process(process.pid)
        assert before is not None
        assert identity is not None
        assert identity.start >= before.start
        process.communicate(b"\n")


def test_only_a_handler_catches_a_signal() -> None:
    program = (
        "import signal\n"
        "signal.signal(signal.SIGUSR1, print)\n"
        "signal.signal(signal.SIGUSR2, signal.SIG_IGN)\n"
        "print(flush=True)\n"
        "input()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert catches_signal(process.pid, signal.SIGUSR1)
        assert not catches_signal(process.pid, signal.SIGUSR2)
        assert not catches_signal(process.pid, signal.SIGTERM)
        process.communicate(b"\n")
    assert not catches_signal(process.pid, signal.SIGUSR1)


def test_what_processes_use_is_the_kernels_count() -> None:
    program = (
        "b = bytearray(40 << 20); b[::4096] = b'x' * len(b[::4096]); print(flush=True); input()"
    )
    command = [sys.executable, "-S", "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        identity = identify_process(process.pid)
        assert identity is not None
        used = used_by([identity, identity._replace(start=identity.start + 1)])
        assert used is not None
        cpu, memory = used
        assert 0 <= cpu < 60
        assert 40 << 10 <= memory < 140 << 10
        process.communicate(b"\n")
    assert used_by([identity]) is None


@pytest.mark.parametrize("token", ["a token", "quote'\n\udcff"])
def test_the_processes_of_a_job_are_its_tree_its_session_and_all_with_its_token(
    token: str,
) -> None:
    script = (
        "env -i sleep 600 & a=$!; setsid sleep 600 & b=$!\n"
        "(setsid env X=1 bash -c 'echo $$ >&3; exec sleep 600' 3>&1 >/dev/null &) | (\n"
        "read -r c; echo $$ $a $b $c); wait"
    )
    environment = {**os.environ, "ROWTUI_TOKEN": token}
    with subprocess.Popen(
        ["bash", "-c", script], env=environment, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        expected = {int(word) for word in process.stdout.readline().split()}
        assert len(expected) == 4
        # One of them becomes another program at this moment, and has no environment until it has.
        found = eventually(
            lambda: {identity.pid for identity in processes_of_job(token, process.pid)},
            expected.issubset,
        )
        assert os.getpid() not in found
        assert not {p.pid for p in processes_of_job(token + "x", None)} & expected
        end_job_processes(token, process.pid, 1.0)
        assert not [pid for pid in expected if identify_process(pid)]


@pytest.mark.parametrize(
    "shown",
    [
        [b"", b"", b"ROWTUI_TOKEN=t\0A=1\0"],  # nothing while its memory is being exchanged
        [b"A=1\0ROWT", b"ROWTUI_TOKEN=t\0A=1\0"],  # or half of it
    ],
)
def test_a_process_that_becomes_another_program_is_still_one_of_its_job(
    shown: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(shown)

    def read(pid: int, name: str) -> bytes:
        if name == "environ":
            return next(looks)
        return {"statm": b"100 10", "cmdline": b"sleep\0"}[name]

    monkeypatch.setattr(processes, "_read", read)
    assert processes._environment_holds(os.getpid(), {b"ROWTUI_TOKEN=t"})


def test_a_process_without_an_environment_is_of_no_job() -> None:
    with subprocess.Popen(["env", "-i", "sleep", "60"], start_new_session=True) as process:
        eventually(lambda: b"sleep" in processes._read(process.pid, "cmdline").split(b"\0")[0])
        assert not processes._environment_holds(process.pid, {b"ROWTUI_TOKEN=t"})
        process.kill()
