"""The network bench builds the shapes that it says, and runs them to their end."""

import pytest
from rowtui.core.network.graph.job_model import GraphJobState

from bench import network


@pytest.mark.parametrize(
    ("shape", "jobs", "edges"), [("sweep", 400, 300), ("collapse", 421, 420), ("lists", 421, 820)]
)
def test_a_shape_has_the_jobs_and_dependencies_that_it_says(
    shape: str, jobs: int, edges: int
) -> None:
    told = network.measure(shape, "sample", 400)

    assert (told["jobs"], told["edges"]) == (jobs, edges)
    assert told["per_edge"] >= 0  # the clock may not have moved


def test_a_collector_of_lists_waits_for_the_last_of_them() -> None:
    graph, grow = network.lists(9)
    for job in (0, 1, 2):
        assert graph.state(3) is GraphJobState.WAITING
        grow(job)
        graph.complete(graph.complete(job).ready)

    assert graph.ready() == [3]
    assert len(graph.dependencies(3)) == 3 + 9


def test_what_was_missed_is_said() -> None:
    rows = [
        {"shape": "sweep", "plug_in": "row", "build": 0.5, "per_edge": 30.0},
        {"shape": "lists", "plug_in": "row", "build": 0.7, "per_edge": 3.0},
    ]

    assert network.goals(rows)[2:] == [
        "| building 1M jobs: s | 1 | 0.70 | lists, row |  |",
        "| a completion: us per edge | 20 | 30.00 | sweep, row | **missed** |",
    ]
