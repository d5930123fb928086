"""The rig keeps its promises: quick, private, and gone with its owner, however that ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.rig.keeper import descendants
from tests.rig.processes import RigError, listening_addresses, process_state, require
from tests.rig.slurm import Node, SlurmCluster, start_slurm, with_open

ROOT = Path(__file__).parents[2]
OWNER = """
import sys, time
from tests.rig.slurm import Node, start_slurm
partition = "PartitionName=p Nodes=n1 Default=YES"
rig = start_slurm(nodes=(Node("n1", 4, 8000),), partitions=(partition,))
job = rig.cluster.submit("setsid sleep 300 & setsid sleep 300 & sleep 300")
rig.cluster.wait_for(job, "RUNNING")
print(rig.keeper.folder, flush=True)
time.sleep(600)
"""


@pytest.mark.slurm
def test_daemons_jobs_and_folder_are_gone_when_the_owner_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert folder.is_dir()
        eventually(lambda: len(descendants(owner.pid)) >= 8, what="the job's processes")
        pids = descendants(owner.pid)
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not any(process_state(pid) for pid in pids), what="every process to be gone")
    eventually(lambda: not folder.exists(), what="the folder to be gone")


@pytest.mark.slurm
def test_by_hand_it_prints_what_to_export_and_an_interrupt_ends_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.rig"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as rig:
        assert rig.stdout is not None
        assert "up after" in rig.stdout.readline()
        match = re.fullmatch(r"export SLURM_CONF=(/\S+)\n", rig.stdout.readline())
        assert match is not None
        env = {**os.environ, "SLURM_CONF": match.group(1)}
        assert b"is UP" in subprocess.check_output(["scontrol", "ping"], env=env)
        assert rig.stdout.readline().endswith("/beta/slurm.conf\n")
        for name in ("alpha", "beta"):
            line = rig.stdout.readline().removeprefix("# ").strip()
            done = subprocess.check_output(f"{line} 'echo $SLURM_CONF'", shell=True, text=True)
            assert done.endswith(f"/{name}/slurm.conf\n")
        rig.send_signal(signal.SIGINT)
        assert rig.wait(20) == 0
    assert not Path(match.group(1)).exists()


@pytest.mark.slurm
def test_every_port_is_on_loopback(slurm: SlurmCluster) -> None:
    daemons = [slurm.controller, *slurm.nodes.values()]
    listening = [listening_addresses(daemon.pid) for daemon in daemons]
    assert listening == [["127.0.0.1"]] * len(daemons)


@pytest.mark.slurm
def test_after_a_crash_of_the_controller_and_of_a_node_the_cluster_works_again(
    slurm: SlurmCluster,
) -> None:
    job = slurm.submit("sleep 300")
    slurm.wait_for(job, "RUNNING")
    slurm.kill_controller()
    slurm.nodes["n1"].kill()
    slurm.clean()
    assert slurm.run("squeue -h").stdout == ""
    slurm.wait_for(slurm.submit("true"), "COMPLETED")


@pytest.mark.slurm
def test_an_id_that_a_wiped_controller_gives_again_is_free_on_its_node() -> None:
    rig = start_slurm(
        nodes=(Node("w1", 4, 8000),),
        partitions=("PartitionName=cpu Nodes=w1 Default=YES DefaultTime=10",),
    )
    try:
        # given a job whose slurmstepd is not through, as if it still tried to report its end
        cluster = rig.cluster
        first = cluster.submit("sleep 300")
        cluster.wait_for(first, "RUNNING")
        log = cluster.folder / "log" / "slurmd-w1.log"
        # There are two of that name for a moment: it forks before it starts the script.
        for step in eventually(lambda: with_open(log, "slurmstepd"), what="its slurmstepd"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(step, signal.SIGSTOP)

        cluster.wipe_controller()

        # then the job that gets its id begins
        assert cluster.submit("true") == first
        cluster.wait_for(first, "COMPLETED", seconds=20)
    finally:
        rig.close()


def test_missing_programs_are_named_with_the_packages_that_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.rig.processes.shutil.which", lambda *_, **__: None)
    with pytest.raises(RigError) as caught:
        require("slurmctld", "munged", "squeue")
    assert str(caught.value).splitlines() == [
        "slurmctld, munged, squeue missing: "
        "apt-get install --no-install-recommends munge slurm-client slurmctld"
    ]
