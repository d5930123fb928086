"""Operations on the shared connections of this user: open one, list them, end them.

The input is the path of a socket, or a cluster and its `Remote`; the result is `SharedLogin`s.
Opening a connection starts the process that holds it, if there is none, and forwards its questions
to an `Asker` in this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import client_environment
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.login import Asker, SshTarget, UnknownHostKey
from rowtui.core.clusters.transports.own_login import own_transport
from rowtui.core.clusters.transports.shared.folder import (
    SUFFIX,
    NobodyThere,
    SharedError,
    peer_pid,
    shared_folder,
    shared_socket,
    sockets,
)
from rowtui.core.clusters.transports.shared.protocol import (
    ClientRequest,
    Message,
    ProtocolError,
    SharedLogin,
    field,
    read,
    read_failure,
    read_login,
    read_prompts,
    receive,
    send,
    version_in,
)
from rowtui.core.clusters.transports.shared.transport import SharedConnection, open_line

# Start the process that holds a login, and run the first steps of that process.
#
# The settings are passed as JSON on standard input, so that they cannot be seen in the list of
# processes. The process reports on standard output that it is ready, or why not. It detaches from
# the terminal and from its parent, gets no variable that is a secret, and writes no core file.


_START_SECONDS = 60.0
_MODULE = "rowtui.core.clusters.transports.shared.calls"


def start(
    socket_path: Path,
    cluster: str,
    target: SshTarget,
    *,
    transport: str,
    seconds: float,
    idle_seconds: float,
) -> None:
    """Start the process and wait until it accepts connections. Raises: SharedError."""
    config = None if target.config is None else [str(file) for file in target.config]
    settings = {
        "socket": str(socket_path),
        "cluster": cluster,
        "target": {**target._asdict(), "config": config},
        "transport": transport,
        "seconds": seconds,
        "idle_seconds": idle_seconds,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", _MODULE],
            input=json.dumps(settings).encode(),
            capture_output=True,
            start_new_session=True,
            cwd="/",
            env=client_environment(),
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SharedError(f"the background process could not be started: {error}") from error
    answer = _last_json(done.stdout)
    if answer.get("ready") is not True:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        message = answer.get("message") or (visible(lines[-1]) if lines else "it ended at once")
        raise SharedError(f"no connection can be shared: {message}", str(answer.get("hint", "")))


def _last_json(data: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(data)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def main() -> None:
    """Detach from the parent process, then serve."""
    settings = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # the parent waits for the end of the pipes, which the child closes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asyncio.run(_serve(settings))


async def _serve(settings: Mapping[str, Any]) -> None:
    from rowtui.core.clusters.transports.shared.server import Shared, serve
    from rowtui.core.clusters.transports.shared.user import UserQuestions

    files = settings["target"]["config"]
    config = None if files is None else tuple(map(Path, files))
    target = SshTarget(**{**settings["target"], "config": config})
    questions = UserQuestions()
    ready, end = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    serving = asyncio.create_task(
        serve(
            own_transport(settings["transport"], target, questions),
            Path(settings["socket"]),
            settings["idle_seconds"],
            shared=Shared(settings["cluster"], str(target), settings["seconds"]),
            questions=questions,
            ready=ready,
            end=end,
        )
    )
    heard = asyncio.create_task(ready.wait())
    await asyncio.wait({serving, heard}, return_when=asyncio.FIRST_COMPLETED)
    heard.cancel()
    if ready.is_set():
        _let_go({"ready": True})
    with contextlib.suppress(SharedError):
        await serving
        return
    error = serving.exception()
    assert isinstance(error, SharedError)
    if not ready.is_set():
        _let_go({"message": error.message, "hint": error.hint})


def _let_go(answer: Mapping[str, Any]) -> None:
    """Print the answer, and redirect all standard streams to /dev/null."""
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


if __name__ == "__main__":
    main()


_END_SECONDS = 20.0  # for running commands to end, and the connection to be closed
_LEAVE_SECONDS = 5.0  # for the process to exit after its last message


async def open_shared(
    cluster: str, remote: Remote, asker: Asker, *, seconds: float, idle_seconds: float
) -> SharedLogin:
    """Log in for all rowtui processes of this user, or use an existing shared connection.

    Raises: LoginError, SharedError.
    """
    target = ssh_target(remote)
    if complaint := target.complaint:
        raise SharedError(complaint)
    path = shared_socket(cluster, target)
    with contextlib.suppress(NobodyThere):
        return await log_in_at(path, asker)
    await asyncio.to_thread(
        start, path, cluster, target,
        transport=remote.transport, seconds=seconds, idle_seconds=idle_seconds,
    )  # fmt: skip
    return await log_in_at(path, asker)


async def log_in_at(path: Path, asker: Asker) -> SharedLogin:
    """Answer the questions of the process at `path`, if any; return the state of its login.

    Raises: LoginError, NobodyThere, SharedError.
    """
    line, _ = await open_line(path, ClientRequest.LOGIN)
    try:
        frame = await _answer_questions(line, asker)
        if frame is None:
            raise NobodyThere("the process that was logging in ended")
        if "failed" in frame.head:
            raise read_failure(frame)
        return _known(line, frame)
    except ProtocolError as error:
        raise SharedError(f"the shared connection cannot be used: {error.message}") from error
    finally:
        await line.close()


async def _answer_questions(line: SharedConnection, asker: Asker) -> Message | None:
    """Answer questions until the login has a result; None if the connection ends before."""
    asking: dict[int, asyncio.Task[None]] = {}
    reading = asyncio.create_task(receive(line.reader))
    try:
        while True:
            await asyncio.wait({reading, *asking.values()}, return_when=asyncio.FIRST_COMPLETED)
            for number in [number for number, task in asking.items() if task.done()]:
                await asking.pop(number)
            if not reading.done():
                continue
            frame = reading.result()
            if frame is None or "connected" in frame.head or "failed" in frame.head:
                return frame
            if "withdraw" in frame.head:
                task = asking.pop(field(frame.head, "withdraw", int), None)
                if task is not None:
                    await _cancelled(task)
            elif "ask" in frame.head:
                number = field(frame.head, "ask", int)
                asking[number] = asyncio.create_task(_ask(line, asker, number, frame))
            elif "host_key" in frame.head:
                number = field(frame.head, "host_key", int)
                asking[number] = asyncio.create_task(_believe(line, asker, number, frame))
            reading = asyncio.create_task(receive(line.reader))
    finally:
        for left in (reading, *asking.values()):
            await _cancelled(left)


async def _ask(line: SharedConnection, asker: Asker, number: int, frame: Message) -> None:
    given = await asker.ask(read_prompts(frame))
    send(line.writer, {"answer": number, "given": None if given is None else list(given)})


async def _believe(line: SharedConnection, asker: Asker, number: int, frame: Message) -> None:
    believed = await asker.host_key(read(UnknownHostKey, frame.head.get("key")))
    send(line.writer, {"answer": number, "given": [] if believed else None})


async def _cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # retrieve the exception, which is not needed


async def look_at(path: Path) -> SharedLogin | None:
    """Return the state of a shared connection; None if no process holds one there.

    Raises: SharedError, but not for a process that does not answer.
    """
    try:
        line = await SharedConnection.to(path)
    except NobodyThere:
        return None
    try:
        return _known(line, await line.greet(ClientRequest.LOOK))
    except NobodyThere:
        return None
    except (SharedError, ProtocolError):
        return SharedLogin(_name_of(path), pid=peer_pid(line.socket))
    finally:
        await line.close()


async def shared_logins() -> tuple[tuple[Path, SharedLogin], ...]:
    """Return all shared connections of this user on this machine. Raises: SharedError."""
    paths = await asyncio.to_thread(sockets, shared_folder())
    found = await asyncio.gather(*map(look_at, paths))
    return tuple((path, login) for path, login in zip(paths, found, strict=True) if login)


async def end_shared(path: Path) -> bool:
    """End a shared connection and wait for its end; False if there is none.

    The process is asked to end, even if it has another version; a process that does not answer is
    killed. Raises: SharedError.
    """
    try:
        line = await SharedConnection.to(path)
    except NobodyThere:
        return False
    try:
        # a pidfd, because the process id may be reused by then
        process = os.pidfd_open(peer_pid(line.socket))
    except OSError:  # the process has ended
        await line.close()
        return True
    try:
        async with asyncio.timeout(_END_SECONDS):
            await line.greet(ClientRequest.END)
            while await receive(line.reader) is not None:
                pass
    except NobodyThere:
        pass
    except (TimeoutError, SharedError, ProtocolError):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        await line.close()
        await _ended(process)
        os.close(process)
    return True


async def _ended(process: int) -> None:
    """Wait for the end of a process that is about to exit."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(process, ended.set)
    try:
        async with asyncio.timeout(_LEAVE_SECONDS):
            await ended.wait()
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(process)


def _known(line: SharedConnection, frame: Message) -> SharedLogin:
    login = read_login(frame.head)
    version = login.version or version_in(frame)
    return login._replace(pid=peer_pid(line.socket), version=version)


def _name_of(path: Path) -> str:
    """Return the cluster's name as contained in the name of its socket."""
    return path.name.removesuffix(SUFFIX).rpartition("-")[0]
