"""What a run reports of a pool whose allocations do not begin, on a real Slurm."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import NO_RETRIES
from rowtui.core.runs.execution import pool
from rowtui.core.runs.execution.driver import DriverMessage, MessageKind
from rowtui.core.runs.execution.project_run import ProjectRun
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.rig.slurm import SlurmCluster

CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = true
poll = 1
partition = [{ name = "cpu", memory_per_cpu = "60M" }, { name = "closed" }]
[[cluster.node_type]]
name = "quad"
partition = "cpu"
cpus = 4
memory = "2G"
[[cluster.node_type]]
name = "shut"
partition = "closed"
cpus = 4
memory = "2G"
"""
WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
resources = { walltime.per_submission = "00:05:00" }
submit_options.alpha.partition = "PARTITION"
"""


@pytest.fixture
def alpha(here: Path, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLURM_CONF", str(slurm.conf))
    folder = here / "home/.config/rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(CLUSTERS)
    return here / "p"


async def drive(root: Path, partition: str) -> list[DriverMessage]:
    """The messages of a run of one directory."""
    (root / "workspace/d").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW.replace("PARTITION", partition))
    project = OpenProject.open(root, cluster="alpha")
    run = RunStore(root, PROJECT_RUNS).create(None, limits=RunLimits(allocations=1))
    found = []
    try:
        async with aclosing(ProjectRun(project, run, NO_RETRIES).drive()) as messages:
            async with asyncio.timeout(60):
                async for message in messages:
                    found.append(message)
                    if "none of the pool" in message.sentence:
                        break
    finally:
        await project.let_go()
    return found


async def test_allocations_that_are_refused_pause_the_run(
    alpha: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FRUITLESS", 0)
    *_, refused, why, last = await drive(alpha, "closed")
    assert refused.sentence.startswith("pilot was refused: Required partition not available")
    assert why.sentence == last.sentence
    assert last.sentence.startswith("1 allocation in a row ")
    assert last.kind is MessageKind.PAUSED


async def test_an_allocation_that_does_not_begin_is_reported_with_the_reason(
    alpha: Path, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "LATE_SECONDS", 3.0)
    monkeypatch.setattr(pool, "ASK_SECONDS", 0.5)
    slurm.run("scontrol update partitionname=cpu state=down")
    try:
        *_, last = await drive(alpha, "cpu")
    finally:
        slurm.run("scontrol update partitionname=cpu state=up")
    assert last.sentence.endswith("has begun: PartitionDown")
