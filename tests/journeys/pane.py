"""A person at a real terminal: a tmux server of its own with one pane, in which a shell runs.

Keys are typed into the pane and its text is looked at whenever something was written to it: tmux
copies all that the pane shows into a named pipe, so nothing here waits for a time.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

PATIENCE = 30.0
"""Seconds before a test gives up; nothing takes more than a few."""

AT_ONCE = 0.4
"""Seconds for which a question ignores Enter."""

_numbers = count(1)


class Pane:
    """One terminal with a shell in `folder`. `home`: all that is written outside of the project."""

    def __init__(
        self, folder: Path, home: Path, size: tuple[int, int] = (80, 24), **more: str
    ) -> None:
        self.home = home
        self._socket = f"rowtui-{os.getpid()}-{next(_numbers)}"
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMUX_TMPDIR": str(home),
            "ROWTUI_LOCAL_DIR": str(home / "queue"),
            "ROWTUI_LOCAL_CORES": "2",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "HISTFILE": "",
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
            **more,
        }
        self._environment = environment
        self._pipe_path = home / f"{self._socket}.pipe"
        os.mkfifo(self._pipe_path)
        # Open for writing as well: it is never at its end.
        self._pipe = os.open(self._pipe_path, os.O_RDWR | os.O_NONBLOCK)
        width, height = (str(side) for side in size)
        self.tmux("new-session", "-d", "-x", width, "-y", height, "-c", str(folder),
                  "PS1='shell> ' exec bash --norc --noprofile -i")  # fmt: skip
        self.shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        self.server = int(self.tmux("display-message", "-p", "#{pid}"))
        self.tmux("pipe-pane", f"exec cat >> '{self._pipe_path}'")

    def tmux(self, *words: str) -> str:
        """What a command of tmux answers."""
        done = subprocess.run(
            ["tmux", "-u", "-L", self._socket, "-f", "/dev/null", *words],
            env=self._environment, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def type(self, text: str) -> None:
        """Type it letter by letter."""
        self.tmux("send-keys", "-l", "--", text)

    def enter(self, text: str) -> None:
        """Type it, then Enter, which a question does not take at once."""
        self.type(text)
        time.sleep(AT_ONCE)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux: `Enter`, `Escape`, `C-z`, `Down`, or a letter."""
        self.tmux("send-keys", "--", *keys)

    def text(self) -> str:
        """What is on the screen."""
        return self.tmux("capture-pane", "-p")

    def sees(self, *texts: str) -> str:
        """Wait until all of these are on the screen; that screen."""
        return self.until(lambda shown: all(text in shown for text in texts), repr(texts))

    def leaves(self, *texts: str) -> None:
        """Press Escape once a page with these texts is on the screen, and wait until it is gone.

        A page that is being drawn lacks its texts too. Whoever takes that for its end types the
        next key right behind the Escape, and a terminal reads both as one key, with Alt.
        """
        self.sees(*texts)
        self.rested()
        self.press("Escape")
        self.until(lambda _: texts[0] not in self.rested(), f"no {texts[0]!r}")

    def until(self, true: Callable[[str], object], what: str) -> str:
        """Wait until this is true of the screen; that screen."""
        late = time.monotonic() + PATIENCE
        while True:
            self._drain()
            shown = self.text()
            if true(shown):
                return shown
            left = late - time.monotonic()
            if left <= 0 or not select.select([self._pipe], [], [], left)[0]:
                raise AssertionError(f"never came: {what}\n{shown}")

    def rested(self, quiet: float = 0.3) -> str:
        """The screen once nothing was drawn for so many seconds."""
        late = time.monotonic() + PATIENCE
        while time.monotonic() < late:
            self._drain()
            if not select.select([self._pipe], [], [], quiet)[0]:
                break
        return self.text()

    def _drain(self) -> None:
        try:
            while os.read(self._pipe, 1 << 16):
                pass
        except BlockingIOError:
            pass

    def resize(self, width: int, height: int) -> None:
        """Give the terminal this size."""
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def close(self) -> None:
        """End the terminal and all that holds on to it."""
        subprocess.run(
            ["tmux", "-L", self._socket, "kill-server"],
            env=self._environment, capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        wait_for_the_end_of(self.server)  # it may be gone with its last session already
        os.close(self._pipe)
        self._pipe_path.unlink()


def processes_of(home: Path) -> dict[int, str]:
    """The command lines of all processes that were started from this home, by their pids."""
    found = {}
    wanted = b"HOME=" + os.fsencode(home)
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if words and wanted in environment.split(b"\0"):
            found[int(name)] = words.replace(b"\0", b" ").decode(errors="replace")
    return found


def engine_of(home: Path) -> int:
    """The process of the engine of the one dashboard that runs: its fork, or started later."""
    found = processes_of(home)
    [pid] = [
        pid
        for pid, words in found.items()
        if "engine.process" in words or found.get(parent_of(pid)) == words
    ]
    return pid


def parent_of(pid: int) -> int:
    """The process that started this one; 0 if it has ended."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(told.rpartition(")")[2].split()[1])


def wait_for_the_end_of(pid: int) -> None:
    """Raises: AssertionError, where it does not end."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], PATIENCE)[0], f"process {pid} did not end"
    finally:
        os.close(fd)


def end_what_is_left(home: Path) -> None:
    """The local queue's supervisor waits a while for more jobs: it need not."""
    for pid in processes_of(home):
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            continue
        wait_for_the_end_of(pid)
