"""rowtui.toml: which failures are retried, how often, and with which change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.project.next_attempt import Amount, AmountChange
from rowtui.core.project.retry_policy import (
    DEFAULT_RULES,
    MOST_WAIT_SECONDS,
    RetryPolicy,
    RetryRule,
    end_of_log,
    load_policy,
)
from rowtui.core.submission.plan.model import JobRecord, JobStep

CAUSES = ("out of memory", "time limit", "the node failed", "lost", "exit code 3", "cancelled")


def load(folder: Path, text: str) -> RetryPolicy:
    (folder / "rowtui.toml").write_text(text)
    return load_policy(folder)


def test_without_a_file_only_lack_of_resources_and_lost_nodes_are_retried(tmp_path: Path) -> None:
    policy = load_policy(tmp_path)
    assert policy.rules == DEFAULT_RULES
    retried = [cause for cause in CAUSES if policy.retries("any action", cause, 1)]
    assert retried == ["out of memory", "time limit", "the node failed", "lost"]
    assert not any(policy.retries("any action", cause, 3) for cause in CAUSES)


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
    rule = policy.rule("simulate", "out of memory")
    assert rule is not None
    assert rule.change == AmountChange(memory=Amount(3.0, times=True))
    assert (rule.attempts, rule.wait_seconds, rule.line) == (5, 300.0, 2)
    assert policy.retries("simulate", "exit code 75", 4)
    assert not policy.retries("simulate", "exit code 75", 5)
    assert not policy.retries("analyze", "out of memory", 1)  # by the second rule
    assert str(rule) == (
        "sim*: exit 75, out of memory: memory 3x, at most 5 attempts, after 00:05:00"
    )


def test_a_signal_is_named_by_its_exit_code(tmp_path: Path) -> None:
    policy = load(tmp_path, '[[retry]]\non = "exit 137"\n')
    assert policy.retries("a", "killed (signal KILL)", 1)


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
    assert policy.retries("a", "exit code 1", 1, lambda: ["fine", "x CUDA error: lost y"])
    assert not policy.retries("a", "exit code 1", 1, lambda: ["CUDA error: other"])
    assert not policy.retries("a", "exit code 1", 1)


def test_only_the_end_of_a_log_is_searched(tmp_path: Path) -> None:
    record = JobRecord("t", "p", "local", "", "a", ("d",), "a-d", JobStep.ENDED, 1, 0.0, "a-1.out")
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
