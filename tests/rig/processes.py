"""The rig's side of the keeper: starting daemons, signalling them by pid, and finding ports."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.eventually import Seen, eventually


class RigError(Exception):
    """The rig could not be brought up, and why."""


DEBIAN_PACKAGES = {
    "munged": "munge",
    "munge": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "squeue": "slurm-client",
    "scontrol": "slurm-client",
    "sacct": "slurm-client",
    "sacctmgr": "slurm-client",
    "slurmdbd": "slurmdbd slurm-wlm-mysql-plugin",
    "mariadbd": "mariadb-server-core",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sge_qmaster": "gridengine-master",
    "sge_execd": "gridengine-exec",
    "qsub": "gridengine-client",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}


def require(*programs: str) -> dict[str, str]:
    """Where each program is. Raises: RigError that names the Debian packages to install."""
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    found = {program: shutil.which(program, path=path) for program in programs}
    missing = [program for program, where in found.items() if where is None]
    if missing:
        packages = " ".join(sorted({DEBIAN_PACKAGES[program] for program in missing}))
        raise RigError(
            f"{', '.join(missing)} missing: apt-get install --no-install-recommends {packages}"
        )
    return {program: where for program, where in found.items() if where}


class Keeper:
    """A folder and the daemons that live in it; both are gone when this process is."""

    def __init__(self, under: Path | None = None) -> None:
        under = under or Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp"))  # tests/conftest.py
        # Short, since Unix sockets have names of at most 107 bytes; and open to other users,
        # as jobs and daemons may run under them.
        self.folder = Path(tempfile.mkdtemp(prefix="rig-", dir=under))
        self.folder.chmod(0o755)
        script = Path(__file__).with_name("keeper.py")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), str(self.folder), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError:
            self.folder.rmdir()
            raise

    def start(
        self, argv: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None
    ) -> Daemon:
        """Start a program that stays in the foreground; its output goes to `log`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"argv": list(argv), "env": dict(env or os.environ), "log": str(log)}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RigError("the keeper of the rig has died")
        return Daemon(int(answer), log)

    def close(self) -> None:
        """End every daemon, job and stray, and remove the folder."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(20)
        if self._process.stdout is not None:
            self._process.stdout.close()


class Daemon:
    """One program that the keeper started."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid = pid
        self._log = log

    @property
    def alive(self) -> bool:
        """Whether it runs (or is stopped)."""
        return process_state(self.pid) not in ("", "Z")

    def stop(self) -> None:
        """SIGSTOP, and wait until it took hold."""
        os.kill(self.pid, signal.SIGSTOP)
        wait_until(lambda: process_state(self.pid) == "T", "the daemon to stop")

    def go_on(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not self.alive, "the daemon to die")

    def words(self) -> str:
        """The end of what it printed."""
        try:
            return self._log.read_text(errors="replace")[-2000:]
        except OSError:
            return ""


def process_state(pid: int) -> str:
    """The kernel's letter for the state of a process; "" if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def listening_addresses(pid: int) -> list[str]:
    """The addresses on which a process listens for TCP connections, one for each socket."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the process has closed it meanwhile
            if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link)):
                inodes.add(match.group(1))
    addresses = []
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                # Words of four bytes, each as a number of this machine.
                words = re.findall("." * 8, fields[1].split(":")[0])
                packed = b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)
                addresses.append(socket.inet_ntop(family, packed))
    return addresses


def wait_until(
    look: Callable[[], Seen],
    what: str,
    holds: Callable[[Seen], object] = bool,
    *,
    seconds: float = 45,
    every: float = 0.01,
) -> None:
    """As `eventually`, for what starts daemons. Raises: RigError after `seconds`."""
    try:
        eventually(look, holds, within=seconds, every=every, what=what)
    except AssertionError as error:
        raise RigError(str(error)) from None


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, below those that outgoing connections are given.

    Random, so that several rigs at once rarely meet; whoever loses such a race starts again.
    """
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    top = min(low, 32000)
    bottom = min(20000, top // 2)
    ports: list[int] = []
    while len(ports) < count:
        port = bottom + secrets.randbelow(top - bottom)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports
