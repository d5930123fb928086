"""Running a command on a terminal of its own, as a person sees it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Shell


def on_a_terminal(
    shell: Shell, *arguments: str, typed: bytes = b"", **environment: str
) -> tuple[int, bytes]:
    """The exit code and all that reached the screen. `typed` is in the terminal beforehand."""
    outer, inner = pty.openpty()
    try:
        process = subprocess.Popen(
            [*shell.prefix, sys.executable, "-m", "rowtui.cli.main", *arguments],
            cwd=Path(shell.folder),
            env={**shell.environment, "TERM": "xterm-256color", **environment},
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
