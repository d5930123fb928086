"""What slurmstepd wrote into a job's log about the job's end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.core.submission.reconcile.slurm_log import ended_by_slurm

TIME = (
    b"slurmstepd-n1: error: *** JOB 3 ON n1 CANCELLED AT 2026-11-23T23:31:42 DUE TO TIME LIMIT ***"
)
OOM = (
    b"slurmstepd: error: Detected 1 oom_kill event in StepId=3.batch. Some of the step tasks have "
    b"been OOM Killed."
)
OLD_OOM = (
    b"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=3.batch cgroup. Some of your "
    b"processes may have been killed by the cgroup out-of-memory handler."
)


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (TIME, "time limit"),
        (b"work\n" + TIME + b"\n", "time limit"),
        (OOM, "out of memory"),
        (OLD_OOM, "out of memory"),
        (TIME + b"\n" + OOM, "out of memory"),
        (b"slurmstepd: error: Exceeded job memory limit", "out of memory"),
        (b"slurmstepd: error: *** JOB 3 ON n1 CANCELLED AT 2026-11-23T23:31:42 ***", "cancelled"),
        (TIME.replace(b"TIME LIMIT", b"PREEMPTION"), "preempted"),
        (TIME.replace(b"TIME LIMIT", b"NODE FAILURE, SEE SLURMCTLD"), "the node failed"),
        (TIME.replace(b"JOB 3", b"JOB 33"), ""),
        (OOM.replace(b"=3.", b"=4."), ""),
        (b"my program: " + TIME, ""),
        (b"error: *** JOB 3 ON n1 CANCELLED AT 2026-11-23T23:31:42 ***", ""),
        (b"", ""),
    ],
)
def test_only_lines_of_slurm_about_this_job_count(tail: bytes, reason: str) -> None:
    assert ended_by_slurm(tail, 3) == reason


def test_a_task_is_known_to_slurm_by_another_id() -> None:
    assert ended_by_slurm(TIME, None) == "time limit"


@given(
    some.binary(max_size=200)
    | some.lists(some.sampled_from([TIME, OOM, b"\n", b"x"])).map(b"".join)
)
def test_any_log_can_be_read(tail: bytes) -> None:
    assert ended_by_slurm(tail, 3) in (
        "",
        "time limit",
        "out of memory",
        "cancelled",
        "the node failed",
    )
