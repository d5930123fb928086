"""Node types and packing as TOML, which reads back as the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.show import (
    amount,
    cluster_toml,
    clusters_toml,
    duration,
    node_types_toml,
)
from rowtui.core.clusters.model import (
    Cluster,
    Identify,
    NodeType,
    PackingDefaults,
    Partition,
)

names = st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20
).filter(str.strip)  # fmt: skip
counts = st.integers(1, 1 << 20)
seconds = st.integers(1, 10 * 365 * 86400)


def kinds(partition: str, priced: bool) -> st.SearchStrategy[NodeType]:
    return st.builds(
        NodeType,
        name=names,
        partition=st.sampled_from(["", partition]),
        cpus=counts,
        memory_mb=st.integers(512, 1 << 40),
        gpus=st.integers(0, 64),
        disk_mb=st.none() | st.integers(0, 1 << 40),
        price_per_hour=st.floats(0, 1e9) if priced else st.none(),
        at_most=st.none() | counts,
        boot_seconds=st.integers(0, 7 * 86400),
        longest_seconds=st.none() | seconds,
        whole_node=st.booleans(),
    )


packings = st.builds(
    PackingDefaults,
    enabled=st.booleans(),
    packer=st.sampled_from(["best", "fill", "seed"]),
    largest_bundle=st.none() | counts,
    longest_seconds=st.none() | seconds,
    time_factor=st.floats(0.01, 100),
    partitions=st.just({}),
)


@given(st.data())
def test_what_is_shown_reads_back_as_the_same(data: st.DataObject) -> None:
    partition = data.draw(names)
    usual = data.draw(packings)
    # What a partition does not say is the cluster's, and cannot be taken back there.
    special = data.draw(packings)
    special = special._replace(
        largest_bundle=special.largest_bundle or usual.largest_bundle,
        longest_seconds=special.longest_seconds or usual.longest_seconds,
    )
    found = data.draw(
        st.lists(kinds(partition, data.draw(st.booleans())), max_size=4, unique_by=lambda it: it[0])
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rowtui" / "clusters.toml"
        cluster = Cluster(
            "t",
            Identify(),
            "slurm",
            (Partition(partition),),
            source=str(file),
            node_types=tuple(kind._replace(source=str(file)) for kind in found),
            currency=data.draw(st.sampled_from(["", "EUR", "€"])),
            packing=usual._replace(partitions={partition: special}),
        )
        file.parent.mkdir()
        file.write_text(clusters_toml([cluster]), encoding="utf-8", newline="")
        again = load_clusters({"XDG_CONFIG_HOME": folder})
    assert again.problems == ()
    assert again.clusters[0] == cluster


def test_a_cluster_without_such_parts_shows_none_of_them() -> None:
    text = cluster_toml(Cluster("t", Identify(), "slurm"))
    assert "node_type" not in text
    assert "packing" not in text
    assert "currency" not in text


def test_remarks_are_comments_of_one_line_whatever_is_in_them() -> None:
    text = node_types_toml((NodeType("n", "", 1, 1),), remarks={"n": ["2 nodes", "a\nb\x1b[2J"]})
    assert text == (
        '\n[[cluster.node_type]]\n# 2 nodes\n# a\\nb\\x1b[2J\nname = "n"\ncpus = 1\nmemory = "1M"\n'
    )


def test_amounts_and_times_are_exact() -> None:
    assert [amount(it) for it in (0, 1, 1023, 1024, 64000, 1536 * 1024)] == [
        "0M", "1M", "1023M", "1G", "64000M", "1536G",
    ]  # fmt: skip
    assert [duration(it) for it in (1, 43200, 86400, 216001)] == [
        "00:00:01", "12:00:00", "1 day, 00:00:00", "2 days, 12:00:01",
    ]  # fmt: skip
