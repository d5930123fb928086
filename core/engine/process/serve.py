"""The engine's process: opens the project, reports this, and serves the screen until it ends.

It ends when the other end of its socket is closed (also because that process was killed), when it
gets a signal to end, or with the process that started it. In each case, calls are cancelled,
streams are closed (a submission stops between two jobs) and Row's files are updated; operations
that block have `GRACE_SECONDS` for this.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowtui.core.base.lazy import asyncio
from rowtui.core.engine.process.errors import as_value
from rowtui.core.engine.process.start import (
    EngineOptions,
    ProjectOpened,
    as_line,
    keep_little,
    read_line,
)

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject

GRACE_SECONDS = 10.0
POLLRDHUP = getattr(select, "POLLRDHUP", 0x2000)
PR_SET_PDEATHSIG = 1
DEMO = "rowtui.core.demo.engine"
"""The module depends on this one, so it is only named here; its `open_demo` replaces
`open_engine`.
"""


def open_engine(options: EngineOptions) -> tuple[ProjectOpened, Callable[[], Any]]:
    """Open the project; return its messages and a function that makes its engine.

    Raises: RowtuiError, OSError.
    """
    if options.demo is not None:
        opened: tuple[ProjectOpened, Callable[[], Any]] = importlib.import_module(DEMO).open_demo(
            options
        )
        return opened
    from rowtui.core.project.open_project import OpenProject

    project = OpenProject.open(
        Path(options.start), cluster=options.cluster, io_threads=options.io_threads
    )

    opened_with = ProjectOpened(tuple(project.workflow.problems), project.take_notices())
    return opened_with, partial(_make_engine, project, options.generation)


def _make_engine(project: OpenProject, generation: int) -> Any:
    from rowtui.core.engine.local import InProcessEngine

    return InProcessEngine(project, generation=generation, messages=True)


def main(
    opening: Callable[[EngineOptions], tuple[ProjectOpened, Callable[[], Any]]] = open_engine,
) -> None:
    """Serve the project of the options, which arrive first. Arguments: descriptor, log's path."""
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
    with contextlib.suppress(OSError):  # if the other side is gone, the loop finds out
        connection.sendall(as_line((None, opened)))
    threading.Thread(target=_end_surely, args=(os.dup(descriptor),), daemon=True).start()
    _end_with(parent)
    keep_little()
    from rowtui.core.engine.process.server import serve

    engine = make()
    gc.freeze()  # imported objects are never garbage
    asyncio.run(serve(connection, engine, log, GRACE_SECONDS))
    os._exit(0)  # blocked threads would keep the process alive


def _end_with(parent: int) -> None:
    """Request a signal for the end of the starting process, however it ends."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _end_surely(descriptor: int) -> None:
    """End this process some time after the other end was closed, even if a thread is blocked."""
    poll = select.poll()
    poll.register(descriptor, POLLRDHUP)
    poll.poll()
    time.sleep(GRACE_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
