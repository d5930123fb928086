from __future__ import annotations

from pathlib import Path

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.config.builtin import CLUSTERS, LAUNCHERS, LOCAL
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.show import cluster_toml, clusters_toml, launchers_toml
from rowtui.core.clusters.model import (
    Cluster,
    Identify,
    Launcher,
    Launchers,
    Partition,
    PathPrefix,
    Remote,
)

RECORDED = Path(__file__).parent / "recorded"
BY_NAME = {cluster.name: cluster for cluster in CLUSTERS}


def recorded(name: str) -> str:
    return (RECORDED / f"row-1.1.0-show-cluster-{name}.toml").read_text()


def test_the_built_in_clusters_are_printed_as_row_prints_them() -> None:
    rows = [cluster for cluster in CLUSTERS if cluster is not LOCAL]
    assert clusters_toml(rows) == recorded("all")


@pytest.mark.parametrize("name", ["anvil", "none"])
def test_one_cluster_is_printed_as_row_prints_it(name: str) -> None:
    assert cluster_toml(BY_NAME[name]) == recorded(name)


# Recorded from Row 1.1.0, tables put in the order of their names; [mpi.local] is ours.
ALL_LAUNCHERS = """\
[mpi.default]
executable = "srun"
gpus_per_process = "--tres-per-task=gres/gpu:"
processes = "--ntasks="
threads_per_process = "--cpus-per-task="

[mpi.anvil]
executable = "srun --mpi=pmi2"
gpus_per_process = "--tres-per-task=gres/gpu:"
processes = "--ntasks="
threads_per_process = "--cpus-per-task="

[mpi.local]
executable = "mpirun"
processes = "-n "

[mpi.none]
executable = "mpirun"
processes = "-n "

[openmp.default]
threads_per_process = "OMP_NUM_THREADS="

[rayon.default]
threads_per_process = "RAYON_NUM_THREADS="
"""
LAUNCHERS_ON_NONE = """\
[mpi]
executable = "mpirun"
processes = "-n "

[openmp]
threads_per_process = "OMP_NUM_THREADS="

[rayon]
threads_per_process = "RAYON_NUM_THREADS="
"""


def test_launchers_are_printed_as_row_prints_them_in_the_order_of_their_names() -> None:
    assert launchers_toml(Launchers(LAUNCHERS)) == ALL_LAUNCHERS
    assert launchers_toml(Launchers(LAUNCHERS), "none") == LAUNCHERS_ON_NONE


def test_an_empty_launcher_and_a_name_with_a_dot_are_printed_as_row_prints_them() -> None:
    launchers = Launchers({"a.b": {"default": Launcher(), "c d": Launcher("x")}})
    assert launchers_toml(launchers) == '["a.b".default]\n\n["a.b"."c d"]\nexecutable = "x"\n'
    assert launchers_toml(launchers, "c d") == '["a.b"]\nexecutable = "x"\n'


def test_strings_are_quoted_as_row_quotes_them() -> None:
    # Every literal below is recorded from Row 1.1.0.
    literals = {
        "plain": '"plain"',
        "with 'single'": "\"with 'single'\"",
        "both ' and \"": '"""both \' and """"',
        "nl\nx": '"""\nnl\nx"""',
        "tab\tx": '"tab\\tx"',
        "esc\x1b": '"esc\\u001B"',
        "back\\slash": "'back\\slash'",
        "": '""',
        "nl ' \n \" both": '"""\nnl \' \n " both"""',
        "ünï\x7f": '"ünï\\u007F"',
        '"""': '\'"""\'',
        "nl\n\\": "'''\nnl\n\\'''",
        "cr\r\n": '"""\ncr\\r\n"""',
    }
    cluster = Cluster("x", Identify(), "bash", (), tuple(literals))
    expected = "".join(f"    {literal},\n" for literal in literals.values())
    assert f"submit_options = [\n{expected}]\n" in cluster_toml(cluster)
    assert "partition = []\n" in cluster_toml(cluster)


text = st.text("ab'\"\\\n\t\r\x1b\x7f ä", max_size=8)


@given(
    st.builds(
        Cluster,
        text,
        st.builds(Identify, st.none(), st.booleans())
        | st.builds(Identify, st.tuples(text, text), st.just(False)),
        st.sampled_from(["bash", "slurm"]),
        st.lists(
            st.builds(
                Partition,
                text,
                cpus_per_node=st.none() | st.integers(1, 9),
                account_suffix=st.none() | text,
                prevent_auto_select=st.booleans(),
            ),
            max_size=2,
        ).map(tuple),
        st.lists(text, max_size=3).map(tuple),
        text,
    )
)
def test_what_is_printed_is_toml_that_says_the_same(cluster: Cluster) -> None:
    for printed in (
        tomli.loads(cluster_toml(cluster)),
        tomli.loads(clusters_toml([cluster, cluster]))["cluster"][1],
    ):
        assert printed["name"] == cluster.name
        assert tuple(printed["submit_options"]) == cluster.submit_options
        assert printed["slurm_gpus_per_task"] == cluster.slurm_gpus_per_task
        assert ("partition" in printed) == bool(cluster.partitions or not cluster.asked_partitions)
        partitions = printed.get("partition", [])
        assert [p["name"] for p in partitions] == [p.name for p in cluster.partitions]
        for table, partition in zip(partitions, cluster.partitions, strict=True):
            assert table.get("cpus_per_node") == partition.cpus_per_node
            assert table.get("account_suffix") == partition.account_suffix


REACHED = Cluster(
    "alpha",
    Identify(("X", "a")),
    "slurm",
    (Partition("cpu"),),
    remote=Remote(
        "login",
        "me",
        2222,
        "openssh",
        (PathPrefix("/a b", "/c"), PathPrefix("/d", "/e")),
        "$SCRATCH/x",
        ("~/.ssh/hpc",),
    ),
    poll_seconds=2.5,
)


def test_how_a_cluster_is_reached_is_printed_as_it_would_be_written() -> None:
    bare = Cluster("a", Identify(), "slurm", remote=Remote("h"))
    assert (
        cluster_toml(bare)
        == """\
name = "a"
scheduler = "slurm"
partition = []
slurm_gpus_per_task = "--gpus-per-task="
submit_options = []
poll = 60

[identify]
always = false

[ssh]
host = "h"
transport = "asyncssh"
mirror = "~/rowtui"
"""
    )
    without = REACHED._replace(remote=None)
    assert "poll = 2.5\n" in cluster_toml(without)
    assert "ssh" not in cluster_toml(without)


@pytest.mark.parametrize(
    "cluster",
    [
        REACHED,
        REACHED._replace(remote=Remote("h"), partitions=(), poll_seconds=60.0),
        REACHED._replace(
            scheduler="grid_engine",
            partitions=(Partition("all.q", parallel_environment="smp"),),
            memory_resource="mem_free",
            gpu_resource="ngpus",
        ),
    ],
)
def test_a_cluster_that_is_printed_can_be_written_into_our_file(
    tmp_path: Path, cluster: Cluster
) -> None:
    folder = tmp_path / ".config" / "rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(clusters_toml([cluster, cluster]))
    file = load_clusters({"HOME": str(tmp_path)})
    assert [it.message for it in file.problems] == [
        f"another cluster is called '{cluster.name}': the first counts"
    ]
    assert [it._replace(source=cluster.source) for it in file.clusters[:2]] == [cluster, cluster]
