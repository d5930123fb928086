"""Grid Engine clusters in our own clusters.toml, which Row's file may not describe."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.clusters.config.load import ClusterFile, load_clusters

CLUSTER = """\
[[cluster]]
name = "engine"
identify.always = true
scheduler = "grid_engine"
memory_resource = "mem_free"
gpu_resource = "ngpus"
[[cluster.partition]]
name = "all.q"
parallel_environment = "smp"
[[cluster.partition]]
name = "serial.q"
"""


def load(tmp_path: Path, text: str, folder: str = "rowtui") -> ClusterFile:
    path = tmp_path / ".config" / folder / "clusters.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return load_clusters({"HOME": str(tmp_path)})


def test_a_grid_engine_cluster_is_read_from_our_own_file(tmp_path: Path) -> None:
    file = load(tmp_path, CLUSTER)
    assert file.problems == ()
    cluster = file.clusters[0]
    assert (cluster.name, cluster.scheduler) == ("engine", "grid_engine")
    assert (cluster.memory_resource, cluster.gpu_resource) == ("mem_free", "ngpus")
    assert [it.parallel_environment for it in cluster.partitions] == ["smp", None]


def test_resources_have_the_usual_names_unless_others_are_given(tmp_path: Path) -> None:
    lines = [line for line in CLUSTER.splitlines() if "_resource" not in line]
    cluster = load(tmp_path, "\n".join(lines)).clusters[0]
    assert (cluster.memory_resource, cluster.gpu_resource) == ("h_vmem", "gpu")


def test_rows_own_file_cannot_describe_one_and_we_say_where_to(tmp_path: Path) -> None:
    file = load(tmp_path, CLUSTER, "row")
    assert "engine" not in [cluster.name for cluster in file.clusters]
    messages = {problem.line: problem for problem in file.problems}
    assert messages[4].message == "`scheduler` cannot be 'grid_engine' in Row's file"
    for line in (4, 5, 6, 9):
        assert "~/.config/rowtui/clusters.toml" in messages[line].hint


def test_a_name_with_options_in_it_is_refused(tmp_path: Path) -> None:
    file = load(tmp_path, CLUSTER.replace('"smp"', '"smp 4 -l x"'))
    assert [(it.line, it.severity) for it in file.problems] == [(9, "error")]
    assert "engine" not in [cluster.name for cluster in file.clusters]
