"""A real pseudo-terminal with the sample dashboard in it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.eventually import eventually

ROOT = Path(__file__).parents[2]


class Terminal:
    """The sample dashboard in a terminal of its own."""

    def __init__(
        self, tmp_path: Path, code: str = "", *, before: str = "exec", **more: str
    ) -> None:
        self.master, slave = pty.openpty()
        environment = {
            **os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24",
            "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path), **more,
        }  # fmt: skip
        code = code or "from tests.tui.sample import main; raise SystemExit(main())"
        self.process = subprocess.Popen(
            [
                "sh", "-c", f'{before} "$@"', "sh", sys.executable, "-c", code,
            ],
            cwd=ROOT, stdin=slave, stdout=slave, stderr=slave,
            env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.seen = b""

    def until(self, text: bytes) -> None:
        eventually(self._more, lambda end: text in self.seen, every=0, what=text)

    def _more(self) -> bytes:
        """The end of what was written so far, after waiting a second for more."""
        if select.select([self.master], [], [], 1)[0]:
            self.seen += os.read(self.master, 65536)
        return self.seen[-2000:]

    def interrupt(self) -> None:
        """What Ctrl-C does while the terminal is not the dashboard's."""
        os.killpg(os.getpgid(self.process.pid), signal.SIGINT)

    def rests(self) -> None:
        """Nothing is written for a moment."""
        while select.select([self.master], [], [], 0.3)[0]:
            self.seen += os.read(self.master, 65536)

    def waits(self, seconds: float) -> bool:
        """Whether the dashboard writes something within this time."""
        return bool(select.select([self.master], [], [], seconds)[0])

    def drop(self, seconds: float) -> None:
        """Read what is written within this time; the other end may be gone."""
        late = time.monotonic() + seconds
        while (left := late - time.monotonic()) > 0 and self.waits(left):
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:  # all of it has ended
                time.sleep(left)

    def drain(self) -> None:
        while True:
            if not select.select([self.master], [], [], 0.2)[0]:
                if self.process.poll() is not None:
                    return
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.seen += data

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=60)
        os.close(self.master)
