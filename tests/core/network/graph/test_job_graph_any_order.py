"""Random graphs and events, beside a graph in the plainest form."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.network.graph.job_graph import JobGraph
from rowtui.core.network.graph.job_model import GraphChange, GraphJobState, JobBlock, JobGraphError

from tests.core.network.naive_graph import LOST, OVER, NaiveGraph

WORDS = (
    GraphJobState.COMPLETED,
    GraphJobState.FAILED,
    GraphJobState.CANCELLED,
    GraphJobState.SKIPPED,
)


class Drawn(NamedTuple):
    """Jobs of one block, as needs (number, slot of the job) and least numbers of slots."""

    node: int
    jobs: list[tuple[list[tuple[int, int]], list[int]]]


def as_block(drawn: Drawn) -> JobBlock:
    starts, needs, slots = [0], list[int](), list[int]()
    slot_jobs, slot_least = list[int](), list[int]()
    for number, (wanted, least) in enumerate(drawn.jobs):
        base = len(slot_jobs)
        slot_jobs += [number] * len(least)
        slot_least += least
        needs += [other for other, _ in wanted]
        slots += [-1 if slot < 0 else base + slot for _, slot in wanted]
        starts.append(len(needs))
    return JobBlock(drawn.node, len(drawn.jobs), starts, needs, slots, slot_jobs, slot_least)


@st.composite
def blocks(draw: Any, first: int = 0) -> Drawn:
    """A block whose jobs may need those before it and its own earlier ones."""
    jobs = []
    for number in range(first, first + draw(st.integers(0, 4))):
        least = draw(st.lists(st.integers(0, 3), max_size=2))
        need = st.tuples(st.integers(0, max(0, number - 1)), st.integers(-1, len(least) - 1))
        jobs.append((draw(st.lists(need, max_size=4)) if number else [], least))
    return Drawn(draw(st.integers(0, 2)), jobs)


def extend_both(graph: JobGraph, naive: NaiveGraph, drawn: Drawn) -> GraphChange:
    change = graph.extend(as_block(drawn)).change
    for needs, least in drawn.jobs:
        naive.add(needs, least)
    return change


def say(graph: JobGraph, jobs: int | list[int], word: GraphJobState) -> GraphChange:
    if word is GraphJobState.COMPLETED:
        return graph.complete(jobs)
    if word is GraphJobState.FAILED:
        return graph.fail(jobs)
    return graph.cancel(jobs) if word is GraphJobState.CANCELLED else graph.skip(jobs)


def states_of(graph: JobGraph) -> list[GraphJobState]:
    return [GraphJobState(byte) for byte in graph.snapshot().states]


def check_books(graph: JobGraph, naive: NaiveGraph) -> None:
    """Counts, the queue and the answers about jobs agree with the states."""
    states = states_of(graph)
    assert sum(map(sum, graph.counts())) == len(states)
    nodes = graph.nodes().tolist()
    for node, counts in enumerate(graph.counts()):
        mine = [state for state, one in zip(states, nodes, strict=True) if one == node]
        assert counts == tuple(mine.count(state) for state in GraphJobState)
    ready = graph.ready()
    assert sorted(ready) == [
        job for job, state in enumerate(states) if state is GraphJobState.ELIGIBLE
    ]
    assert graph.ready(2) == ready[:2]
    for job, state in enumerate(states):
        assert graph.root_causes(job) == naive.root_causes(job)
        needs = naive.needs[job]
        assert graph.dependencies(job) == sorted({other for other, _ in needs})
        assert [(it.job, it.slot) for it in graph.left_out(job)] == sorted(
            (other, slot)
            for other, slot in needs
            if slot >= 0 and states[other] in (*LOST, GraphJobState.SKIPPED)
        )
        if state in LOST:
            others = [it for it, its in enumerate(states) if it != job and its in LOST]
            lost = sum(
                states[it] is GraphJobState.BLOCKED and explains(naive, states, it, job)
                for it in others
            )
            assert graph.lost_by(job) == lost


def explains(naive: NaiveGraph, states: list[GraphJobState], job: int, cause: int) -> bool:
    """Whether lost ones lead from a job back to its cause."""
    todo, seen = [job], {job}
    while todo:
        one = todo.pop()
        if one == cause:
            return True
        if naive.own[one] is states[one]:
            continue
        for other, slot in naive.needs[one]:
            decides = slot < 0 or naive._breaks(one, slot, states, LOST)
            if decides and states[other] in LOST and other not in seen:
                seen.add(other)
                todo.append(other)
    return False


@given(st.data())
def test_whatever_happens_states_are_those_of_the_plain_graph(data: Any) -> None:
    graph, naive = JobGraph(), NaiveGraph()
    before: list[GraphJobState] = []
    wanted_again: set[int] = set()
    ever_ready: set[int] = set()
    for _ in range(data.draw(st.integers(1, 14))):
        size = len(graph)
        event = data.draw(
            st.sampled_from(["extend", "say", "say", "say", "activate", "back", "add", "rank"])
        )
        some = st.lists(st.integers(0, max(0, size - 1)), max_size=3, unique=True)
        jobs = data.draw(some) if size else []
        change = GraphChange([], [], [], [], [])
        if event == "extend" or not size:
            change = extend_both(graph, naive, data.draw(blocks(size)))
        elif event == "say":
            word = data.draw(st.sampled_from(WORDS))
            change = say(graph, jobs, word)
            for job in jobs:
                naive.say(job, word)
        elif event == "activate":
            gone = graph.activate(jobs)
            assert gone == [
                job
                for job in jobs
                if before[job] in (GraphJobState.WAITING, GraphJobState.ELIGIBLE)
            ]
            for job in gone:
                naive.own[job] = GraphJobState.SUBMITTED
        elif event == "back":
            change = take_back(data, graph, naive, before, jobs, wanted_again)
        elif event == "add":
            change = add_dependencies(data, graph, naive, before, jobs)
        else:
            graph.set_priorities(data.draw(st.permutations(range(size))))

        after = naive.states()
        assert states_of(graph) == after
        check_books(graph, naive)
        check_change(change, before, after)
        for job in change.ready:
            strict = [other for other, slot in naive.needs[job] if slot < 0]
            assert all(after[other] is GraphJobState.COMPLETED for other in strict)
            assert all(after[other] in OVER for other, _ in naive.needs[job])
            assert job not in ever_ready or wanted_again
            ever_ready.add(job)
        before = after


def take_back(
    data: Any,
    graph: JobGraph,
    naive: NaiveGraph,
    before: list[GraphJobState],
    jobs: list[int],
    wanted_again: set[int],
) -> GraphChange:
    """Retry, release or reopen."""
    way, allowed = data.draw(
        st.sampled_from(
            [("retry", WORDS[1:]), ("release", (GraphJobState.SUBMITTED,)), ("reopen", WORDS[:1])]
        )
    )
    if way == "retry":
        if any(naive.own[job] not in allowed for job in jobs):
            with pytest.raises(JobGraphError):
                graph.retry(jobs)
        jobs = [job for job in jobs if naive.own[job] in allowed]
    wanted_again.update(jobs)
    change: GraphChange = getattr(graph, way)(jobs)
    for job in jobs:
        if naive.own[job] in allowed:
            naive.own[job] = GraphJobState.WAITING
    return change


def add_dependencies(
    data: Any, graph: JobGraph, naive: NaiveGraph, before: list[GraphJobState], jobs: list[int]
) -> GraphChange:
    """More for the last of the jobs, from those before it, or a refusal."""
    if not jobs:
        return GraphChange([], [], [], [], [])
    job, *others = sorted(jobs, reverse=True)
    slots = [data.draw(st.integers(-1, len(naive.least[job]))) for _ in others]
    least = {len(naive.least[job]): data.draw(st.integers(0, 2))}
    if before[job] in (GraphJobState.ELIGIBLE, GraphJobState.SUBMITTED, GraphJobState.COMPLETED):
        with pytest.raises(JobGraphError):
            graph.add_dependencies(job, others, slots, least)
        return GraphChange([], [], [], [], [])
    naive.least[job].append(least[len(naive.least[job])])
    naive.needs[job] += zip(others, slots, strict=True)
    return graph.add_dependencies(job, others, slots, least)


def check_change(
    change: GraphChange, before: list[GraphJobState], after: list[GraphJobState]
) -> None:
    """The change is the difference."""
    old = [*before, *[None] * (len(after) - len(before))]
    pairs = list(enumerate(zip(old, after, strict=True)))

    def became(state: GraphJobState) -> list[int]:
        return [job for job, (was, now) in pairs if now is state is not was]

    over = GraphJobState.CANCELLED, GraphJobState.BLOCKED, GraphJobState.SKIPPED
    assert sorted(change.ready) == became(GraphJobState.ELIGIBLE)
    lost = became(GraphJobState.CANCELLED) + became(GraphJobState.BLOCKED)
    assert sorted(change.cancelled) == sorted(lost)
    assert sorted(change.skipped) == became(GraphJobState.SKIPPED)
    back = [job for job, (was, now) in pairs if was in over and now <= GraphJobState.SUBMITTED]
    assert sorted(change.back) == back
    stopped = [job for job, (was, now) in pairs if was is GraphJobState.SUBMITTED and now in over]
    assert sorted(change.stopped) == stopped


@given(st.data())
def test_the_same_events_in_any_order_end_in_the_same_states(data: Any) -> None:
    drawn = data.draw(blocks(data.draw(st.just(0)))), data.draw(blocks(0))
    more = Drawn(1, [(needs, least) for needs, least in drawn[1].jobs])
    size = len(drawn[0].jobs) + len(more.jobs)
    words = data.draw(
        st.lists(st.tuples(st.integers(0, max(0, size - 1)), st.sampled_from(WORDS)), max_size=5)
    )
    words = words if size else []
    last = drawn[0], more
    ends = []
    for order in itertools.islice(itertools.permutations(words), 8):
        graph = JobGraph()
        # The second block comes as late as the events allow.
        graph.extend(as_block(last[0]))
        grown = False
        for job, word in order:
            if job >= len(graph) and not grown:
                graph.extend(as_block(more))
                grown = True
            say(graph, job, word)
        if not grown:
            graph.extend(as_block(more))
        ends.append(graph.snapshot().states)
    assert len(set(ends)) <= 1


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_run_ends_with_every_job_over_and_none_started_early(data: Any) -> None:
    graph, naive = JobGraph(), NaiveGraph()
    for _ in range(4):
        extend_both(graph, naive, data.draw(blocks(len(graph))))
    started: list[int] = []
    graph.set_priorities(np.array(data.draw(st.permutations(range(len(graph)))), np.int32))
    while not graph.is_over:
        batch = graph.activate(graph.ready(data.draw(st.integers(1, 3))))
        assert batch  # something is ready as long as something is left
        for job in batch:
            started.append(job)
            naive.say(job, word := data.draw(st.sampled_from(WORDS[:2])))
            say(graph, job, word)
    assert len(started) == len(set(started))
    assert states_of(graph) == naive.states()
