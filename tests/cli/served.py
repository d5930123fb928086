"""Processes of `rowtui` that begin where all is imported: real ones, in a third of the time.

One small server for each process that tests imports the program once; for each command it forks.
The fork gets the streams, the folder, the environment and the arguments of the command, runs it as
`python -m rowtui.cli.main` does, and ends as Python ends. What it does not do again is to start
the interpreter and to import: whoever tests that, or what only the real `execve` decides
(PYTHON... variables, the locale), starts `python -m rowtui.cli.main`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAM = "rowtui.cli.main"
# Loaded here, this would be threads or minutes; whoever needs it imports it.
NOT_LOADED = ("rowtui.cli.main",)
STARTS_WITH = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_", "OPENBLAS", "OMP_")
IDLE_MS = 2 * 60 * 60 * 1000  # without a request; a server outlives no test run
MOST = 1 << 20  # bytes of one request


# -- the side of the tests -------------------------------------------------------------------------


class Served:
    """One process that the server forked."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = int(connection.recv(64))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal, as of subprocess. Raises: TimeoutError."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            answer = self._connection.recv(64)
            assert answer, "the server of processes has died"
            self.returncode = int(answer)
            self._connection.close()
        return self.returncode

    def kill(self) -> None:
        """SIGKILL, if it has not ended."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Server:
    """The process that forks, started when it is needed for the first time."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes]
        self._owner = 0
        self._lock = threading.Lock()

    def starts_alike(self, environment: Mapping[str, str]) -> bool:
        """Whether an interpreter that starts in this environment is as the server is."""
        return _of_start(environment) == _of_start(os.environ)

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        streams: tuple[int, int, int],
        session: bool = False,
        first: tuple[str, str, Any] | None = None,
    ) -> Served:
        """Begin `rowtui` with these arguments. `first`: a module's function and its argument."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        what = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}
        text = json.dumps(what | {"session": session, "first": first}).encode()
        assert len(text) < MOST
        with theirs, os.fdopen(os.memfd_create("request"), "w+b") as request:
            request.write(text)
            request.flush()
            fds = [*streams, theirs.fileno(), request.fileno()]
            with self._lock:
                socket.send_fds(self._ready(), [b"x"], fds)
        return Served(ours)

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: str,
        limit: float,
    ) -> tuple[int, bytes, bytes]:
        """Run it to its end: exit code, output and errors."""
        ends: list[int] = []
        try:
            for _ in range(3):
                ends += os.pipe()
            told, tell, heard, out, seen, error = ends
            given = stdin.encode()
            assert len(given) <= 1 << 16, "more than a pipe holds"
            os.write(tell, given)
            os.close(tell)
            ends.remove(tell)
            process = self.start(arguments, cwd=cwd, env=env, streams=(told, out, error))
            for end in (told, out, error):
                os.close(end)
                ends.remove(end)
            until = time.monotonic() + limit
            try:
                said = _read_all((heard, seen), until)
                return process.wait(max(0.1, until - time.monotonic())), *said
            except TimeoutError:
                process.kill()
                raise
        finally:
            for end in ends:
                os.close(end)

    def close(self) -> None:
        """End the server; what it forked goes on."""
        if self._socket is not None and self._owner == os.getpid():
            self._socket.close()
            self._process.wait(20)
            self._socket = None

    def _ready(self) -> socket.socket:
        if self._socket is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, __file__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # none but the one that forks
                )
            atexit.register(self.close)
        return self._socket


server = Server()


def _of_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key.startswith(STARTS_WITH)}


def _read_all(ends: Sequence[int], until: float) -> tuple[bytes, bytes]:
    """What comes out of these until all are closed."""
    said = {end: bytearray() for end in ends}
    waiting = select.poll()
    for end in ends:
        waiting.register(end, select.POLLIN | select.POLLHUP)
    left = set(ends)
    while left:
        found = waiting.poll(max(0, until - time.monotonic()) * 1000)
        if not found:
            raise TimeoutError("it goes on and on")
        for end, _ in found:
            piece = os.read(end, 1 << 16)
            said[end] += piece
            if not piece:
                waiting.unregister(end)
                left.discard(end)
    out, error = (bytes(said[end]) for end in ends)
    return out, error


# -- the side of the processes ---------------------------------------------------------------------


def _load() -> None:
    for root in ("rowtui.core", "rowtui.cli"):
        package = importlib.import_module(root)
        for module in pkgutil.walk_packages(package.__path__, f"{root}."):
            if module.name not in NOT_LOADED and "program" not in module.name:
                with suppress(Exception):  # whoever needs it will hear of it
                    importlib.import_module(module.name)


def _serve(asked: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork for every request until nobody is left to make any; a fork returns with its request."""
    running: dict[int, tuple[int, socket.socket]] = {}  # by pidfd
    waiting = select.poll()
    waiting.register(asked, select.POLLIN)
    while requests := waiting.poll(IDLE_MS):
        for ready, _ in requests:
            if ready in running:
                pid, whoever = running.pop(ready)
                waiting.unregister(ready)
                os.close(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with whoever:
                    _tell(whoever, code)
                continue
            word, fds, _, _ = socket.recv_fds(asked, 1, 5)
            if not word:
                return None
            *streams, back, text = fds
            whoever = socket.socket(fileno=back)
            pid = os.fork()
            if pid == 0:
                with os.fdopen(text, "rb") as request:
                    request.seek(0)
                    what = json.loads(request.read())
                whoever.close()
                for pidfd, (_, other) in running.items():
                    os.close(pidfd)
                    other.close()
                asked.close()
                return what, streams
            for fd in (*streams, text):
                os.close(fd)
            _tell(whoever, pid)
            pidfd = os.pidfd_open(pid)
            running[pidfd] = (pid, whoever)
            waiting.register(pidfd, select.POLLIN)
    return None


def _tell(whoever: socket.socket, number: int) -> None:
    try:
        whoever.send(b"%d" % number)
    except OSError:  # has gone
        pass


def _become(what: dict[str, Any], streams: Sequence[int]) -> None:
    """What a new process has that a fork has not: streams, folder, environment, signals."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if what["session"]:
        os.setsid()
    os.chdir(what["cwd"])
    os.environ.clear()
    os.environ.update(what["env"])
    time.tzset()
    sys.argv = ["rowtui", *what["arguments"]]
    sys.path[0] = what["cwd"]
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        before = getattr(sys, name)
        mode, buffering = ("rb", -1) if number == 0 else ("wb", 0 if before.write_through else -1)
        binary = open(number, mode, buffering, closefd=False)  # noqa: SIM115
        stream = io.TextIOWrapper(
            binary,
            before.encoding,
            before.errors,
            newline=None if number == 0 else "\n",
            line_buffering=number == 2 or (number == 1 and os.isatty(1)),
            write_through=before.write_through,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if what["first"]:
        module, function, argument = what["first"]
        getattr(importlib.import_module(module), function)(argument)


def _run() -> int:
    """Run it and do what Python does at the end, but free what the server had loaded."""
    code: object = None
    sys.modules.pop(PROGRAM, None)  # `runpy` warns on stderr of a module that was imported before
    try:
        runpy.run_module(PROGRAM, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # so that what is left behind may complain
    number = code if isinstance(code, int) else 0 if code is None else 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            os.write(2, f"{error!r}\n".encode())
            number = 120
    return number


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is those that run who are interrupted
    asked = socket.socket(fileno=int(sys.argv[1]))
    root = str(Path(__file__).parents[2])
    sys.path.insert(1, root)
    _load()
    gc.collect()
    gc.freeze()
    request = _serve(asked)
    if request is not None:
        _become(*request)
        os._exit(_run())


if __name__ == "__main__":
    _main()
