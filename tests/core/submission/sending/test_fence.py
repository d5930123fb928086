"""Fences, and what jobs write down at their end."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.submission.sending.fence import (
    Ended,
    abandon,
    command_end,
    ended_path,
    fence_path,
    job_key_of,
    read_ended,
    read_fence,
)


def test_whoever_makes_the_fence_first_wins(tmp_path: Path) -> None:
    assert read_fence(tmp_path, "t") == ""
    assert abandon(tmp_path, "t") == ""
    assert abandon(tmp_path, "t") == ""
    assert read_fence(tmp_path, "t") == "abandoned"
    fence_path(tmp_path, "u").symlink_to("slurm:12")
    assert abandon(tmp_path, "u") == "slurm:12"


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("0\nexit\nslurm:7\n5\n0\n\n", Ended(0, "exit", "slurm:7", 5.0, 0, None)),
        ("2\nexit\nlocal:7\n5\n9\n3\n", Ended(2, "exit", "local:7", 5.0, 9, 3)),
        ("2\nexit\nlocal:7\n5\n", None),
        ("x\nexit\nlocal:7\n5\n\n\n", None),
        ("", None),
    ],
)
def test_an_end_is_read_as_a_whole_or_not_at_all(
    tmp_path: Path, text: str, ended: Ended | None
) -> None:
    path = ended_path(tmp_path, "t")
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert read_ended(tmp_path, "t") == ended
    assert read_ended(tmp_path, "other") is None


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (Ended(0, "exit", "", 0.0, 0), ""),
        (Ended(1, "exit", "", 0.0), "exit code 1: the setup failed"),
        (Ended(1, "exit", "", 0.0, 4), "exit code 4"),
        (Ended(2, "exit", "", 0.0, 3, 7), "exit code 3 in directory d\\n7"),
        (
            Ended(2, "exit", "", 0.0, 137, 7),
            "killed (signal KILL) in directory d\\n7",
        ),
        (Ended(2, "exit", "", 0.0, 255, 7), "exit code 255 in directory d\\n7"),
        (
            Ended(3, "exit", "", 0.0, 0),
            "exit code 3: the completed directories could not be reported",
        ),
        (Ended(138, "time limit", "", 0.0), "time limit"),
        (Ended(143, "signal TERM", "", 0.0), "killed (signal TERM)"),
    ],
)
def test_an_end_has_a_reason_for_people(ended: Ended, reason: str) -> None:
    assert ended.reason("" if ended.index is None else "d\n7") == reason


@pytest.mark.parametrize(
    ("reason", "end"),
    [
        ("", (0, None)),
        ("exit code 3", (3, None)),
        ("exit code 3 in directory d7", (3, None)),
        ("not reached: exit code 3 in directory d7", (3, None)),
        ("killed (signal KILL) in directory d7", (None, "KILL")),
        ("killed (signal KILL, exit code 137) in directory d7", (None, "KILL")),
        ("exit code 3: the completed directories could not be reported", (None, None)),
        ("exit code 1: the setup failed", (None, None)),
        ("time limit", (None, None)),
    ],
)
def test_the_end_of_a_command_is_its_own_exit_code_or_a_signal(
    reason: str, end: tuple[int | None, str | None]
) -> None:
    assert command_end(reason) == end


def test_a_job_that_has_not_ended_has_no_exit_code() -> None:
    assert command_end("", ended=False) == (None, None)


def test_the_id_is_read_from_the_fence() -> None:
    assert [job_key_of(text).id for text in ("slurm:12", "local:3", "bash:h:1.2", "abandoned")] == [
        12,
        3,
        0,
        0,
    ]
