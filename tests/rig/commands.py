"""One command of a channel of asyncssh's server, run on this machine as sshd would run it.

Its output goes to the channel while there is one; the command itself goes on without.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

import asyncssh

from tests.rig.faults import Asked


class Command:
    """A command in a shell of its own process group, which dies with the test process."""

    def __init__(self, asked: Asked, *, env: Mapping[str, str], home: Path) -> None:
        self._asked = asked
        self._env = dict(env) | {"HOME": str(home)}
        self._home = home
        self._child: asyncio.subprocess.Process | None = None

    async def run(self, process: asyncssh.SSHServerProcess[bytes], *, silent: bool) -> int:
        """Run it to its end and give its status; `silent`: nothing goes to the channel."""
        child = await asyncio.create_subprocess_exec(
            *(shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL"),
            *("bash", "-c", self._asked.command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._env,
            cwd=self._home,
            start_new_session=True,
        )
        assert child.stdout is not None
        assert child.stderr is not None
        # Not awaited: a client that sends no input does not end it either.
        feeding = asyncio.create_task(_feed(process, child, self._asked))
        try:
            await asyncio.gather(
                _copy(child.stdout, process.stdout, self._asked.stdout, silent=silent),
                _copy(child.stderr, process.stderr, None, silent=silent),
            )
            return await child.wait()
        except asyncio.CancelledError:
            _signal(child, signal.SIGKILL)
            await child.communicate()
            raise
        finally:
            feeding.cancel()


def send(writer: asyncssh.SSHWriter[bytes], text: str | bytes) -> None:
    """Write, if there is still somebody to read it."""
    try:
        writer.write(text.encode() if isinstance(text, str) else text)
    except (asyncssh.Error, OSError):
        pass


def end(process: asyncssh.SSHServerProcess[bytes], status: int) -> None:
    """Tell the client how the command ended, if it is still there."""
    try:
        if status < 0:
            process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
        else:
            process.exit(status)
    except (asyncssh.Error, OSError):
        pass


async def _feed(
    process: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process, asked: Asked
) -> None:
    """Give the command the input and the signals that the client sends."""
    assert child.stdin is not None
    while True:
        try:
            data = await process.stdin.read(1 << 16)
        except asyncssh.SignalReceived as received:
            _signal(child, signal.Signals[f"SIG{received.signal}"])
            continue
        except (asyncssh.Error, OSError):  # cut: sshd closes the pipe then, too
            data = b""
        try:
            if not data:
                child.stdin.close()
                return
            asked.stdin += data
            child.stdin.write(data)
            await child.stdin.drain()
        except OSError:  # the command does not read (on)
            return


async def _copy(
    source: asyncio.StreamReader,
    to: asyncssh.SSHWriter[bytes],
    record: bytearray | None,
    *,
    silent: bool,
) -> None:
    """Pass on what the command prints, as far as anybody reads it."""
    while data := await source.read(1 << 16):
        if record is not None:
            record += data
        if silent:
            continue
        try:
            to.write(data)
            await to.drain()
        except (asyncssh.Error, OSError):
            silent = True


def _signal(child: asyncio.subprocess.Process, number: int) -> None:
    """Signal the whole process group of a command that has not ended."""
    if child.returncode is None:
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            pass
