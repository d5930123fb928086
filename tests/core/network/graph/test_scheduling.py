"""The order that scheduling plug-ins give to jobs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.graph.job_graph import JobGraph
from rowtui.core.network.graph.job_model import DependencyColumns, JobBlock
from rowtui.core.network.graph.scheduling import (
    OURS,
    FromSource,
    NodeFacts,
    Orderable,
    SchedulingError,
    find_plugin,
    ranks,
    remaining_seconds,
)

# Two samples through simulate -> average -> plot, and simulate -> check; workflow.toml names
# check first. Jobs: simulate 0 1, average 2 3, plot 4 5, check 6 7.
NODES = (
    NodeFacts("simulate", 1, {"figure": 3, "report": 2}, 100.0, row=1),
    NodeFacts("average", 2, {"figure": 2}, 10.0, row=2),
    NodeFacts("plot", 3, {"figure": 1}, 1.0, row=3),
    NodeFacts("check", 2, {"report": 1}, 50.0, row=0),
)


def study(**more: Any) -> Orderable:
    graph = JobGraph()
    graph.extend(
        JobBlock(0, 2),
        JobBlock(1, 2, [0, 1, 2], [0, 1]),
        JobBlock(2, 2, [0, 1, 2], [2, 3]),
        JobBlock(3, 2, [0, 1, 2], [0, 1]),
    )
    return Orderable(NODES, graph.nodes(), np.array([0, 1] * 4), graph.edges(), **more)


def order(name: str, jobs: Orderable | None = None) -> list[int]:
    places: list[int] = ranks(find_plugin(name), jobs or study()).tolist()
    return sorted(range(len(places)), key=places.__getitem__)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # All of the first sample, in the order of workflow.toml, then all of the second.
        ("sample", [6, 0, 2, 4, 7, 1, 3, 5]),
        # plot and check are one link from a sink, average and simulate two.
        ("sink", [6, 7, 4, 5, 0, 1, 2, 3]),
        # check leads to no figure.
        ("sink:figure", [4, 5, 2, 3, 0, 1, 6, 7]),
        ("sink:report", [6, 7, 0, 1, 2, 3, 4, 5]),
        ("source:+1", [0, 1, 6, 7, 2, 3, 4, 5]),
        ("source:-1", [4, 5, 6, 7, 2, 3, 0, 1]),
        # simulate has 150 seconds to the end, check 50, average 11, plot 1.
        ("critical-path", [0, 1, 6, 7, 2, 3, 4, 5]),
        ("row", [6, 7, 0, 1, 2, 3, 4, 5]),
    ],
)
def test_each_plug_in_puts_first_what_it_says(name: str, expected: list[int]) -> None:
    assert order(name) == expected


def test_a_small_weight_mixes_stages_with_samples() -> None:
    # The second sample is half a stage (0.5 of weight 1) or a whole one (0.5) behind.
    jobs = study()

    keys = FromSource(0.5).keys(jobs)[0].tolist()

    assert keys == [0.5, 1.0, 1.0, 1.5, 1.5, 2.0, 1.0, 1.5]
    assert order("source:0.5") == [0, 6, 1, 2, 7, 3, 4, 5]
    assert order("source:0") == order("sample")


def test_what_is_known_of_one_job_counts_more_than_what_is_expected_of_its_node() -> None:
    seconds = np.full(8, np.nan)
    seconds[5] = 1000.0  # the plot of the second sample

    assert order("critical-path", study(seconds=seconds))[:3] == [1, 3, 5]


def test_every_plug_in_gives_every_place_once_and_always_the_same() -> None:
    for name in OURS:
        asked = name.replace("NAME", "report")
        first, second = (ranks(find_plugin(asked), study()).tolist() for _ in range(2))
        assert sorted(first) == list(range(8))
        assert first == second


def test_no_jobs_have_no_ranks() -> None:
    nothing = np.zeros(0, np.int32)
    jobs = Orderable((), nothing, nothing, DependencyColumns(nothing, nothing))

    for name in ("sample", "sink", "source:+1", "source:0.5", "critical-path", "row"):
        assert ranks(find_plugin(name), jobs).tolist() == []


def test_samples_beyond_sixteen_bits_keep_their_order() -> None:
    count = 100_000
    sample = np.random.default_rng(1).permutation(count)
    nothing = np.zeros(0, np.int32)
    jobs = Orderable(NODES, np.zeros(count, np.int32), sample, DependencyColumns(nothing, nothing))

    assert ranks(find_plugin("row"), jobs).tolist() == sample.tolist()


def test_a_sink_that_is_not_there_is_an_error_with_those_that_are() -> None:
    with pytest.raises(SchedulingError, match="no node leads to a sink 'figur'") as raised:
        order("sink:figur")

    assert raised.value.hint == "there are: figure, report"


@pytest.mark.parametrize("name", ["source:", "source:nan", "source:inf", "source:a"])
def test_a_source_without_a_weight_is_an_error(name: str) -> None:
    with pytest.raises(SchedulingError, match="has no weight"):
        find_plugin(name)


def test_a_name_that_is_nearly_right_is_told_what_it_may_have_meant() -> None:
    with pytest.raises(SchedulingError, match="no scheduling plug-in 'critical_path'") as raised:
        find_plugin("critical_path")

    assert raised.value.hint.startswith("did you mean 'critical-path'? there are: critical-path, ")


def test_a_plug_in_says_its_name_as_it_is_written() -> None:
    for name in ("sample", "sink", "sink:figure", "source:+1", "source:-0.5", "row"):
        assert find_plugin(name).name == name


# -- the critical path ---------------------------------------------------------------------------


@given(st.data())
def test_the_longest_way_is_that_of_a_walk_over_all_ways(data: Any) -> None:
    count = data.draw(st.integers(1, 12))
    # Half of the graphs are wide enough for what is done many at a time.
    copies = data.draw(st.sampled_from([1, 80]))
    numbers = data.draw(st.permutations(range(count)))  # not in the order of their numbers
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = [(min(it), max(it)) for it in data.draw(st.lists(pair, max_size=20))]
    edges = [(numbers[a], numbers[b]) for a, b in pairs if a != b]
    seconds = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    wide = [(a + n * count, b + n * count) for n in range(copies) for a, b in edges]
    columns = np.array(wide, np.int32).reshape(-1, 2)

    found = remaining_seconds(
        DependencyColumns(columns[:, 0], columns[:, 1]), np.array(seconds * copies)
    )

    def way(job: int) -> int:
        mine: int = seconds[job]
        return mine + max((way(b) for a, b in edges if a == job), default=0)

    assert found.tolist() == [way(job) for job in range(count)] * copies


# -- plug-ins of other people --------------------------------------------------------------------

THEIRS = """
import numpy as np

