"""Slurm's answers read back: recorded ones, and those with hostile text in every free field."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.commands import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobState,
    OutcomeUnknown,
    Rejected,
    Unreachable,
)
from rowtui.core.clusters.schedulers.slurm_parse import (
    AccountForm,
    QueueForm,
    UnreadableError,
    job_state,
    read_answers,
    read_exit_statuses,
    read_submission,
    seconds_of,
)

SAMPLES = Path(__file__).with_name("samples")


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


def line(form: QueueForm, fields: str, comment: str = "(null)", name: str = "x") -> bytes:
    """One record as squeue prints the form's format."""
    text = form.option.replace("%A|%T|%M|%l|%S|%P|%N|%r", fields)
    return (text.replace("%k", comment).replace("%j", name) + "\n").encode(
        "utf-8", "surrogateescape"
    )


def test_a_record_of_the_queue_becomes_a_job() -> None:
    form = QueueForm.new()
    running = line(form, "3|RUNNING|1:05|10:00|1795258775|cpu|n1|None", "rowtui:tok-1", "fit")
    waiting = line(
        form, "4|PENDING|0:00|UNLIMITED|1795258999|cpu||ReqNodeNotAvail, Reserved for x", "theirs"
    )
    never = line(form, "5|PENDING|0:00|10:00|N/A|cpu||Dependency")
    assert form.read(running + waiting + never) == [
        Job(3, JobState.RUNNING, "fit", "tok-1", "", "cpu", 65, 600, "n1"),
        Job(
            id=4,
            state=JobState.PENDING,
            name="x",
            reason="ReqNodeNotAvail, Reserved for x",
            partition="cpu",
            elapsed=0,
            start_estimate=1795258999,
        ),
        Job(5, JobState.PENDING, "x", "", "Dependency", "cpu", 0, 600),
    ]


free_text = st.text(st.characters(blacklist_categories=()), max_size=30).map(
    lambda text: text.encode("utf-8", "replace").decode() + "|\n7|RUNNING"
)


@given(st.lists(st.tuples(st.integers(1, 10**8), free_text, free_text), max_size=5))
def test_whatever_stands_in_names_and_comments_no_job_is_lost_or_forged(
    jobs: list[tuple[int, str, str]],
) -> None:
    form = QueueForm.new()
    data = b"".join(
        line(form, f"{number}|RUNNING|0:01|1:00|N/A|cpu|n1|None", comment, name)
        for number, comment, name in jobs
    )
    assert [(job.id, job.name) for job in form.read(data)] == [
        (number, name) for number, _, name in jobs
    ]


@pytest.mark.parametrize("spoil", [b"a greeting\n%s", b"%s and {mark}>cut", b"{mark}>1|RUNNING"])
def test_an_answer_in_another_form_is_refused_not_guessed(spoil: bytes) -> None:
    form = QueueForm.new()
    good = line(form, "3|RUNNING|1:05|10:00|N/A|cpu|n1|None")
    data = spoil.replace(b"%s", good).replace(b"{mark}", form.mark.encode())
    with pytest.raises(UnreadableError):
        form.read(data)


def test_ten_thousand_jobs_are_read_in_order() -> None:
    form = QueueForm.new()
    data = b"".join(
        line(form, f"{number}|PENDING|0:00|1:00:00|N/A|cpu||Priority", f"rowtui:t{number}")
        for number in range(1, 10_301)
    )
    started = time.process_time()
    jobs = form.read(data)
    print(f"10,300 jobs read in {time.process_time() - started:.3f} s CPU")
    assert [job.token for job in jobs] == [f"t{number}" for number in range(1, 10_301)]


def test_raw_wait_statuses_become_exit_codes_and_signals() -> None:
    table = b"1                   768                 \n2 9\n3 139\n4 0\n5_[1-3] 0\n\nnoise\n"
    assert read_exit_statuses(table) == {1: (3, None), 2: (None, 9), 3: (None, 11), 4: (0, None)}


def recorded_accounts(form: AccountForm) -> bytes:
    _, *rows = (SAMPLES / "sacct.txt").read_text().splitlines()
    return "".join(row.replace("|", form.mark) + "\n" for row in rows).encode()


def test_recorded_accounts_become_jobs() -> None:
    form = AccountForm.new()
    jobs = {job.id: job for job in form.read(recorded_accounts(form))}
    assert len(jobs) == 14
    assert (jobs[1].state, jobs[1].exit_code, jobs[1].limit) == (JobState.COMPLETED, 0, 600)
    assert (jobs[3].state, jobs[3].exit_code) == (JobState.FAILED, 4)
    assert (jobs[6].exit_code, jobs[6].exit_signal) == (None, 9)
    assert jobs[5].state is JobState.CANCELLED
    assert (jobs[7].partition, jobs[7].nodes, jobs[7].elapsed) == ("gpu", "g1", 2)


@pytest.mark.parametrize(
    ("comment", "submit_line"),
    [("rowtui:tok-9", ""), ("", "sbatch --parsable --comment=rowtui:tok-9 --dependency=x")],
)
def test_a_token_is_read_from_the_comment_or_the_submit_line(
    comment: str, submit_line: str
) -> None:
    form = AccountForm.new()
    fields = [comment, submit_line, "a\n1|b", "None", "RUNNING", "0:0", "5", "10", "cpu", "n1"]
    record = form.mark.join([*fields, "9"]) + "\n"
    jobs = form.read((record * 3).encode())
    assert [job.token for job in jobs] == ["tok-9"] * 3
    assert jobs[0] == Job(9, JobState.RUNNING, "a\n1|b", "tok-9", "", "cpu", 5, 600, "n1")


def test_accounts_without_jobs_and_accounts_that_can_not_be_read_differ() -> None:
    form = AccountForm.new()
    assert form.read(b"") == []
    with pytest.raises(UnreadableError):
        form.read(b"sacct: something else\n")
    with pytest.raises(UnreadableError):
        form.read(recorded_accounts(form)[:-20])


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
