"""rowtui.toml: which failures are retried, how often, and with which change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.project.failed_jobs import FailedAttempt, failed_before
from rowtui.core.project.next_attempt import Amount, AmountChange
from rowtui.core.project.retry_policy import (
    DEFAULT_RULES,
    MOST_WAIT_SECONDS,
    RetryEffect,
    RetryPolicy,
    RetryRule,
    end_of_log,
    load_policy,
)
from rowtui.core.runs.execution.result import continued_jobs
from rowtui.core.submission.plan.basis import PlacementBasis
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.submission.plan.outcome import JobOutcome, JobResult
from rowtui.core.submission.plan.record import JobRecord
from rowtui.core.submission.sending.fence import fence_path
from rowtui.core.workflow.model import Workflow

from tests.job_records import a_record

RETRIED, CONTINUES, USED_UP, NONE = RetryEffect
CAUSES = ("out of memory", "time limit", "the node failed", "lost", "exit code 3", "cancelled")


def load(folder: Path, text: str) -> RetryPolicy:
    (folder / "rowtui.toml").write_text(text)
    return load_policy(folder)


def ended(cause: str, attempt: int = 1) -> JobRecord:
    """A job of one directory that failed at this attempt."""
    end = JobResult(JobOutcome.EXIT, cause, cause)
    token = f"{cause}{attempt}"
    return a_record(
        token, action="a", directories=("d",), step=JobStep.ENDED, job_id=1, at=0.0,
        log_path="a-1.out", end=end, attempt=attempt,
    )  # fmt: skip


def acting(record: JobRecord, **fields: Any) -> JobRecord:
    """The record with other planned fields."""
    assert record.planned is not None
    return record._replace(planned=record.planned._replace(**fields))


def retries(policy: RetryPolicy, action: str, cause: str, attempt: int) -> bool:
    """Whether a job is tried again that always failed for the same cause."""
    before = tuple(acting(ended(cause, it), action=action) for it in range(attempt - 1, 0, -1))
    failure = FailedAttempt(action, cause, attempt, None, before)
    return policy.decide(Workflow(Path()), failure).why == ""


def test_without_a_file_only_lack_of_resources_and_lost_nodes_are_retried(tmp_path: Path) -> None:
    policy = load_policy(tmp_path)
    assert policy.rules == DEFAULT_RULES
    retried = [cause for cause in CAUSES if retries(policy, "any action", cause, 1)]
    assert retried == ["out of memory", "time limit", "the node failed", "lost"]
    assert not any(retries(policy, "any action", cause, 3) for cause in CAUSES)


def test_rules_of_the_file_come_first_and_the_first_that_matches_decides(tmp_path: Path) -> None:
    policy = load(
        tmp_path,
        """
[[retry]]
action = "sim*"
on = ["exit 75", "out of memory"]
attempts = 5
memory = "3x"
wait = "00:05:00"

