"""`rowtui run` on real Slurm clusters over SSH."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.model import Retried
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.cli.on_clusters import OnClusters
from tests.rig.login import LoginNode

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
resources.walltime.per_submission = "00:01:00"
"""


@pytest.fixture
def root(two: tuple[LoginNode, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of two directories in a folder that both clusters see."""
    root = two[0].cluster.work / tmp_path.name
    for name in "ab":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    monkeypatch.chdir(root)
    return root


def test_a_run_that_is_the_first_command_asks_the_cluster_for_its_partitions(
    root: Path, here: OnClusters
) -> None:
    done = here("run", "--yes", "--cluster", "alpha")
    assert done.code == 0, done.err
    assert "Done: all directories are complete." in done.out
    assert all((root / "workspace" / name / "one").exists() for name in "ab")


def test_a_retry_runs_on_another_node_and_never_excludes_all_of_them(
    root: Path, here: OnClusters
) -> None:
    nodes = "workspace/{directory}/nodes"
    command = (
        f"echo $SLURMD_NODENAME >>{nodes}; test $(wc -l <{nodes}) -gt 2 || exit 7; "
        "touch workspace/{directory}/one"
    )
    (root / "workflow.toml").write_text(
        WORKFLOW.replace("touch workspace/{directory}/one", command)
        + "group.maximum_size = 1\n[action.submit_options.alpha]\n"
        "custom = ['--exclude=g1', '--comment=mine']\n"
    )
    (root / "rowtui.toml").write_text('[[retry]]\non = "exit 7"\nexclude = true\n')
    done = here("run", "--yes", "--cluster", "alpha", "--max-cpu-hours", "9")
    assert done.code == 0, done.err
    run = RunStore(root, PROJECT_RUNS).latest()
    assert run is not None
    whys = {it.why for it in run.events() if isinstance(it, Retried)}
    records = OpenProject.open(root, cluster="alpha").jobs.records()
    for name in "ab":
        first, second, third = (root / "workspace" / name / "nodes").read_text().split()
        assert {first, second} == {"n1", "n2"}
        assert third == first  # of the two nodes of the partition, one stays
        assert any(it.endswith(f"attempt 2 of 3, another node, not on {first}") for it in whys)
        assert any(it.endswith(f"attempt 3 of 3, another node, not on {second}") for it in whys)
        of_one = [it for it in records if it.directories == (name,)]
        assert [it.end.node for it in of_one if it.end] == [third, second, first]
