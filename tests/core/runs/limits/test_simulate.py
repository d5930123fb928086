"""Simulated runs: a case by hand, and what holds for every graph, machine and order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.graph.job_model import DependencyColumns
from rowtui.core.network.graph.scheduling import remaining_seconds
from rowtui.core.runs.limits.run_times import SimulatedMachines
from rowtui.core.runs.limits.simulation import (
    Simulated,
    SimulatedNeeds,
    SimulatedWork,
    simulate,
)


def edges(*pairs: tuple[int, int]) -> DependencyColumns:
    """(job, what it needs)."""
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return DependencyColumns(columns[:, 1], columns[:, 0])


def simulated(work: SimulatedWork, machines: list[SimulatedMachines]) -> Simulated:
    """The course of work of which every job fits on some machine."""
    run = simulate(work, machines)
    assert run is not None
    return run


def when(run: Simulated) -> dict[int, tuple[int, float, float]]:
    """By job: on which machine, from when, until when."""
    return {span.job: (span.machine, span.start, span.end) for span in run.spans}


TWO = (SimulatedNeeds("wide", cpus=2, seconds=10), SimulatedNeeds("narrow", cpus=1, seconds=4))


def test_a_case_worked_out_by_hand() -> None:
    # given: 0 and 1 are wide, 2 and 3 narrow, 4 narrow and needs 0 and 2; machines of three CPUs
    work = SimulatedWork(TWO, np.array([0, 0, 1, 1, 1]), edges((4, 0), (4, 2)))

    run = simulated(work, [SimulatedMachines(3)])

    # then: 2 runs beside 0, 3 after it; 1 has to wait for 0, 4 for both
    assert when(run) == {
        0: (0, 0.0, 10.0),
        2: (0, 0.0, 4.0),
        3: (0, 4.0, 8.0),
        1: (0, 10.0, 20.0),
        4: (0, 10.0, 14.0),
    }
    assert run.makespan == 20.0


def test_a_machine_is_opened_when_no_open_one_has_room() -> None:
    work = SimulatedWork((SimulatedNeeds("a", seconds=60),), np.zeros(4, np.int32), edges((3, 0)))
    machines = [SimulatedMachines(1, boot_seconds=30), SimulatedMachines(2, number=None)]

    run = simulated(work, machines)

    # the small one boots while it holds job 0; 3 goes to the first that has room by then
    assert run.opened == [0, 1]
    assert when(run)[0] == (0, 30.0, 90.0)
    assert when(run)[3] == (0, 90.0, 150.0)


def test_a_machine_that_is_given_whole_has_one_job_at_a_time() -> None:
    work = SimulatedWork((SimulatedNeeds("a", cpus=0, seconds=5),), np.zeros(2, np.int32), edges())

    assert simulated(work, [SimulatedMachines(8, whole=True)]).makespan == 10.0


def test_work_of_which_a_job_fits_nowhere_is_not_simulated() -> None:
    machines = [SimulatedMachines(16), SimulatedMachines(64, gpus=4, number=0)]
    for nowhere in (
        SimulatedNeeds("too wide", 64),
        SimulatedNeeds("gpu", 1, gpus=1),
        SimulatedNeeds("refused", 1, refused="the mapping refuses it"),
    ):
        node = np.array([0, 1])
        work = SimulatedWork((SimulatedNeeds("fits", 1), nowhere), node, edges())
        assert simulate(work, machines) is None
        # unless the job is over
        over = np.array([False, True])
        assert simulate(SimulatedWork(work.nodes, node, edges(), over=over), machines) is not None


def test_without_machines_nothing_runs() -> None:
    assert simulate(SimulatedWork(TWO, np.array([0, 1]), edges()), []) is None


def test_a_graph_without_jobs_takes_no_time() -> None:
    work = SimulatedWork((), np.zeros(0, np.int32), edges())

    assert simulated(work, [SimulatedMachines(1)]).makespan == 0.0


def test_what_is_over_does_not_run_and_nothing_waits_for_it() -> None:
    work = SimulatedWork(TWO, np.array([0, 1]), edges((1, 0)), over=np.array([True, False]))

    assert when(simulated(work, [SimulatedMachines(1)])) == {1: (0, 0.0, 4.0)}


# -- what holds for all ------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> tuple[SimulatedWork, list[SimulatedMachines]]:
    """Random work, in which jobs need only earlier ones, on random machines.

    The last machines hold every job.
    """
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
    number = st.none() | st.integers(0, 3)
    boot, whole = st.integers(0, 3), st.booleans()
    machines = [
        SimulatedMachines(
            draw(st.integers(0, 4)),
            draw(st.integers(0, 4)),
            draw(st.integers(0, 1)),
            draw(number),
            draw(boot),
            draw(whole),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    machines.append(SimulatedMachines(3, 3, 1, draw(number.filter(bool)), draw(boot), draw(whole)))
    over = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    work = SimulatedWork(nodes, np.array(node, np.int32), edges(*pairs), over=np.array(over, bool))
    return work, machines


@given(cases())
def test_no_machine_ever_holds_more_than_it_has(
    case: tuple[SimulatedWork, list[SimulatedMachines]],
) -> None:
    work, machines = case
    run = simulated(work, machines)
    for kind, machine in enumerate(machines):
        assert machine.number is None or run.opened.count(kind) <= machine.number
    for number, kind in enumerate(run.opened):
        machine = machines[kind]
        here = [span for span in run.spans if span.machine == number]
        assert here  # no machine is opened in vain
        for moment in {span.start for span in here}:
            there = [span for span in here if span.start <= moment < span.end]
            needs = [work.nodes[int(work.node[span.job])] for span in there]
            assert sum(it.cpus for it in needs) <= machine.cpus
            assert sum(it.memory_mb for it in needs) <= machine.memory_mb
            assert sum(it.gpus for it in needs) <= machine.gpus
            assert not machine.whole or len(needs) <= 1
        assert min(span.start for span in here) >= machine.boot_seconds


@given(cases())
def test_every_job_runs_once_after_all_that_it_needs(
    case: tuple[SimulatedWork, list[SimulatedMachines]],
) -> None:
    work, machines = case
    run = simulated(work, machines)
    spans = {span.job: span for span in run.spans}
    left = work.left()
    assert sorted(span.job for span in run.spans) == np.flatnonzero(left).tolist()
    for needed, job in zip(work.edges.needs.tolist(), work.edges.jobs.tolist(), strict=True):
        if left[job] and left[needed]:
            assert spans[job].start >= spans[needed].end
    assert run.makespan == max((span.end for span in run.spans), default=0.0)


@given(cases())
def test_no_run_is_shorter_than_the_longest_way_or_the_work_on_all_cores(
    case: tuple[SimulatedWork, list[SimulatedMachines]],
) -> None:
    work, machines = case
    run = simulated(work, machines)
    seconds = work.each_seconds()
    longest = remaining_seconds(work.waits(), seconds)
    assert run.makespan >= (longest.max() if len(longest) else 0.0) - 1e-9
    if all(it.number is not None for it in machines):
        cores = sum(it.cpus * (it.number or 0) for it in machines)
        cpus = work.of_nodes([it.cpus for it in work.nodes])
        assert run.makespan * cores >= float((cpus * seconds).sum()) - 1e-6


@given(cases())
def test_nothing_waits_while_a_machine_has_room_for_it(
    case: tuple[SimulatedWork, list[SimulatedMachines]],
) -> None:
    """At each beginning and end: what is ready and not begun fits nowhere."""
    work, machines = case
    if any(it.boot_seconds for it in machines):
        return
    run = simulated(work, machines)
    spans = when(run)
    left = work.left()
    needs: dict[int, list[int]] = {}
    for needed, job in zip(work.edges.needs.tolist(), work.edges.jobs.tolist(), strict=True):
        if left[needed]:
            needs.setdefault(job, []).append(needed)
    since = [
        min(span.start for span in run.spans if span.machine == at) for at in range(len(run.opened))
    ]
    for job, (_, start, _) in spans.items():
        ready = max((spans[it][2] for it in needs.get(job, ())), default=0.0)
        mine = work.nodes[int(work.node[job])]
        moments = {end for _, _, end in spans.values() if ready <= end < start} | {ready}
        for moment in moments if ready < start else ():
            for number, kind in enumerate(run.opened):
                machine = machines[kind]
                if since[number] > moment:
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
