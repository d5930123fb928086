"""Charts of simulated runs: what each cell says, however many spans are in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.graph.job_model import DependencyColumns
from rowtui.core.network.simulation.gantt import NOTHING, GanttCell, gantt
from rowtui.core.network.simulation.simulate import (
    Simulated,
    SimulatedMachines,
    SimulatedNeeds,
    SimulatedWork,
    simulate,
)

NODES = (
    SimulatedNeeds("a", cpus=2, seconds=10),
    SimulatedNeeds("b", cpus=1, seconds=5),
    SimulatedNeeds("idle"),
)


def work(*node: int, needs: tuple[tuple[int, int], ...] = ()) -> SimulatedWork:
    pairs = np.array(needs, np.int64).reshape(-1, 2)
    return SimulatedWork(
        NODES, np.array(node, np.int32), DependencyColumns(pairs[:, 1], pairs[:, 0])
    )


def ran(given: SimulatedWork, machines: list[SimulatedMachines]) -> Simulated:
    return simulate(given, machines, np.arange(len(given.node)))


def test_a_cell_has_the_node_that_took_most_of_it_and_how_full_it_was() -> None:
    # given: a (two of four CPUs) for 10 s, b (one) for 5 s beside it, then b again
    mine = work(0, 1, 1, needs=((2, 0),))
    machines = [SimulatedMachines("node", 4)]

    chart = gantt(mine, machines, ran(mine, machines), width=3)

    assert chart.seconds == 5.0
    (row,) = chart.rows
    assert (row.label, row.first, row.last) == ("node 1", 0, 0)
    assert row.cells == (GanttCell(0, 0.75), GanttCell(0, 0.5), GanttCell(1, 0.25))


def test_a_span_counts_by_the_part_of_a_cell_that_it_fills() -> None:
    mine = work(1, 1, needs=((1, 0),))  # 5 s and 5 s
    machines = [SimulatedMachines("node", 1, boot_seconds=2)]

    chart = gantt(mine, machines, ran(mine, machines), width=3)  # 12 s in cells of 4 s

    assert chart.rows[0].cells == (GanttCell(1, 0.5), GanttCell(1, 1.0), GanttCell(1, 1.0))


def test_a_moment_without_jobs_has_no_node() -> None:
    mine = work(1)
    machines = [SimulatedMachines("node", 1, boot_seconds=5)]

    chart = gantt(mine, machines, ran(mine, machines), width=2)

    assert chart.rows[0].cells == (GanttCell(NOTHING, 0.0), GanttCell(1, 1.0))


def test_machines_share_rows_where_there_are_more_than_rows() -> None:
    mine = work(1, 1, 1, 1, 1)
    machines = [SimulatedMachines("x", 1, number=2), SimulatedMachines("y", 1, number=None)]

    chart = gantt(mine, machines, ran(mine, machines), height=2, width=1)

    assert [row.label for row in chart.rows] == ["x 1-2", "y 1-3"]
    assert [(row.first, row.last) for row in chart.rows] == [(0, 1), (2, 4)]
    assert all(row.cells == (GanttCell(1, 1.0),) for row in chart.rows)


def test_rows_may_be_nodes_each_beside_its_own_busiest_time() -> None:
    mine = work(0, 1, 1, needs=((2, 0),))
    machines = [SimulatedMachines("node", 4)]

    chart = gantt(mine, machines, ran(mine, machines), by="nodes", width=3)

    assert [row.label for row in chart.rows] == ["a", "b"]  # nothing is to be said of `idle`
    assert chart.rows[0].cells == (GanttCell(0, 1.0), GanttCell(0, 1.0), GanttCell(NOTHING, 0.0))
    assert chart.rows[1].cells == (GanttCell(1, 1.0), GanttCell(NOTHING, 0.0), GanttCell(1, 1.0))


def test_a_run_of_no_time_has_no_rows() -> None:
    mine = work()
    assert gantt(mine, [], ran(mine, [])).rows == ()


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=30),
    st.integers(1, 7),
    st.integers(1, 40),
    st.integers(1, 4),
)
def test_all_that_ran_is_in_the_chart(
    node: list[int], height: int, width: int, number: int
) -> None:
    mine = work(*node)
    machines = [SimulatedMachines("node", 3, number=number)]
    run = ran(mine, machines)

    chart = gantt(mine, machines, run, height=height, width=width)

    assert len(chart.rows) <= height
    assert all(len(row.cells) == width for row in chart.rows)
    cores = sum(
        cell.share * 3 * (row.last - row.first + 1) for row in chart.rows for cell in row.cells
    )
    assert cores * chart.seconds == pytest.approx(run.cpu_hours * 3600, rel=1e-4)
