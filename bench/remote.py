"""A real Slurm behind a real login node, and projects whose jobs go there.

The projects lie where both see them, so that nothing is copied. Each directory counts its runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rowtui.core.project.looks import POLL_VARIABLE
from rowtui.core.project.project import Project

from tests.rig.login import LoginNode
from tests.rig.processes import Keeper
from tests.rig.slurm import Munge, Node, SlurmCluster

NAME = "chaos"  # of the cluster; nobody has logged in to one that is called so
PARTITION = "cpu"
ACTION = "once"
CLUSTERS = """\
[[cluster]]
name = "{name}"
scheduler = "slurm"
poll = 1
arrays = {arrays}

[[cluster.partition]]
name = "{partition}"
memory_per_cpu_mb = 10

[cluster.ssh]
host = "{host}"
config = ["{config}"]
paths = [{{ local = "{folder}", remote = "{folder}" }}]
"""
# Bundles of 8 jobs: 4 lanes, in each two jobs of a minute, and the time to start them.
PACKING = """
[[cluster.node_type]]
name = "quarter"
cpus = 4
memory = "16G"
price_per_hour = 1

[cluster.packing]
largest_bundle = 8
longest = "00:03:10"
"""
# What a run leaves behind is the product too: whatever ran is complete, and nothing else.
WORKFLOW = """\
[[action]]
name = "{action}"
command = 'echo "$SLURM_JOB_ID $SLURM_ARRAY_JOB_ID" >> workspace/{{directory}}/runs{after}'
products = ["runs"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"
"""


class RemoteProjects:
    """The cluster and its login node, and the folder for projects on it."""

    def __init__(self, keeper: Keeper, cluster: SlurmCluster) -> None:
        self.cluster = cluster
        self.login = LoginNode(keeper, cluster, name=NAME)

    def make(
        self, name: str, directories: int, *, arrays: bool = False, bundles: bool = False
    ) -> Path:
        """A new project; its folder. `bundles`: its jobs are packed, and take a little longer."""
        folder = self.cluster.work / name
        for number in range(directories):
            (folder / "workspace" / f"d{number:05}").mkdir(parents=True)
        # Of a bundle some are to have ended, some to run and some to wait whatever happens to it.
        after = "; sleep 0.5" if bundles else ""
        (folder / "workflow.toml").write_text(WORKFLOW.format(action=ACTION, after=after))
        config = folder / "config" / "rowtui"
        config.mkdir(parents=True)
        text = CLUSTERS.format(
            name=NAME,
            arrays=str(arrays).lower(),
            partition=PARTITION,
            host=self.login.name,
            config=self.login.ssh_config,
            folder=self.cluster.work,
        )
        (config / "clusters.toml").write_text(text + PACKING * bundles)
        return folder

    def open(self, folder: Path) -> Project:
        """The project as one more process would have it open: with a connection of its own."""
        environment = dict(os.environ)
        environment["XDG_CONFIG_HOME"] = str(folder / "config")
        environment[POLL_VARIABLE] = "0"  # asked whenever somebody wants to know
        return Project.open(folder, cluster=NAME, environment=environment)


@contextmanager
def remote_projects(**settings: object) -> Iterator[RemoteProjects]:
    """A cluster of two nodes with 64 cores between them, while the block lasts."""
    nodes = (Node("c1", 32, 64000), Node("c2", 32, 64000))
    partitions = (f"PartitionName={PARTITION} Nodes=c[1-2] Default=YES DefaultTime=10",)
    keeper = Keeper()
    try:
        munge = Munge(keeper)
        # Nodes report soon what they have, and a job that is queued again does not wait long.
        settings = {
            "SlurmdTimeout": 20,
            "AuthInfo": f"socket={munge.socket},cred_expire=20",
        } | settings
        yield RemoteProjects(
            keeper,
            SlurmCluster(keeper, munge, nodes=nodes, partitions=partitions, settings=settings),
        )
    finally:
        keeper.close()


def runs_of(folder: Path) -> dict[str, list[str]]:
    """The ids of the jobs that ran in each directory, a line for each run."""
    found = {}
    for directory in sorted((folder / "workspace").iterdir()):
        runs = directory / "runs"
        found[directory.name] = runs.read_text().splitlines() if runs.exists() else []
    return found
