"""Forward the streams of a command that runs over a shared login.

The input is a connection to the process that needs the streams, and the line to run. The command's
output is sent to the process in frames (`out`: 1 or 2), and its `exit` at the end; the frames of
the process are the command's input. The streams are for programs that communicate with their other
half on the cluster (rsync); such a program starts `stream_program.py`, which is the other
end. If either end closes, the command's channel is ended. The module imports asyncssh: import it
only where streams are needed.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import asyncssh
from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import LoginError
from rowtui.core.clusters.transports.own_login import Login
from rowtui.core.clusters.transports.shared.protocol import field, receive, send

CHUNK = 1 << 18


async def pass_on(
    transport: Login, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Run the line that the client sends, until it ends or the client closes.

    Raises: ProtocolError.
    """
    first = await receive(reader)
    if first is None:
        return
    line = field(first.head, "line", str)
    try:
        async with transport.process(line) as process:
            feeding = asyncio.create_task(_feed(reader, process))
            saying = asyncio.create_task(_say(process, writer))
            try:
                await asyncio.wait({feeding, saying}, return_when=asyncio.FIRST_COMPLETED)
                if not saying.done() and not feeding.result():
                    await saying  # the command has all its input
                elif saying.done():
                    saying.result()
            finally:
                for task in (feeding, saying):
                    task.cancel()
                await asyncio.gather(feeding, saying, return_exceptions=True)
    except LoginError as error:
        send(writer, {"failed": error.message})
    except (asyncssh.Error, OSError) as error:
        if not writer.is_closing():
            send(writer, {"failed": f"the connection broke: {visible(str(error))}"})


async def _feed(reader: asyncio.StreamReader, process: Any) -> bool:
    """Forward the command's input; return whether the client closed before the end of it."""
    while (frame := await receive(reader)) is not None:
        with contextlib.suppress(OSError):  # the command reads no more
            if "eof" in frame.head:
                process.stdin.write_eof()
                return False
            process.stdin.write(frame.body)
            await process.stdin.drain()
    return True


async def _say(process: Any, writer: asyncio.StreamWriter) -> None:
    """Forward the command's output, then its exit status."""

    async def one(number: int, stream: Any) -> None:
        while chunk := await stream.read(CHUNK):
            send(writer, {"out": number}, chunk)
            await writer.drain()

    await asyncio.gather(one(1, process.stdout), one(2, process.stderr))
    await process.wait()
    send(writer, {"exit": process.returncode})
    await writer.drain()
