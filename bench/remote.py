"""A real Slurm behind a real login node, `local` or a Grid Engine, and projects on them.

The projects lie where both see them, so that nothing is copied. Each directory counts its runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.grid_engine.scheduler import GridEngineScheduler
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.queues import POLL_VARIABLE

from tests.rig.grid_engine import GridEngineCluster
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
ENGINE = """\
[[cluster]]
name = "{name}"
scheduler = "grid_engine"
identify.always = false
poll = 1

[[cluster.partition]]
name = "all.q"
"""
URGENT = "urgent"  # the partition whose jobs preempt others
# What a run leaves behind is the product too: whatever ran is complete, and nothing else. A link is
# there in one step or not at all, and needs no room on a disk that is full. The job makes it last,
# since a job that was killed when its products were there may run again.
WORKFLOW = """\
[[action]]
name = "{action}"
command = '''sleep {seconds}
id="$SLURM_JOB_ID$JOB_ID$ROWTUI_JOB_ID"
ln -sT "$id" workspace/{{directory}}/runs ||
ln -sT "$id" "workspace/{{directory}}/again.$RANDOM$RANDOM"'''
products = ["runs"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"
"""


def _new_project(folder: Path, directories: int, seconds: float, clusters: str) -> Path:
    """Make a project with one action, whose jobs take this long, and its clusters; its folder."""
    for number in range(directories):
        (folder / "workspace" / f"d{number:05}").mkdir(parents=True)
    text = WORKFLOW.format(action=ACTION, seconds=seconds)
    (folder / "workflow.toml").write_text(text)
    config = folder / "config" / "rowtui"
    config.mkdir(parents=True)
    if clusters:
        (config / "clusters.toml").write_text(clusters)
    return folder


def _opened(folder: Path, cluster: str) -> OpenProject:
    """The project as one more process would have it open, its queue asked on request."""
    environment = dict(os.environ)
    environment["XDG_CONFIG_HOME"] = str(folder / "config")
    environment[POLL_VARIABLE] = "0"
    return OpenProject.open(folder, cluster=cluster, environment=environment)


class RemoteProjects:
    """The cluster and its login node, and the folder for projects on it."""

    def __init__(self, keeper: Keeper, cluster: SlurmCluster) -> None:
        self.cluster = cluster
        self.name = NAME
        self.work = cluster.work
        self.login = LoginNode(keeper, cluster, name=NAME)

    def make(
        self,
        name: str,
        directories: int,
        *,
        arrays: bool = False,
        bundles: bool = False,
        preempted: bool = False,
    ) -> Path:
        """A new project; its folder. `bundles`: its jobs are packed, and take a little longer.

        `preempted`: jobs take a moment before they have any result.
        """
        # Of a bundle some are to have ended, some to run and some to wait whatever happens to it.
        seconds = 0.5 if bundles else 0.3 if preempted else 0
        text = CLUSTERS.format(
            name=NAME,
            arrays=str(arrays).lower(),
            partition=PARTITION,
            host=self.login.name,
            config=self.login.ssh_config,
            folder=self.cluster.work,
        )
        return _new_project(self.work / name, directories, seconds, text + PACKING * bundles)

    def open(self, folder: Path) -> OpenProject:
        """The project as one more process would have it open: with a connection of its own."""
        return _opened(folder, NAME)

    def waiting(self) -> list[str]:
        """The jobs that still wait in the queue, for a person."""
        options = f"-h -p {PARTITION} -t PD -o '%i %T %r %k'"
        return self.cluster.run(f"squeue {options}", check=False).stdout.splitlines()

    def cancel_all(self) -> None:
        """Empty the queue."""
        self.cluster.run(f"scancel -u {self.cluster.user}", check=False)

    def mend(self) -> list[str]:
        """What administrators do: Slurm drains nodes that a crash left with strange jobs.

        A job that waits to preempt others, and cannot, would keep them from starting for ever.
        """
        self.cluster.run(f"scancel -p {URGENT} -t PENDING", check=False)
        drained = self.cluster.run("sinfo -h -N -t drain,down -o %N", check=False)
        nodes = sorted(set(drained.stdout.split()))
        for node in nodes:
            self.cluster.run(f"scontrol update nodename={node} state=resume", check=False)
        return nodes


class ProjectsHere:
    """Projects on this machine, whose jobs go to `local` or to a Grid Engine of their own."""

    def __init__(self, keeper: Keeper, engine: GridEngineCluster | None = None) -> None:
        self.engine = engine
        self.name = "local" if engine is None else engine.name
        self.work = keeper.folder / "work" if engine is None else engine.work

    def make(
        self,
        name: str,
        directories: int,
        *,
        arrays: bool = False,
        bundles: bool = False,
        preempted: bool = False,
    ) -> Path:
        """A new project; its folder."""
        clusters = ENGINE.format(name=self.name) if self.engine is not None else ""
        return _new_project(self.work / name, directories, 0.1, clusters)

    def open(self, folder: Path) -> OpenProject:
        """The project as one more process would have it open."""
        project = _opened(folder, self.name)
        if self.engine is not None:
            scheduler = GridEngineScheduler(self.name, self.engine.transport)
            project.connections._schedulers[self.name] = scheduler
        return project

    def waiting(self) -> list[str]:
        """The jobs that still wait in the queue, for a person."""
        if self.engine is not None:
            return self.engine.run("qstat -s p -u '*'", check=False).stdout.splitlines()[2:]
        jobs = LocalScheduler().queue_now().jobs
        return [str(job) for job in jobs if job.state is JobState.PENDING]

    def cancel_all(self) -> None:
        """Empty the queue."""
        if self.engine is not None:
            self.engine.run("qdel -f -u '*'", check=False)
        else:
            queue = LocalScheduler()
            queue.cancel_now([job.key for job in queue.queue_now().jobs if job.state.active])

    def mend(self) -> list[str]:
        """Nothing here is ever drained."""
        return []


@contextmanager
def local_projects() -> Iterator[ProjectsHere]:
    """This machine's own queue, in a folder of its own while the block lasts."""
    keeper = Keeper()
    before = os.environ.get("ROWTUI_LOCAL_DIR")
    os.environ["ROWTUI_LOCAL_DIR"] = str(keeper.folder / "queue")
    try:
        yield ProjectsHere(keeper)
    finally:
        if before is None:
            del os.environ["ROWTUI_LOCAL_DIR"]
        else:
            os.environ["ROWTUI_LOCAL_DIR"] = before
        keeper.close()


@contextmanager
def engine_projects() -> Iterator[ProjectsHere]:
    """A Grid Engine with one host of 16 slots, while the block lasts."""
    keeper = Keeper()
    engine = GridEngineCluster("chaosengine")
    try:
        yield ProjectsHere(keeper, engine)
    finally:
        engine.close()
        keeper.close()


@contextmanager
def remote_projects(*, preempt: str = "", **settings: object) -> Iterator[RemoteProjects]:
    """A cluster of two nodes with 64 cores between them, while the block lasts.

    `preempt`: what Slurm does with jobs that jobs of the partition `URGENT` preempt.
    """
    nodes = (Node("c1", 32, 64000), Node("c2", 32, 64000))
    partitions = [f"PartitionName={PARTITION} Nodes=c[1-2] Default=YES DefaultTime=10"]
    if preempt:
        settings = {"PreemptType": "preempt/partition_prio", "PreemptMode": preempt} | settings
        partitions.append(f"PartitionName={URGENT} Nodes=c[1-2] PriorityTier=9 PreemptMode=OFF")
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
    """The ids of the jobs that ran in each directory, one for each run."""
    return {
        directory.name: [os.readlink(run) for run in sorted(directory.iterdir(), reverse=True)]
        for directory in sorted((folder / "workspace").iterdir())
    }
