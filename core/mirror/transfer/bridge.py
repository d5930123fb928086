"""A remote shell for rsync that uses the connection that is already open, without a new login.

rsync starts a small program of rowtui. The program connects to a socket in a folder that only this
user may enter, and sends the command that rsync runs on the cluster. This process runs the command
there and forwards the data in both directions. The host and folder in rsync's command line never
reach a shell: the command runs in the copy's folder, so the folder may have any name.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.mirror.errors import MirrorError
from rowtui.core.mirror.transfer.streams import CHUNK, Stream, open_stream

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport

_PROGRAM = Path(__file__).with_name("bridge_program.py")


class Bridge:
    """The server that rsync's remote shell connects to. `open_bridge` opens and closes one."""

    def __init__(self, transport: Transport, root: str, where: str) -> None:
        self.said = ""  # stderr of the remote end
        self.status: int | None = None  # of the remote end; rsync asks its remote shell for it
        self.error: MirrorError | None = None  # why the remote end could not be started
        self._ended = asyncio.Event()
        self._transport = transport
        self._root = Path(root)
        self._where = where

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one remote shell from its connection to its end."""
        try:
            words = json.loads(await reader.readline())
            async with open_stream(
                self._transport,
                words[1:],  # the first word is rsync's name for the cluster
                cwd=self._root,
                where=self._where,
                env={"LC_ALL": "C"},
            ) as stream:
                sending = asyncio.create_task(_send(reader, stream))
                try:
                    await _receive(stream, writer)
                    self.status = await stream.ended()
                finally:
                    sending.cancel()
                    self.said += stream.said
        except MirrorError as error:
            self.error = error
        except (OSError, ValueError, RowtuiError) as error:
            self.said += f"{error}\n"
        finally:
            with contextlib.suppress(OSError):
                writer.close()
            self._ended.set()

    async def wait_for_last_words(self, seconds: float) -> None:
        """Wait at most `seconds` for the remote end; its last output contains why rsync ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()


@contextlib.asynccontextmanager
async def open_bridge(
    transport: Transport, root: str, where: str
) -> AsyncIterator[tuple[Bridge, str]]:
    """Open a bridge while the block lasts; yield it with rsync's `--rsh` option for it."""
    folder = await asyncio.to_thread(tempfile.mkdtemp, "", "rowtui-", _short_folder())
    bridge = Bridge(transport, root, where)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(bridge.serve(reader, writer))
        tasks.add(task)

    try:
        socket = f"{folder}/s"
        server = await asyncio.start_unix_server(connected, socket, limit=CHUNK)
        try:
            words = [sys.executable, "-I", "-S", str(_PROGRAM), socket]
            yield bridge, " ".join(_quoted(word) for word in words)
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _send(reader: asyncio.StreamReader, stream: Stream) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            await stream.write(data)
    stream.end()


async def _receive(stream: Stream, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):  # rsync has ended and reads no more
        while data := await stream.read():
            writer.write(data)
            await writer.drain()


def _quoted(word: str) -> str:
    """Quote a word for rsync's `--rsh`: in single quotes, with single quotes inside doubled."""
    return "'" + word.replace("'", "''") + "'"


def _short_folder() -> str:
    """Return a folder with a short name for private folders, as a socket's path has at most 107
    bytes.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return runtime if 0 < len(runtime) < 60 and os.access(runtime, os.W_OK) else "/tmp"
