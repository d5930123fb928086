"""Copy files by rsync if both ends have it: one rsync sends only the differences.

One rsync copies any number of files. The names are passed to rsync on stdin; rsync uses the
connection that is already open (`bridge`). The received part of an interrupted file stays in
`PARTIAL`, and the next attempt continues it. Source: rsync(1). The `./` before each name prevents a
special meaning of `#`, `;`, `-` and `:`; `--no-implied-dirs` keeps a workspace that is a link; `-I`
copies files whose size and time are equal, because the plan says so. Holes of files stay holes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import client_environment, end_process, run_command
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.listing import facts_here, facts_there
from rowtui.core.mirror.model import (
    LINK,
    PARTIAL,
    CopyFailure,
    MirrorError,
    cut,
    explain,
    explain_result,
    parents,
)
from rowtui.core.mirror.transfer.arriving import (
    CHUNK,
    HERE,
    MOST_NOTICES,
    Counting,
    HasProcess,
    Stream,
    TransferProgress,
    explain_here,
    open_stream,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport


# A remote shell for rsync that uses the connection that is already open, without a new login.
#
# rsync starts a small program of rowtui. The program connects to a socket in a folder that only
# this user may enter, and sends the command that rsync runs on the cluster. This process runs the
# command there and forwards the data in both directions. The host and folder in rsync's command
# line never reach a shell: the command runs in the copy's folder, so the folder may have any name.


_PROGRAM = "rowtui.core.mirror.transfer.bridge_program"


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
            words = [sys.executable, "-P", "-m", _PROGRAM, socket]
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


_OLDEST = (3, 1, 0)  # the first with --info=progress2
_FAST_PACKING = (3, 2, 0)  # has zstd and lz4, with which the zeros of a hole cost next to nothing
_VERSION = re.compile(rb"rsync\s+version v?(\d+)\.(\d+)\.(\d+)")
_PROGRESS = re.compile(
    rb"\s*([\d,.]+)\s+\d+%\s+\S+\s+[\d:]+(?:\s+\(xfr#\d+, (?:to|ir)-chk=(\d+)/\d+\))?"
)
_GRACE = 3.0  # seconds for rsync to store the received part of a file
_KEPT = 1 << 16
_SOME_FAILED = (23, 24)  # exit statuses: some files were not copied, or were deleted before
Version = tuple[int, int, int]


class RsyncFiles:
    """Copies files with rsync over a transport that has streams."""

    name = "rsync"

    def __init__(
        self,
        root: Path,
        transport: Transport,
        there: str,
        where: str,
        *,
        remote_version: Version = _OLDEST,
    ) -> None:
        self._root = root
        self._transport = transport
        self._there = there
        self._where = where
        self._slow_packing = remote_version < _FAST_PACKING

    def send(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files to the cluster. See `Files`."""
        # `./` is the copy's folder: the bridge starts the remote rsync in this folder.
        return self._copy(copies, ["./", "cluster:./"], "sending files")

    def fetch(self, copies: Sequence[Copy]) -> AsyncGenerator[TransferProgress, None]:
        """Copy files to this machine. See `Files`."""
        return self._copy(copies, ["cluster:./", "./"], "fetching files")

    async def _copy(
        self, copies: Sequence[Copy], ends: Sequence[str], what: str
    ) -> AsyncGenerator[TransferProgress, None]:
        count = Counting(copies)
        yield count.progress()
        for base, some in (await self._by_base(copies)).items():
            await self._make_base(base, what)
            run = self._run(base, some, ends, what, count.notices)
            async with contextlib.aclosing(run):
                async for done_files, done_bytes in run:
                    yield count.progress(done_bytes, done_files)
            count.add(some)
        yield count.progress()

    async def _by_base(self, copies: Sequence[Copy]) -> dict[str, list[Copy]]:
        """Group the files by the innermost link above them on either side; "" if there is none.

        A workspace may be a link to another disk; rsync follows no link except in its own start
        folder.
        """
        above = {parent for copy in copies for parent in parents(copy.path)}
        here = await asyncio.to_thread(facts_here, self._root, above)
        links = {path for path, facts in here.items() if facts.kind == LINK}
        there = await facts_there(self._transport, self._there, sorted(above), self._where)
        links |= {path for path, facts in there.items() if facts.kind == LINK}
        found: dict[str, list[Copy]] = {}
        for copy in copies:
            behind = [path for path in parents(copy.path) if path in links] if links else []
            found.setdefault(behind[-1] if behind else "", []).append(copy)
        return found

    async def _make_base(self, base: str, what: str) -> None:
        """Make the folder on both sides."""
        if not base:
            return
        try:
            os.makedirs(self._root / base, exist_ok=True)
        except OSError as error:
            raise explain_here(error, what, self._root) from None
        result = await self._transport.run(
            ["mkdir", "-p", "--", f"./{base}"], timeout=60.0, cwd=Path(self._there)
        )
        if result.exit_status != 0:
            raise explain_result(result, self._where, what, self._there)

    async def _run(
        self, base: str, copies: Sequence[Copy], ends: Sequence[str], what: str, notices: list[str]
    ) -> AsyncGenerator[tuple[int, int], None]:
        """Run one rsync; yield how many files and bytes it has copied."""
        cut_off = len(base) + 1 if base else 0
        names = b"".join(b"./" + os.fsencode(copy.path[cut_off:]) + b"\0" for copy in copies)
        options = [
            "--files-from=-", "--from0", "--no-implied-dirs", "--links", "--times",
            "--omit-dir-times", "--omit-link-times", "--executability", "--sparse",
            f"--partial-dir={PARTIAL}", "--modify-window=-1", "-I",
            *([] if self._slow_packing else ["--compress", "--compress-level=1"]),
            "--info=progress2", "--no-human-readable", "--outbuf=L",
        ]  # fmt: skip
        there = os.path.join(self._there, base)
        async with open_bridge(self._transport, there, self._where) as (bridge, shell):
            pipe = asyncio.subprocess.PIPE
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                "rsync", *options, f"--rsh={shell}", *ends,
                stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._root / base,
                env=client_environment({"LC_ALL": "C", "RSYNC_RSH": None}),
                start_new_session=True,
            )  # fmt: skip
            found = bytearray()
            feeding = asyncio.create_task(_feed(process, names))
            listening = asyncio.create_task(_listen(process, found))
            try:
                async for done_bytes, left in _progress(process):
                    yield 0 if left is None else max(0, len(copies) - left), done_bytes
                await listening
                status = await process.wait()
                await bridge.wait_for_last_words(_GRACE)
            finally:
                feeding.cancel()
                listening.cancel()
                if process.returncode is None:
                    with contextlib.suppress(TimeoutError, ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGTERM)
                        async with asyncio.timeout(_GRACE):
                            await process.wait()
                await end_process(process)
                self._note(("rsync", *options, *ends), process.returncode, found, began)
            text = found.decode(errors="surrogateescape")
            fetches = ends[-1] == "./"
            notices += self._conclude(status, text, bridge, what, fetches=fetches)

    def _note(self, argv: Sequence[str], status: int | None, said: bytearray, began: float) -> None:
        log = getattr(self._transport, "log", None)
        if log is not None:
            seconds = time.monotonic() - began
            log.note(self._where, CommandResult(tuple(argv), status, b"", bytes(said), seconds))

    def _conclude(
        self, status: int, said: str, bridge: Bridge, what: str, *, fetches: bool
    ) -> tuple[str, ...]:
        """Return notices on the files not copied, if the others were. Raises: MirrorError."""
        if bridge.error is not None:
            raise bridge.error
        status = status or bridge.status or 0
        if status == 0:
            return ()
        # Each end reports the other's failure; an error of a file is more informative, so look for
        # it first.
        said = f"{said}\n{bridge.said}"
        error = explain(said, self._where, what, self._there)
        if fetches and error.cause in (
            CopyFailure.FULL,
            CopyFailure.DENIED,
        ):  # this machine is the receiver
            error = explain(said, HERE, what, str(self._root))
        if status in _SOME_FAILED and error.cause is not CopyFailure.FULL:
            lines = [line for line in said.splitlines() if line.startswith(("rsync: ", "file has"))]
            return tuple(visible(line) for line in lines[:MOST_NOTICES])
        if error.cause is CopyFailure.OTHER and status in (10, 12, 30):
            raise cut(self._where, error.message)
        raise error


async def _progress(process: asyncio.subprocess.Process) -> AsyncIterator[tuple[int, int | None]]:
    """Yield the copied bytes, and the number of files still to be checked, if rsync reports it."""
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


def version_in(output: bytes) -> Version | None:
    """Return the version that `rsync --version` prints; None if another program answered."""
    found = _VERSION.match(output)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


async def rsync_there(transport: Transport) -> Version | None:
    """Return the version of the cluster's rsync; None unless both ends have a suitable rsync."""
    if not isinstance(transport, HasProcess) or shutil.which("rsync") is None:
        return None
    ours = version_in((await run_command(["rsync", "--version"], timeout=20.0)).stdout)
    theirs = version_in((await transport.run(["rsync", "--version"], timeout=60.0)).stdout)
    return theirs if ours and ours >= _OLDEST and theirs and theirs >= (3, 0, 0) else None
