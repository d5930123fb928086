"""The database of the rig with accounts is gone with its owner, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.rig.keeper import descendants
from tests.rig.processes import process_state

ROOT = Path(__file__).parents[2]
OWNER = """
import time
from tests.rig.accounting import Database, database_folder
from tests.rig.processes import Keeper
keeper = Keeper(database_folder())
Database(keeper)
print(keeper.folder, flush=True)
time.sleep(600)
"""


@pytest.mark.slurm
def test_a_database_and_its_data_are_gone_when_their_owner_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert (folder / "data" / "mysql" / "proc.frm").exists()  # what stored procedures need
        pids = descendants(owner.pid)
        assert len(pids) == 2  # the keeper and mariadbd
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not any(process_state(pid) for pid in pids), what="every process to be gone")
    eventually(lambda: not folder.exists(), what="the folder to be gone")
