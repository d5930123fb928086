"""The job graph, claim by claim; random ones are in test_job_graph_any_order."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from rowtui.core.network.graph.job_graph import JobGraph
from rowtui.core.network.graph.job_model import (
    GraphChange,
    GraphJobState,
    JobBlock,
    JobGraphError,
    LostMember,
)


def chain(length: int) -> JobGraph:
    """Jobs of which each needs the one before, each of a node of its own."""
    graph = JobGraph()
    graph.extend(JobBlock(0, 1), *(JobBlock(n, 1, [0, 1], [n - 1]) for n in range(1, length)))
    return graph


def collect(members: int, least: int) -> JobGraph:
    """Members, and after them a job that can do with `least` of them."""
    graph = JobGraph()
    graph.extend(
        JobBlock(0, members),
        JobBlock(1, 1, [0, members], range(members), [0] * members, [0], [least]),
    )
    return graph


def change(**lists: list[int]) -> GraphChange:
    return GraphChange([], [], [], [], [])._replace(**lists)


# -- waiting and being ready ---------------------------------------------------------------------


def test_a_completion_makes_ready_what_waited_for_it_alone() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 2, [0, 1, 3], [0, 0, 1]))

    assert graph.complete(0) == change(ready=[2])
    assert graph.complete(1) == change(ready=[3])
    assert graph.counts() == ((0, 0, 0, 2, 0, 0, 0, 0), (0, 2, 0, 0, 0, 0, 0, 0))


def test_a_completion_that_is_told_twice_counts_once() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 1, [0, 2], [0, 1]))

    graph.complete(0)

    assert graph.complete(0) == change()
    assert graph.state(2) is GraphJobState.WAITING


def test_a_job_that_needs_another_twice_waits_for_it_once() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 1), JobBlock(1, 1, [0, 2], [0, 0]))

    assert graph.complete(0).ready == [1]
    assert graph.dependencies(1) == [0]


def test_a_job_completed_by_hand_while_it_waits_lets_others_go_on() -> None:
    graph = chain(3)

    assert graph.complete(1) == change(ready=[2])
    assert graph.complete(0) == change()
    assert graph.state(1) is GraphJobState.COMPLETED


def test_new_jobs_are_ready_at_once_if_what_they_need_is_complete() -> None:
    graph = chain(1)
    graph.complete(0)

    grown = graph.extend(JobBlock(1, 2, [0, 1, 2], [0, 0]))

    assert grown.jobs == (range(1, 3),)
    assert grown.change == change(ready=[1, 2])


def test_new_jobs_are_blocked_at_once_through_new_jobs_of_the_same_block() -> None:
    graph = chain(1)
    graph.fail(0)

    grown = graph.extend(JobBlock(1, 3, [0, 1, 2, 2], [0, 1]))

    assert sorted(grown.change.cancelled) == [1, 2]
    assert grown.change.ready == [3]
    assert graph.root_causes(2) == [0]


def test_a_new_job_that_can_do_without_a_new_one_that_is_lost_is_told_to_be_ready() -> None:
    graph = chain(1)
    graph.fail(0)

    grown = graph.extend(JobBlock(1, 3, [0, 1, 2, 2], [0, 1], [-1, 0], [1], [0]))

    assert grown.change.cancelled == [1]
    assert sorted(grown.change.ready) == [2, 3] == graph.ready()


def test_a_job_belongs_to_whoever_activates_it_first() -> None:
    graph = chain(2)

    assert graph.activate([0]) == [0]
    assert graph.activate([0]) == []
    assert graph.ready() == []


def test_a_chain_that_a_scheduler_holds_is_active_until_it_is_released() -> None:
    graph = chain(3)
    assert graph.activate([0, 1, 2]) == [0, 1, 2]

    assert graph.complete(0) == change()  # the next is with the scheduler already
    assert graph.release([1, 2]) == change(ready=[1])
    assert graph.state(2) is GraphJobState.WAITING


def test_a_released_job_is_in_the_queue_once() -> None:
    graph = chain(1)
    for _ in range(3):
        graph.activate(0)
        assert graph.ready(1) == []
        graph.release(0)
        graph.activate(0)
        graph.release(0)
        assert graph.ready(2) == [0]

    assert graph.ready() == [0]
    assert graph.ready(5) == [0]


def test_what_needed_a_reopened_job_waits_again_unless_it_is_with_a_scheduler_or_over() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 1), JobBlock(1, 3, [0, 1, 2, 3], [0, 0, 0]))
    graph.complete([0, 3])
    graph.activate(2)

    assert graph.reopen(0) == change(ready=[0])

    states = [graph.state(job).name for job in range(4)]
    assert states == ["ELIGIBLE", "WAITING", "SUBMITTED", "COMPLETED"]
    assert graph.complete(0).ready == [1]


# -- losing and coming back ----------------------------------------------------------------------


def test_a_failure_cancels_all_that_depends_on_it_and_nothing_else() -> None:
    graph = JobGraph()
    graph.extend(
        JobBlock(0, 2), JobBlock(1, 2, [0, 1, 2], [0, 1]), JobBlock(2, 2, [0, 1, 2], [2, 3])
    )

    assert graph.fail(0, "exit status 1") == change(cancelled=[2, 4])

    assert graph.root_causes(4) == [0]
    assert graph.root_causes(5) == []
    assert graph.reason(0) == "exit status 1"
    assert graph.lost_by(0) == 2
    assert graph.left == 3


def test_a_retry_brings_back_what_was_lost_only_because_of_it() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 2, [0, 1, 3], [0, 0, 1]))
    graph.fail([0, 1], "out of memory")

    assert graph.retry(0) == change(ready=[0], back=[2])
    assert [graph.state(job).name for job in range(4)] == [
        "ELIGIBLE",
        "FAILED",
        "WAITING",
        "BLOCKED",
    ]
    assert graph.root_causes(3) == [1]
    assert (graph.reason(0), graph.reason(1)) == ("", "out of memory")


def test_what_comes_back_and_is_ready_by_the_same_event_is_told_as_both() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 1, [0, 2], [0, 1]))
    graph.fail(0)

    assert graph.complete([0, 1]) == change(ready=[2], back=[2])


def test_of_two_that_are_retried_together_the_one_that_needs_the_other_waits() -> None:
    graph = chain(2)
    graph.fail([0, 1])

    assert graph.retry([1, 0]) == change(ready=[0])

    graph.complete([0, 1])
    assert graph.reopen([1, 0]) == change(ready=[0])
    assert graph.ready() == [0]


def test_a_job_that_did_not_fail_by_itself_is_not_retried_and_the_error_names_what_is_to_be() -> (
    None
):
    graph = chain(2)
    graph.fail(0)

    with pytest.raises(JobGraphError, match="job 1 is blocked") as raised:
        graph.retry(1)

    assert raised.value.hint == "retry the failed jobs that it depends on: 0"


def test_what_a_person_cancelled_stays_so_when_what_it_needs_is_retried() -> None:
    graph = chain(3)
    graph.fail(0)
    graph.cancel(1, "not wanted")

    assert graph.retry(0) == change(ready=[0])

    assert [graph.state(job).name for job in (1, 2)] == ["CANCELLED", "BLOCKED"]
    assert graph.root_causes(2) == [1]
    assert graph.retry(1).back == [1, 2]


def test_what_is_with_a_scheduler_when_it_is_lost_is_told_to_be_taken_back() -> None:
    graph = chain(2)
    graph.activate([0, 1])

    assert graph.fail(0) == change(cancelled=[1], stopped=[1])

    graph.retry(0)
    assert graph.state(1) is GraphJobState.WAITING


def test_a_cancelled_branch_is_not_left_and_the_run_is_over_without_it() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 2, [0, 1, 2], [0, 1]))

    graph.cancel(0)
    graph.complete([1, 3])

    assert graph.left == 0
    assert graph.is_over


def test_a_complete_job_is_not_lost_with_what_it_needed() -> None:
    graph = chain(3)
    graph.complete(1)

    assert graph.fail(0) == change()
    assert graph.ready() == [2]


def test_failed_beats_skipped() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2), JobBlock(1, 1, [0, 2], [0, 1]))

    assert graph.skip(0) == change(skipped=[0, 2])
    assert graph.root_causes(2) == [0]
    assert graph.fail(1) == change(cancelled=[2])
    assert graph.root_causes(2) == [1]
    assert graph.retry(1).skipped == [2]


# -- slots ---------------------------------------------------------------------------------------


def test_a_collapse_waits_for_every_member_even_when_it_has_enough() -> None:
    graph = collect(5, least=3)

    graph.complete([0, 1, 2])
    assert graph.state(5) is GraphJobState.WAITING

    graph.fail(3)
    assert graph.complete(4) == change(ready=[5])
    assert graph.left_out(5) == [LostMember(3, 0, GraphJobState.FAILED)]


def test_a_collapse_is_blocked_as_soon_as_too_many_are_lost() -> None:
    graph = collect(5, least=3)

    assert graph.fail([0, 1]) == change()
    assert graph.fail(2) == change(cancelled=[5])
    assert graph.root_causes(5) == [0, 1, 2]
    assert graph.lost_by(1) == 1


def test_the_last_failure_can_make_a_collapse_ready() -> None:
    graph = collect(3, least=2)
    graph.complete([0, 1])

    assert graph.fail(2) == change(ready=[3])


def test_a_collapse_comes_back_when_enough_are_retried() -> None:
    graph = collect(3, least=2)
    graph.fail([0, 1])

    assert graph.retry(1) == change(ready=[1], back=[3])
    graph.complete([1, 2])
    assert graph.ready() == [3]
    assert [it.job for it in graph.left_out(3)] == [0]


def test_a_collapse_without_enough_because_of_absent_data_is_skipped() -> None:
    graph = collect(3, least=2)

    assert graph.skip([0, 1]).skipped == [0, 1, 3]
    assert graph.is_over is False
    graph.complete(2)
    assert graph.is_over


def test_fewer_members_than_the_least_number_must_all_be_there() -> None:
    graph = collect(2, least=4)

    graph.complete(0)
    assert graph.complete(1) == change(ready=[2])


def test_a_collapse_of_nothing_is_ready() -> None:
    assert collect(0, least=3).ready() == [0]


def test_a_collapse_learns_of_more_members_as_lists_appear() -> None:
    # A job that makes a list, and one that collects what comes of it: three quarters are enough.
    graph = JobGraph()
    graph.extend(JobBlock(0, 1), JobBlock(2, 1, [0, 1], [0], (), [0], [0]))

    made = graph.extend(JobBlock(1, 4, [0, 1, 2, 3, 4], [0, 0, 0, 0])).jobs[0]
    graph.add_dependencies(1, made, [0] * 4, least={0: 3})
    assert graph.complete(0).ready == list(made)

    graph.complete(list(made)[1:])
    assert graph.fail(made[0]) == change(ready=[1])
    assert graph.dependencies(1) == [0, *made]
    assert graph.dependents(made[0]) == [1]


def test_a_job_that_was_blocked_for_too_few_comes_back_when_it_learns_of_more() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 3), JobBlock(1, 1, [0, 3], [0, 1, 2], [0, 0, -1], [0], [1]))
    graph.fail([0, 1])
    assert graph.state(3) is GraphJobState.BLOCKED

    made = graph.extend(JobBlock(0, 1)).jobs[0]

    assert graph.add_dependencies(3, made, [0]) == change(back=[3])


def test_a_job_that_is_skipped_for_too_few_comes_back_when_it_learns_of_more() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 3), JobBlock(1, 1, [0, 3], [0, 1, 2], [0, 0, -1], [0], [1]))
    graph.skip([0, 1])

    made = graph.extend(JobBlock(0, 1)).jobs[0]

    assert graph.add_dependencies(3, made, [0]) == change(back=[3])
    graph.complete([2, *made])
    assert graph.ready() == [3]


def test_what_an_eligible_job_needs_cannot_change() -> None:
    graph = collect(1, least=1)
    graph.complete(0)
    graph.extend(JobBlock(0, 1))

    with pytest.raises(JobGraphError, match="job 1 is eligible"):
        graph.add_dependencies(1, [2])


def test_a_circle_is_refused_and_changes_nothing() -> None:
    graph = chain(4)
    before = graph.snapshot()

    with pytest.raises(JobGraphError, match="job 1 cannot need 3, which needs it"):
        graph.add_dependencies(1, [3])
    with pytest.raises(JobGraphError, match="job 1 cannot need 1"):
        graph.add_dependencies(1, [1])

    assert graph.snapshot() == before


@pytest.mark.parametrize(
    ("slots", "least"), [([1], {}), ([0], {1: 0, 3: 0}), ([-2], {}), ([0], {0: -1}), ([0, 0], {})]
)
def test_slots_that_are_not_there_are_refused(slots: list[int], least: dict[int, int]) -> None:
    graph = collect(1, least=1)
    graph.extend(JobBlock(0, 1))

    with pytest.raises(JobGraphError):
        graph.add_dependencies(1, [2], slots, least)

    assert graph.complete(0).ready == [1]


@pytest.mark.parametrize(
    "block",
    [
        JobBlock(-1, 1),
        JobBlock(0, -1),
        JobBlock(0, 1, [0, 1], [1]),
        JobBlock(0, 1, [0, 1], [-1]),
        JobBlock(0, 2, [0, 1], [0]),
        JobBlock(0, 1, [0, 2], [0]),
        JobBlock(0, 2, [0, 2, 1], [0]),
        JobBlock(0, 1, [0, 1], [0], [0]),
        JobBlock(0, 1, [0, 1], [0], [-2]),
        JobBlock(0, 2, [0, 1, 1], [0], [0], [1], [1]),
        JobBlock(0, 1, [0, 1], [0], [0], [0], [-1]),
        JobBlock(0, 1, [0, 1], [0], [0], [1], [1]),
        JobBlock(0, 1, [0, 1], [1 << 40]),
        JobBlock(0, 1, [0, 1], [0.5]),  # type: ignore[list-item]
    ],
)
def test_a_block_that_cannot_be_is_refused_with_all_of_its_extension(block: JobBlock) -> None:
    graph = chain(1)

    with pytest.raises(JobGraphError):
        graph.extend(JobBlock(0, 0), block)

    assert len(graph) == 1


def test_a_number_of_no_job_is_refused() -> None:
    graph = chain(1)

    for number in (1, -1):
        with pytest.raises(JobGraphError, match=f"there is no job {number}"):
            graph.complete([0, number])
    assert graph.state(0) is GraphJobState.ELIGIBLE


# -- the order -----------------------------------------------------------------------------------


def test_ready_jobs_come_by_rank_and_then_by_number() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 5))
    graph.set_priorities([3, -2, 3, 0, 1 << 30])

    assert graph.ready() == [1, 3, 0, 2, 4]
    assert graph.ready(3) == [1, 3, 0]
    graph.activate([1, 0])
    assert graph.ready(2) == [3, 2]


def test_new_ranks_hold_for_what_is_ready_already() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 4))
    assert graph.ready(2) == [0, 1]

    graph.set_priorities([4, 3, 2, 1])

    assert graph.ready() == [3, 2, 1, 0]
    assert graph.ready(1) == [3]


def test_new_jobs_come_where_the_job_came_that_brought_them_forth() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 3))
    graph.set_priorities([1, 0, 2])

    graph.extend(JobBlock(1, 2, [0, 1, 2], [2, 0]))
    graph.complete([0, 2])

    assert graph.ready() == [1, 4, 3]


def test_many_become_ready_at_once_in_order_between_few() -> None:
    graph = JobGraph()
    graph.extend(JobBlock(0, 2000), JobBlock(1, 1000, range(1001), range(1000)))
    ranks = np.random.default_rng(1).permutation(3000)
    graph.set_priorities(ranks)
    graph.ready(100)
    graph.complete(range(1000))
    graph.extend(JobBlock(0, 1000))

    ready = graph.ready()

    assert len(ready) == 3000
    inherited = ranks.tolist() + [max(ranks)] * 1000
    assert ready == sorted(ready, key=lambda job: (inherited[job], job))
    assert graph.ready(700) == ready[:700]


def test_thousands_that_become_ready_one_by_one_come_in_order() -> None:
    pairs = 10_000
    graph = JobGraph()
    graph.extend(JobBlock(0, pairs), JobBlock(1, pairs, range(pairs + 1), range(pairs)))
    ranks = np.random.default_rng(2).permutation(2 * pairs).tolist()
    graph.set_priorities(ranks)
    started: list[int] = []

    for _ in range(pairs):  # more become ready than begin
        job = graph.activate(graph.ready(1))[0]
        started.append(job)
        if job < pairs:
            graph.complete(job)

    states = graph.snapshot().states
    assert graph.ready() == sorted(
        (job for job, state in enumerate(states) if state == GraphJobState.ELIGIBLE),
        key=ranks.__getitem__,
    )
    # Each that began came before all that were ready then, and that are ready still.
    last = {job: place for place, job in enumerate(started)}
    for job in graph.ready(50):
        since = last[job - pairs] + 1 if job >= pairs else 0
        assert all(ranks[other] < ranks[job] for other in started[since:])


@pytest.mark.parametrize("ranks", [[0, 1], [1 << 40], [0.5]])
def test_ranks_that_cannot_be_are_refused(ranks: list[int]) -> None:
    with pytest.raises(JobGraphError):
        chain(1).set_priorities(ranks)


# -- several threads -----------------------------------------------------------------------------


def test_the_graph_is_read_extended_and_run_at_the_same_time() -> None:
    graph = JobGraph()
    rounds, width = 60, 20
    wrong: list[str] = []
    extended = threading.Event()
    ends: list[int] = []

    def extend() -> None:
        for number in range(rounds):
            with graph.lock:  # where they begin must not change before they are there
                first = len(graph)
                graph.extend(
                    JobBlock(0, width),
                    JobBlock(1, width, range(width + 1), range(first, first + width)),
                    JobBlock(2, 1, [0, width], range(first + width, first + 2 * width)),
                )
            graph.set_priorities(np.arange(first, 0, -1))
            if number % 7 == 0:
                graph.edges()
        extended.set()

    def run() -> None:
        while not (extended.is_set() and graph.is_over):
            for job in graph.activate(graph.ready(15)):
                ends.append(job)
                graph.complete(job)

    def read() -> None:
        generation = -1
        while not extended.is_set():
            seen = graph.snapshot()
            if sum(map(sum, seen.counts)) != len(seen.states):
                wrong.append("counts and states are of different moments")
            if seen.generation < generation:
                wrong.append("the graph grew younger")
            generation = seen.generation
            for job, state in enumerate(seen.states):
                if state == GraphJobState.ELIGIBLE and any(
                    seen.states[other] != GraphJobState.COMPLETED
                    for other in graph.dependencies(job)
                ):
                    wrong.append(f"job {job} is ready too early")

    threads = [threading.Thread(target=target) for target in (extend, run, run, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert sorted(ends) == list(range(rounds * (2 * width + 1)))
