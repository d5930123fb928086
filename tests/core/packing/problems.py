"""Problems of all kinds for property tests: with and without time, hints, limits, odd sizes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from rowtui.core.packing.model import Demand, InstanceType, PackingProblem, ResourceAmounts
from rowtui.core.packing.unplaced import find_unplaced, without_unplaced

HUGE = 2**62

amounts = st.builds(
    ResourceAmounts,
    cpus=st.integers(0, 12),
    memory_mb=st.one_of(st.integers(0, 40), st.just(HUGE)),
    gpus=st.sampled_from([0, 0, 0, 1, 2, 3]),
    disk_mb=st.sampled_from([0, 0, 5, 9]),
)


@st.composite
def node_types(draw: st.DrawFn) -> tuple[InstanceType, ...]:
    number = draw(st.integers(0, 5))
    return tuple(
        InstanceType(
            name=f"type {at}",
            amounts=draw(
                st.builds(
                    ResourceAmounts,
                    cpus=st.integers(0, 16),
                    memory_mb=st.integers(0, 64),
                    gpus=st.sampled_from([0, 0, 2, 4]),
                    disk_mb=st.sampled_from([0, 10]),
                )
            ),
            price=draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.5, 7.125])),
            at_most=draw(st.sampled_from([None, None, None, 3, 0])),
            boot_seconds=draw(st.sampled_from([0, 0, 60, 600])),
            longest_seconds=draw(st.sampled_from([None, None, 3600, 7200])),
        )
        for at in range(number)
    )


@st.composite
def problems(draw: st.DrawFn, timed: bool | None = None) -> PackingProblem:
    """Any problem at all; `timed`: with times, without, or (None) either."""
    kinds = draw(node_types())
    with_time = draw(st.booleans()) if timed is None else timed
    seconds = st.integers(1, 120).map(lambda minutes: minutes * 60) if with_time else st.just(0)
    hints = st.sampled_from(["", "", "", "type 0", "type 1", "nothing like it"])
    demand = st.builds(Demand, amounts=amounts, seconds=seconds, hint=hints)
    demands = draw(st.lists(demand, max_size=8, unique=True))
    counts = draw(
        st.lists(
            st.one_of(st.integers(0, 6), st.integers(0, 2000)),
            min_size=len(demands),
            max_size=len(demands),
        )
    )
    largest = draw(st.sampled_from([None, None, 1, 2, 7]))
    return PackingProblem(kinds, tuple(demands), tuple(counts), largest)


ROOMY = InstanceType("roomy", ResourceAmounts(16, HUGE, 4, 10), 3.25)


def placeable_problems(timed: bool | None = None) -> st.SearchStrategy[PackingProblem]:
    """Problems with requests, all of which fit somewhere."""
    return problems(timed).map(lambda problem: _placeable(problem, bool(timed)))


def _placeable(problem: PackingProblem, timed: bool) -> PackingProblem:
    there = replace(problem, node_types=(*problem.node_types, ROOMY))
    rest, _ = without_unplaced(there, find_unplaced(there))
    if rest.demands:
        return rest
    demand = Demand(ResourceAmounts(1, 1), 60 * (timed or problem.timed))
    return replace(rest, demands=(demand,), counts=(3,))
