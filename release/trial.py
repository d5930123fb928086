"""Tries the bundle as a user of a bare machine: without network, Python and root rights.

The machine is a folder with a shell and the usual small programs, in namespaces of its own.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import time
from pathlib import Path

from release.bundle import MOST_FILES, OF_THE_SYSTEM, BundleError

USER = 12_345
PROGRAMS = """
    awk basename bash cat chmod cp cut date dd df dirname echo env expr false find getconf grep
    gzip head hostname id kill ln ls mkdir mktemp mount mv nice nohup od ps pwd readlink rm rmdir
    sed setpriv setsid sh sha256sum sleep sort stat stty tail tar tee test timeout touch tr true
    uname uniq wc which whoami xargs
"""
EVERYTHING = """
import PIL.Image, highspy, keyring, lzma, numpy.linalg, ssl, rowtui.tui.serve
from importlib.metadata import entry_points
print(len(entry_points(group="rowtui.schedulers")), "schedulers")
"""
SECONDS = 120
"""For one command on the bare machine."""


def require() -> None:
    """Raises: BundleError if this machine cannot run the trial."""
    missing = [name for name in ("unshare", "chroot", "setpriv") if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        raise BundleError("--check makes namespaces: it needs root, unshare, chroot and setpriv")


def try_bundle(made: Path, version: str) -> None:
    """Install the bundle on a bare machine, use it, and remove it. Raises: BundleError."""
    with tempfile.TemporaryDirectory(prefix="rowtui-bare-") as folder:
        machine = Machine(Path(folder))
        shutil.copy(made, machine.home / "rowtui.run")
        machine.expect("! command -v python3 && ! command -v python", "")
        machine.expect("sh rowtui.run --help", "--uninstall")
        machine.expect("sh rowtui.run --check", "can be installed")
        machine.expect("sh rowtui.run", "is installed")
        machine.expect("sh rowtui.run", "is installed")
        files = sum(path.is_file() for path in machine.home.rglob("*")) - 1
        if files > MOST_FILES + 1:
            raise BundleError(f"{files} files are installed; at most {MOST_FILES}")
        machine.expect("rowtui --version", f"rowtui {version}")
        machine.expect("rowtui demo --headless --keep ~/demo", "✓ triangular")
        machine.expect("rowtui demo network --headless --keep ~/study", "slopes.svg")
        machine.expect("cd demo && rowtui show status && rowtui doctor; true", "average")
        machine.expect("cd demo && (sleep 3; echo q) | rowtui --plain", "average: 240 completed")
        machine.expect("PYTHONHOME=/no PYTHONPATH=/no rowtui --version", f"rowtui {version}")
        machine.expect(f"~/.local/lib/rowtui/*/bin/python3 -c '{EVERYTHING}'", "4 schedulers")
        machine.dashboard("cd demo && exec rowtui", "average")
        machine.refuses(
            "mkdir full; mount -t tmpfs -o size=1m,mode=777 none full", "full", "MB free"
        )
        machine.refuses("mkdir no; mount -t tmpfs -o noexec,mode=777 none no", "no", "noexec")
        machine.expect("sh rowtui.run --uninstall", "is removed")
        machine.expect("find ~/.local -name '*rowtui*' -path '*/lib/*'; find ~/.local -type l", "")


class Machine:
    """A bare machine in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.chmod(0o755)
        for name in ("usr/bin", "dev", "etc", "proc", "tmp", "home/user"):
            (root / name).mkdir(parents=True)
        (root / "tmp").chmod(0o1777)
        (root / "bin").symlink_to("usr/bin")
        self.home = root / "home/user"
        os.chown(self.home, USER, USER)
        (root / "etc/passwd").write_text(f"user:x:{USER}:{USER}::/home/user:/bin/sh\n")
        for name, numbers in {"null": (1, 3), "zero": (1, 5), "urandom": (1, 9)}.items():
            os.mknod(root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
            (root / "dev" / name).chmod(0o666)
        for name in PROGRAMS.split():
            if program := shutil.which(name):
                self._add(Path(program))

    def _add(self, program: Path) -> None:
        shutil.copy(program.resolve(), self.root / "usr/bin" / program.name)
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        needed = [Path(one) for one in re.findall(r"(?:=> )?(/\S+)", listed.stdout)]
        glibc = [path for one in needed if one.name == "libc.so.6" for path in one.parent.iterdir()]
        needed += [path for path in glibc if OF_THE_SYSTEM.fullmatch(path.name)]
        for library in needed:
            target = self.root / str(library)[1:]
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library.resolve(), target)

    def words(self, command: str, before: str = "true") -> list[str]:
        """Return the words that run a command there as a user; `before`: a command as root."""
        user = f"setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs"
        clean = f"env -i HOME=/home/user USER=user TERM=xterm-256color PATH={PATH} LANG=C.UTF-8"
        line = f'cd /home/user && {before} && exec {user} {clean} sh -c "$1"'
        spaces = ["unshare", "-n", "-m", "-p", "-f", "-i", f"--mount-proc={self.root}/proc"]
        return [*spaces, "chroot", str(self.root), "sh", "-c", line, "sh", command]

    def run(self, command: str, before: str = "true") -> subprocess.CompletedProcess[str]:
        """Run a command as a user of the machine."""
        print(f"bare machine$ {command}", flush=True)
        return subprocess.run(
            self.words(command, before),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def expect(self, command: str, text: str) -> None:
        """Raises: BundleError unless the command succeeds and prints this text; "": nothing."""
        done = self.run(command)
        if done.returncode or text not in done.stdout or (not text and done.stdout):
            raise BundleError(f"'{command}' gave {done.returncode}:\n{done.stdout}{done.stderr}")

    def refuses(self, before: str, prefix: str, reason: str) -> None:
        """Raises: BundleError unless the installer refuses the folder for this reason."""
        done = self.run(f"sh rowtui.run --prefix {prefix}", before)
        if done.returncode != 1 or reason not in done.stderr or done.stderr.count("\n") != 1:
            raise BundleError(f"the installer took {prefix}:\n{done.stdout}{done.stderr}")

    def dashboard(self, command: str, text: str) -> None:
        """Raises: BundleError unless the dashboard shows this text, and `q` ends it."""
        print(f"bare machine$ {command}", flush=True)
        words = self.words(command)
        child, terminal = pty.fork()
        if child == 0:
            os.execvp(words[0], words)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        shown, asked = b"", False
        deadline = time.monotonic() + SECONDS
        try:
            while time.monotonic() < deadline:
                if not select.select([terminal], [], [], 1)[0]:
                    continue
                try:
                    shown += os.read(terminal, 1 << 16)
                except OSError:  # the other side has closed the terminal
                    break
                if not asked and text.encode() in shown:
                    os.write(terminal, b"q")
                    asked = True
        finally:
            if time.monotonic() >= deadline:
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.close(terminal)
        if code or not asked:
            raise BundleError(f"the dashboard ended with {code}:\n{shown[-3000:].decode()}")


PATH = "/home/user/.local/bin:/usr/bin:/bin"
