"""`rowtui run --pool`: on this machine and on a real Slurm, and what breaks meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import token_in_queue
from rowtui.core.project.open_project import OpenProject
from rowtui.core.submission.bundles.pilot_model import is_in_pilot, is_pilot

from tests.cli.conftest import Shell
from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster

WORKFLOW = '''\
[default.action]
group.maximum_size = 1
resources = { walltime.per_submission = "00:05:00" }
[[action]]
name = "one"
command = """
sleep SECONDS; echo $SLURM_STEP_ID >> workspace/{directory}/ran; touch workspace/{directory}/one"""
products = ["one"]
[[action]]
name = "two"
command = "touch workspace/{directory}/two"
products = ["two"]
previous_actions = ["one"]
'''
SLURM = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = true
poll = 1
partition = [{ name = "cpu", memory_per_cpu = "60M", maximum_walltime = "02:00:00" }]
[[cluster.node_type]]
name = "quad"
partition = "cpu"
cpus = 4
memory = "2G"
"""


def project(shell: Shell, count: int, seconds: float = 0.1) -> None:
    for number in range(count):
        (shell.folder / f"workspace/d{number:02}").mkdir(parents=True)
    (shell.folder / "workflow.toml").write_text(WORKFLOW.replace("SECONDS", str(seconds)))


def ran_once_in_allocations(root: Path, count: int) -> list[str]:
    """Each directory ran once, as requests of allocations, whose tokens are returned."""
    for number in range(count):
        folder = root / f"workspace/d{number:02}"
        assert (folder / "ran").read_text().count("\n") == 1, folder
        assert (folder / "two").exists()
    project = OpenProject.open(root)
    try:
        records = project.jobs.records()
    finally:
        project.close()
    pilots = [it.token for it in records if is_pilot(it.token)]
    others = {it.token for it in records if not is_pilot(it.token)}
    assert all(map(is_in_pilot, others)), others
    assert {token_in_queue(it) for it in others} <= {*pilots}
    return pilots


def test_a_run_fills_allocations_and_releases_them(empty_folder: Shell) -> None:
    project(empty_folder, 12)
    shown = json.loads(empty_folder.succeed("plan", "--pool", "--json", cluster="local"))
    assert [(it["destination"], it["allocations"]) for it in shown["opens"]] == [("local", 1)]
    assert shown["opens"][0]["jobs"] + shown["waiting"] == 12
    out = empty_folder.succeed("run", "--pool", "2", "--yes", cluster="local")
    assert "a pool of at most 2 allocations at a time" in out
    assert "Done: all directories are complete." in out
    assert len(ran_once_in_allocations(empty_folder.folder, 12)) == 1

    def released() -> bool:
        empty_folder.succeed("queue", cluster="local")
        opened = OpenProject.open(empty_folder.folder)
        try:
            return all(it.end is not None for it in opened.jobs.records())
        finally:
            opened.close()

    eventually(released, within=20, what="the end of the allocation")


def test_one_job_may_hold_a_whole_node_within_the_proposed_limit(empty_folder: Shell) -> None:
    project(empty_folder, 1)
    out = empty_folder.succeed("run", "--pool", "--yes", cluster="local")
    assert "Done: all directories are complete." in out
    # and what follows has time in it
    assert len(ran_once_in_allocations(empty_folder.folder, 1)) == 1


def test_why_jobs_go_alone_is_reported_once_however_many_they_are(empty_folder: Shell) -> None:
    project(empty_folder, 3)
    (empty_folder.folder / "workspace/d00/two").touch()
    done = empty_folder("run", "--pool", "--yes")  # without a queue
    assert "Done: all directories are complete." in done.stdout
    assert done.stderr.count("alone") == 1


def test_work_that_has_no_place_is_named_at_the_end(empty_folder: Shell) -> None:
    project(empty_folder, 1)
    (empty_folder.folder / "mapping.yml").write_text("tools: {one: {cores: 1}}\n")
    done = empty_folder("run", "--pool", "--yes", cluster="local")
    assert "Paused: mapping.yml is not trusted" in done.stderr


@pytest.fixture
def on_slurm(empty_folder: Shell, slurm: SlurmCluster) -> Shell:
    """A folder whose jobs go to a real Slurm, with nodes of four CPUs as far as the pool knows."""
    shell = empty_folder
    shell.environment["SLURM_CONF"] = str(slurm.conf)
    home = Path(shell.environment["HOME"]) / ".config/rowtui"
    home.mkdir(parents=True)
    (home / "clusters.toml").write_text(SLURM)
    return shell


def driving(shell: Shell, *words: str) -> subprocess.Popen[str]:
    """A process that drives the project, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "rowtui", "run", *words, "--yes"],
        cwd=shell.folder,
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def end(driver: subprocess.Popen[str], seconds: float = 100) -> str:
    out, _ = driver.communicate(timeout=seconds)
    assert driver.returncode == 0, out
    return out


def begun(root: Path, number: int) -> bool:
    return sum(1 for _ in root.glob("workspace/*/ran")) >= number


@pytest.mark.slurm
@pytest.mark.timeout(180)
def test_requests_are_steps_and_outlive_their_driver(on_slurm: Shell, slurm: SlurmCluster) -> None:
    project(on_slurm, 24, 0.5)
    driver = driving(on_slurm, "--pool", "2")
    eventually(lambda: begun(on_slurm.folder, 3), within=60, what="the first requests")
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    out = end(driving(on_slurm, "--resume"))
    assert "Done: all directories are complete." in out
    pilots = ran_once_in_allocations(on_slurm.folder, 24)
    assert len(pilots) <= 4
    steps = {it.read_text().strip() for it in on_slurm.folder.glob("workspace/*/ran")}
    assert all(map(str.isdecimal, steps)), steps  # each a step of its own
    assert len(steps) > 4


@pytest.mark.slurm
@pytest.mark.timeout(240)
def test_a_node_that_is_lost_loses_no_request(on_slurm: Shell, slurm: SlurmCluster) -> None:
    project(on_slurm, 16, 1)
    rule = '[[retry]]\non = ["node failure"]\nwait = "00:00:01"\n'
    (on_slurm.folder / "rowtui.toml").write_text(rule)
    driver = driving(on_slurm, "--pool", "1")
    eventually(lambda: begun(on_slurm.folder, 2), within=60, what="the first requests")
    (node,) = set(slurm.run("squeue --noheader --states=running --format=%N").stdout.split())
    slurm.run(f"scontrol update nodename={node} state=down reason=gone")
    try:
        out = end(driver, 150)
    finally:
        slurm.run(
            f"scontrol update nodename={node} state=resume", check=False
        )  # it may have come back
    assert "Done: all directories are complete." in out
    for folder in on_slurm.folder.glob("workspace/*"):
        assert (folder / "two").exists()
        assert (folder / "ran").read_text().count("\n") <= 2
