"""Commands through the system's own `ssh`, for what only it can do.

Takes an `SshTarget`; is a `Transport`. Whatever ~/.ssh/config says holds: GSSAPI, smart cards,
a connection that is shared already (ControlMaster). Where none is shared, one is opened for the
session and closed with the transport. It never asks anybody: who must type something logs in
with asyncssh, or opens the shared connection in a terminal first.
Source: ssh(1) ends with 255 for its own errors as well as for a command's 255. Its log, which
goes to a file of its own (-E), says whether the command was ever sent; markers in the output
say whether it began and how it ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rowtui.core.clusters.commands import OUTPUT_LIMIT, CommandResult, Trouble, run_command
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, SshTarget
from rowtui.core.clusters.transports.remote_line import Answer, Line, remote_line
from rowtui.core.text import visible

MOST_CHANNELS = 4  # as for asyncssh
_SSH_FAILED = 255
_LOG_LIMIT = 1 << 20
_NOISE_LIMIT = 1 << 20  # bytes of a start-up file's noise that may come before the answer
_OPEN_TRIES = 8  # for a session that is refused
_OPEN_PAUSE = 0.05  # seconds before the second try; doubles
_CONTROL = 20.0  # seconds for a shared connection to answer

# Commands go over the shared connection or not at all: without it, also when it breaks before its
# reply, ssh would connect by itself and send the command once more.
_ONLY_SHARED = ("-o", "ProxyCommand=false")
_REFUSED = "Session open refused by peer"
_NO_MASTER = "Control socket "  # `... does not exist`, `... connect(PATH): Connection refused`

# What ssh's log says, and what it means. The first that is found counts.
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
        self._ready = False  # a shared connection answered, and nothing went wrong since
        self._channels = asyncio.Semaphore(MOST_CHANNELS)
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
        """Run one command there. See `Transport`.

        A command that a signal ended has the status that a shell gives it, 128 and the signal.
        Without a connection that it could be sent over the result is UNREACHABLE.
        """
        if self._closed or self.target.complaint:
            why = self.target.complaint or f"the connection to {self.target} was closed"
            return _not_run(argv, Trouble.UNREACHABLE, why)
        try:
            line = remote_line(argv, cwd=cwd, env={**self._env, **(env or {})}, report_status=True)
        except ValueError as error:
            return _not_run(argv, Trouble.NOT_STARTED, str(error))
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
        self, argv: Sequence[str], line: Line, stdin: bytes, deadline: float
    ) -> CommandResult:
        """Run it; once more as long as it was certainly not sent. Raises: LoginError."""
        loop = asyncio.get_running_loop()
        for number in range(_OPEN_TRIES):
            await self._share()
            seconds = max(0.0, deadline - loop.time())
            done, log = await self._logged(_ONLY_SHARED, line.text, seconds, stdin)
            result = self._conclude(argv, line, done, log)
            self._ready = self._ready and (result.trouble is None or _REFUSED in log)
            pause = _OPEN_PAUSE * 2**number
            if not _not_sent(log) or result.trouble is None or loop.time() + pause > deadline:
                break
            await asyncio.sleep(pause)
        return result

    async def stream_command(self, line: str) -> list[str]:
        """The ssh that runs a line over the shared connection, for whoever needs its streams.

        Raises: LoginError.
        """
        if self._closed:
            raise LoginError(LoginTrouble.CLOSED, f"the connection to {self.target} was closed")
        if self.target.complaint:
            raise LoginError(LoginTrouble.CONFIG, self.target.complaint)
        await self._share()
        return self._command(_ONLY_SHARED, line)

    async def close(self) -> None:
        """Close the connection that was opened for the session; one that was there stays."""
        self._closed = True
        if self._folder is not None:
            if not self._theirs:
                await self._ssh(["-O", "exit"], None, _CONTROL)
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _share(self) -> None:
        """See that a connection is shared: theirs if there is one, else ours.

        Raises: LoginError.
        """
        async with self._opening:
            if self._ready:
                return
            if self._folder is None:
                # Short: the name of a socket has 107 bytes, of which ssh takes 17 for a while.
                made = await asyncio.to_thread(tempfile.mkdtemp, "", "rowtui-", _short_folder())
                self._folder = Path(made)
            for theirs in (True, False):
                self._theirs = theirs
                if (await self._ssh(["-O", "check"], None, _CONTROL)).exit_status == 0:
                    self._ready = True
                    return
            with contextlib.suppress(OSError):
                await asyncio.to_thread(os.unlink, self._folder / "c")  # of one that is gone
            seconds = self._connect_timeout * 3.0  # ssh bounds the steps, not the sum
            done, log = await self._logged(["-M", "-N", "-f"], None, seconds)
            if done.exit_status != 0:
                raise self._explain(done, log)
            self._ready = True

    async def _logged(
        self, words: Sequence[str], line: str | None, seconds: float, stdin: bytes = b""
    ) -> tuple[CommandResult, str]:
        """Run ssh; what its own log says."""
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
        target = self.target
        command = [self._program]
        if target.config is not None:
            # One file: ssh takes no more, and reads the system's only where none is named.
            command += ["-F", str(target.config[0]) if target.config else "/dev/null"]
        command += ["-T", *words]
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
        command += ["-l", target.user] if target.user else []
        command += ["-p", str(target.port)] if target.port else []
        return [*command, "--", target.host, *([line] if line is not None else [])]

    def _conclude(
        self, argv: Sequence[str], line: Line, done: CommandResult, log: str
    ) -> CommandResult:
        stdout, stderr = Answer(line.start, self._limit), Answer(line.start, self._limit)
        stdout.add(done.stdout)
        stderr.add(done.stderr)
        said, ended = _ended(bytes(stderr.data), line.end)
        status: int | None = ended
        trouble = done.trouble
        detail = done.detail
        if ended is not None:
            trouble = None
        elif trouble is Trouble.NOT_STARTED:  # ssh itself, here
            trouble, detail = Trouble.UNREACHABLE, done.complaint
        elif trouble is None and done.exit_status != _SSH_FAILED:
            # ssh passes on what the login shell ended with.
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
        # How it ended may arrive before all that it printed, and then the connection breaks.
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
        """The last thing ssh said of its own accord, and what kind of trouble that is."""
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
    """Whether ssh's log says that the command never reached the other side."""
    return any(words in log for words in (_REFUSED, _NO_MASTER, "Bad configuration option"))


def _ended(stderr: bytes, marker: bytes) -> tuple[bytes, int | None]:
    """What the command said, and the status that the line reported after it."""
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
    """Where a private folder with a short name can be made."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return runtime if 0 < len(runtime) < 40 and os.access(runtime, os.W_OK) else "/tmp"


def _not_run(argv: Sequence[str], trouble: Trouble, detail: str) -> CommandResult:
    return CommandResult(tuple(argv), None, trouble=trouble, detail=detail)
