"""How a job ended, from all evidence, and what that means for each of its directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.polling.poll import Polled
from rowtui.core.clusters.schedulers.base import (
    NO_ID,
    Job,
    JobKey,
    JobState,
    QueueSnapshot,
    called,
    token_in_queue,
)
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy
from rowtui.core.clusters.schedulers.reasons import explain
from rowtui.core.engine.local.group_rows import end_detail
from rowtui.core.state.model import MISSING_PRODUCTS, LastEnd, LastOutcome
from rowtui.core.submission.plan.dependencies import UPSTREAM_FAILED
from rowtui.core.submission.plan.model import JobStep, JournalEntry
from rowtui.core.submission.plan.outcome import (
    CANCELLED,
    LOST,
    NODE_FAILED,
    NOT_BEGUN,
    NOT_REACHED,
    NOT_REPORTED,
    OUT_OF_MEMORY,
    PREEMPTED,
    TIME_LIMIT,
    WITHOUT_A_WORD,
    JobOutcome,
    exit_words,
    killed_by,
    read_end,
    scheduler_cause,
)
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.reconcile.conclude import SeenProducts, conclude
from rowtui.core.submission.reconcile.ending import (
    Evidence,
    OverJob,
    outcome_of,
)
from rowtui.core.submission.sending.fence import Ended
from rowtui.core.submission.sending.job_records import end_of, job_records, named_log, with_queues

from tests.core.submission.conftest import RealProject
from tests.job_records import a_record

NAMES = ["a", "b", "c", "d"]
MISSING = (MISSING_PRODUCTS, LastOutcome.FAILED)


@pytest.fixture
def now(tmp_path: Path) -> RealProject:
    return RealProject(tmp_path / "project", NAMES, BashScheduler())


STATES = {
    "": JobState.COMPLETED,
    TIME_LIMIT: JobState.TIMEOUT,
    CANCELLED: JobState.CANCELLED,
    OUT_OF_MEMORY: JobState.OUT_OF_MEMORY,
}


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
        (
            Ended(0, "exit", "", 0.0, 0),
            "",
            "it ended well, but products are missing in 4 of 4 directories",
            [MISSING] * 4,
        ),
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
    known = Job(7, STATES.get(word, JobState.FAILED))
    evidence = Evidence(began=True, marker=marker, known=known)
    seen = SeenProducts(has_products=True, incomplete=(0, 1, 2, 3))
    ending = conclude(OverJob(job, JobKey(7), evidence), seen, 9.0)
    assert ending.end.sentence == reason
    found = ending.release.ends
    assert [(found[name].reason, found[name].outcome) for name in NAMES] == ends
    assert {(it.cluster, it.job_id, it.token) for it in found.values()} == {
        (job.destination.cluster, 7, job.token)
    }


@pytest.mark.parametrize(
    ("fence_at", "wall", "ended_at"),
    [
        (1005.25, 1.5, 1006.75),
        (1006.75, 0.125, 1006.875),
        (1006.75, 0.26, 1006.999),  # the run time began before the fence was made
        (1005.25, 0.5, 1006.0),
        (0.0, 0.5, 1006.0),  # no fence is known
        (1006.75, None, 1006.75),
    ],
)
def test_a_job_ends_within_the_second_of_its_report_and_not_before_it_began(
    now: RealProject, fence_at: float, wall: float | None, ended_at: float
) -> None:
    (job,) = now.plan(size=4).jobs
    measured = None if wall is None else Measured(MeasuredBy.SCRIPT, wall)
    marker = Ended(0, "exit", "local:7", 1006.0, 0, None, measured)
    over = OverJob(job, JobKey(7), Evidence(began=True, marker=marker), fence_at)
    assert conclude(
        over, SeenProducts(has_products=False, incomplete=()), 2000.0
    ).end.ended_at == pytest.approx(ended_at, abs=1e-6)


MARKERS = (
    None,
    *(
        Ended(code, "exit", "", 5.0, command)
        for code, command in ((0, 0), (1, 3), (1, 137), (1, None), (3, 0), (4, None))
    ),
    Ended(2, "exit", "", 5.0, 3, 0),
    *(
        Ended(143, cause, "", 5.0, 143, 0)
        for cause in (TIME_LIMIT, OUT_OF_MEMORY, CANCELLED, "signal TERM", "unfinished")
    ),
)
KNOWN = (
    None,
    *(Job(7, state) for state in JobState),
    Job(7, JobState.FAILED, exit_code=3),
    Job(7, JobState.FAILED, exit_signal=9),
)
evidences = st.builds(
    Evidence,
    size=st.just(2),
    has_products=st.booleans(),
    incomplete=st.sampled_from([(), (0,), (0, 1)]),
    member=st.booleans(),
    waited=st.booleans(),
    step=st.sampled_from([JobStep.ACCEPTED, JobStep.ABANDONED, JobStep.REJECTED]),
    note=st.sampled_from(["", "why"]),
    reached=st.booleans(),
    job_id=st.sampled_from([0, 7]),
    began=st.booleans(),
    marker=st.sampled_from(MARKERS),
    known=st.sampled_from(KNOWN),
    log_word=st.sampled_from(["", TIME_LIMIT, OUT_OF_MEMORY, NODE_FAILED, PREEMPTED, CANCELLED]),
    cancel_asked=st.booleans(),
    upstream_failed=st.booleans(),
)


@given(evidences)
def test_every_job_that_is_over_has_one_outcome(it: Evidence) -> None:
    it = it._replace(began=it.began or it.marker is not None)
    end = outcome_of(it)
    assert end == outcome_of(it)
    outcome = end.outcome
    assert [outcome.good, outcome.failed, outcome.by_hand, outcome.not_run].count(True) == 1
    # what has no reason did its work, and only that
    assert (
        outcome.good == (not end.sentence and it.step is not JobStep.REJECTED)
        or end.sentence == it.note
    )
    assert outcome.state in (
        {JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED, JobState.NOT_REACHED}
        | {JobState.REFUSED, JobState.NEVER_SENT}
    )
    # products decide: all are there, whatever else is reported
    if it.began and it.has_products:
        assert outcome.good == (not it.incomplete)
    if not it.began:
        assert not outcome.good
    if it.cancel_asked and not it.began and it.step is not JobStep.REJECTED:
        assert outcome is JobOutcome.CANCELLED
    # and what is journalled is read again
    assert read_end(json.loads(json.dumps(end.to_json())), end.exit_code, end.sentence) == end


def test_each_outcome_has_evidence_that_leads_to_it() -> None:
    given_up = ((JobStep.ABANDONED, "why", True), (JobStep.REJECTED, "no", False))
    found = {
        outcome_of(
            Evidence(
                2,
                True,
                incomplete,
                False,
                False,
                step,
                note,
                reached,
                7 * began,
                began,
                marker,
                known,
            )
        ).outcome
        for incomplete in ((), (0, 1))
        for step, note, reached in (
            (JobStep.ACCEPTED, "", True),
            (JobStep.REJECTED, "no", True),
            *given_up,
        )
        for began, marker in ((False, None), *((True, each) for each in MARKERS))
        for known in KNOWN
    }
    assert found == set(JobOutcome)


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        # a full disk at the end: the products are there, and the report is not
        (Evidence(began=True, marker=Ended(3, "exit", "", 1.0, 0)), JobOutcome.COMPLETED),
        (
            Evidence(began=True, marker=Ended(3, "exit", "", 1.0, 0), incomplete=(0,)),
            JobOutcome.NOT_REPORTED,
        ),
        (
            Evidence(began=True, known=Job(1, JobState.COMPLETED, exit_code=0), incomplete=(0,)),
            JobOutcome.NO_PRODUCT,
        ),
        # preempted, and an untrapped signal that bash ended with exit code 0
        (
            Evidence(began=True, known=Job(1, JobState.PREEMPTED), incomplete=(0,)),
            JobOutcome.PREEMPTED,
        ),
        (
            Evidence(began=True, marker=Ended(255, "unfinished", "", 1.0), incomplete=(0,)),
            JobOutcome.SIGNAL,
        ),
        # a cancelled job that the scheduler forgot was not lost
        (Evidence(job_id=7, cancel_asked=True), JobOutcome.CANCELLED),
        (Evidence(job_id=7), JobOutcome.LOST),
        # Slurm could not open the log
        (Evidence(job_id=7, known=Job(7, JobState.FAILED, exit_signal=53)), JobOutcome.NOT_STARTED),
        # it ended by itself before it could be cancelled
        (
            Evidence(
                began=True,
                marker=Ended(1, "exit", "", 1.0, 3),
                known=Job(1, JobState.CANCELLED),
                incomplete=(0,),
            ),
            JobOutcome.EXIT,
        ),
    ],
)
def test_the_strongest_evidence_decides(evidence: Evidence, outcome: JobOutcome) -> None:
    assert outcome_of(evidence).outcome is outcome


@pytest.mark.parametrize(
    ("evidence", "looked_at"),
    [
        (Evidence(3, began=True, marker=Ended(3, "exit", "", 1.0, 0)), [0, 1, 2]),
        (Evidence(3, began=True, marker=Ended(2, "exit", "", 1.0, 3, 1)), [0, 1]),
        (Evidence(3, began=True, marker=Ended(2, "exit", "", 1.0, 139, 1)), [0]),
        (Evidence(3, began=True, marker=Ended(138, "time limit", "", 1.0, 143, 1)), [0]),
        (Evidence(3, began=True, marker=Ended(1, "exit", "", 1.0)), []),
        (Evidence(3, began=True, marker=Ended(4, "exit", "", 1.0)), []),
        (
            Evidence(3, member=True, began=True, known=Job(1, JobState.COMPLETED, exit_code=0)),
            [],
        ),
        (Evidence(3, began=True, marker=Ended(138, "time limit", "", 1.0, 143)), []),
        (Evidence(3, began=True, known=Job(1, JobState.NODE_FAIL)), []),
        (Evidence(3, began=True), []),
        (Evidence(3, began=True, known=Job(1, JobState.FAILED)), []),
        (Evidence(3, began=True, known=Job(1, JobState.FAILED, exit_code=137)), []),
        (Evidence(3, began=True, known=Job(1, JobState.FAILED, exit_code=3)), [0, 1, 2]),
        (Evidence(3, began=True, known=Job(1, JobState.COMPLETED, exit_code=0)), [0, 1, 2]),
        (Evidence(3, known=Job(1, JobState.COMPLETED, exit_code=0)), []),
    ],
)
def test_products_are_looked_at_where_no_job_was_stopped(
    evidence: Evidence, looked_at: list[int]
) -> None:
    assert evidence.looked_at == looked_at


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
    by_scheduler = outcome_of(
        Evidence(began=True, known=Job(1, JobState.FAILED, exit_code=code), incomplete=(0,))
    )
    by_script = outcome_of(
        Evidence(began=True, marker=Ended(2, "exit", "", 0.0, code, 0), incomplete=(0,))
    )
    assert by_scheduler.cause == by_script.cause == words
    # the code is the command's own, or the signal is named: never both
    assert by_scheduler.exit_code == by_script.exit_code == (None if "signal" in words else code)
    assert bool(by_script.signal) == ("signal" in words)


@pytest.mark.parametrize("number", [53, 125])
def test_an_error_of_slurm_itself_is_no_signal(number: int) -> None:
    known = Job(7, JobState.FAILED, exit_signal=number)

    end = outcome_of(Evidence(job_id=7, known=known, log="/nowhere/%j.out"))
    told = explain(known, 0.0).sentence

    assert "signal" not in scheduler_cause(known) + end.cause + told
    assert "SIG" not in told
    if number == 53:
        assert end.cause == "it did not start: its log could not be opened: /nowhere/%j.out"


def test_a_log_is_named_as_the_script_names_it(now: RealProject) -> None:
    job = now.plan("n").jobs[0]
    job = job._replace(log_path="one-%j.out", script="#!/bin/sh\n#SBATCH --output=one-%j.out\n")
    moved = job._replace(script=f"{job.script}#SBATCH -o '/nowhere/%j out'\ntrue\n")

    assert named_log(job) == "one-%j.out"
    assert named_log(moved) == "/nowhere/%j out"


def test_a_signal_is_named_as_the_scheduler_saw_it() -> None:
    for number, name in ((9, "KILL"), (99, "99")):
        job = Job(1, JobState.FAILED, exit_signal=number)
        end = outcome_of(Evidence(began=True, known=job, incomplete=(0,)))
        assert (end.cause, end.signal) == (f"killed (signal {name})", name)


ENDED_TEXT = {step: "- " if step is JobStep.ENDED else "" for step in JobStep}


def record(step: JobStep, reason: str = "", *, job_id: int = 7, token: str = "t") -> JobRecord:
    entry = JournalEntry(token, "p", step, 1.0, job_id, ENDED_TEXT[step] + reason)
    end = end_of(entry, job_id)
    return a_record(token, cluster="alpha", step=step, job_id=job_id, end=end)


def seen_as(record: JobRecord, state: JobState | None) -> JobState:
    """The state of a record whose queue shows its job in this state, or not at all."""
    token = token_in_queue(record.token)
    jobs = () if state is None else (Job(record.job_id, state, token=token),)
    polled = Polled("alpha", QueueSnapshot("alpha", 2.0, jobs), as_of=2.0)
    return next(iter(with_queues([record], {"alpha": polled}, 3.0))).state


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
    assert seen_as(record(step, reason), seen).value == word


def test_a_job_that_no_scheduler_had_was_never_sent() -> None:
    it = record(JobStep.ABANDONED, "a job that it depends on was not sent", job_id=0)
    assert it.state is JobState.NEVER_SENT


def test_a_request_is_pending_until_its_turn_in_a_running_bundle() -> None:
    it = record(JobStep.ACCEPTED, token="t~3")
    assert it.member == 3
    assert seen_as(it, JobState.RUNNING) is JobState.PENDING


@pytest.mark.parametrize("token", ["t", "t.3", "t~2"])
def test_a_job_without_an_id_is_never_job_0(token: str) -> None:
    without = record(JobStep.ABANDONED, job_id=0, token=token)
    assert (without.label, called(without.label)) == (NO_ID, "job without an id")
    assert end_detail(LastEnd("alpha", 0, token, "not sent")) == "not sent"
    assert called(record(JobStep.ENDED, token="t~2").label) == "job 7.2"
    assert end_detail(LastEnd("alpha", 7, "t~2", "exit code 2")) == "exit code 2 (job 7.2)"


@pytest.mark.parametrize(
    ("reason", "died"),
    [
        (TIME_LIMIT, True),
        (OUT_OF_MEMORY, True),
        (NODE_FAILED, True),
        (CANCELLED, True),
        (WITHOUT_A_WORD, True),
        ("preempted", True),
        (exit_words(137), True),
        (killed_by("TERM"), True),
        (exit_words(3), False),
        (NOT_REPORTED, False),
        (MISSING_PRODUCTS, False),
        (LOST, False),
        (f"{NOT_BEGUN}: {CANCELLED}", False),
    ],
)
def test_a_job_that_was_stopped_may_have_left_half_written_products(
    reason: str, died: bool
) -> None:
    assert LastEnd("c", 1, "t", reason).died is died
    after = LastEnd("c", 1, "t", f"{NOT_REACHED}{reason}", LastOutcome.NOT_REACHED)
    assert not after.died
