"""What sbatch, scancel and scontrol answered, recorded ones among it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    JobKey,
    OutcomeUnknown,
    Rejected,
    Unreachable,
)
from rowtui.core.clusters.schedulers.slurm.commands import read_answers, read_submission

SAMPLES = Path(__file__).parents[1] / "samples"


def ended(status: int, *, stdout: str = "", stderr: str = "") -> CommandResult:
    return CommandResult(("sbatch",), status, stdout.encode(), stderr.encode())


def failures() -> list[tuple[str, CommandResult]]:
    """Every failed sbatch that was recorded: its name, and the result."""
    found = []
    for block in (SAMPLES / "sbatch_failures.txt").read_text().split("== ")[1:]:
        head, _, stderr = block.partition("\n")
        name, status = head.split()
        found.append((name, ended(int(status), stderr=stderr)))
    return found


UNCLEAR = {
    "ctld_dead_sbatch",
    "ctld_stopped_mt3_sbatch",
    "ctld_stopped_sbatch",
    "munge_dead_sbatch",
}


@pytest.mark.parametrize(("name", "result"), failures())
def test_recorded_refusals_are_definite_and_faults_on_the_way_are_not(
    name: str, result: CommandResult
) -> None:
    answer = read_submission(result)
    assert isinstance(answer, OutcomeUnknown if name in UNCLEAR else Rejected)
    assert answer.reason
    assert "sbatch: error" not in answer.reason
    assert "\n" not in answer.reason


def test_options_that_exclude_each_other_were_never_sent() -> None:
    said = "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."

    assert isinstance(read_submission(ended(1, stderr=said)), Rejected)


@pytest.mark.parametrize(
    ("stdout", "job_id"),
    [("3\n", 3), ("17;alpha\n", 17), ("a site's greeting\n42\n", 42), ("42;beta", 42)],
)
def test_an_id_is_read_with_and_without_its_cluster(stdout: str, job_id: int) -> None:
    assert read_submission(ended(0, stdout=stdout)) == Accepted(job_id)


@pytest.mark.parametrize("stdout", ["", "\n", "Submitted batch job 3\n", "0\n", "12 13\n", "3;\n"])
def test_success_without_a_readable_id_is_unknown(stdout: str) -> None:
    assert isinstance(read_submission(ended(0, stdout=stdout)), OutcomeUnknown)


@pytest.mark.parametrize(
    "result",
    [
        ended(255, stderr="kex_exchange_identification: Connection closed by remote host"),
        ended(1, stderr="sbatch: error: Batch job submission failed: Unspecified error"),
        ended(1, stderr="sbatch: error: Batch job submission failed: Zero Bytes were transmitted"),
        ended(-9),
        ended(1),
        CommandResult(("sbatch",), None, trouble=Trouble.TIMED_OUT, seconds=90),
        CommandResult(("sbatch",), None, trouble=Trouble.LOST),
        CommandResult(("sbatch",), None, b"12\n"),
    ],
)
def test_anything_else_leaves_the_outcome_unknown(result: CommandResult) -> None:
    assert isinstance(read_submission(result), OutcomeUnknown)


def test_a_command_that_never_started_is_a_rejection() -> None:
    result = CommandResult(("sbatch",), None, trouble=Trouble.NOT_STARTED, detail="No such file")
    assert read_submission(result) == Rejected("sbatch could not be started: No such file")


def test_a_cluster_that_could_not_be_reached_has_neither_taken_nor_refused_a_job() -> None:
    why = "no connection to alpha: Connection refused"
    result = CommandResult(("sbatch",), None, trouble=Trouble.UNREACHABLE, detail=why)
    assert read_submission(result) == Unreachable(why)


def test_scancel_errors_belong_to_the_jobs_that_they_name() -> None:
    result = CommandResult(
        ("scancel",),
        210,
        stderr=b"scancel: error: Kill job error on job id 14: Access/permission denied\n"
        b"scancel: error: Kill job error on job id 15: Job/step already completing or completed\n",
    )
    assert read_answers(result, [JobKey(13), JobKey(14), JobKey(15)], "cancelled") == {
        JobKey(13): "",
        JobKey(14): "Access/permission denied",
        JobKey(15): "",
    }


def test_a_scancel_that_fails_as_a_whole_concerns_every_job() -> None:
    dead = CommandResult(("scancel",), 8, stderr=b"scancel: error: slurm_kill_job2() failed\n")
    slow = CommandResult(("scancel",), None, trouble=Trouble.TIMED_OUT, seconds=90)
    assert read_answers(dead, [JobKey(1), JobKey(2)], "cancelled") == dict.fromkeys(
        [JobKey(1), JobKey(2)], "scancel: error: slurm_kill_job2() failed"
    )
    assert "may still be cancelled" in read_answers(slow, [JobKey(1)], "cancelled")[JobKey(1)]


def said(words: str, status: int = 1) -> CommandResult:
    return CommandResult(("scontrol",), status, stderr=words.encode())


def test_what_scontrol_says_of_ids_tasks_and_ranges_reaches_those_only() -> None:
    answer = said(
        "Invalid job id specified for job 9\n"
        "Job has already finished for job 4\n"
        "3_0-3: No error\n3_98-99: Invalid job id specified\n3_[5,7]: Access/permission denied\n"
        "slurm_suspend error: No error\n"
    )
    fine = [JobKey(2), JobKey(4), JobKey(3, 0), JobKey(3, 3), JobKey(3, 6)]
    errors = {
        JobKey(9): "Invalid job id specified",
        JobKey(3, 98): "Invalid job id specified",
        JobKey(3, 7): "Access/permission denied",
    }
    jobs = [*fine, *errors]
    assert read_answers(answer, jobs, "released") == dict.fromkeys(fine, "") | errors


def test_a_job_that_is_over_can_not_be_held_but_needs_no_release() -> None:
    answer = said("Job has already finished for job 6\nslurm_suspend error: x\n")
    job = JobKey(6)
    assert read_answers(answer, [job], "released") == {job: ""}
    assert read_answers(answer, [job], "held") == {job: "Job has already finished"}


def test_an_array_is_held_or_released_though_some_of_its_tasks_are_over() -> None:
    array = JobKey(3)
    some = said("3_0: Job has already finished\n3_1-9: No error\n")
    denied = said("3_0: Job has already finished\n3_1-9: Invalid user id\n")
    over = said("3_0-9: Job has already finished\n")
    for done in ("held", "released"):
        assert read_answers(some, [array], done) == {array: ""}
        assert read_answers(denied, [array], done) == {array: "Invalid user id"}
    assert read_answers(over, [array], "released") == {array: ""}
    assert read_answers(over, [array], "held") == {array: "Job has already finished"}


def test_a_frozen_controller_may_still_do_what_it_was_asked() -> None:
    answer = said("Unexpected message received for job 510_0-9\nslurm_suspend error: x\n")
    why = "Unexpected message received (it may still be released)"
    assert read_answers(answer, [JobKey(510, 9)], "released") == {JobKey(510, 9): why}


def test_what_was_said_before_a_time_out_is_no_answer_for_the_others() -> None:
    words = b"scancel: error: Kill job error on job id 14_2: Access/permission denied\n"
    cut = CommandResult(("scancel",), None, b"", words, 90, Trouble.TIMED_OUT)
    errors = read_answers(cut, [JobKey(14, 2), JobKey(15)], "cancelled")
    assert errors[JobKey(14, 2)] == "Access/permission denied"
    assert "may still be cancelled" in errors[JobKey(15)]
