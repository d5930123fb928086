"""Slurm's words for times and states."""

from __future__ import annotations

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.slurm.parse import job_state, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:00", 0),
        ("9:58", 598),
        ("1:02:03", 3723),
        ("2-00:00:01", 172801),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("N/A", None),
        ("", None),
    ],
)
def test_durations(text: str, seconds: int | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("word", "reason", "state"),
    [
        ("PENDING", "JobHeldUser", JobState.HELD),
        ("PENDING", "JobHeldAdmin", JobState.HELD),
        ("PENDING", "JobHoldMaxRequeue", JobState.HELD),
        ("PENDING", "launch failed requeued held", JobState.HELD),
        ("PENDING", "launch failure limit exceeded requeued held", JobState.HELD),
        ("PENDING", "job requeued in held state", JobState.HELD),
        ("PENDING", "ReqNodeNotAvail, UnavailableNodes:n2", JobState.PENDING),
        ("CANCELLED by 1000", "", JobState.CANCELLED),
        ("CANCELLED+", "", JobState.CANCELLED),
        ("OUT_OF_MEMORY", "OutOfMemory", JobState.OUT_OF_MEMORY),
        ("BOOT_FAIL", "", JobState.NODE_FAIL),
        ("INVENTED_LATER", "", JobState.UNKNOWN),
    ],
)
def test_states(word: str, reason: str, state: JobState) -> None:
    assert job_state(word, reason) is state
