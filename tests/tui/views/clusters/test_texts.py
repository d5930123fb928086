"""The lines of clusters, and all of them in one line."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.views.views import ClusterView
from rowtui.tui.views.clusters.texts import cluster_lines, cluster_mark
from rowtui.tui.widgets.cells import plain, width_of
from rowtui.tui.widgets.short_text import (
    APART,
    CLUSTER_MARKS,
    CONNECTED,
    CONNECTING,
    HERE,
    NEEDS_LOGIN,
    SILENT,
    SLOW,
    UNREACHABLE,
)

NOW = 1_000_000.0
GOOD = ClusterView("anvil", "slurm", "me@anvil", True, as_of=NOW - 14, next_at=NOW + 46)


def told(*clusters: ClusterView, width: int = 80) -> list[str]:
    return [plain(one).rstrip() for one in cluster_lines(clusters, NOW, width)]


def test_each_way_to_be_reached_has_a_mark_of_its_own() -> None:
    cases = {
        HERE: ClusterView("local", "local"),
        SILENT: GOOD._replace(error="squeue: timed out"),
        CONNECTED: GOOD,
        SLOW: GOOD._replace(slow=True),
        APART: GOOD._replace(connected=False),
        NEEDS_LOGIN: GOOD._replace(connected=False, login="a code", error="denied"),
        UNREACHABLE: GOOD._replace(connected=False, error="no route"),
    }
    for mark, cluster in cases.items():
        assert cluster_mark(cluster) is mark
        assert cluster_mark(cluster, {cluster.name}) is CONNECTING
    assert {*cases, CONNECTING} == set(CLUSTER_MARKS)
    assert len({mark.word for mark in CLUSTER_MARKS}) == len(CLUSTER_MARKS)


def test_a_good_cluster_tells_its_counts_its_age_and_the_next_look() -> None:
    active = [JobState.RUNNING, JobState.COMPLETING, JobState.PENDING, JobState.HELD]
    counts = (*((state, 1) for state in active), (JobState.FAILED, 9))
    [line] = told(GOOD._replace(counts=counts))
    assert line == "anvil  ● connected  2 running  2 pending   10 s ago, next in 45 s"
    [wide] = told(GOOD._replace(counts=counts), width=120)
    assert wide.endswith("slurm       me@anvil")
    [narrow] = told(GOOD._replace(counts=counts), width=56)
    assert narrow.endswith("2 pending   10 s ago")
    [own] = told(ClusterView("local", "local", as_of=NOW))
    assert own.endswith("now")


def test_what_is_not_well_says_why_since_when_and_what_to_do() -> None:
    lost = GOOD._replace(connected=False, error="no route to host", as_of=NOW - 720)
    assert told(lost) == [
        "anvil  ✗ unreachable  last answer 12 min ago, again in 45 s: no route to host"
    ]
    assert told(lost._replace(as_of=None, next_at=0.0)) == [
        "anvil  ✗ unreachable  no route to host"
    ]
    code = GOOD._replace(connected=False, login="it asks for a code")
    assert told(code) == ["anvil  ▲ needs login  press L: it asks for a code"]
    assert told(GOOD._replace(connected=False)) == ["anvil  ○ not connected  press L to connect"]
    assert told(GOOD._replace(as_of=None))[0].endswith("not asked yet")


def test_of_many_clusters_those_that_need_somebody_have_a_line() -> None:
    many = [GOOD._replace(name=f"c{number}") for number in range(6)]
    many[5] = many[5]._replace(connected=False, login="a code")
    lines = told(*many)
    assert [line[:2] for line in lines] == ["c0", "c1", "c2", "c5", "+2"]
    assert lines[-1] == "+2 more, all well"
    ill = [one._replace(error="down") for one in many]
    assert told(*ill)[-1] == "+2 more"


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            ClusterView,
            name=st.text(max_size=40),
            scheduler=st.text(max_size=9),
            where=st.text(max_size=30),
            connected=st.sampled_from([None, True, False]),
            login=st.sampled_from(["", "a\x1b[31mcode"]),
            as_of=st.none() | st.floats(0, 2 * NOW),
            next_at=st.floats(0, 2 * NOW),
            error=st.text(max_size=60),
        ),
        max_size=7,
        unique_by=lambda one: one.name,
    ),
    st.integers(1, 210),
)
def test_no_cluster_breaks_the_lines(clusters: list[ClusterView], width: int) -> None:
    lines = cluster_lines(clusters, NOW, width)
    assert len(lines) <= 5
    for line in lines:
        assert width_of(line) <= width
        assert plain(line).isprintable()
