"""Two Slurm clusters that keep accounts: MariaDB, slurmdbd, and what enforces limits.

`cluster` stores the comments of jobs, `without_comments` does not (most sites don't). On both,
accounts, QOS and limits are enforced; `cluster` has an account `lab` of 8 CPUs, whose QOS `fast` is
for one running and two submitted jobs, and a QOS `closed` that nobody may use. Root or not,
everything is on 127.0.0.1 and ends with the process that started it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.rig.processes import Daemon, Keeper, RigError, free_ports, require, wait_until
from tests.rig.slurm import Munge, Node, SlurmCluster

MEMORY = Path("/dev/shm")
DATA_BYTES = 200_000_000  # twice what it takes; containers may have 64 MB there
SYSTEM_TABLES = Path("/usr/share/mysql/mysql_system_tables.sql")


class Database:
    """A mariadbd with its system tables and nothing else; anybody on this machine may use it.

    slurmdbd makes its own tables. Without the system ones its stored procedures would fail
    silently, and with them what accounts and QOS inherit.
    """

    def __init__(self, keeper: Keeper) -> None:
        (program,) = require("mariadbd").values()
        if not SYSTEM_TABLES.exists():
            raise RigError(f"{SYSTEM_TABLES} missing: apt-get install mariadb-server-core")
        data = keeper.folder / "data"
        data.mkdir()
        options = [
            *("--no-defaults", f"--datadir={data}", "--lc-messages-dir=/usr/share/mysql"),
            *("--skip-grant-tables", "--skip-log-bin", "--skip-name-resolve"),
            *("--performance-schema=OFF", "--innodb-buffer-pool-size=64M"),
            *("--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=0"),
            *("--innodb-doublewrite=0", "--innodb-lock-wait-timeout=900"),
        ]
        if os.geteuid() == 0:
            options.append("--user=root")
        tables = "create database mysql;\nuse mysql;\n" + SYSTEM_TABLES.read_text()
        made = subprocess.run(
            [program, *options, "--bootstrap"], input=tables, text=True, capture_output=True
        )
        if made.returncode:
            raise RigError(f"mariadbd made no tables: {made.stderr[-2000:]}")
        (self.port,) = free_ports(1)
        options += ["--bind-address=127.0.0.1", f"--port={self.port}"]
        options += [f"--socket={keeper.folder}/socket", f"--pid-file={keeper.folder}/pid"]
        self.daemon = keeper.start([program, *options], log=keeper.folder / "mariadbd.out")
        _wait_for_port(self.port, self.daemon, "mariadbd")


class AccountingRig:
    """The database, slurmdbd and two clusters. `kill_slurmdbd` and `clean` hurt and heal it."""

    def __init__(self) -> None:
        self._programs = require("slurmdbd", "sacct", "sacctmgr", "munged", "slurmctld", "slurmd")
        self.keeper = Keeper()
        self._database_keeper = Keeper(database_folder())
        try:
            self.munge = Munge(self.keeper)
            self.database = Database(self._database_keeper)
            (self._port,) = free_ports(1)
            self._write_configuration()
            self.slurmdbd = self._start_slurmdbd()
            self.cluster = self._start_cluster("gamma", store="job_comment")
            self.without_comments = self._start_cluster("delta", store="job_env")
            self._give_accounts()
        except BaseException:
            self.close()
            raise

    def kill_slurmdbd(self) -> None:
        """SIGKILL slurmdbd. The controllers go on, and tell it later what happened."""
        self.slurmdbd.kill()

    def clean(self) -> None:
        """slurmdbd answers, both clusters are clean; what the accounts know stays."""
        if self.slurmdbd.alive:
            self.slurmdbd.go_on()
        else:
            self.slurmdbd = self._start_slurmdbd()
        self.cluster.clean()
        self.without_comments.clean()

    def close(self) -> None:
        """End everything."""
        self.keeper.close()
        self._database_keeper.close()

    def _log(self, name: str) -> Path:
        return self.keeper.folder / name

    def _write_configuration(self) -> None:
        user = pwd.getpwuid(os.geteuid()).pw_name
        conf = self.keeper.folder / "slurmdbd.conf"
        conf.touch(mode=0o600)  # slurmdbd insists
        values: dict[str, object] = {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.munge.socket}",
            "CommunicationParameters": "NoInAddrAny",
            "DbdHost": "localhost",
            "DbdAddr": "127.0.0.1",
            "DbdPort": self._port,
            "SlurmUser": user,
            "LogFile": self._log("slurmdbd.log"),
            "PidFile": self._log("slurmdbd.pid"),
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": self.database.port,
            "StorageUser": "root",
            "StorageLoc": "accounts",
        }
        conf.write_text("".join(f"{key}={value}\n" for key, value in values.items()))

    def _start_slurmdbd(self) -> Daemon:
        daemon = self.keeper.start(
            [self._programs["slurmdbd"], "-D"],
            log=self._log("slurmdbd.out"),
            # Its configuration is looked for beside this file, which need not be there.
            env={**os.environ, "SLURM_CONF": str(self.keeper.folder / "slurm.conf")},
        )
        _wait_for_port(self._port, daemon, "slurmdbd")
        return daemon

    def _start_cluster(self, name: str, *, store: str) -> SlurmCluster:
        node = Node(f"{name}1", 16, 64000)
        return SlurmCluster(
            self.keeper,
            self.munge,
            name=name,
            nodes=(node,),
            partitions=(f"PartitionName=cpu Nodes={node.name} Default=YES DefaultTime=10",),
            settings={
                "AccountingStorageType": "accounting_storage/slurmdbd",
                "AccountingStorageHost": "127.0.0.1",
                "AccountingStoragePort": self._port,
                "AccountingStoragePass": self.munge.socket,  # AuthInfo is not used for this
                "AccountingStorageEnforce": "associations,limits,qos",
                "AccountingStoreFlags": store,
                "PriorityType": "priority/multifactor",
                "PriorityWeightAge": 1000,
                "PriorityWeightJobSize": 1000,
                "PriorityWeightPartition": 500,
            },
        )

    def _give_accounts(self) -> None:
        """One sacctmgr for everything: each would take a third of a second to begin."""
        user = self.cluster.user
        lines = [
            "add qos fast,closed set MaxSubmitJobsPerUser=2 MaxJobsPerUser=1",
            "add account lab cluster=gamma GrpTRES=cpu=8",
            f"add user {user} account=lab cluster=gamma qos=normal,fast",
        ]
        if user != "root":  # who has an account from the beginning
            lines.insert(0, f"add user {user} account=root")
        given = self.cluster.run("sacctmgr -i", stdin="\n".join(lines) + "\n", check=False)
        if given.returncode:
            raise RigError(f"sacctmgr failed: {given.stdout}{given.stderr}")


def start_accounts(attempts: int = 3) -> AccountingRig:
    """A rig that is up. A port that somebody else took meanwhile means another attempt."""
    for attempt in range(1, attempts + 1):
        try:
            return AccountingRig()
        except RigError as error:
            if attempt == attempts or "missing" in str(error):
                raise
            time.sleep(0.1)
    raise AssertionError("unreachable")


def database_folder() -> Path:
    """Where the database lies: in memory, where writing costs nothing, if there is room."""
    try:
        if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= DATA_BYTES:
            return MEMORY
    except OSError:
        pass
    return Path("/tmp")


def _wait_for_port(port: int, daemon: Daemon, name: str) -> None:
    def accepts() -> bool:
        if not daemon.alive:
            raise RigError(f"{name} died at its start: {daemon.words()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(accepts, name)
