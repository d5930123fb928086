"""Simulated runs: a case by hand, and what holds for every graph, machine and order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.graph.job_model import DependencyColumns
from rowtui.core.network.graph.scheduling import remaining_seconds
from rowtui.core.network.simulation.simulate import (
    HOUR,
    Simulated,
    SimulatedMachines,
    SimulatedNeeds,
    SimulatedWork,
    UnplacedJobs,
    UsedMachine,
    simulate,
)


def edges(*pairs: tuple[int, int]) -> DependencyColumns:
    """(job, what it needs)."""
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return DependencyColumns(columns[:, 1], columns[:, 0])


def when(run: Simulated) -> dict[int, tuple[int, float, float]]:
    """By job: on which machine, from when, until when."""
    spans = run.spans
    rows = zip(spans.machine.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)
    return dict(zip(spans.job.tolist(), rows, strict=True))


TWO = (SimulatedNeeds("wide", cpus=2, seconds=10), SimulatedNeeds("narrow", cpus=1, seconds=4))


def test_a_case_worked_out_by_hand() -> None:
    # given: 0 and 1 are wide, 2 and 3 narrow, 4 narrow and needs 0 and 2; machines of three CPUs
    work = SimulatedWork(TWO, np.array([0, 0, 1, 1, 1]), edges((4, 0), (4, 2)))
    machines = [SimulatedMachines("three", cpus=3, price_per_hour=1.8, number=1)]

    run = simulate(work, machines, np.arange(5))

    # then: 2 runs beside 0, 3 after it; 1 has to wait for 0, 4 for both
    assert when(run) == {
        0: (0, 0.0, 10.0),
        2: (0, 0.0, 4.0),
        3: (0, 4.0, 8.0),
        1: (0, 10.0, 20.0),
        4: (0, 10.0, 14.0),
    }
    assert run.makespan == 20.0
    assert run.cost == pytest.approx(20 * 1.8 / HOUR)
    assert run.cpu_hours == pytest.approx((10 * 2 * 2 + 4 * 3) / HOUR)
    assert run.utilisation == pytest.approx(52 / 60)
    assert run.cpu_hours + run.idle_cpu_hours == pytest.approx(60 / HOUR)
    assert (run.jobs, run.ended, run.unplaced, run.held_up) == (5, 5, (), 0)


def test_ranks_decide_who_goes_first() -> None:
    work = SimulatedWork((SimulatedNeeds("a", seconds=1),), np.zeros(3, np.int32), edges())

    run = simulate(work, [SimulatedMachines("one", 1)], np.array([2, 0, 1]))

    assert run.spans.job.tolist() == [1, 2, 0]
    assert run.spans.start.tolist() == [0.0, 1.0, 2.0]


def test_a_machine_is_opened_when_no_open_one_has_room_and_paid_from_then_to_its_last_end() -> None:
    work = SimulatedWork((SimulatedNeeds("a", seconds=60),), np.zeros(4, np.int32), edges((3, 0)))
    machines = [SimulatedMachines("small", 1, price_per_hour=60, number=1, boot_seconds=30)]
    machines.append(SimulatedMachines("large", 2, price_per_hour=600, number=None))

    run = simulate(work, machines, np.arange(4))

    # the small one boots while it holds job 0; 3 goes to the first that has room by then
    assert run.opened == (UsedMachine(0, 0.0, 150.0), UsedMachine(1, 0.0, 60.0))
    assert when(run)[0] == (0, 30.0, 90.0)
    assert when(run)[3] == (0, 90.0, 150.0)
    assert run.cost == pytest.approx(150 / 60 + 600 / 60)


def test_a_machine_that_is_given_whole_has_one_job_at_a_time() -> None:
    work = SimulatedWork((SimulatedNeeds("a", cpus=0, seconds=5),), np.zeros(2, np.int32), edges())

    run = simulate(work, [SimulatedMachines("node", 8, whole=True)], np.arange(2))

    assert run.makespan == 10.0
    assert run.utilisation == 1.0  # whoever has it, has all of it


def test_jobs_that_fit_nowhere_are_told_and_hold_up_what_needs_them() -> None:
    nodes = (
        SimulatedNeeds("fits", 1),
        SimulatedNeeds("too wide", 64),
        SimulatedNeeds("after", 1),
        SimulatedNeeds("gpu", 1, gpus=1),
    )
    work = SimulatedWork(nodes, np.array([0, 1, 1, 2, 2, 3]), edges((3, 1), (4, 0)))

    run = simulate(
        work,
        [SimulatedMachines("n", 16), SimulatedMachines("none", 64, gpus=4, number=0)],
        np.arange(6),
    )

    assert run.unplaced == (UnplacedJobs(1, 2), UnplacedJobs(3, 1))
    assert (run.ended, run.held_up) == (2, 1)
    assert sorted(when(run)) == [0, 4]


def test_without_machines_nothing_runs() -> None:
    run = simulate(SimulatedWork(TWO, np.array([0, 1]), edges()), [], np.arange(2))

    assert (run.ended, run.makespan, run.cost) == (0, 0.0, 0)
    assert run.unplaced == (UnplacedJobs(0, 1), UnplacedJobs(1, 1))


def test_a_graph_without_jobs_takes_no_time() -> None:
    run = simulate(
        SimulatedWork((), np.zeros(0, np.int32), edges()), [SimulatedMachines("n", 1)], np.zeros(0)
    )

    assert (run.makespan, run.jobs, run.utilisation) == (0.0, 0, 0.0)


def test_what_is_over_does_not_run_and_nothing_waits_for_it() -> None:
    work = SimulatedWork(TWO, np.array([0, 1]), edges((1, 0)), over=np.array([True, False]))

    assert when(simulate(work, [SimulatedMachines("n", 1)], np.arange(2))) == {1: (0, 0.0, 4.0)}


def test_an_attempt_that_fails_takes_its_time_and_is_begun_anew() -> None:
    # given: chance that is the same for every order
    node = np.zeros(200, np.int32)
    work = SimulatedWork((SimulatedNeeds("a", seconds=1),), node, edges(), failures=0.5, seed=3)

    forwards = simulate(work, [SimulatedMachines("n", 1)], np.arange(200))
    backwards = simulate(work, [SimulatedMachines("n", 1)], np.arange(200)[::-1])

    assert forwards.ended == 200
    assert forwards.reruns > 50
    assert forwards.makespan == 200 + forwards.reruns
    assert len(forwards.spans.job) == 200 + forwards.reruns
    assert backwards.makespan == forwards.makespan
    assert backwards.spans.job.tolist() != forwards.spans.job.tolist()


def test_a_cost_is_told_only_where_every_machine_that_was_used_has_a_price() -> None:
    work = SimulatedWork((SimulatedNeeds("a", seconds=HOUR),), np.zeros(2, np.int32), edges())
    machines = [
        SimulatedMachines("priced", 1, price_per_hour=2),
        SimulatedMachines("free", 1, number=None),
    ]

    assert simulate(work, machines, np.arange(2)).cost is None
    assert simulate(work, machines[:1], np.arange(2)).cost == pytest.approx(4.0)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_times_that_cannot_be_are_refused(seconds: float) -> None:
    work = SimulatedWork((SimulatedNeeds("a", seconds=seconds),), np.zeros(1, np.int32), edges())

    with pytest.raises(RowtuiError, match="number of seconds"):
        simulate(work, [SimulatedMachines("n", 1)], np.arange(1))


def test_columns_of_unlike_lengths_and_impossible_failures_are_refused() -> None:
    node = np.zeros(2, np.int32)
    with pytest.raises(RowtuiError, match="each of 2 jobs"):
        simulate(SimulatedWork(TWO, node, edges()), [], np.arange(3))
    with pytest.raises(RowtuiError, match="below 1"):
        simulate(SimulatedWork(TWO, node, edges(), failures=1.0), [], np.arange(2))


# -- what holds for all ------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> tuple[SimulatedWork, list[SimulatedMachines], list[int]]:
    """Random work, in which jobs need only earlier ones, on random machines."""
    few = st.integers(0, 3)
    nodes = tuple(
        SimulatedNeeds(
            f"n{at}", draw(few), draw(few), draw(st.integers(0, 1)), draw(st.integers(0, 9))
        )
        for at in range(draw(st.integers(1, 4)))
    )
    count = draw(st.integers(0, 25))
    node = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=count, max_size=count))
    pairs = [
        (job, draw(st.integers(0, job - 1)))
        for job in range(1, count)
        for _ in range(draw(st.integers(0, 2)))
    ]
    machines = [
        SimulatedMachines(
            f"m{at}",
            cpus=draw(st.integers(0, 4)),
            memory_mb=draw(st.integers(0, 4)),
            gpus=draw(st.integers(0, 1)),
            number=draw(st.none() | st.integers(0, 3)),
            boot_seconds=draw(st.integers(0, 3)),
            whole=draw(st.booleans()),
        )
        for at in range(draw(st.integers(0, 3)))
    ]
    over = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    work = SimulatedWork(
        nodes,
        np.array(node, np.int32),
        edges(*pairs),
        over=np.array(over, bool),
        failures=draw(st.sampled_from([0.0, 0.3])),
    )
    return work, machines, draw(st.permutations(range(count)))


def run_of(case: tuple[SimulatedWork, list[SimulatedMachines], list[int]]) -> Simulated:
    work, machines, ranks = case
    return simulate(work, machines, np.array(ranks, np.int64))


@given(cases())
def test_no_machine_ever_holds_more_than_it_has(
    case: tuple[SimulatedWork, list[SimulatedMachines], list[int]],
) -> None:
    work, machines, _ = case
    run = run_of(case)
    spans = run.spans
    kinds = [it.kind for it in run.opened]
    for kind, machine in enumerate(machines):
        assert machine.number is None or kinds.count(kind) <= machine.number
    for number, opened in enumerate(run.opened):
        machine = machines[opened.kind]
        here = [at for at, it in enumerate(spans.machine.tolist()) if it == number]
        assert here  # nobody pays for a machine that does nothing
        for moment in {spans.start[at] for at in here}:
            there = [at for at in here if spans.start[at] <= moment < spans.end[at]]
            needs = [work.nodes[int(work.node[spans.job[at]])] for at in there]
            assert sum(it.cpus for it in needs) <= machine.cpus
            assert sum(it.memory_mb for it in needs) <= machine.memory_mb
            assert sum(it.gpus for it in needs) <= machine.gpus
            assert not machine.whole or len(needs) <= 1
        assert min(spans.start[at] for at in here) >= opened.since + machine.boot_seconds
        assert max(spans.end[at] for at in here) == opened.until


@given(cases())
def test_no_job_begins_before_all_that_it_needs_has_ended(
    case: tuple[SimulatedWork, list[SimulatedMachines], list[int]],
) -> None:
    work = case[0]
    run = run_of(case)
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for job, start, end in zip(run.spans.job.tolist(), run.spans.start, run.spans.end, strict=True):
        assert start >= last.get(job, 0.0)  # an attempt begins after the one before
        first.setdefault(job, start)
        last[job] = end
    left = work.left()
    for needed, job in zip(work.edges.needs.tolist(), work.edges.jobs.tolist(), strict=True):
        if job in first and left[needed]:
            assert first[job] >= last[needed]
    assert set(first) <= set(np.flatnonzero(left).tolist())
    assert len(first) == run.ended
    assert run.ended + run.held_up + sum(it.jobs for it in run.unplaced) == run.jobs
    assert run.held_up == 0 or run.unplaced
    assert run.makespan == max(last.values(), default=0.0)


@given(cases())
def test_no_order_is_shorter_than_the_longest_way_or_the_work_on_all_cores(
    case: tuple[SimulatedWork, list[SimulatedMachines], list[int]],
) -> None:
    work, machines, _ = case
    run = run_of(case)
    if run.ended < run.jobs:
        return
    seconds = work.each_seconds() * np.where(work.left(), work.attempts(), 0)
    longest = remaining_seconds(work.waits(), seconds)
    assert run.makespan >= (longest.max() if len(longest) else 0.0) - 1e-9
    if all(it.number is not None for it in machines):
        cores = sum(it.cpus * (it.number or 0) for it in machines)
        cpus = work.of_nodes([it.cpus for it in work.nodes])
        assert run.makespan * cores >= float((cpus * seconds).sum()) - 1e-6


@given(cases())
def test_nothing_waits_while_a_machine_has_room_for_it(
    case: tuple[SimulatedWork, list[SimulatedMachines], list[int]],
) -> None:
    """At each beginning and end: what is ready and not begun fits nowhere."""
    work, machines, _ = case
    if work.failures or any(it.boot_seconds for it in machines):
        return
    run = run_of(case)
    spans = when(run)
    left = work.left()
    needs: dict[int, list[int]] = {}
    for needed, job in zip(work.edges.needs.tolist(), work.edges.jobs.tolist(), strict=True):
        if left[needed]:
            needs.setdefault(job, []).append(needed)
    for job, (_, start, _) in spans.items():
        ready = max((spans[it][2] for it in needs.get(job, ())), default=0.0)
        mine = work.nodes[int(work.node[job])]
        moments = {end for _, _, end in spans.values() if ready <= end < start} | {ready}
        for moment in moments if ready < start else ():
            for number, opened in enumerate(run.opened):
                machine = machines[opened.kind]
                if opened.since > moment:
                    continue
                there = [
                    work.nodes[int(work.node[it])]
                    for it, (where, begin, end) in spans.items()
                    if where == number and begin <= moment < end
                ]
                fits = (
                    (not machine.whole or not there)
                    and sum(it.cpus for it in there) + mine.cpus <= machine.cpus
                    and sum(it.memory_mb for it in there) + mine.memory_mb <= machine.memory_mb
                    and sum(it.gpus for it in there) + mine.gpus <= machine.gpus
                )
                assert not fits


@given(cases())
def test_the_same_again_is_the_same(
    case: tuple[SimulatedWork, list[SimulatedMachines], list[int]],
) -> None:
    one, two = run_of(case), run_of(case)

    assert [column.tolist() for column in one.spans] == [it.tolist() for it in two.spans]
    assert (one.cost, one.opened, one.reruns) == (two.cost, two.opened, two.reruns)
