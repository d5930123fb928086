"""How many jobs are named on one command line, and what is cancelled in which way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState
from rowtui.core.clusters.schedulers.slurm.commands import (
    ACT_BATCH,
    ACT_LENGTH,
    batches,
    waiting_and_whole,
    words_of,
)

keys = st.builds(JobKey, st.integers(1, 5), st.none() | st.integers(0, 40))


@given(st.lists(keys, unique=True))
def test_every_job_is_named_once(jobs: list[JobKey]) -> None:
    words = [word for batch in batches(words_of(jobs)) for word in batch]
    assert sorted((key for word in words for key in word.jobs), key=str) == sorted(jobs, key=str)


def test_tasks_of_one_array_are_one_word() -> None:
    jobs = [JobKey(3, 5), JobKey(7), JobKey(3, 0), JobKey(3, 1), JobKey(4, 2)]
    assert [word.text for word in words_of(jobs)] == ["7", "3_[0-1,5]", "4_2"]


def test_no_command_line_is_too_long_and_none_is_empty() -> None:
    many = [JobKey(number) for number in range(10_000_000, 10_000_450)]
    scattered = [JobKey(8, task) for task in range(1_000_000, 1_030_000, 2)]
    parts = list(batches(words_of([*many, *scattered])))
    assert [word.text for part in parts for word in part][:450] == [str(key) for key in many]
    for part in parts:
        assert 0 < len(part) <= ACT_BATCH
        assert sum(len(word.text) + 1 for word in part) <= ACT_LENGTH + 1


def test_an_array_is_cancelled_as_a_whole_when_nothing_of_it_is_left() -> None:
    states = {
        (1, 0): JobState.COMPLETED, (1, 1): JobState.RUNNING, (1, 2): JobState.PENDING,
        (2, 0): JobState.RUNNING, (2, 1): JobState.PENDING, (2, 2): JobState.HELD,
        (2, 3): JobState.PENDING, (3, 0): JobState.PENDING,
    }  # fmt: skip
    known = [Job(number, state, task=task) for (number, task), state in states.items()]
    asked = {JobKey(1, 1), JobKey(1, 2), JobKey(2, 0), JobKey(2, 1), JobKey(2, 2), JobKey(9, 9)}
    waiting, whole = waiting_and_whole(asked, known)
    assert whole == {1}
    assert waiting == [JobKey(2, 1), JobKey(2, 2)]
