"""`rowtui run --as-job` on a real Slurm of this machine: jobs that drive a project in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.cli.conftest import Shell
from tests.cli.in_process import prepared
from tests.cli.on_clusters import configure
from tests.eventually import eventually
from tests.rig.grid_engine import GridEngineCluster
from tests.rig.slurm import SlurmCluster

WORKFLOW = """\
[[action]]
name = "one"
command = "cat gate; touch workspace/{directory}/x"
products = ["x"]
resources.walltime.per_submission = "00:01:00"

[[action]]
name = "two"
command = "touch workspace/{directory}/y"
previous_actions = ["one"]
products = ["y"]
resources.walltime.per_submission = "00:01:00"
"""
ENGINE = """\
[[cluster]]
name = "engine"
scheduler = "grid_engine"
identify.always = true
partition = [{ name = "all.q" }]
"""
FAR = """\
[[cluster]]
name = "far"
scheduler = "slurm"
identify.always = false
[cluster.ssh]
host = "far.invalid"
[[cluster.partition]]
name = "cpu"
"""


class Project(Shell):
    """A project whose jobs wait at the pipe `gate`."""

    slurm: SlurmCluster

    def status(self) -> Any:
        return json.loads(self.succeed("run", "--status", "--json", cluster=None))

    def queued(self) -> list[str]:
        """The jobs of this project that are in the queue, each with its state and its node."""
        return self.slurm.run("squeue -h -n rowtui-driver -o '%i %T %N %R'").stdout.splitlines()

    def open_gate(self) -> None:
        fd = os.open(self.folder / "gate", os.O_RDWR)
        (self.folder / "gate").unlink()
        (self.folder / "gate").touch()
        os.close(fd)


@pytest.fixture
def project(slurm: SlurmCluster, tmp_path: Path) -> Iterator[Project]:
    slurm.clean()
    folder, home = slurm.work / tmp_path.name, tmp_path / "home"
    home.mkdir()
    for name in "ab":
        (folder / "workspace" / name).mkdir(parents=True)
    (folder / "workflow.toml").write_text(WORKFLOW)
    os.mkfifo(folder / "gate")
    shell = Project(folder, home)
    shell.environment["SLURM_CONF"] = str(slurm.conf)
    shell.slurm = slurm
    yield shell
    slurm.clean()


WORDS = ("run", "--as-job", "--yes", "--job-time")


@pytest.mark.slow  # two jobs start after each other
def test_jobs_drive_a_project_in_turn_to_its_end(project: Project) -> None:
    begun = project.succeed(*WORDS, "00:00:04", cluster=None)
    assert "1 CPU" in begun
    first = eventually(
        lambda: project.status()["driven_by"], lambda it: it and " on " in it, what="a job drives"
    )
    assert first.startswith("job alpha/")
    second = project(*WORDS, "00:00:04", cluster=None)
    assert second.returncode == 1
    assert "is driven by job alpha/" in second.stderr
    eventually(
        lambda: project.status()["driven_by"],
        lambda it: it and " on " in it and it != first,
        within=40,
        what="the next job drives",
    )
    project.open_gate()
    eventually(lambda: project.status()["status"] == "finished", within=40, what="the end")
    eventually(lambda: not project.queued(), what="no job is left")
    jobs = json.loads(project.succeed("show", "jobs", "--json", "--long", cluster=None))["jobs"]
    drivers = [it for it in jobs if it["action"] == "rowtui-driver"]
    assert len(drivers) >= 2
    assert {it["state"] for it in drivers} <= {"completed", "cancelled"}


def test_a_driver_that_waits_for_its_partition_is_shown_stopped_and_cancelled(
    project: Project,
) -> None:
    project.slurm.run("scontrol update PartitionName=cpu State=DOWN")
    try:
        project.succeed(*WORDS, "00:10:00", "--job-partition", "cpu", cluster=None)
        assert project.status()["driven_by"].endswith("which waits to start")
        beside = project("run", "--yes", cluster=None)
        assert beside.returncode == 1
        assert "stop it with `rowtui run --stop`" in beside.stderr
        assert "stops within seconds" in project.succeed("run", "--stop", cluster=None)
        eventually(lambda: not project.queued(), what="no job is left")
        assert project.status()["driven_by"] is None
        assert "No run was interrupted" in project.succeed("run", "--resume", cluster=None)
    finally:
        project.slurm.run("scontrol update PartitionName=cpu State=UP")


def test_of_two_commands_at_once_one_submits_a_driver(project: Project) -> None:
    words = [sys.executable, "-m", "rowtui.cli.main", *WORDS, "00:10:00"]
    both = [
        subprocess.Popen(words, cwd=project.folder, env=project.environment, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    assert sorted(it.wait(40) for it in both) == [0, 1], [it.communicate() for it in both]
    assert len(project.queued()) == 1
    # one cancels every job that drives the project
    [job] = project.queued()
    project.succeed("cancel", job.split()[0], "--yes", cluster=None)
    eventually(lambda: not project.queued(), what="no job is left")


def test_a_job_cannot_drive_where_its_node_may_not_see_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    configure(here.home, FAR)
    for cluster, why in (("far", "is reached over SSH"), ("local", "has no scheduler with nodes")):
        here.cluster = cluster
        refused = here(*WORDS, "00:10:00")
        assert refused.code == 1
        assert f"{cluster} {why}" in refused.err
        assert "nohup rowtui run" in refused.err
    assert RunStore(here.folder, PROJECT_RUNS).latest() is None


def test_a_limit_that_no_partition_allows_is_refused_before_the_question(project: Project) -> None:
    refused = project(*WORDS, "3-00:00:00", "--job-partition", "batch", cluster=None)
    assert refused.returncode == 1
    assert "no partition of alpha accepts the driver's job" in refused.stderr
    assert "batch" in refused.stderr


@pytest.mark.slow  # qsub starts jobs with a delay
def test_a_job_of_grid_engine_drives_a_project(
    empty_folder: Shell, grid_engine: GridEngineCluster
) -> None:
    empty_folder.environment |= grid_engine.env
    empty_folder.prefix = tuple(grid_engine.enter)
    configure(Path(empty_folder.environment["HOME"]), ENGINE)
    (empty_folder.folder / "workspace/a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    (empty_folder.folder / "gate").touch()
    empty_folder.succeed(*WORDS, "00:00:10", cluster="engine")

    def status() -> Any:
        return json.loads(empty_folder.succeed("run", "--status", "--json", cluster="engine"))

    eventually(lambda: status()["status"] == "finished", within=40, what="the end")
    eventually(lambda: not grid_engine.run("qstat").stdout.strip(), what="no job is left")