class Backwards:
    name = "backwards"
    summary = "the last job first"
    def keys(self, jobs):
        return (-np.arange(len(jobs.node)),)

class Explodes(Backwards):
    def keys(self, jobs):
        raise KeyError("their words")

class TooFew(Backwards):
    def keys(self, jobs):
        return (np.zeros(1),)

class Nan(Backwards):
    def keys(self, jobs):
        return (np.full(len(jobs.node), np.nan),)

class Nameless:
    def keys(self, jobs):
        return ()

def explode():
    raise SystemExit(3)
"""


@pytest.fixture
def _their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_orders.py").write_text(THEIRS)
    info = tmp_path / "their_orders-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-orders\nVersion: 1\n")
    made = {
        "backwards": "Backwards",
        "explodes": "Explodes",
        "few": "TooFew",
        "nan": "Nan",
        "nameless": "Nameless",
        "early": "explode",
        "sample": "Backwards",
    }
    points = [f"{name} = their_orders:{made[name]}" for name in made]
    (info / "entry_points.txt").write_text(
        "[rowtui.scheduling_plugins]\n" + "\n".join(points) + "\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_orders", raising=False)


@pytest.mark.usefixtures("_their_package")
def test_an_installed_plug_in_orders_under_its_name() -> None:
    assert order("backwards") == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.usefixtures("_their_package")
def test_an_installed_plug_in_cannot_take_the_place_of_ours() -> None:
    assert order("sample")[0] == 6


@pytest.mark.usefixtures("_their_package")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("early", "'early' failed with SystemExit"),
        ("nameless", "'nameless' makes no scheduling plug-in"),
        ("explodes", "'backwards' failed with KeyError"),
        ("few", "gave no number for each of 8 jobs"),
        ("nan", "gave no number for each of 8 jobs"),
    ],
)
def test_a_plug_in_of_no_use_is_an_error_without_its_own_words(name: str, said: str) -> None:
    with pytest.raises(SchedulingError, match=said) as raised:
        order(name)

    assert "their words" not in str(raised.value)
