"""The lines of clusters, and rows of jobs that are or are not this project's."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.engine import ClusterView, JobsView
from rowtui.tui.queue_digest import QueueDigest
from rowtui.tui.render.cells import plain, width_of
from rowtui.tui.render.clusters import cluster_lines, cluster_mark, counted
from rowtui.tui.render.jobs import job_detail, other_detail, other_jobs
from rowtui.tui.render.marks import (
    APART,
    CLUSTER_MARKS,
    CONNECTED,
    CONNECTING,
    HERE,
    NEEDS_LOGIN,
    SILENT,
    UNREACHABLE,
)

from tests.tui.sample_clusters import with_clusters

NOW = 1_000_000.0
GOOD = ClusterView("anvil", "slurm", "me@anvil", True, as_of=NOW - 14, next_at=NOW + 46)


def told(*clusters: ClusterView, width: int = 80) -> list[str]:
    counts = {one.name: counted(one.jobs) for one in clusters}
    return [plain(one).rstrip() for one in cluster_lines(clusters, counts, NOW, width)]


def test_each_way_to_be_reached_has_a_mark_of_its_own() -> None:
    cases = {
        HERE: ClusterView("local", "local"),
        SILENT: GOOD._replace(error="squeue: timed out"),
        CONNECTED: GOOD,
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
    states = [*active, *[JobState.FAILED] * 9]
    jobs = tuple(Job(number, state) for number, state in enumerate(states))
    [line] = told(GOOD._replace(jobs=jobs))
    assert line == "anvil  ● connected  2 running  2 waiting   10 s ago, next in 45 s"
    [wide] = told(GOOD._replace(jobs=jobs), width=120)
    assert wide.endswith("slurm       me@anvil")
    [narrow] = told(GOOD._replace(jobs=jobs), width=56)
    assert narrow.endswith("2 waiting   10 s ago")
    [own] = told(ClusterView("local", "local", as_of=NOW))
    assert own.endswith("now")


def test_what_is_not_well_says_why_since_when_and_what_to_do() -> None:
    lost = GOOD._replace(connected=False, error="no route to host", as_of=NOW - 720)
    assert told(lost) == ["anvil  ✗ unreachable  for 12 min, again in 45 s: no route to host"]
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
    lines = cluster_lines(clusters, {}, NOW, width)
    assert len(lines) <= 5
    for line in lines:
        assert width_of(line) <= width
        assert plain(line).isprintable()


async def test_others_are_the_jobs_without_a_record_newest_first() -> None:
    view = await with_clusters().jobs()
    assert [(one.cluster, str(one.job.key)) for one in other_jobs(view)] == [
        ("anvil", "9181000_7"),
        ("anvil", "9180417"),
        ("anvil", "9180001"),
    ]
    # the same ids on another cluster are other jobs; a token of ours is ours under any id
    elsewhere = view.clusters[1]._replace(name="delta")
    token = view.jobs[0].record.token
    odd = ClusterView("odd", "slurm", jobs=(Job(1, JobState.RUNNING, token=token),))
    again = other_jobs(view._replace(clusters=(elsewhere, odd)))
    ours = {job.record.token for job in view.jobs}
    assert not any(one.job.token in ours for one in again)
    stripped = elsewhere._replace(jobs=tuple(replace(job, token="") for job in elsewhere.jobs))
    assert len(other_jobs(view._replace(clusters=(stripped,)))) == 5


async def test_a_queue_that_was_not_asked_again_is_not_counted_again() -> None:
    engine = with_clusters()
    view = await engine.jobs()
    queues = tuple(one._replace(jobs=one.jobs) for one in view.clusters)
    digest = QueueDigest()
    digest.look_at(view)
    others, ordered = digest.others, digest.sorted_others("id", False)
    digest.look_at(JobsView(2, NOW, view.jobs, clusters=queues))
    assert digest.others is others
    assert digest.sorted_others("id", False) is ordered
    anvil = queues[1]._replace(jobs=queues[1].jobs[:-1])
    digest.look_at(view._replace(clusters=(queues[0], anvil)))
    assert len(digest.others) == len(others) - 1
    assert digest.sorted_others("id", True) == digest.others
    digest.look_at(None)
    assert (digest.counts, digest.others) == ({}, [])


async def test_the_detail_explains_why_a_job_waits_and_when_it_may_start() -> None:
    view = await with_clusters().jobs()
    waiting = next(job for job in view.jobs if job.reason == "Priority")
    waiting = waiting._replace(reason="Resources", start_estimate=int(NOW + 7300))
    [first, hint, *_] = [plain(one) for one in job_detail(waiting, NOW, 200)]
    assert first.startswith("· pending  It waits until enough cores")
    assert "expects it to start in 2 h" in first
    assert first.endswith("  Resources")
    assert hint.strip()
    narrow = job_detail(waiting, NOW, 40)
    assert all(width_of(one) <= 40 for one in narrow[:4])
    assert "Resources" not in " ".join(plain(one) for one in narrow)
    held = Job(1, JobState.PENDING, reason="DependencyNeverSatisfied")
    [first, *_] = other_detail(other_jobs(view)[0]._replace(job=held), NOW, 200)
    assert "warning" in {span.style for span in first}
