"""`rowtui run` on real Slurm clusters over SSH."""

from __future__ import annotations

from pathlib import Path

import pytest

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
