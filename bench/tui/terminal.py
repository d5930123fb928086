"""A program in a pseudo-terminal: everything it writes is read at once and counted.

CPU time is the program's own, from the kernel: what the neighbours do on a shared machine makes
the wall clock slow, and this hardly at all.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

COLUMNS, LINES = 200, 50
BYTECODE = "PYTHONPYCACHEPREFIX"


class Terminal:
    """One program in a terminal, from its start to its end."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        own: Mapping[str, str],
        *,
        columns: int = COLUMNS,
        lines: int = LINES,
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            env=dict(own), start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = b""  # the end of it
        self.count = 0

    def read(self, seconds: float) -> bool:
        """Read what comes within that time; whether anything came."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.count += len(data)
        self.seen = (self.seen + data)[-200_000:]
        return True

    def until(self, text: bytes, seconds: float = 60.0) -> tuple[float, float]:
        """When the text had been written: seconds since the start, and CPU seconds until then."""
        end = time.perf_counter() + seconds
        while text not in self.seen:
            alive = self.read(1.0) or self.process.poll() is None
            if time.perf_counter() > end or not alive:
                raise NeverCame(f"{text!r} never came: {self.seen[-1500:]!r}")
        return time.perf_counter() - self.began, self.cpu()

    def during(self, seconds: float) -> tuple[float, int]:
        """CPU seconds and bytes written while that time passes."""
        cpu, count = self.cpu(), self.count
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)
        return self.cpu() - cpu, self.count - count

    def until_made(self, path: Path, seconds: float = 600.0) -> None:
        """Read until the file is there. Raises: NeverCame."""
        end = time.perf_counter() + seconds
        while not path.exists():
            self.read(0.05)
            if self.process.poll() is not None or time.perf_counter() > end:
                raise NeverCame(self.seen[-3000:].decode(errors="replace"))

    def press(self, keys: bytes) -> None:
        """Type this."""
        os.write(self.master, keys)

    def cpu(self) -> float:
        """CPU seconds of the program so far, all its threads together."""
        return cpu_of(self.process.pid)

    def resident(self) -> float:
        """Its memory that is in RAM, in MB."""
        return resident(self.process.pid)

    def children(self) -> list[int]:
        """The processes that it started."""
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(word) for word in told.split()]

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self.master)


class NeverCame(Exception):
    """The program did not show what was waited for."""


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far; those of threads that have ended are not counted."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def resident(pid: int | str) -> float:
    """Memory of a process that is in RAM, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def environment(home: Path) -> dict[str, str]:
    """What a person's terminal has; the home is the bench's own."""
    known = {
        "PATH": os.environ["PATH"], "HOME": str(home), "TERM": "xterm-256color",
        "COLORTERM": "truecolor", "LANG": "C.UTF-8", "ROWTUI_LOCAL_DIR": str(home / "queue"),
    }  # fmt: skip
    if "PYTHONPATH" in os.environ:  # another copy of the project is measured
        known["PYTHONPATH"] = os.environ["PYTHONPATH"]
    # Without compiled modules every start would compile them again.
    known[BYTECODE] = os.environ.get(BYTECODE) or str(Path.home() / ".cache/rowtui-bench")
    return known
