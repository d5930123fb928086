"""Run commands through the system's own `ssh`, for features that only it has.

The class is a `Transport` made from an `SshTarget`. All settings of ~/.ssh/config apply: GSSAPI,
smart cards, a connection that is already shared (ControlMaster). If none is shared, one is opened
for the session and closed with the transport. The transport never asks the user: a user who must
type an answer logs in with asyncssh, or first opens the shared connection in a terminal. Source:
ssh(1) ends with 255 for its own errors as well as for a command's 255. Its log, which is written to
a separate file (-E), shows whether the command was ever sent; markers in the output show whether
the command began and how it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import OUTPUT_LIMIT, run_command, streaming
from rowtui.core.clusters.transports.kept_shells import NOT_BEGUN, KeptShells
from rowtui.core.clusters.transports.login import (
    DROPPED_PAUSES,
    LoginError,
    LoginTrouble,
    SshTarget,
)
from rowtui.core.clusters.transports.remote_line import RemoteLine, StreamReader, remote_line

MOST_CHANNELS = 4  # as for asyncssh
_SSH_FAILED = 255
_LOG_LIMIT = 1 << 20
_NOISE_LIMIT = 1 << 20  # bytes of a start-up file's output that may precede the answer
_OPEN_TRIES = 8  # for a session that is refused
_OPEN_PAUSE = 0.05  # seconds before the second try; doubles
_CONTROL = 20.0  # seconds for a shared connection to answer

# Commands use the shared connection or none: otherwise, also if the connection breaks before its
# reply, ssh would connect by itself and send the command a second time.
_ONLY_SHARED = ("-o", "ProxyCommand=false")
_DROPPED = "kex_exchange_identification: "  # see `DROPPED_PAUSES`
_REFUSED = "Session open refused by peer"
_NO_MASTER = "Control socket "  # `... does not exist`, `... connect(PATH): Connection refused`

# Texts in ssh's log and their meaning. The first match is used.
_WORDS = (
    ("remote host identification has changed", LoginTrouble.HOST_KEY_CHANGED),
    ("host key verification failed", LoginTrouble.HOST_KEY_UNKNOWN),
    ("could not resolve hostname", LoginTrouble.NAME_NOT_FOUND),
    ("connection refused", LoginTrouble.REFUSED),
    ("timed out", LoginTrouble.TIMED_OUT),
    ("timeout", LoginTrouble.TIMED_OUT),
    ("bad configuration option", LoginTrouble.CONFIG),
    ("permission denied", LoginTrouble.DENIED),
    ("too many authentication failures", LoginTrouble.DENIED),
)


class OpensshTransport:
    """Runs commands on a cluster's login node with the `ssh` of this machine."""

    def __init__(
        self,
        target: SshTarget,
        *,
        program: str = "ssh",
        env: Mapping[str, str | None] | None = None,
        limit: int = OUTPUT_LIMIT,
        connect_timeout: int = 20,
        alive_interval: int = 15,
        keep_after: float = math.inf,
    ) -> None:
        self.target = target
        self.error: LoginError | None = None  # why the last command found no connection
        self._program = program
        self._env = dict(env or {})
        self._limit = limit
        self._connect_timeout = connect_timeout
        self._alive_interval = alive_interval
        self._folder: Path | None = None
        self._logs = 0
        self._opening = asyncio.Lock()
        self._theirs = False  # ~/.ssh/config shares a connection, and it is open
        self._ready = False  # a shared connection answered, and no trouble occurred since
        self._channels = asyncio.Semaphore(MOST_CHANNELS)
        self._shells = KeptShells(self.process, keep_after)
        self._closed = False

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        """Run one command on the cluster. See `Transport`.

        A command that was ended by a signal has the status that a shell reports, 128 plus the
        signal. If no connection could be used to send it, the result is UNREACHABLE.
        """
        if self._closed or self.target.complaint:
            why = self.target.complaint or f"the connection to {self.target} was closed"
            return _not_run(argv, Trouble.UNREACHABLE, why)
        try:
            changes = {**self._env, **(env or {})}
            if self._shells.wanted:
                await self._share()
                line = remote_line(argv, cwd=cwd, env=changes)
                result = await self._shells.run(argv, line, stdin, timeout, self._limit)
                if result is not None:
                    self._ready = result.trouble is None
                    return result
            line = remote_line(argv, cwd=cwd, env=changes, report_status=True)
        except ValueError as error:
            return _not_run(argv, Trouble.NOT_STARTED, str(error))
        except LoginError as error:
            self.error = error
            return _not_run(argv, Trouble.UNREACHABLE, error.message)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        try:
            async with asyncio.timeout_at(deadline):
                await self._channels.acquire()
        except TimeoutError:
            said = f"no channel to {self.target} was free within {timeout:.0f} s"
            return _not_run(argv, Trouble.UNREACHABLE, said)
        try:
            return await self._tried(argv, line, stdin, deadline)
        except LoginError as error:
            self.error = error
            return _not_run(argv, Trouble.UNREACHABLE, error.message)
        finally:
            self._channels.release()

    async def _tried(
        self, argv: Sequence[str], line: RemoteLine, stdin: bytes, deadline: float
    ) -> CommandResult:
        """Run the command, and retry while it was certainly not sent. Raises: LoginError."""
        loop = asyncio.get_running_loop()
        for number in range(_OPEN_TRIES):
            await self._share()
            seconds = max(0.0, deadline - loop.time())
            done, log = await self._logged(_ONLY_SHARED, line.text, seconds, stdin)
            result = self._conclude(argv, line, done, log)
            self._ready = self._ready and (result.trouble is None or _REFUSED in log)
            if result.trouble is Trouble.NOT_STARTED and not await self._is_open():
                # The status may arrive before the output, and then the connection breaks.
                result = result._replace(trouble=Trouble.LOST, detail="")
            pause = _OPEN_PAUSE * 2**number
            if not _not_sent(log) or result.trouble is None or loop.time() + pause > deadline:
                break
            await asyncio.sleep(pause)
        return result

    async def stream_command(self, line: str) -> list[str]:
        """Return the ssh command that runs a line over the shared connection, for its streams.

        Raises: LoginError.
        """
        if self._closed:
            raise LoginError(LoginTrouble.CLOSED, f"the connection to {self.target} was closed")
        if self.target.complaint:
            raise LoginError(LoginTrouble.CONFIG, self.target.complaint)
        await self._share()
        return self._command(_ONLY_SHARED, line)

    @contextlib.asynccontextmanager
    async def process(self, line: str) -> AsyncIterator[Any]:
        """Run a line as a process with streams. Raises: LoginError, OSError."""
        async with streaming(await self.stream_command(line)) as process:
            yield process

    async def close(self) -> None:
        """Close the connection that was opened for the session; an existing one stays open."""
        self._closed = True
        await self._shells.close()
        if self._folder is not None:
            if not self._theirs:
                await self._ssh(["-O", "exit"], None, _CONTROL)
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _share(self) -> None:
        """Ensure that a connection is shared: the user's if there is one, else a new one.

        Raises: LoginError.
        """
        async with self._opening:
            if self._ready:
                return
            if self._folder is None:
                # Short: the name of a socket has 107 bytes; ssh temporarily uses 17 of them.
                made = await asyncio.to_thread(tempfile.mkdtemp, "", "rowtui-", _short_folder())
                self._folder = Path(made)
            for theirs in (True, False):
                self._theirs = theirs
                if await self._is_open():
                    self._ready = True
                    return
            with contextlib.suppress(OSError):
                await asyncio.to_thread(os.unlink, self._folder / "c")  # of an ended connection
            seconds = self._connect_timeout * 3.0  # ssh bounds the steps, not the sum
            for pause in (*DROPPED_PAUSES, None):
                done, log = await self._logged(["-M", "-N", "-f"], None, seconds)
                if done.exit_status == 0:
                    break
                if pause is None or _DROPPED not in log:
                    raise self._explain(done, log)
                await asyncio.sleep(pause)
            self._ready = True

    async def _is_open(self) -> bool:
        return (await self._ssh(["-O", "check"], None, _CONTROL)).exit_status == 0

    async def _logged(
        self, words: Sequence[str], line: str | None, seconds: float, stdin: bytes = b""
    ) -> tuple[CommandResult, str]:
        """Run ssh; return its result and its own log."""
        assert self._folder is not None
        self._logs += 1
        log = self._folder / f"log{self._logs}"
        done = await self._ssh([*words, "-v", "-E", str(log)], line, seconds, stdin)
        return done, await asyncio.to_thread(_take, log)

    async def _ssh(
        self, words: Sequence[str], line: str | None, seconds: float, stdin: bytes = b""
    ) -> CommandResult:
        limit = self._limit + _NOISE_LIMIT
        command = self._command(words, line)
        return await run_command(command, stdin=stdin, timeout=seconds, limit=limit)

    def _command(self, words: Sequence[str], line: str | None) -> list[str]:
        command = ["-T", *words]
        if not self._theirs:
            command += ["-S", f"{self._folder}/c"]
        for option in (
            *([] if "-M" in words else ["ControlMaster=no"]),
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "ControlPersist=no",
            "ClearAllForwardings=yes",
            "RemoteCommand=none",
            f"ConnectTimeout={self._connect_timeout}",
            f"ServerAliveInterval={self._alive_interval}",
        ):
            command += ["-o", option]
        return self.target.command(command, line, self._program)

    def _conclude(
        self, argv: Sequence[str], line: RemoteLine, done: CommandResult, log: str
    ) -> CommandResult:
        stdout, stderr = (
            StreamReader(line.start, self._limit),
            StreamReader(line.start, self._limit),
        )
        stdout.add(done.stdout)
        stderr.add(done.stderr)
        said, ended = _ended(bytes(stderr.data), line.end)
        status: int | None = ended
        trouble = done.trouble
        detail = done.detail
        if ended is not None:
            trouble = None
        elif trouble is Trouble.TIMED_OUT and not stdout.started:
            detail = NOT_BEGUN
        elif trouble is Trouble.NOT_STARTED:  # ssh itself, on this machine
            trouble, detail = Trouble.UNREACHABLE, done.complaint
        elif trouble is None and done.exit_status != _SSH_FAILED:
            # ssh returns the exit status of the login shell.
            status = done.exit_status
            if not stdout.started:
                trouble = Trouble.NOT_STARTED
                detail = stderr.noise or stdout.noise or "the login shell ended before it"
        elif trouble is None:
            trouble = Trouble.LOST if stdout.started or not _not_sent(log) else Trouble.UNREACHABLE
            self.error = self._explain(done, log)
            detail = self.error.message if trouble is Trouble.UNREACHABLE else ""
        if trouble is None:
            self.error = None
        # The status may arrive before the whole output, and then the connection breaks.
        cut = ended is not None and done.exit_status != ended
        truncated = cut or done.truncated or stdout.spilled or stderr.spilled
        return CommandResult(
            tuple(argv),
            status if trouble is None else None,
            bytes(stdout.data),
            said,
            done.seconds,
            trouble,
            detail,
            truncated,
        )

    def _explain(self, done: CommandResult, log: str) -> LoginError:
        """Return the error with ssh's own last message, and the trouble that it means."""
        lines = [
            text for text in log.splitlines() if text and not text.startswith(("debug", "OpenSSH_"))
        ]
        words = "\n".join(lines).lower()
        trouble = next((kind for word, kind in _WORDS if word in words), LoginTrouble.BROKEN)
        last = visible(lines[-1].strip()) if lines else done.complaint
        if done.trouble is Trouble.TIMED_OUT:
            trouble, last = LoginTrouble.TIMED_OUT, f"no answer within {done.seconds:.0f} s"
        elif done.trouble is not None:
            trouble = LoginTrouble.CONFIG  # there is no ssh
        hint = ""
        if trouble is LoginTrouble.HOST_KEY_UNKNOWN:
            hint = f"log in once in a terminal (ssh {self.target}) and compare the fingerprint"
        return LoginError(trouble, f"no connection to {self.target}: {last}", hint)


def _not_sent(log: str) -> bool:
    """Whether ssh's log shows that the command never reached the other side."""
    return any(words in log for words in (_REFUSED, _NO_MASTER, "Bad configuration option"))


def _ended(stderr: bytes, marker: bytes) -> tuple[bytes, int | None]:
    """Split stderr into the command's output and the status that the line reported after it."""
    said, found, status = stderr.rpartition(marker + b" ")
    number = status.split(b"\n", 1)[0] if found else b""
    return (said, int(number)) if number.isdigit() else (stderr, None)


def _take(log: Path) -> str:
    try:
        with log.open("rb") as file:
            text = file.read(_LOG_LIMIT).decode(errors="replace")
        log.unlink()
    except OSError:
        return ""
    return text


def _short_folder() -> str:
    """Return a folder with a short name for private folders."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return runtime if 0 < len(runtime) < 40 and os.access(runtime, os.W_OK) else "/tmp"


def _not_run(argv: Sequence[str], trouble: Trouble, detail: str) -> CommandResult:
    return CommandResult(tuple(argv), None, trouble=trouble, detail=detail)
