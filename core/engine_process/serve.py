"""The engine's process: opens the project, says so, and does what the screen asks until it ends.

It ends when the other end of its socket is closed (also because that process was killed), when it
is told to, or with the process that started it. However it ends, calls are cancelled, streams
closed (a submission stops between two jobs) and Row's files brought up to date; whatever hangs has
`GRACE_SECONDS` for that.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rowtui.core.engine_process.errors import as_value
from rowtui.core.engine_process.memory import keep_little
from rowtui.core.engine_process.options import EngineOptions, Opened
from rowtui.core.engine_process.start import as_line, read_line

GRACE_SECONDS = 10.0
POLLRDHUP = getattr(select, "POLLRDHUP", 0x2000)
PR_SET_PDEATHSIG = 1
DEMO = "rowtui.core.demo.engine"
"""Knows this module, and so is named here alone. Its `open_demo` is another `open_engine`."""


def open_engine(options: EngineOptions) -> tuple[Opened, Callable[[], Any]]:
    """What there is to say of the project, and what makes its engine afterwards.

    Raises: RowtuiError, OSError.
    """
    if options.demo is not None:
        import importlib

        opened: tuple[Opened, Callable[[], Any]] = importlib.import_module(DEMO).open_demo(options)
        return opened
    from rowtui.core.project.project import Project

    project = Project.open(
        Path(options.start), cluster=options.cluster, io_threads=options.io_threads
    )

    def make() -> Any:
        from rowtui.core.in_process import InProcessEngine

        return InProcessEngine(project, generation=options.generation)

    return Opened(tuple(project.workflow.problems), project.take_notices()), make


def main(
    opening: Callable[[EngineOptions], tuple[Opened, Callable[[], Any]]] = open_engine,
) -> None:
    """Serve what the options say that come first. Arguments: descriptor, path of the log."""
    descriptor, log = int(sys.argv[1]), Path(sys.argv[2])
    os.set_inheritable(descriptor, False)
    parent = os.getppid()
    faulthandler.enable()
    connection = socket.socket(fileno=descriptor)
    try:
        options: EngineOptions = read_line(connection)
    except (EOFError, OSError):
        return
    try:
        opened, make = opening(options)
    except Exception as error:
        connection.sendall(as_line((as_value(error, log), None)))
        return
    with contextlib.suppress(OSError):  # nobody is there any more: the loop finds that out
        connection.sendall(as_line((None, opened)))
    threading.Thread(target=_end_surely, args=(os.dup(descriptor),), daemon=True).start()
    _end_with(parent)
    keep_little()
    import asyncio  # not before the project is open: the screen waits for that

    from rowtui.core.engine_process.server import serve

    engine = make()
    gc.freeze()  # what was imported is never garbage
    asyncio.run(serve(connection, engine, log, GRACE_SECONDS))
    os._exit(0)  # threads that hang would keep it


def _end_with(parent: int) -> None:
    """Be told to end when the starting process ends, in whatever way."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _end_surely(descriptor: int) -> None:
    """A thread: some time after the other end was closed this process ends, whatever hangs."""
    poll = select.poll()
    poll.register(descriptor, POLLRDHUP)
    poll.poll()
    time.sleep(GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
