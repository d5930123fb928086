"""The Grid Engine of the tests is private, and gone with its owner."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.eventually import eventually
from tests.rig.grid_engine import PORTS, GridEngineCluster
from tests.rig.keeper import descendants
from tests.rig.processes import process_state

ROOT = Path(__file__).parents[2]
OWNER = """
import time
from tests.rig.grid_engine import GridEngineCluster
cluster = GridEngineCluster()
cluster.run("qsub -S /bin/bash -cwd -o /dev/null -j y",
            stdin="setsid sleep 300 & setsid sleep 300 & touch began; sleep 300")
while not (cluster.work / "began").exists(): time.sleep(0.05)
print(cluster.folder.parent, flush=True)
time.sleep(600)
"""


def test_daemons_jobs_and_folder_are_gone_when_the_owner_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert folder.is_dir()
        pids = descendants(owner.pid)
        assert len(pids) >= 7  # the keeper, the network, two daemons, a shepherd, a job's three
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not any(process_state(pid) for pid in pids), what="every process to be gone")
    eventually(lambda: not folder.exists(), what="the folder to be gone")


def test_it_listens_in_a_network_of_its_own(grid_engine: GridEngineCluster) -> None:
    ports = [int(line.split()[1].split(":")[1], 16) for line in grid_engine.listening()]
    assert sorted(ports) == sorted(map(int, PORTS))
    # Nothing leads anywhere else.
    assert grid_engine.run("tail -n +2 /proc/net/route").stdout == ""
