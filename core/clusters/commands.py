"""Run a command on this machine, with limits on its time and output.

The input is an argument list (never a shell line); the result is a `CommandResult`: an exit status,
or that the status is unknown, or that the command certainly never started. Schedulers talk to their
clusters through a `Transport`; the one in this module runs commands on this machine. Slurm's
clients read options from the environment, so these variables are removed. A command that was
interrupted may have done its work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from rowtui.core.base.lazy import asyncio, subprocess
from rowtui.core.clusters.command_log import CommandResult, Trouble, noted
from rowtui.core.secrets.model import is_secret

if TYPE_CHECKING:
    from pathlib import Path

    from rowtui.core.clusters.command_log import CommandLog

OUTPUT_LIMIT = 64 << 20  # bytes kept of each stream; squeue prints 0.8 MB for 10,300 jobs
_PIPE_GRACE = 1.0  # seconds for a finished command's pipes to close: a daemon may hold them open
_KILL_GRACE = 5.0  # seconds for a killed command to end
_CHUNK = 1 << 16


class Transport(Protocol):
    """A way to run commands on the machine that has a cluster's clients."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        """Run one command to its end. `env` adds to its environment; None removes a variable."""


class LocalTransport:
    """Runs commands on this machine. `log`: the log of these commands."""

    def __init__(
        self, env: Mapping[str, str | None] | None = None, *, log: CommandLog | None = None
    ) -> None:
        self._env = dict(env or {})
        self.log = log

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float,  # noqa: ASYNC109
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> CommandResult:
        """Run one command on this machine. See `run_command`."""
        changes = {**self._env, **(env or {})}
        run = run_command(argv, stdin=stdin, timeout=timeout, cwd=cwd, env=changes)
        if self.log is None:
            return await run
        return await noted(self.log, "here", argv, run)


CLIENT_OPTIONS = ("SLURM_", "SBATCH_", "SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SCONTROL_")
# SLURM_CONF selects the cluster. Sites use SBATCH_ACCOUNT to let users set the account that every
# job needs; code that submits a script with an account removes the variable.
KEPT_OPTIONS = frozenset({"SLURM_CONF", "SBATCH_ACCOUNT"})


def client_environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Return this process's environment without variables that change Slurm's commands.

    Secrets are removed too. `changes` are applied last: a value sets a variable, None removes it.
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if (name in KEPT_OPTIONS or not name.startswith(CLIENT_OPTIONS)) and not is_secret(name)
    }
    for name, change in (changes or {}).items():
        if change is None:
            env.pop(name, None)
        else:
            env[name] = change
    return env


async def run_command(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout: float,  # noqa: ASYNC109
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    limit: int = OUTPUT_LIMIT,
) -> CommandResult:
    """Run a command in its own process group, for at most `timeout` seconds.

    At the timeout, or when the caller is cancelled, the whole group is killed. Output beyond
    `limit` bytes of a stream is read and discarded, so that a command with much output still ends.
    No exception is raised for a command that fails or does not exist.
    """
    started = time.monotonic()
    loop = asyncio.get_running_loop()
    talk = _Talk(limit, loop.create_future(), loop.create_future())
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            lambda: cast("asyncio.SubprocessProtocol", talk),
            *argv,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            cwd=cwd,
            env=client_environment(env),
            start_new_session=True,
        )
    )
    cancelled: asyncio.CancelledError | None = None
    try:
        try:
            transport, _ = await asyncio.shield(starting)
        except asyncio.CancelledError as error:
            # A cancellation here would make asyncio kill the command alone and wait for its
            # children.
            cancelled = error
            transport, _ = await starting
    except (OSError, ValueError) as error:
        if cancelled is not None:
            raise cancelled from None
        return _not_started(argv, error, started)
    ended = None
    try:
        if cancelled is not None:
            raise cancelled
        if stdin:
            _feed(transport, stdin)
        ended = (await asyncio.wait({talk.exited}, timeout=timeout))[0]
        if not ended:
            _kill_group(transport.get_pid())
            # With a limit: a process that waits for a dead file server cannot be killed.
            await asyncio.wait({talk.exited}, timeout=_KILL_GRACE)
        complete = (await asyncio.wait({talk.closed}, timeout=_PIPE_GRACE))[0]
        status = transport.get_returncode()
    finally:
        if ended is None:  # the caller was cancelled
            _kill_group(transport.get_pid())
            await asyncio.wait({talk.exited}, timeout=_KILL_GRACE)
        transport.close()
    return CommandResult(
        tuple(argv),
        status if ended else None,
        bytes(talk.stdout.data),
        bytes(talk.stderr.data),
        time.monotonic() - started,
        None if ended else Trouble.TIMED_OUT,
        truncated=not complete or talk.stdout.spilled or talk.stderr.spilled,
    )


