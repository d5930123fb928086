"""What a job's end means for each directory: failed, not reached, cancelled, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.engine.local.group_rows import end_detail
from rowtui.core.state.model import MISSING_PRODUCTS, LastEnd, LastOutcome
from rowtui.core.submission.plan.dependencies import UPSTREAM_FAILED
from rowtui.core.submission.plan.model import NO_ID, JobRecord, JobStep, called
from rowtui.core.submission.reconcile.ending import (
    CANCELLED,
    OUT_OF_MEMORY,
    TIME_LIMIT,
    ending_of,
    scheduler_word,
    state_of,
)
from rowtui.core.submission.sending.fence import Ended, exit_words, without_directory
from rowtui.core.submission.sending.journal import job_records

from tests.core.submission.conftest import RealProject

NAMES = ["a", "b", "c", "d"]
MISSING = (MISSING_PRODUCTS, LastOutcome.FAILED)


@pytest.fixture
def now(tmp_path: Path) -> RealProject:
    return RealProject(tmp_path / "project", NAMES, BashScheduler())


@pytest.mark.parametrize(
    ("marker", "word", "reason", "ends"),
    [
        # one command failed, or was killed, in the second of four directories
        (
            Ended(2, "exit", "", 0.0, 3, 1),
            "exit code 2",
            "exit code 3 in directory b",
            [
                MISSING,
                ("exit code 3", LastOutcome.FAILED),
                *[("not reached: exit code 3 in directory b", LastOutcome.NOT_REACHED)] * 2,
            ],
        ),
        (
            Ended(2, "exit", "", 0.0, 137, 3),
            "exit code 2",
            "killed (signal KILL) in directory d",
            [*[MISSING] * 3, ("killed (signal KILL)", LastOutcome.FAILED)],
        ),
        # the scheduler stopped it in the second one
        (
            Ended(138, "time limit", "", 0.0, 143, 1),
            TIME_LIMIT,
            TIME_LIMIT,
            [
                MISSING,
                (TIME_LIMIT, LastOutcome.FAILED),
                *[(f"not reached: {TIME_LIMIT}", LastOutcome.NOT_REACHED)] * 2,
            ],
        ),
        # the user cancelled it: neither what ran nor what was to follow failed
        (
            Ended(143, "signal TERM", "", 0.0, 143, 1),
            CANCELLED,
            CANCELLED,
            [MISSING, *[(CANCELLED, LastOutcome.CANCELLED)] * 3],
        ),
        (None, CANCELLED, CANCELLED, [(CANCELLED, LastOutcome.CANCELLED)] * 4),
        # where it stood is not known
        (None, OUT_OF_MEMORY, OUT_OF_MEMORY, [(OUT_OF_MEMORY, LastOutcome.FAILED)] * 4),
        (
            Ended(1, "exit", "", 0.0, 3),
            "exit code 1",
            "exit code 3",
            [("exit code 3", LastOutcome.FAILED)] * 4,
        ),
        # it ended well: products may be missing, which says something only where there are some
        (Ended(0, "exit", "", 0.0, 0), "", "", [MISSING] * 4),
        # no directory of the job has that number
        (
            Ended(2, "exit", "", 0.0, 3, 9),
            "exit code 2",
            "exit code 3",
            [("exit code 3", LastOutcome.FAILED)] * 4,
        ),
    ],
)
def test_each_directory_has_the_end_that_there_is_evidence_for(
    now: RealProject,
    marker: Ended | None,
    word: str,
    reason: str,
    ends: list[tuple[str, LastOutcome]],
) -> None:
    (job,) = now.plan(size=4).jobs
    ending = ending_of(job, marker, 0, word, 7)
    assert ending.reason == reason
    found = ending.release.ends
    assert [(found[name].reason, found[name].outcome) for name in NAMES] == ends
    assert {(it.cluster, it.job_id, it.token) for it in found.values()} == {
        (job.destination.cluster, 7, job.token)
    }


@pytest.mark.parametrize("size", [1, 4])
async def test_what_ended_well_without_products_to_look_for_has_not_failed(
    now: RealProject, size: int
) -> None:
    # given an action without products, one of whose directories failed at its last job
    now.action = now.action._replace(products=(), command="[ ! -e workspace/{directory}/bad ]")
    (now.root / "workspace/a/bad").touch()
    now.synchronise()
    await now.submit(now.plan())
    assert {it.reason for it in now.state.ends["one"].values()} == {"exit code 1"}
    # when all jobs end with exit code 0
    (now.root / "workspace/a/bad").unlink()
    plan = now.plan(size=size)
    await now.submit(plan)
    # then no directory failed, none is complete, and nothing of the older failure is left
    assert {it.exit_code for it in job_records(plan, now.journal.entries(plan.id))} == {0}
    assert (now.state.ends, now.state.submitted, now.state.completed["one"]) == ({}, {}, 0)
    # and without products that failure is only where the command failed
    (now.root / "workspace/c/bad").touch()
    await now.submit(now.plan(size=4))
    ends = {now.state.directories.name(at): it for at, it in now.state.ends["one"].items()}
    assert {name: it.outcome for name, it in ends.items()} == {
        "c": LastOutcome.FAILED,
        "d": LastOutcome.NOT_REACHED,
    }


async def test_products_that_are_missing_are_a_failure_until_the_action_has_none(
    now: RealProject,
) -> None:
    await now.with_command("true # {directory}").submit(now.plan())
    assert [it.reason for it in now.state.ends["one"].values()] == [MISSING_PRODUCTS] * 4
    # as in records of an older version, which wrote the same for actions without products
    now.action = now.action._replace(products=())
    now.synchronise()
    assert now.state.ends == {}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "exit code 1"),
        (130, "killed (signal INT)"),
        (137, "killed (signal KILL)"),
        (128, "exit code 128"),
        (255, "exit code 255"),
    ],
)
def test_an_exit_code_names_the_signal_that_it_stands_for(code: int, words: str) -> None:
    assert exit_words(code) == words
    job = Job(1, JobState.FAILED, exit_code=code)
    assert scheduler_word(job) == (code, words)
    assert without_directory(Ended(2, "exit", "", 0.0, code, 0).reason("x in directory y")) == words


def test_a_signal_is_named_as_the_scheduler_saw_it() -> None:
    assert scheduler_word(Job(1, JobState.FAILED, exit_signal=9))[1] == "killed (signal KILL)"
    assert scheduler_word(Job(1, JobState.FAILED, exit_signal=99))[1] == "killed (signal 99)"


def record(step: JobStep, reason: str = "", *, job_id: int = 7, token: str = "t") -> JobRecord:
    return JobRecord(
        token=token,
        plan_id="p",
        cluster="alpha",
        partition="",
        action="one",
        directories=("a",),
        name="one-a",
        step=step,
        job_id=job_id,
        submitted_at=1.0,
        log_path="log",
        end_reason=reason,
    )


@pytest.mark.parametrize(
    ("step", "reason", "seen", "word"),
    [
        (JobStep.PLANNED, "", None, "reserved"),
        (JobStep.ACCEPTED, "", JobState.HELD, "held"),
        (JobStep.ACCEPTED, "", JobState.RUNNING, "running"),
        (JobStep.ACCEPTED, "", JobState.TIMEOUT, "failed"),
        (JobStep.ACCEPTED, "", None, "unknown"),
        (JobStep.ENDED, "", JobState.FAILED, "completed"),
        (JobStep.ENDED, "exit code 3 in directory a", None, "failed"),
        (JobStep.ENDED, "time limit", JobState.TIMEOUT, "failed"),
        (JobStep.ENDED, "out of memory", None, "failed"),
        (JobStep.ENDED, "lost", None, "failed"),
        (JobStep.ENDED, "cancelled", JobState.RUNNING, "cancelled"),
        (JobStep.REJECTED, "no such partition", None, "refused"),
        (JobStep.REJECTED, "not sent: connection refused", None, "never sent"),
        (JobStep.ABANDONED, UPSTREAM_FAILED, None, "not reached"),
        (JobStep.ABANDONED, "not begun: its bundle ended (time limit)", None, "not reached"),
        (JobStep.ABANDONED, "not begun: its bundle ended (cancelled)", None, "cancelled"),
        (JobStep.ABANDONED, "taken out of its bundle before it began", None, "cancelled"),
    ],
)  # fmt: skip
def test_a_job_has_one_word_for_its_state(
    step: JobStep, reason: str, seen: JobState | None, word: str
) -> None:
    assert state_of(record(step, reason), seen).value == word


def test_a_job_that_no_scheduler_had_was_never_sent() -> None:
    it = record(JobStep.ABANDONED, "a job that it depends on was not sent", job_id=0)
    assert state_of(it) is JobState.NEVER_SENT


def test_a_request_is_pending_until_its_turn_in_a_running_bundle() -> None:
    it = record(JobStep.ACCEPTED, token="t~3")
    assert it.member == 3
    assert state_of(it, JobState.RUNNING) is JobState.PENDING


@pytest.mark.parametrize("token", ["t", "t.3", "t~2"])
def test_a_job_without_an_id_is_never_job_0(token: str) -> None:
    without = record(JobStep.ABANDONED, job_id=0, token=token)
    assert (without.label, called(without.label)) == (NO_ID, "job without an id")
    assert end_detail(LastEnd("alpha", 0, token, "not sent")) == "not sent"
    assert called(record(JobStep.ENDED, token="t~2").label) == "job 7.2"
    assert end_detail(LastEnd("alpha", 7, "t~2", "exit code 2")) == "exit code 2 (job 7.2)"
