"""One real Slurm cluster in a private folder, every port on 127.0.0.1, with or without root.

`Munge` can serve several clusters; a `SlurmCluster` is described by its nodes and partitions.
The order of starting matters: a slurmd that finds no controller sleeps a whole second.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.rig.keeper import descendants
from tests.rig.processes import (
    Daemon,
    Keeper,
    RigError,
    free_ports,
    listening_addresses,
    require,
    wait_until,
)

_SLURM_VARIABLES = ("SLURM_", "SBATCH_", "SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_")


@dataclass(frozen=True)
class Node:
    """One node, which need not have what it claims (config_overrides)."""

    name: str
    cpus: int
    memory_mb: int
    gpus: int = 0
    feature: str = ""


NODES = (
    Node("n1", 16, 64000, feature="intel"),
    Node("n2", 16, 64000, feature="intel"),
    Node("g1", 32, 256000, gpus=4, feature="amd"),
    Node("h1", 64, 2000000),
)
PARTITIONS = (
    "PartitionName=gpu Nodes=g1 MaxTime=12:00:00 DefaultTime=10",
    "PartitionName=cpu Nodes=n[1-2] Default=YES MaxTime=1-00:00:00 DefaultTime=10 MaxNodes=2",
    "PartitionName=highmem Nodes=h1 MaxTime=UNLIMITED DefaultTime=10 MaxMemPerNode=1900000",
    "PartitionName=shared Nodes=n[1-2],g1 OverSubscribe=YES:4 MaxTime=01:00:00 DefaultTime=5"
    " MaxCPUsPerNode=8",
    "PartitionName=closed Nodes=n1 MaxTime=01:00:00 State=INACTIVE",
)

BETA_NODES = (
    Node("b1", 8, 32000),
    Node("b2", 8, 32000),
    Node("v1", 16, 128000, gpus=2),
)
BETA_PARTITIONS = (
    "PartitionName=batch Nodes=b[1-2] Default=YES MaxTime=2-00:00:00 DefaultTime=10",
    "PartitionName=accel Nodes=v1 MaxTime=06:00:00 DefaultTime=10",
)


class Munge:
    """The munged that vouches for users towards the daemons."""

    def __init__(self, keeper: Keeper) -> None:
        programs = require("munged", "munge")
        folder = keeper.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        self.socket = folder / "sock"
        options = {"key-file": key, "socket": self.socket, "pid-file": folder / "pid"}
        options |= {"log-file": folder / "log", "seed-file": folder / "seed"}
        self.daemon = keeper.start(
            [programs["munged"], "--foreground", "--num-threads=2"]
            + [f"--{name}={path}" for name, path in options.items()],
            log=folder / "out",
        )
        ask = [programs["munge"], "-S", str(self.socket), "-n"]
        wait_until(lambda: _answers(ask, self.daemon, "munged"), "munged")


def _answers(argv: Sequence[str], daemon: Daemon, name: str) -> bool:
    if not daemon.alive:
        raise RigError(f"{name} died at its start: {daemon.words()}")
    return subprocess.run(argv, capture_output=True).returncode == 0


class SlurmCluster:
    """A running cluster and the ways to use and to hurt it."""

    def __init__(
        self,
        keeper: Keeper,
        munge: Munge,
        *,
        name: str = "alpha",
        nodes: Sequence[Node] = NODES,
        partitions: Sequence[str] = PARTITIONS,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.folder = keeper.folder / name
        self.user = pwd.getpwuid(os.geteuid()).pw_name  # not $USER, which su keeps
        self._keeper = keeper
        self._munge = munge
        self._nodes = tuple(nodes)
        self._programs = require("slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
        for part in ("state", "run", "log", "dev", "work", "daemons"):
            (self.folder / part).mkdir(parents=True)
        for node in nodes:
            (self.folder / "spool" / node.name).mkdir(parents=True)
        self._write_configuration(partitions, settings or {})
        self.nodes: dict[str, Daemon] = {}
        self.controller = self._start_controller(fresh=True)
        self.nodes = {node.name: self._start_node(node) for node in nodes}
        self._wait_for_idle_nodes()

    @property
    def conf(self) -> Path:
        """The clients' slurm.conf, with which they wait two seconds for a frozen controller."""
        return self.folder / "slurm.conf"

    @property
    def daemons_conf(self) -> Path:
        """The daemons' slurm.conf: on a busy machine a node may need more than two seconds to start
        a job, which Slurm would hold for two minutes.
        """
        return self.folder / "daemons" / "slurm.conf"

    @property
    def work(self) -> Path:
        """A folder for jobs to run in."""
        return self.folder / "work"

    @property
    def env(self) -> dict[str, str]:
        """The environment in which clients talk to this cluster, and nothing bends them."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_SLURM_VARIABLES)
        }
        return kept | {"SLURM_CONF": str(self.conf)}

    def run(
        self, command: str, *, stdin: str = "", check: bool = True, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell line as on a login node of this cluster, in its work folder."""
        done = subprocess.run(
            command,
            shell=True,
            input=stdin,
            env=self.env,
            cwd=self.work,
            text=True,
            capture_output=True,
            timeout=timeout,
        )
        if check and done.returncode:
            raise RigError(f"{command}: status {done.returncode}: {done.stderr}")
        return done

    def submit(self, script: str, options: str = "") -> int:
        """Submit `#!/bin/bash` + script and return the id."""
        line = f"sbatch --parsable -o %j.out {options}"
        return int(self.run(line, stdin=f"#!/bin/bash\n{script}\n").stdout.split(";")[0])

    def state(self, job_id: int) -> str:
        """Slurm's word for the state of a job, "" when it is not known (any more)."""
        return self.run(f"squeue -h -t all -j {job_id} -o %T", check=False).stdout.strip()

    def wait_for(self, job_id: int, *states: str, seconds: float = 90) -> str:
        """Wait until the job is in one of these states."""
        wait_until(
            lambda: self.state(job_id) in states,
            f"job {job_id} to be {' or '.join(states)}",
            seconds=seconds,
            every=0.15,
        )
        return self.state(job_id)

    def stop_controller(self) -> None:
        """Freeze slurmctld: it takes requests in, and answers none before `continue_controller`."""
        self.controller.stop()

    def continue_controller(self) -> None:
        """Let a frozen slurmctld go on, and wait until it answers."""
        self.controller.go_on()
        self._wait_for_controller()

    def kill_controller(self) -> None:
        """SIGKILL slurmctld. Jobs that it accepted in the last seconds may be forgotten."""
        self.controller.kill()

    def restart_controller(self) -> None:
        """Start slurmctld again on the state that it had saved."""
        self._start_again(fresh=False)

    def wipe_controller(self) -> None:
        """Start slurmctld again with no state: every job is forgotten, ids begin at 1 again.

        What still runs of a job is killed, and says nothing.
        """
        self._start_again(fresh=True)

    def _start_again(self, *, fresh: bool) -> None:
        self.controller.kill()
        if fresh:  # else the scripts that lie there keep their ids
            shutil.rmtree(self.folder / "state")
            (self.folder / "state").mkdir()
            for node in self._nodes:
                self.nodes[node.name].kill()
                self._end_steps(node)
        self.controller = self._start_controller(fresh=fresh)
        # A slurmd that starts reports at once; one that runs is asked after about five seconds.
        for node in self._nodes:
            self.nodes[node.name].kill()
            self.nodes[node.name] = self._start_node(node)
        self._wait_for_idle_nodes()

    def _end_steps(self, node: Node) -> None:
        """Kill every slurmstepd of a node, and its processes. The slurmd must be dead.

        One whose controller was killed lives on for 15 seconds, until it reports the end of its
        job again. A new job with its id would not be started, and Slurm would drain the node.
        """

        def running() -> list[int]:
            steps = with_open(self.folder / "log" / f"slurmd-{node.name}.log", "slurmstepd")
            for pid in (each for step in steps for each in (step, *descendants(step))):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return steps

        wait_until(running, f"the jobs on {node.name} to die", lambda steps: not steps)

    def clean(self) -> None:
        """Every daemon alive, no job active, every node idle; `squeue -t all` keeps the ended."""
        if self.controller.alive:
            self.continue_controller()
        else:
            self.restart_controller()
        for node in self._nodes:
            if self.nodes[node.name].alive:
                self.nodes[node.name].go_on()
            else:
                self.nodes[node.name] = self._start_node(node)
        if self.run("squeue -h").stdout:
            self.run(f"scancel -u {self.user}")
            wait_until(
                lambda: self.run("squeue -h").stdout,
                "the queue to empty",
                lambda queue: not queue,
                every=0.05,
            )
        self._wait_for_idle_nodes()

    def _start_controller(self, *, fresh: bool) -> Daemon:
        argv = [self._programs["slurmctld"], "-D", "-f", str(self.daemons_conf)]
        if fresh:
            argv.append("-c")
        daemon = self._keeper.start(argv, log=self.folder / "log" / "slurmctld.out", env=self.env)
        self.controller = daemon
        self._wait_for_controller()
        return daemon

    def _wait_for_controller(self) -> None:
        def up() -> bool:
            if not self.controller.alive:
                raise RigError(f"slurmctld died: {self.controller.words()}")
            return "is UP" in self.run("scontrol ping", check=False).stdout

        wait_until(up, "slurmctld", every=0.05)

    def _start_node(self, node: Node) -> Daemon:
        return self._keeper.start(
            [self._programs["slurmd"], "-D", "-f", str(self.daemons_conf), "-N", node.name],
            log=self.folder / "log" / f"slurmd-{node.name}.out",
            env=self.env,
        )

    def _wait_for_idle_nodes(self) -> None:
        """Until each slurmd takes jobs in: slurmctld may call it idle as it was left."""

        def states() -> list[str]:
            for daemon in self.nodes.values():
                if not daemon.alive:
                    raise RigError(f"a slurmd died: {daemon.words()}")
                if not listening_addresses(daemon.pid):
                    return []
            return self.run("sinfo -h -N -o %N=%t", check=False).stdout.split()

        def idle(states: list[str]) -> bool:
            return len(states) >= len(self._nodes) and all(
                re.fullmatch(r"\w+=(idle|mix|alloc|plnd)", state) for state in states
            )

        wait_until(states, "the nodes to be idle", idle, every=0.05)

    def _write_configuration(
        self, partitions: Sequence[str], settings: Mapping[str, object]
    ) -> None:
        controller_port, *ports = free_ports(1 + len(self._nodes))
        values: dict[str, object] = {
            "ClusterName": self.name,
            "SlurmctldHost": "localhost(127.0.0.1)",
            "SlurmctldPort": controller_port,
            "SlurmUser": self.user,
            "SlurmdUser": self.user,
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            "AuthInfo": f"socket={self._munge.socket}",
            # What keeps the daemons off 0.0.0.0.
            "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",
            "StateSaveLocation": self.folder / "state",
            "SlurmdSpoolDir": self.folder / "spool" / "%n",
            "SlurmctldPidFile": self.folder / "run" / "slurmctld.pid",
            "SlurmdPidFile": self.folder / "run" / "slurmd-%n.pid",
            "SlurmctldLogFile": self.folder / "log" / "slurmctld.log",
            "SlurmdLogFile": self.folder / "log" / "slurmd-%n.log",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "SwitchType": "switch/none",
            "MpiDefault": "none",
            "MailProg": "/bin/true",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core_Memory",
            "SlurmdParameters": "config_overrides",
            "ReturnToService": 2,
            "GresTypes": "gpu",
            "SchedulerType": "sched/backfill",
            "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,"
            "sched_min_interval=10000,bf_interval=1,bf_continue",
            "PriorityType": "priority/basic",
            "JobAcctGatherType": "jobacct_gather/linux",
            "JobAcctGatherFrequency": "task=1",
            "JobAcctGatherParams": "OverMemoryKill",
            "JobCompType": "jobcomp/none",
            "MinJobAge": 300,
            "KillWait": 2,
            "SlurmdTimeout": 60,
            "SlurmctldTimeout": 30,
            "MaxArraySize": 1001,
            "MaxJobCount": 20000,
            "EnforcePartLimits": "ALL",
            "PropagateResourceLimits": "NONE",
        }
        lines = []
        gres = []
        for node, port in zip(self._nodes, ports, strict=True):
            lines.append(
                f"NodeName={node.name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port}"
                f" CPUs={node.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={node.cpus}"
                f" ThreadsPerCore=1 RealMemory={node.memory_mb} TmpDisk=10000 State=UNKNOWN"
                + (f" Feature={node.feature}" if node.feature else "")
                + (f" Gres=gpu:a100:{node.gpus}" if node.gpus else "")
            )
            if node.gpus:
                device = self.folder / "dev" / f"{node.name}-gpu"
                for number in range(node.gpus):  # Slurm wants a device; root could mknod
                    Path(f"{device}{number}").symlink_to("/dev/null")
                gres.append(
                    f"NodeName={node.name} Name=gpu Type=a100 File={device}[0-{node.gpus - 1}]"
                )
        # Without a default every job takes the whole memory of its node.
        lines += ["PartitionName=DEFAULT DefMemPerCPU=2000 State=UP", *partitions]
        for conf, seconds in ((self.conf, 2), (self.daemons_conf, 30)):
            timeouts = {"MessageTimeout": seconds, "TCPTimeout": seconds}
            all_values = values | timeouts | dict(settings)
            head = [f"{key}={value}" for key, value in all_values.items()]
            conf.write_text("\n".join((*head, *lines)) + "\n")
            (conf.parent / "gres.conf").write_text("\n".join(gres) + "\n")


