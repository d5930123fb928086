"""Commands on this machine: bounded, cut off cleanly, and honest about what is unknown."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import Trouble
from rowtui.core.clusters.commands import (
    LocalTransport,
    client_environment,
    run_briefly,
    run_command,
)

from tests.eventually import eventually, eventually_async


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


async def until_dead(pid: int) -> None:
    await eventually_async(lambda: not alive(pid), what=f"the end of process {pid}")


async def test_streams_status_and_folder_of_a_command_are_its_own(tmp_path: Path) -> None:
    script = "cat; pwd; echo complaint >&2; exit 3"
    result = await run_command(["sh", "-c", script], stdin=b"in\n", timeout=60, cwd=tmp_path)
    assert result.exit_status == 3
    assert result.stdout == b"in\n" + os.fsencode(tmp_path) + b"\n"
    assert result.stderr == b"complaint\n"
    assert result.complaint == "complaint"
    assert result.trouble is None


async def test_a_missing_program_is_a_result_that_says_it_never_started() -> None:
    result = await run_command(["no-such-program-anywhere"], timeout=60)
    assert result.exit_status is None
    assert result.trouble is Trouble.NOT_STARTED
    assert "No such file" in result.complaint


async def test_a_missing_folder_and_a_nul_in_an_argument_never_start(tmp_path: Path) -> None:
    gone = await run_command(["true"], timeout=60, cwd=tmp_path / "gone")
    nul = await run_command(["echo", "a\0b"], timeout=60)
    assert gone.trouble is nul.trouble is Trouble.NOT_STARTED


async def test_at_the_time_out_the_command_and_its_children_die_and_the_status_is_unknown() -> None:
    script = "sleep 600 & echo $! $$; wait"
    result = await run_command(["sh", "-c", script], timeout=0.3)
    assert result.exit_status is None
    assert result.trouble is Trouble.TIMED_OUT
    for pid in result.stdout.split():
        await until_dead(int(pid))


async def test_a_cancelled_caller_leaves_no_command_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    task = asyncio.create_task(
        run_command(
            ["sh", "-c", f"echo $$ > {note}.new; mv {note}.new {note}; sleep 600"], timeout=60
        )
    )
    await eventually_async(note.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_dead(int(note.read_text()))


async def test_who_is_cancelled_while_a_command_starts_leaves_none_behind_either(
    tmp_path: Path,
) -> None:
    note = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {note}.new; mv {note}.new {note}; wait"
    task = asyncio.create_task(run_command(["sh", "-c", script], timeout=60))
    # The command runs before its start has been told: the loop is kept from hearing of it.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    eventually(note.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_dead(int(note.read_text()))


async def test_output_beyond_the_limit_is_thrown_away_and_the_command_still_ends() -> None:
    result = await run_command(
        [sys.executable, "-c", "print('x' * 3_000_000)"], timeout=30, limit=1000
    )
    assert result.exit_status == 0
    assert len(result.stdout) == 1000
    assert result.truncated


async def test_input_that_nobody_reads_does_not_hang_or_raise() -> None:
    result = await run_command(["true"], stdin=b"y" * 5_000_000, timeout=30)
    assert result.exit_status == 0


async def test_a_daemon_that_keeps_the_pipe_does_not_hold_up_the_answer() -> None:
    started = time.monotonic()
    result = await run_command(["sh", "-c", "sleep 30 & echo $!"], timeout=60)
    os.kill(int(result.stdout), 9)
    assert result.exit_status == 0
    assert result.truncated
    assert time.monotonic() - started < 20


async def test_variables_that_change_slurm_commands_are_not_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SQUEUE_FORMAT", "nonsense")
    monkeypatch.setenv("SBATCH_PARTITION", "elsewhere")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SLURM_CONF", "/kept")
    monkeypatch.setenv("SBATCH_ACCOUNT", "kept")
    env = client_environment({"SLURM_TIME_FORMAT": "%s", "HOME": None})
    assert env["SLURM_CONF"] == "/kept"
    assert env["SBATCH_ACCOUNT"] == "kept"
    assert env["SLURM_TIME_FORMAT"] == "%s"
    assert not {"SQUEUE_FORMAT", "SBATCH_PARTITION", "HOME"} & env.keys()


async def test_a_transport_adds_its_own_variables_and_a_call_has_the_last_word() -> None:
    transport = LocalTransport({"A": "transport", "B": "transport"})
    result = await transport.run(["sh", "-c", "echo $A $B"], timeout=60, env={"B": "call"})
    assert result.stdout == b"transport call\n"


def test_the_blocking_form_answers_the_same() -> None:
    result = run_briefly(["sh", "-c", "echo out; echo err >&2; exit 4"])
    assert (result.exit_status, result.stdout, result.stderr) == (4, b"out\n", b"err\n")
    assert run_briefly(["no-such-program-anywhere"]).trouble is Trouble.NOT_STARTED
    assert len(run_briefly([sys.executable, "-c", "print('x' * 300_000)"], limit=9).stdout) == 9


def test_the_blocking_form_is_bounded_in_time() -> None:
    result = run_briefly(["sh", "-c", "echo $$; exec sleep 600"], timeout=0.3)
    assert result.exit_status is None
    assert result.trouble is Trouble.TIMED_OUT
    assert not alive(int(result.stdout))


def test_importing_and_running_briefly_needs_no_asyncio() -> None:
    code = (
        "import sys; from rowtui.core.clusters.commands import run_briefly; run_briefly(['true']);"
        "sys.exit('asyncio' in sys.modules)"
    )
    assert run_briefly([sys.executable, "-c", code], timeout=30).exit_status == 0