[[retry]]
on = "any"
attempts = 1
""",
    )
    rule = policy.decide(Workflow(tmp_path), FailedAttempt("simulate", "out of memory")).rule
    assert rule is not None
    assert rule.change == AmountChange(memory=Amount(3.0, times=True))
    assert (rule.attempts, rule.wait_seconds, rule.line) == (5, 300.0, 2)
    assert retries(policy, "simulate", "exit code 75", 4)
    assert not retries(policy, "simulate", "exit code 75", 5)
    assert not retries(policy, "analyze", "out of memory", 1)  # by the second rule
    assert str(rule) == (
        "sim*: exit 75, out of memory: memory 3x, at most 5 attempts, after 00:05:00"
    )


def test_a_signal_is_named_by_its_exit_code(tmp_path: Path) -> None:
    policy = load(tmp_path, '[[retry]]\non = "exit 137"\n')
    assert retries(policy, "a", "killed (signal KILL)", 1)


def test_every_problem_of_the_file_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError) as caught:
        load(
            tmp_path,
            '[[retry]]\nacton = "a"\non = "exitt 75"\nattempts = 0\nmemory = "lots"\n'
            '[[retry]]\nattempts = 2\nwait = "soon"\n',
        )
    places = [(each.line, each.message.split()[0]) for each in caught.value.problems]
    assert [line for line, _ in places] == [2, 3, 4, 5, 6, 8]
    assert "did you mean 'action'?" in str(caught.value)


@given(
    wait=st.floats(0, 1e5, allow_nan=False),
    attempt=st.integers(2, 2000),
)
def test_the_wait_doubles_and_is_bounded(wait: float, attempt: int) -> None:
    rule = RetryRule("*", ("any",), 2000, wait_seconds=wait)
    before, after = rule.wait_before(attempt), rule.wait_before(attempt + 1)
    assert 0 <= before <= after <= MOST_WAIT_SECONDS
    assert after <= max(2 * before, 0.0) or before == MOST_WAIT_SECONDS


def test_a_rule_with_a_pattern_needs_it_in_the_log(tmp_path: Path) -> None:
    policy = load(tmp_path, '[[retry]]\nlog = "CUDA error: (out of memory|lost)"\n')
    assert str(policy.rules[0]).startswith("any with CUDA error: (out of memory|lost) in the log")
    rule = policy.rules[0]
    assert rule.matches("a", "exit code 1", lambda: ["fine", "x CUDA error: lost y"])
    assert not rule.matches("a", "exit code 1", lambda: ["CUDA error: other"])
    assert not retries(policy, "a", "exit code 1", 1)


def test_a_rule_counts_only_the_attempts_for_which_it_decides(tmp_path: Path) -> None:
    policy = load(tmp_path, '[[retry]]\non = "exit 75"\nattempts = 50\nwait = "00:00:10"\n')
    chain = [ended("exit code 75", 2), ended("exit code 75", 1)]
    failure = FailedAttempt("a", "time limit", 3, ended("time limit", 3), tuple(chain))
    decided = policy.decide(Workflow(tmp_path), failure)
    assert (decided.rule, decided.attempt) == (policy.rules[2], 2)  # the first retry for its cause

    again = [ended("time limit", 5), ended("exit code 75", 4), ended("time limit", 3), *chain]
    more = failure._replace(attempt=6, before=tuple(again))
    assert policy.decide(Workflow(tmp_path), more).why == "its rule allows 3 attempts"
    other = policy.decide(Workflow(tmp_path), more._replace(cause="exit code 75"))
    assert (other.attempt, other.wait_seconds) == (5, 80.0)
    assert (
        policy.decide(Workflow(tmp_path), more._replace(cause="exit code 75", attempt=1000)).effect
        is USED_UP
    )


def test_earlier_attempts_are_those_at_the_same_directory() -> None:
    last = ended("exit code 75", 3)
    other = acting(ended("time limit", 2), directories=("e",))
    good = ended("", 2)._replace(end=JobResult(JobOutcome.COMPLETED), token="good")
    older = [ended("exit code 75", 1), ended("time limit", 1)._replace(token="another chain")]
    records = [last, other, good, ended("time limit", 2), *older]
    assert failed_before(records, [last]) == {last.token: (records[3], older[0])}
    assert failed_before(records, [older[0]]) == {}


def test_only_the_end_of_a_log_is_searched(tmp_path: Path) -> None:
    record = a_record(log_path="a-1.out")
    assert end_of_log(tmp_path, record) == []
    (tmp_path / "a-1.out").write_text("early\n" + "x" * 300_000 + "\n" + "line\n" * 1500 + "last")
    lines = end_of_log(tmp_path, record)
    assert (lines[0], len(lines), "early" in lines) == ("last", 1000, False)
    assert max(map(len, end_of_log(tmp_path, record))) <= 512


@pytest.mark.parametrize("pattern", ["(", "(?P<n>"])
def test_a_wrong_pattern_is_an_error_of_its_line(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(InvalidFileError, match="not a regular expression") as error:
        load(tmp_path, f'\n[[retry]]\nlog = "{pattern}"\n')
    assert ":3:" in str(error.value)


def continued(cause: str, times: int, attempt: int = 1) -> JobRecord:
    """A job that continued so many others, and ended for this cause."""
    return acting(ended(cause, attempt), basis=PlacementBasis(continues=times).text)


def test_a_continuation_is_no_attempt_and_has_its_own_limit(tmp_path: Path) -> None:
    policy = load(
        tmp_path,
        '[[retry]]\non = "exit 99"\ncontinue = true\ncontinues = 5\nwait = "00:00:10"\n'
        '[[retry]]\non = "any"\n',
    )
    assert str(policy.rules[0]) == "exit 99: continues, at most 5 times, after 00:00:10"
    workflow = Workflow(tmp_path)

    def decided(record: JobRecord, *before: JobRecord) -> tuple[RetryEffect, int, float]:
        found = policy.decide(workflow, FailedAttempt.of(record, before))
        return found.effect, found.attempt, found.wait_seconds

    assert decided(ended("exit code 99")) == (CONTINUES, 1, 10.0)
    assert decided(continued("exit code 99", 4)) == (CONTINUES, 5, 10.0)
    assert decided(continued("exit code 99", 5))[0] is USED_UP
    # The failure after four continuations is the first one; the chain has attempts only.
    last, *older = (continued("exit code 3", 4), *(continued("exit code 99", it) for it in (3, 0)))
    assert failed_before([last, *older], [last]) == {}
    assert decided(last) == (RETRIED, 2, 0.0)
    again = ended("exit code 3", 2)
    (before,) = failed_before([again, last, *older], [again]).values()
    assert before == (last,)
    assert decided(again, *before) == (RETRIED, 3, 0.0)


@given(
    times=st.integers(0, 300),
    most=st.none() | st.integers(1, 200),
    attempt=st.integers(1, 2000),
)
def test_an_attempt_continues_until_its_limit(times: int, most: int | None, attempt: int) -> None:
    rule = RetryRule("*", ("exit 99",), 3, continues=100 if most is None else most)
    found = RetryPolicy((rule,)).decide(
        Workflow(Path()), FailedAttempt.of(continued("exit code 99", times, attempt))
    )
    goes_on = times < rule.continues
    assert found.effect is (CONTINUES if goes_on else USED_UP)
    assert found.attempt == (times + 1 if goes_on else 0)
    assert (not found.why) is goes_on


def test_a_job_continues_if_a_file_changed_since_it_began(tmp_path: Path) -> None:
    policy = load(
        tmp_path,
        '[[retry]]\non = "time limit"\ncontinue = true\nprogress = "out/checkpoint.*"\n',
    )
    assert str(policy.rules[0]).startswith(
        "time limit after a change of out/checkpoint.*: continues, at most 100 times"
    )
    workflow, record = Workflow(tmp_path), ended("time limit")
    fence = fence_path(tmp_path, record.token)
    fence.parent.mkdir(parents=True)
    fence.symlink_to("slurm:1")
    begun = os.lstat(fence).st_mtime

    def decided() -> tuple[RetryEffect, int]:
        found = policy.decide(workflow, FailedAttempt.of(record))
        return found.effect, policy.rules.index(found.rule or DEFAULT_RULES[0])

    assert decided() == (RETRIED, 2)  # by the default rule: no directory, no file
    folder = tmp_path / "workspace" / "d" / "out"
    folder.mkdir(parents=True)
    (folder / "checkpoint.broken").symlink_to("nowhere")
    (folder / "checkpoint.1").touch()
    for file in folder.iterdir():
        os.utime(file, (begun - 1, begun - 1), follow_symlinks=False)
    assert decided() == (RETRIED, 2)
    (folder / "other.1").touch()
    assert decided() == (RETRIED, 2)
    os.utime(folder / "checkpoint.1", (begun + 1, begun + 1))
    assert decided() == (CONTINUES, 0)


@pytest.mark.parametrize("name", ["/etc/*", "../*", "a/../../b", "**/x", "", "a\\u0000b", "."])
def test_progress_is_a_file_of_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidFileError) as error:
        load(tmp_path, f'[[retry]]\non = "any"\ncontinue = true\nprogress = "{name}"\n')
    assert ":4:" in str(error.value)


def test_what_does_not_fit_a_continuation_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError) as error:
        load(
            tmp_path,
            '[[retry]]\non = "any"\ncontinue = true\nmemory = "2x"\nattempts = 3\nexclude = true\n'
            '[[retry]]\non = "any"\ncontinues = 3\nwalltime = "2x"\n',
        )
    assert [it.line for it in error.value.problems] == [4, 5, 6, 10]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=12))
def test_a_job_is_continued_if_the_next_one_there_continues_it(
    made: list[tuple[str, bool]],
) -> None:
    oldest_first: list[JobRecord] = []
    continued_by: dict[str, str] = {}  # the last token at each directory
    wanted = set()
    for number, (name, goes_on) in enumerate(made):
        record = acting(ended("exit code 99"), directories=(name,))._replace(token=f"t{number}")
        if goes_on and name in continued_by:
            wanted.add(continued_by[name])
            record = acting(record, basis=PlacementBasis(continues=1).text)
        continued_by[name] = record.token
        oldest_first.append(record)
    assert continued_jobs(oldest_first[::-1]) == wanted
