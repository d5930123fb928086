"""A login node of a cluster: a real OpenSSH server on 127.0.0.1, with or without root.

Whoever logs in talks to the cluster behind it, since sshd sets SLURM_CONF. Clients find it by its
name in `ssh_config`, which all login nodes of one keeper share. Its sessions can be frozen and cut,
its listener killed and restarted, its host key changed; `clean()` makes all that good again. With
`one_time_codes` (root only) it asks for a password and then for a code.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.rig.keeper import descendants
from tests.rig.one_time_codes import OneTimeCodes
from tests.rig.processes import (
    Daemon,
    Keeper,
    RigError,
    free_ports,
    process_state,
    require,
    wait_until,
)
from tests.rig.slurm import SlurmCluster

PRIVILEGE_SEPARATION = Path("/run/sshd")  # compiled in; only an sshd of root wants it


def host_block(name: str, *, port: int, user: str, client_key: Path, known_hosts: Path) -> str:
    """The lines of an ssh_config by which OpenSSH and asyncssh reach a login node, and only so."""
    lines = {
        "HostName": "127.0.0.1",
        "Port": port,
        "User": user,
        "IdentityFile": client_key,
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "UserKnownHostsFile": known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
    }
    return f"Host {name}\n" + "".join(f"    {key} {value}\n" for key, value in lines.items())


class LoginNode:
    """An sshd in front of a cluster, and the ways to hurt it."""

    def __init__(
        self,
        keeper: Keeper,
        cluster: SlurmCluster,
        *,
        name: str = "",
        banner: str = "",
        bashrc: str = "",
        max_sessions: int = 10,
        one_time_codes: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name or cluster.name
        self.cluster = cluster
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.folder = keeper.folder / f"login-{self.name}"
        self.client_key = self.folder / "client_key"
        self.known_hosts = self.folder / "known_hosts"
        self.ssh_config = keeper.folder / "ssh_config"
        self._keeper = keeper
        self._programs = require("sshd", "ssh-keygen")
        self._starts = 0
        self._left_behind: set[int] = set()  # sessions whose listener is dead
        self.home.mkdir(parents=True)
        # sshd starts commands in the home of /etc/passwd, whatever HOME says.
        (self.home / ".bashrc").write_text(f'cd "$HOME"\n{bashrc}\n')
        self._make_key(self.client_key)
        self._make_key(self._host_key)
        (self.folder / "authorized_keys").write_text(self._public(self.client_key) + "\n")
        if banner:
            (self.folder / "banner").write_text(banner)
        if os.geteuid() == 0:
            _make_privilege_separation_folder()
        # Cheap key exchange first: the default one doubles the time of a login.
        self._settings: dict[str, object] = {
            "ListenAddress": "127.0.0.1",
            "HostKey": self._host_key,
            "AuthorizedKeysFile": self.folder / "authorized_keys",
            "KexAlgorithms": "curve25519-sha256,ecdh-sha2-nistp256",
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "UseDNS": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "PermitUserRC": "no",
            "PrintMotd": "no",
            "PrintLastLog": "no",
            "MaxSessions": max_sessions,
            "Banner": self.folder / "banner" if banner else "none",
            "LogLevel": "VERBOSE",
            "Subsystem": f"sftp internal-sftp -d {self.home}",
            "SetEnv": f"SLURM_CONF={cluster.conf} HOME={self.home} PATH={_user_path()}",
        }
        self.codes: OneTimeCodes | None = None
        if one_time_codes:
            self.codes = OneTimeCodes(self.folder, self.user)
            self._settings |= self.codes.settings
        self._settings |= settings or {}
        # Since 9.8 whoever fails to log in is kept out for a while; older ones don't know the word.
        if self._understands({"PerSourcePenalties": "no"}):
            self._settings["PerSourcePenalties"] = "no"
        self.port, self.listener = self._start_on_a_free_port()
        self.trust_host_key()
        with self.ssh_config.open("a") as config:
            config.write(
                host_block(
                    self.name,
                    port=self.port,
                    user=self.user,
                    client_key=self.client_key,
                    known_hosts=self.known_hosts,
                )
            )

    @property
    def home(self) -> Path:
        """HOME of whoever logs in, where commands and SFTP start."""
        return self.folder / "home"

    @property
    def known_hosts_line(self) -> str:
        """What a known_hosts file has to say for the host key of now."""
        return f"[127.0.0.1]:{self.port} {self._public(self._host_key)}"

    @property
    def ssh(self) -> list[str]:
        """The arguments of an OpenSSH client that logs in here; a command may follow."""
        program = require("ssh")["ssh"]
        return [program, "-F", str(self.ssh_config), "-o", "BatchMode=yes", self.name]

    def sessions(self) -> list[int]:
        """The sshd processes of all connections; the commands they run are not among them."""
        found = [pid for pid in descendants(self.listener.pid) if _is_sshd(pid)]
        return found + [pid for pid in self._left_behind if _is_sshd(pid)]

    def stop(self, *, listener: bool = False) -> None:
        """Freeze every connection: the peer is there and says nothing.

        With `listener` new connections are accepted by the kernel alone, and not answered either.
        """
        if listener:
            self.listener.stop()
        sessions = self.sessions()
        for pid in sessions:
            _send(pid, signal.SIGSTOP)
        wait_until(
            lambda: all(process_state(pid) in ("T", "", "Z") for pid in sessions),
            "the sessions to stop",
        )

    def go_on(self) -> None:
        """Let frozen connections, and a frozen listener, go on."""
        for pid in self.sessions():
            _send(pid, signal.SIGCONT)
        if self.listener.alive:
            self.listener.go_on()

    def cut(self) -> None:
        """Lose every connection at once; the commands that they run go on to their ends."""
        sessions = self.sessions()
        for pid in sessions:
            _send(pid, signal.SIGKILL)
        wait_until(
            lambda: all(process_state(pid) in ("", "Z") for pid in sessions),
            "the sessions to be gone",
        )

    def kill(self) -> None:
        """Kill the listener: new connections are refused, those that exist go on."""
        self._left_behind.update(self.sessions())
        self.listener.kill()

    def restart(self) -> None:
        """Start the listener again, on the same port."""
        self.kill()
        self.listener = self._start(self.port)

    def new_host_key(self) -> None:
        """Become, for clients, another machine: the key changes, known_hosts stays as it is."""
        self._host_key.unlink()
        self._make_key(self._host_key)
        self.restart()

    def trust_host_key(self) -> None:
        """Let known_hosts say the host key of now."""
        self.known_hosts.write_text(self.known_hosts_line + "\n")

    def clean(self) -> None:
        """The listener answers, nothing is frozen, known_hosts is right; sessions stay."""
        self.go_on()
        if not self.listener.alive:
            self.restart()
        self.trust_host_key()

    @property
    def _host_key(self) -> Path:
        return self.folder / "host_key"

    def _public(self, key: Path) -> str:
        """`ssh-ed25519 AAAA...`, without the comment."""
        return " ".join(key.with_suffix(".pub").read_text().split()[:2])

    def _make_key(self, path: Path) -> None:
        argv = [self._programs["ssh-keygen"], "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
        argv += ["-C", "rig"]
        path.with_suffix(".pub").unlink(missing_ok=True)
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)

    def _understands(self, settings: Mapping[str, object]) -> bool:
        conf = self._write_configuration({**self._settings, **settings})
        argv = [self._programs["sshd"], "-t", "-f", str(conf)]
        return subprocess.run(argv, capture_output=True).returncode == 0

    def _write_configuration(self, settings: Mapping[str, object]) -> Path:
        conf = self.folder / "sshd_config"
        conf.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
        return conf

    def _start_on_a_free_port(self) -> tuple[int, Daemon]:
        for attempt in range(1, 4):
            (port,) = free_ports(1)
            try:
                return port, self._start(port)
            except RigError:  # somebody else took the port meanwhile
                if attempt == 3:
                    raise
        raise AssertionError("unreachable")

    def _start(self, port: int) -> Daemon:
        self._starts += 1
        conf = self._write_configuration(self._settings | {"Port": port})
        log = self.folder / f"sshd-{self._starts}.log"
        argv = [self._programs["sshd"], "-D", "-e", "-f", str(conf)]
        if self.codes is not None:
            argv = self.codes.around(argv)
        daemon = self._keeper.start(argv, log=log, env={"PATH": _user_path()})

        def listens() -> bool:
            if not daemon.alive:
                raise RigError(f"sshd died at its start: {daemon.words()}")
            return f"Server listening on 127.0.0.1 port {port}." in daemon.words()

        wait_until(listens, "sshd")
        return daemon


def _make_privilege_separation_folder() -> None:
    """What a service of the system would have made; nothing of ours lies in it."""
    try:
        PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        raise RigError(f"an sshd of root needs {PRIVILEGE_SEPARATION}: {error.strerror}") from None


def _user_path() -> str:
    """Where a person who logs in finds Slurm's programs."""
    folders = {str(Path(require("sbatch")["sbatch"]).parent): None}
    folders |= dict.fromkeys(("/usr/local/bin", "/usr/bin", "/bin"))
    return ":".join(folders)


def _is_sshd(pid: int) -> bool:
    """Also sshd-session and sshd-auth, into which sshd was split in OpenSSH 9.8 and 10."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return False
    return name.startswith("sshd") and process_state(pid) not in ("", "Z")


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
