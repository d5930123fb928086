"""The command log: bounded, readable, and without secrets."""

from __future__ import annotations

import asyncio
import pickle
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.command_log import (
    HIDDEN,
    LONGEST_WHAT,
    CommandLog,
    CommandResult,
    Trouble,
    command_text,
    without_secrets,
)
from rowtui.core.clusters.commands import LocalTransport


async def test_what_ran_here_is_written_down_with_its_end_and_its_complaint() -> None:
    log = CommandLog(lambda: 1000.0)
    transport = LocalTransport(log=log)
    await transport.run(["true"], timeout=20)
    await transport.run(["sh", "-c", "echo one >&2; echo two >&2; exit 3"], timeout=20)
    await transport.run(["/nonexistent/squeue"], timeout=20)
    well, ill, never = log.after(0)
    assert (well.what, well.exit_status, well.said, well.where) == ("true", 0, "", "here")
    assert (ill.exit_status, ill.said) == (3, "one")
    assert ill.what == "sh -c 'echo one >&2; echo two >&2; exit 3'"
    assert never.exit_status is None
    assert "could not be started: No such file" in never.said
    assert all(one.at <= 1000.0 and one.seconds >= 0 for one in (well, ill, never))
    assert log.after(2) == (never,)
    assert pickle.loads(pickle.dumps(log.after(0))) == log.after(0)


async def test_a_command_that_nobody_waits_for_is_written_down_as_such() -> None:
    log = CommandLog()
    running = asyncio.create_task(LocalTransport(log=log).run(["sleep", "60"], timeout=90))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [one] = log.after(0)
    assert (one.what, one.exit_status, one.said) == (
        "sleep 60",
        None,
        "the caller was cancelled",
    )


def test_only_the_last_commands_are_kept_and_the_numbers_go_on() -> None:
    log = CommandLog(most=3)
    for number in range(10):
        log.note("anvil", CommandResult(("squeue", str(number)), 0))
    assert [(one.number, one.what) for one in log.after(0)] == [
        (8, "squeue 7"),
        (9, "squeue 8"),
        (10, "squeue 9"),
    ]
    assert log.after(10) == ()


def test_a_lost_connection_says_so() -> None:
    log = CommandLog()
    log.note("anvil", CommandResult(("sbatch",), None, seconds=2.0, trouble=Trouble.LOST))
    [one] = log.after(0)
    assert one.said == "the connection broke while sbatch ran"
    assert not one.ended_well


def test_a_login_that_failed_is_the_end_of_an_ssh() -> None:
    log = CommandLog()
    log.note_login("anvil", "me@anvil", 1.5, "anvil did not accept the login")
    [one] = log.after(0)
    assert (one.what, one.exit_status) == ("ssh me@anvil", 255)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("curl --password=hunter2 x", f"curl --password={HIDDEN} x"),
        ("curl --password 'hunter 2' x", f"curl --password {HIDDEN} x"),
        ("git clone https://me:hunter2@host/x", f"git clone https://{HIDDEN}@host/x"),
        ("Authorization: Bearer hunter2", f"Authorization: Bearer {HIDDEN}"),
        ("API_KEY=hunter2 run", f"API_KEY={HIDDEN} run"),
        ("squeue --me -o '%i %T'", "squeue --me -o '%i %T'"),
        ("sbatch --comment=rowtui:7f3a --job-name=secret-1 x", None),
    ],
)
def test_what_looks_like_a_secret_is_not_shown(text: str, shown: str | None) -> None:
    assert "hunter" not in without_secrets(text)
    assert without_secrets(text) == (text if shown is None else shown)


def test_a_secret_of_this_process_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_SECRET_DATA_TOKEN", "s3cr3t/value")
    log = CommandLog()
    argv = ("curl", "-H", "X-Token: s3cr3t/value", "http://host")
    log.note("here", CommandResult(argv, 1, stderr=b"refused s3cr3t/value\n"))
    [one] = log.after(0)
    assert "s3cr3t" not in one.what + one.said
    assert HIDDEN in one.what


def test_of_a_script_the_first_line_is_shown_and_nothing_steers_the_terminal() -> None:
    assert command_text(["sh", "-c", "\ncd there\nrm -r x\n"]) == "sh -c 'cd there'…"
    assert "\x1b" not in command_text(["echo", "\x1b[2J", "a\udcff"])


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]))))
def test_a_command_as_text_is_bounded_and_reads_back(words: list[str]) -> None:
    text = command_text(words)
    assert len(text) <= LONGEST_WHAT
    if HIDDEN not in text and not text.endswith("…"):
        assert shlex.split(text) == words
