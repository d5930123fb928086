"""Ready jobs that run one after another on one host."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.definition.spec import Gather
from rowtui.core.network.graph.job_graph import JobGraph
from rowtui.core.network.graph.job_model import JobBlock
from rowtui.core.runs.execution.lists import gather, gather_chains


def a_minute(job: int) -> float:
    return 60.0


def the_same(job: int) -> int:
    return 0


def test_without_a_limit_that_says_so_nothing_is_gathered() -> None:
    assert gather([3, 1, 2], Gather(), the_same, a_minute) == [[3], [1], [2]]


def test_jobs_of_the_same_kind_share_a_unit_in_their_order() -> None:
    units = gather([5, 2, 4, 1, 3], Gather(size=2), lambda job: job % 2, a_minute)

    assert units == [[5, 1], [2, 4], [3]]


def test_a_unit_stays_within_the_walltime() -> None:
    units = gather(range(5), Gather(size=0, walltime_seconds=150), the_same, a_minute)

    assert units == [[0, 1], [2, 3], [4]]


def test_what_counts_as_several_takes_the_room_of_several() -> None:
    sizes = {0: 2, 1: 1, 2: 3, 3: 9, 4: 1}

    units = gather(range(5), Gather(size=4), the_same, a_minute, lambda job: sizes[job])

    assert units == [[0, 1], [2], [3], [4]]


def test_a_job_that_is_longer_than_the_limit_is_a_unit_by_itself() -> None:
    long = {1: 9999.0}

    units = gather(
        range(4), Gather(size=9, walltime_seconds=600), the_same, lambda job: long.get(job, 60.0)
    )

    assert units == [[0], [1], [2, 3]]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50)), max_size=30),
    st.integers(0, 4),
    st.integers(0, 100),
)
def test_every_ready_job_is_in_one_unit_within_the_limits(
    jobs: list[tuple[int, int]], size: int, walltime: int
) -> None:
    units = gather(
        range(len(jobs)),
        Gather(size, walltime),
        lambda job: jobs[job][0],
        lambda job: float(jobs[job][1]),
    )

    assert sorted(job for unit in units for job in unit) == list(range(len(jobs)))
    for unit in units:
        assert unit == sorted(unit)
        assert len({jobs[job][0] for job in unit}) == 1
        assert len(unit) <= size or not size
        assert not walltime or len(unit) == 1 or sum(jobs[job][1] for job in unit) <= walltime


def two_samples() -> JobGraph:
    """Two samples through two nodes each, then both together."""
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 2, [0, 1, 2], [0, 1]), JobBlock(2, 1, [0, 2], [2, 3]))
    return graph


def test_a_chain_takes_a_sample_as_far_as_it_needs_no_other() -> None:
    graph = two_samples()

    units = gather_chains(graph.ready(), Gather(size=9), the_same, a_minute, graph.followers)

    assert units == [[0, 2], [1, 3]]


def test_a_chain_ends_at_the_limits_and_at_another_class_of_destination() -> None:
    graph = two_samples()
    ready, many = graph.ready(), Gather(size=9)

    assert gather_chains(ready, Gather(size=1), the_same, a_minute, graph.followers) == [[0], [1]]
    short = Gather(size=0, walltime_seconds=100)
    assert gather_chains(ready, short, the_same, a_minute, graph.followers) == [[0], [1]]
    assert gather_chains(ready, many, lambda job: job < 2, a_minute, graph.followers) == [[0], [1]]


def test_a_chain_goes_through_branches_that_meet_again() -> None:
    graph = JobGraph()
    graph.extend(
        JobBlock(0, 1), JobBlock(1, 2, [0, 1, 2], [0, 0]), JobBlock(2, 1, [0, 3], [1, 2, 2])
    )

    assert gather_chains([0], Gather(size=0), the_same, a_minute, graph.followers) == [[0, 1, 2, 3]]


@given(st.data())
def test_run_in_its_order_a_chain_never_comes_to_a_job_that_is_not_ready(data: Any) -> None:
    graph = JobGraph()
    for number in range(data.draw(st.integers(1, 12))):
        needs = data.draw(st.lists(st.integers(0, number - 1), max_size=3)) if number else []
        graph.extend(JobBlock(0, 1, [0, len(needs)], needs))
    done = [job for job in graph.ready() if data.draw(st.booleans())]
    graph.complete(done)

    units = gather_chains(graph.ready(), Gather(size=6), the_same, a_minute, graph.followers)

    jobs = [job for unit in units for job in unit]
    assert len(jobs) == len(set(jobs))
    for unit in units:
        for job in unit:
            assert job in graph.ready()
            graph.complete(job)
