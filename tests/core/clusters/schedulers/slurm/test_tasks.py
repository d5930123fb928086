"""Numbers of tasks, as sbatch takes and squeue prints them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.slurm.parse import read_tasks, write_tasks


@given(st.sets(st.integers(0, 200)))
def test_what_is_written_is_read_back(tasks: set[int]) -> None:
    text = write_tasks(tasks)
    assert (read_tasks(text, 1000) or []) == sorted(tasks)
    assert read_tasks(f"[{text}%2]", 1000) == read_tasks(text, 1000)


@pytest.mark.parametrize(
    ("tasks", "text"),
    [([0], "0"), ([0, 1, 2], "0-2"), ([5, 1, 0, 7, 6], "0-1,5-7"), ([3, 3], "3"), ([], "")],
)
def test_neighbours_are_written_as_ranges(tasks: list[int], text: str) -> None:
    assert write_tasks(tasks) == text


def test_more_tasks_than_asked_for_are_not_even_counted_out() -> None:
    assert read_tasks("0-9", 9) is None
    assert read_tasks("0-999999999999999999", 10**6) is None
    assert read_tasks("0-9", 10) == list(range(10))
