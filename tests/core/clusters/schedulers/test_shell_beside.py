"""The lines that open a shell beside a running job."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import JobKey, JobState
from rowtui.core.clusters.schedulers.grid_engine.scheduler import GridEngineScheduler
from rowtui.core.clusters.schedulers.kind import scheduler_kind

from tests.eventually import eventually_async
from tests.rig.grid_engine import GridEngineCluster


def run(line: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], env={"PATH": str(path)}, capture_output=True, text=True, timeout=60
    )


def test_jobs_of_this_machine_need_no_other_shell() -> None:
    for name in ("local", "bash"):
        assert scheduler_kind(name).shell_beside(JobKey(1), "here") == ""


def test_a_machine_without_srun_is_told(tmp_path: Path) -> None:
    (tmp_path / "hostname").symlink_to(str(shutil.which("hostname")))
    done = run(scheduler_kind("slurm").shell_beside(JobKey(12, 3), ""), tmp_path)
    assert (done.returncode, done.stdout) == (1, f"There is no srun on {socket.gethostname()}.\n")


def test_the_name_of_a_node_runs_nothing(tmp_path: Path) -> None:
    for name, text in (("qstat", "echo 12 x"), ("hostname", "echo here"), ("ssh", 'echo "$3"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "grep").symlink_to(str(shutil.which("grep")))
    node = "n'; touch x; echo $(id)"
    done = run(scheduler_kind("grid_engine").shell_beside(JobKey(12), node), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{node}\n", "")


@pytest.mark.slow
async def test_a_shell_opens_on_the_node_of_a_job_of_grid_engine(
    grid_engine: GridEngineCluster,
) -> None:
    scheduler = GridEngineScheduler("engine", grid_engine.transport)
    submitted = grid_engine.run("echo 'sleep 300' | qsub -terse -N beside")
    job = int(submitted.stdout)
    queue = await eventually_async(
        lambda: scheduler.queue([job]),
        lambda it: it.jobs and it.jobs[0].state is JobState.RUNNING,
        every=0.15,
    )
    kind = scheduler_kind("grid_engine")
    line = kind.shell_beside(JobKey(job), queue.jobs[0].nodes)
    done = grid_engine.run(line, stdin="echo beside; exit 3\n")
    assert done.stdout == "beside\n"
    grid_engine.run(f"qdel {job}")
    done = grid_engine.run(kind.shell_beside(JobKey(job + 1), "n1"), check=False)
    assert (done.returncode, done.stdout) == (1, f"Job {job + 1} does not run any more.\n")