def _feed(transport: asyncio.SubprocessTransport, data: bytes) -> None:
    pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
    pipe.write(data)
    pipe.close()  # after all data is written; a command that reads no more only ends earlier


class _Talk:
    """An asyncio.SubprocessProtocol by structure, so that asyncio need not be imported.

    `exited` and `closed` are separate events: asyncio's own `Process.wait` also waits for the
    pipes, which a daemon started by the command may hold open without end.
    """

    def __init__(
        self, limit: int, exited: asyncio.Future[None], closed: asyncio.Future[None]
    ) -> None:
        self.stdout = _Kept(limit)
        self.stderr = _Kept(limit)
        self.exited = exited
        self.closed = closed
        self._open = {1, 2}

    def connection_made(self, transport: object) -> None:
        pass

    def connection_lost(self, error: Exception | None) -> None:
        pass

    def pause_writing(self) -> None:
        pass

    def resume_writing(self) -> None:
        pass

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.stdout if fd == 1 else self.stderr).add(data)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.closed.done():
            self.closed.set_result(None)

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)


class _Kept:
    """The first `limit` bytes of a stream."""

    __slots__ = ("data", "limit", "spilled")

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.limit = limit
        self.spilled = False

    def add(self, chunk: bytes) -> None:
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.spilled = self.spilled or len(chunk) > room


@contextlib.asynccontextmanager
async def streaming(argv: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program with pipes for all its streams while the block lasts. Raises: OSError."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe,
        env=client_environment(), start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        await end_process(process)


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Kill a process and its group, if it has not ended."""
    if process.returncode is None:
        _kill_group(process.pid)
    # The process's `wait` also waits for pipes, which have no reader any more and which other
    # processes may hold open.
    process._transport.close()  # type: ignore[attr-defined]
    await process.wait()


def run_briefly(
    argv: Sequence[str],
    *,
    timeout: float = 5.0,
    env: Mapping[str, str | None] | None = None,
    limit: int = OUTPUT_LIMIT,
) -> CommandResult:
    """Run a command without an event loop, for the few queries made while a program starts up.

    asyncio is not imported, because the import would take longer than the command.
    """
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=client_environment(env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return _not_started(argv, error, started)
    try:
        streams, complete = _read_both(process, started + timeout, limit)
        # Once both streams have closed, the command may use the remaining time to end.
        status = _status_by(process, started + timeout)
    finally:
        if process.poll() is None:
            _kill_group(process.pid)
            process.wait()
    return CommandResult(
        tuple(argv),
        status,
        bytes(streams[0].data),
        bytes(streams[1].data),
        time.monotonic() - started,
        Trouble.TIMED_OUT if status is None else None,
        truncated=not complete or any(stream.spilled for stream in streams),
    )


def _read_both(
    process: subprocess.Popen[bytes], deadline: float, limit: int
) -> tuple[tuple[_Kept, _Kept], bool]:
    import selectors

    streams = (_Kept(limit), _Kept(limit))
    with selectors.DefaultSelector() as selector:
        for pipe, kept in zip((process.stdout, process.stderr), streams, strict=True):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if chunk := os.read(key.fd, _CHUNK):
                    key.data.add(chunk)
                else:
                    selector.unregister(key.fileobj)
        complete = not selector.get_map()
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    return streams, complete


def _status_by(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    try:
        return process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _not_started(argv: Sequence[str], error: OSError | ValueError, started: float) -> CommandResult:
    detail = (error.strerror if isinstance(error, OSError) else None) or str(error)
    seconds = time.monotonic() - started
    return CommandResult(
        tuple(argv), None, seconds=seconds, trouble=Trouble.NOT_STARTED, detail=detail
    )


def _kill_group(pid: int) -> None:
    """Kill the command's process group. Its id is the pid, because the command began a session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