def with_open(path: Path, name: str) -> list[int]:
    """The processes of this name that have a file open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().strip() == name and any(
                os.readlink(link) == str(path) for link in (process / "fd").iterdir()
            ):
                found.append(int(process.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


class SlurmRig:
    """A keeper, its munged and one cluster; another `SlurmCluster` may be added to them."""

    def __init__(self, **of_cluster: object) -> None:
        require("munged", "munge", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
        self.keeper = Keeper()
        try:
            self.munge = Munge(self.keeper)
            self.cluster = SlurmCluster(self.keeper, self.munge, **of_cluster)  # type: ignore[arg-type]
        except BaseException:
            self.keeper.close()
            raise

    def close(self) -> None:
        """End everything."""
        self.keeper.close()


def start_slurm(attempts: int = 3, **of_cluster: object) -> SlurmRig:
    """A rig that is up. A port that somebody else took meanwhile means another attempt."""
    for attempt in range(1, attempts + 1):
        try:
            return SlurmRig(**of_cluster)
        except RigError as error:
            if attempt == attempts or "missing" in str(error):
                raise
            time.sleep(0.1)
    raise AssertionError("unreachable")


def start_beta(rig: SlurmRig, attempts: int = 3) -> SlurmCluster:
    """A second cluster of other nodes and partitions, under the munged and keeper of the first."""
    for attempt in range(1, attempts + 1):
        try:
            return SlurmCluster(
                rig.keeper, rig.munge, name="beta", nodes=BETA_NODES, partitions=BETA_PARTITIONS
            )
        except RigError:
            if attempt == attempts:
                raise
            time.sleep(0.1)
            # Daemons of the failed attempt may still run; they end with the keeper.
            shutil.rmtree(rig.keeper.folder / "beta", ignore_errors=True)
    raise AssertionError("unreachable")
