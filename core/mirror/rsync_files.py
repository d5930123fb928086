"""Files copied by rsync, where both ends have one: it sends only what differs, in one go.

One rsync for any number of files. Their names go to it on stdin, its connection is the one that
is open already (`bridge`). What is cut off stays in `PARTIAL` and is continued.
Source: rsync(1). `./` before each name keeps `#`, `;`, `-` and `:` from meaning anything;
`--no-implied-dirs` leaves a workspace that is a link as it is; nanoseconds are compared where the
receiver is 3.1.3 or later.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.clusters.commands import client_environment, run_command
from rowtui.core.mirror.bridge import Bridge, open_bridge
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.errors import Cause, cut, explain
from rowtui.core.mirror.facts import PARTIAL
from rowtui.core.mirror.files import Progress
from rowtui.core.mirror.streams import CHUNK, has_streams
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport

_OLDEST = (3, 1, 0)  # --info=progress2
_NANOSECONDS = (3, 1, 3)
_VERSION = re.compile(rb"rsync\s+version v?(\d+)\.(\d+)\.(\d+)")
_PROGRESS = re.compile(
    rb"\s*([\d,.]+)\s+\d+%\s+\S+\s+[\d:]+(?:\s+\(xfr#\d+, (?:to|ir)-chk=(\d+)/\d+\))?"
)
_GRACE = 3.0  # seconds for rsync to put away what it has of a file
_KEPT = 1 << 16
_MOST_NOTICES = 50
_SOME_FAILED = (23, 24)  # some files were not copied; some were gone before they could be
Version = tuple[int, int, int]


class RsyncFiles:
    """Copies with rsync over a transport that has streams."""

    name = "rsync"

    def __init__(
        self,
        root: Path,
        transport: Transport,
        there: str,
        where: str,
        *,
        program: str = "rsync",
        remote_version: Version = _NANOSECONDS,
    ) -> None:
        self._root = root
        self._transport = transport
        self._there = there
        self._where = where
        self._program = program
        self._old = remote_version < _NANOSECONDS

    def send(self, copies: Sequence[Copy]) -> AsyncIterator[Progress]:
        """Copy files to the cluster. See `Files`."""
        # `./` is the copy's folder: the bridge starts the other rsync in it.
        return self._copy(copies, ["./", "cluster:./"], f"sending to {self._where}")

    def fetch(self, copies: Sequence[Copy]) -> AsyncIterator[Progress]:
        """Copy files to this machine. See `Files`."""
        return self._copy(copies, ["cluster:./", "./"], f"fetching from {self._where}")

    async def _copy(
        self, copies: Sequence[Copy], ends: Sequence[str], what: str
    ) -> AsyncIterator[Progress]:
        files, size = len(copies), sum(copy.facts.size for copy in copies)
        if not copies:
            return
        names = b"".join(b"./" + os.fsencode(copy.path) + b"\0" for copy in copies)
        options = [
            "--files-from=-", "--from0", "--no-implied-dirs", "--links", "--times",
            "--omit-dir-times", "--omit-link-times", "--executability",
            f"--partial-dir={PARTIAL}", "--modify-window=-1", *(["-I"] if self._old else []),
            "--info=progress2", "--no-human-readable", "--outbuf=L",
        ]  # fmt: skip
        async with open_bridge(self._transport, self._there, self._where) as (bridge, shell):
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                self._program, *options, f"--rsh={shell}", *ends,
                stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._root,
                env=client_environment({"LC_ALL": "C", "RSYNC_RSH": None}),
                start_new_session=True,
            )  # fmt: skip
            said = bytearray()
            feeding = asyncio.create_task(_feed(process, names))
            listening = asyncio.create_task(_listen(process, said))
            try:
                yield Progress(0, files, 0, size)
                async for done_bytes, left in _progress(process):
                    done = max(0, files - left) if left is not None else 0
                    yield Progress(min(done, files), files, min(done_bytes, size), size)
                await listening
                status = await process.wait()
            finally:
                feeding.cancel()
                listening.cancel()
                await _end(process)
            text = said.decode(errors="surrogateescape")
            notices = self._conclude(status, text, bridge, what)
            yield Progress(files - len(notices) if notices else files, files, size, size, notices)

    def _conclude(self, status: int, said: str, bridge: Bridge, what: str) -> tuple[str, ...]:
        """What was not copied, if the rest was. Raises: MirrorError."""
        if bridge.error is not None:
            raise bridge.error
        if status == 0:
            return ()
        # The ends complain of each other; what went wrong with a file comes first.
        said = f"{said}\n{bridge.said}"
        error = explain(said, self._where, what)
        if status in _SOME_FAILED and error.cause is not Cause.FULL:
            lines = [line for line in said.splitlines() if line.startswith(("rsync: ", "file has"))]
            return tuple(visible(line) for line in lines[:_MOST_NOTICES])
        if error.cause is Cause.OTHER and status in (10, 12, 30):
            raise cut(self._where, error.message)
        raise error


async def _progress(process: asyncio.subprocess.Process) -> AsyncIterator[tuple[int, int | None]]:
    """Bytes that were copied, and how many files are left to be looked at, where it says so."""
    assert process.stdout is not None
    left: int | None = None
    kept = b""
    while chunk := await process.stdout.read(CHUNK):
        *lines, kept = re.split(rb"[\r\n]", kept + chunk)
        found = [match for line in lines if (match := _PROGRESS.match(line))]
        for match in found:
            left = int(match[2]) if match[2] else left
        if found:
            yield int(re.sub(rb"\D", b"", found[-1][1])), left
        kept = kept[-_KEPT:]


async def _feed(process: asyncio.subprocess.Process, names: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(names)
        await process.stdin.drain()
        process.stdin.close()


async def _listen(process: asyncio.subprocess.Process, said: bytearray) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(CHUNK):
        said += chunk[: _KEPT - len(said)]


async def _end(process: asyncio.subprocess.Process) -> None:
    """End rsync and what it started; first with a word, so that it keeps what it has."""
    for number, grace in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await process.wait()


def version_in(output: bytes) -> Version | None:
    """The version that `rsync --version` prints; None for anything that is not that rsync."""
    found = _VERSION.match(output)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


async def rsync_there(transport: Transport) -> Version | None:
    """The cluster's rsync, if there is one that serves and this machine has one as well."""
    if not has_streams(transport) or shutil.which("rsync") is None:
        return None
    ours = version_in((await run_command(["rsync", "--version"], timeout=20.0)).stdout)
    theirs = version_in((await transport.run(["rsync", "--version"], timeout=60.0)).stdout)
    return theirs if ours and ours >= _OLDEST and theirs and theirs >= (3, 0, 0) else None
