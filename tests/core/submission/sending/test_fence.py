"""Fences, and what jobs write down at their end."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.submission.plan.outcome import JobOutcome, read_old_end
from rowtui.core.submission.sending.fence import (
    Ended,
    abandon,
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
    ("reason", "end"),
    [
        ("", (JobOutcome.COMPLETED, 0, "")),
        ("exit code 3", (JobOutcome.EXIT, 3, "")),
        ("exit code 3 in directory d7", (JobOutcome.EXIT, 3, "")),
        ("killed (signal KILL) in directory d7", (JobOutcome.SIGNAL, None, "KILL")),
        ("killed (signal KILL, exit code 137) in directory d7", (JobOutcome.SIGNAL, None, "KILL")),
        (
            "exit code 3: the completed directories could not be reported",
            (JobOutcome.NOT_REPORTED, 0, ""),
        ),
        ("exit code 1: the setup failed", (JobOutcome.SETUP_FAILED, 0, "")),
        ("time limit", (JobOutcome.TIME_LIMIT, None, "")),
        ("cancelled", (JobOutcome.CANCELLED, None, "")),
        ("not begun: its bundle ended (cancelled)", (JobOutcome.CANCELLED, None, "")),
        ("not reached: exit code 3 in directory d7", (JobOutcome.NOT_REACHED, None, "")),
        ("no words that any version wrote", (JobOutcome.NO_REPORT, None, "")),
    ],
)
def test_the_end_that_an_older_version_stored_as_text_is_read(
    reason: str, end: tuple[JobOutcome, int | None, str]
) -> None:
    found = read_old_end(0, reason)
    assert (found.outcome, found.exit_code, found.signal) == end
    assert found.sentence == reason


def test_the_id_is_read_from_the_fence() -> None:
    assert [job_key_of(text).id for text in ("slurm:12", "local:3", "bash:h:1.2", "abandoned")] == [
        12,
        3,
        0,
        0,
    ]
