"""Running a command on a terminal of its own, as a person sees it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

from tests.cli.conftest import Shell
from tests.cli.served import Served, server
from tests.eventually import eventually


def on_a_terminal(
    shell: Shell, *arguments: str, typed: bytes = b"", **environment: str
) -> tuple[int, bytes]:
    """The exit code and all that reached the screen. `typed` is in the terminal beforehand."""
    outer, inner = pty.openpty()
    try:
        env = {**shell.environment, "TERM": "xterm-256color", **environment}
        process: Served | subprocess.Popen[bytes]
        if not (shell.prefix or shell.starts_python) and server.starts_alike(env):
            streams = (inner, inner, inner)
            process = server.start(
                arguments, cwd=shell.folder, env=env, streams=streams, session=True
            )
        else:
            process = subprocess.Popen(
                [*shell.prefix, sys.executable, "-m", "rowtui.cli.main", *arguments],
                cwd=Path(shell.folder),
                env=env,
                stdin=inner,
                stdout=inner,
                stderr=inner,
                start_new_session=True,
            )
    finally:
        os.close(inner)
    if typed:
        os.write(outer, typed)
    seen = bytearray()
    try:
        while piece := os.read(outer, 1 << 16):
            seen += piece
    except OSError:  # Linux: EIO once nobody holds the other end any more
        pass
    finally:
        os.close(outer)
    return process.wait(60), bytes(seen)


class Terminal:
    """A command on a controlling terminal of its own, which a person talks to."""

    def __init__(
        self, shell: Shell, *arguments: str, program: Sequence[str] = ("-m", "rowtui.cli.main")
    ) -> None:
        self.outer, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=shell.folder,
            env={**shell.environment, "TERM": "xterm"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inner)
        self.seen = b""
        self.ended = False

    def answer(self, prompt: bytes, typed: bytes) -> None:
        """Wait for this prompt, then type."""
        eventually(self._more, lambda seen: seen.endswith(prompt), every=0, what=prompt)
        os.write(self.outer, typed)

    def shows(self, text: bytes) -> None:
        """Wait until the command has written this."""
        eventually(self._more, lambda seen: text in seen, every=0, what=text)

    def _more(self) -> bytes:
        """What was written so far, and what comes within a second."""
        if select.select([self.outer], [], [], 0 if self.ended else 1)[0]:
            try:
                piece = os.read(self.outer, 1 << 16)
            except OSError:  # Linux: EIO after the command has ended
                piece = b""
            self.seen += piece
            self.ended = not piece
        return self.seen

    def end(self) -> int:
        """The exit code; all that the screen showed is in `seen`."""
        try:
            eventually(lambda: (self._more(), self.ended)[1], every=0, what="the end")
        finally:
            if not self.ended:  # it waits for an answer that nobody gives
                self.process.kill()
            os.close(self.outer)
        return self.process.wait(60)
