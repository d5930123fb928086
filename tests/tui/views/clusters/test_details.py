"""Clusters as cells and lines, and their badges, without a terminal."""

from __future__ import annotations

from rowtui.core.clusters.command_log import RanCommand
from rowtui.core.clusters.model import NodeType, Partition
from rowtui.core.clusters.polling.policy import PollPace
from rowtui.core.project.context.clusters import ClusterDetail, ClusterNodes
from rowtui.core.project.views.views import ClusterView
from rowtui.tui.views.activity_page import activity_rows, command_rows
from rowtui.tui.views.chrome import MOST_BADGES, cluster_badges
from rowtui.tui.views.clusters.details import cluster_cells, detail_lines, limits, mark_of
from rowtui.tui.widgets.cells import plain, width_of

NOW = 1_000.0
HOSTILE = "a\x1b[2J\nb"


def text_of(cluster: ClusterDetail, width: int = 160, **options: object) -> str:
    return "\n".join(plain(one) for one in detail_lines(cluster, NOW, width, **options))  # type: ignore[arg-type]


def test_no_line_is_wider_than_there_is_room_and_nothing_steers_the_terminal() -> None:
    cluster = ClusterDetail(
        HOSTILE, "slurm", HOSTILE, HOSTILE, (HOSTILE * 20,), connected=False, login=HOSTILE,
        error=HOSTILE, partitions=(Partition(HOSTILE),), partitions_note=HOSTILE,
        kinds=(NodeType(HOSTILE, HOSTILE, 4),), kinds_note=HOSTILE,
    )  # fmt: skip
    nodes = ClusterNodes(HOSTILE, NOW, (), (HOSTILE,))
    for width in (1, 5, 17, 40, 80, 200):
        for one in detail_lines(cluster, NOW, width, nodes=nodes, refused=HOSTILE):
            assert "\x1b" not in plain(one)
            assert "\n" not in plain(one)
            assert width_of(one) <= width


def test_what_is_not_known_is_said() -> None:
    text = text_of(ClusterDetail("alpha", "slurm", kinds_note="not configured: r asks"))
    assert "not asked yet" in text
    assert "Node types  not configured: r asks" in text
    assert plain(cluster_cells(ClusterDetail("alpha", "slurm"), NOW)["running"]) == "–"  # type: ignore[arg-type]


def test_the_pace_says_why_a_cluster_is_asked_more_seldom() -> None:
    known = ClusterDetail("alpha", "slurm", as_of=NOW - 30, next_at=NOW + 60, interval=60.0)
    assert "polled every 1 min; next in 1 min" in text_of(known)
    slow = known._replace(pace=PollPace.SLOWED, latency=6.14)
    assert "polled every 5 min instead of 1 min: its answers take 6.1 s" in text_of(slow)
    failing = known._replace(pace=PollPace.BACKING_OFF, failures=2)
    assert "next try in 1 min, after 2 failures" in text_of(failing)


def test_the_limits_of_a_partition_are_words() -> None:
    assert limits(Partition("any")) == ["none"]
    assert limits(Partition("cpu", maximum_cpus_per_job=1, maximum_gpus_per_job=0)) == [
        "at most 1 CPU",
        "no GPUs",
    ]
    assert limits(
        Partition("gpu", minimum_gpus_per_job=1, memory_per_gpu="40G",
                  maximum_walltime_seconds=2 * 86_400, prevent_auto_select=True)
    ) == ["at least 1 GPU", "40G a GPU", "2 d at most", "only by name"]  # fmt: skip


def test_a_cluster_has_its_age_and_one_that_is_not_well_a_word() -> None:
    well = ClusterView("local", "local", as_of=NOW - 15)
    assert cluster_badges([], NOW) == []
    [[badge], [short], *_] = cluster_badges([well], NOW)
    assert [plain(badge), plain(short)] == ["local ● 15 s ago", "local ● 15 s"]
    [[badge], *_] = cluster_badges([well._replace(error="the disk is full")], NOW)
    assert plain(badge) == "local ▲ no answer"


def test_badges_get_shorter_and_those_that_need_somebody_stay_the_longest() -> None:
    clusters = [ClusterView(f"cluster{n}", "slurm", "x", True, as_of=NOW - 15) for n in range(9)]
    clusters[8] = clusters[8]._replace(connected=False, login="a password")
    forms = cluster_badges(clusters, NOW)
    texts = [" ".join(plain(one) for one in form) for form in forms]
    assert texts[0].startswith("cluster0 ● 15 s")
    assert all("+" in text and "▲" in text for text in texts)
    assert [len(text) for text in texts] == sorted(map(len, texts), reverse=True)
    assert len(forms[0]) == MOST_BADGES + 1
    assert texts[-1] == "clust▲ +8"
    assert mark_of(ClusterDetail("x", "slurm", away="elsewhere")).word == "elsewhere"


def test_what_happened_and_what_ran_are_rows_with_their_time() -> None:
    ran = (
        RanCommand(1, NOW, "a-very-long-name", "squeue --me", 0.42, 0),
        RanCommand(2, NOW, "here", "sbatch", 2.0, None, "the connection broke"),
    )
    rows = command_rows(ran)
    assert [row.rest for row in rows] == [
        "$ squeue --me  (0.4 s, exit 0)",
        "$ sbatch  (2.0 s, ?)",
        "  the connection broke",
    ]
    assert rows[0].start.endswith("a-very-l… ")
    assert {len(row.start) for row in rows} == {21}
    happened = activity_rows([(NOW, "you", "one\ntwo", "failed")])
    assert [row.rest for row in happened] == ["one", "two"]
