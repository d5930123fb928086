"""Jobs that a cluster has forgotten: what `queue` says of them, and that `submit` sends them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.on_clusters import OnClusters, configure
from tests.rig.login import LoginNode
from tests.rig.slurm import Node, SlurmRig, start_slurm

pytestmark = pytest.mark.slurm

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]

[action.submit_options.forgetful]
custom = ["--begin=now+1hour"]
"""
CLUSTERS = """\
[[cluster]]
name = "forgetful"
scheduler = "slurm"
partition = [{{ name = "cpu" }}]
[cluster.ssh]
host = "forgetful"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""


@pytest.fixture
def rig() -> Iterator[SlurmRig]:
    rig = start_slurm(
        nodes=(Node("s1", 4, 8000),), partitions=("PartitionName=cpu Nodes=s1 Default=YES",)
    )
    yield rig
    rig.close()


def test_the_queue_names_forgotten_jobs_and_only_a_submission_sends_them(
    rig: SlurmRig, here: OnClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = LoginNode(rig.keeper, rig.cluster, name="forgetful")
    root: Path = rig.cluster.work / "project"
    for name in "ab":
        (root / "workspace" / name).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    configure(here.home, CLUSTERS.format(config=node.ssh_config))
    monkeypatch.chdir(root)
    assert here("submit", "--cluster", "forgetful", "--yes").code == 0
    rig.cluster.wipe_controller()

    told = here("queue")
    after = rig.cluster.run("squeue -h -o %i").stdout
    sent = here("submit", "--cluster", "forgetful", "--yes")

    assert told.code == 0
    assert "forgetful has no record of the job; 'rowtui submit' sends it again" in told.err
    assert after.strip() == ""
    assert sent.code == 0, sent.err
    assert "an unfinished submission again" in sent.out
    assert rig.cluster.run("squeue -h -o %i").stdout.strip() != ""
