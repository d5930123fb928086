"""Ask readers for the summaries of projects, each with a deadline.

A reader is a short-lived process (`summary.py`). If it does not answer in time, it is killed, and
another process reads the remaining projects; a process that hangs in the kernel is not waited for.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.home.known import KnownProject, KnownProjects, summary_of

DEADLINE_SECONDS = 5.0
"""The time that one project may take."""

START_SECONDS = 30.0
"""The time that the start of a reader may take."""

FIND_SECONDS = 60.0
"""The time that the search below one folder may take."""

READERS = 3
"""Readers at the same time: one that waits for a deadline does not delay the others."""

LARGEST_ANSWER = 4 << 20
"""Bytes of one answer."""

PROGRAM = "from rowtui.core.home.summary import main; main()"


class ReaderLostError(RowtuiError):
    """A reader did not answer in time, or it ended."""


class ProjectReader:
    """One reader, which answers one request after another."""

    def __init__(self, program: str = "") -> None:
        """Start the process. `program`: `PROGRAM` by default. Raises: OSError, ReaderLostError."""
        # -P: a file of the current folder must not replace one of rowtui's modules. The current
        # folder may be on a file system that hangs.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", program or PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        self._rest = b""
        self._line(START_SECONDS)

    def ask(self, what: str, path: str, seconds: float) -> Any:
        """Return the answer to a request. Raises: ReaderLostError; the reader has then ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([what, path]).encode("ascii") + b"\n")
            self._process.stdin.flush()
        except OSError:
            self.end()
            raise ReaderLostError("the reader has ended") from None
        return json.loads(self._line(seconds))

    def _line(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        fd, late = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = late - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                self.end()
                raise ReaderLostError(f"no answer for {seconds:g} seconds")
            data = os.read(fd, 1 << 16)
            if not data or len(self._rest) > LARGEST_ANSWER:
                self.end()
                raise ReaderLostError("the reader has ended")
            self._rest += data
        answer, _, self._rest = self._rest.partition(b"\n")
        return answer

    def end(self) -> None:
        """End the process, without waiting for one that cannot be ended."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)


def read_projects(
    known: KnownProjects,
    projects: Sequence[KnownProject],
    *,
    seconds: float = DEADLINE_SECONDS,
    stopped: Callable[[], bool] = lambda: False,
    program: str = "",
) -> Iterator[KnownProject]:
    """Read the projects, store each summary, and yield each project as soon as it is known.

    Projects that did not answer last time are read last. `stopped` ends the reading early.
    """
    waiting: queue.SimpleQueue[KnownProject] = queue.SimpleQueue()
    done: queue.SimpleQueue[KnownProject] = queue.SimpleQueue()
    for project in sorted(projects, key=lambda one: one.no_answer_since > 0):
        waiting.put(project)
    over = threading.Event()

    def work() -> None:
        reader: ProjectReader | None = None
        try:
            while not over.is_set():
                try:
                    project = waiting.get_nowait()
                except queue.Empty:
                    return
                asked = time.time()
                try:
                    reader = reader or ProjectReader(program)
                    summary = summary_of(reader.ask("read", project.root, seconds))
                    project = project._replace(summary=summary, read=asked, no_answer_since=0.0)
                except (OSError, ValueError, RowtuiError):
                    if reader is not None:
                        reader.end()
                    reader = None
                    project = project._replace(no_answer_since=project.no_answer_since or asked)
                if not over.is_set():
                    known.store(project)
                    done.put(project)
        finally:
            if reader is not None:
                reader.end()

    threads = [
        threading.Thread(target=work, name="home", daemon=True)
        for _ in range(min(READERS, len(projects)))
    ]
    for thread in threads:
        thread.start()
    try:
        remaining = len(projects)
        while remaining and not stopped():
            with contextlib.suppress(queue.Empty):
                yield done.get(timeout=0.1)
                remaining -= 1
    finally:
        over.set()


def find_below(folder: str, seconds: float = FIND_SECONDS) -> list[str]:
    """Return the folders of projects in and below a folder. Raises: RowtuiError."""
    shown = visible(folder)
    try:
        reader = ProjectReader()
    except OSError as error:
        raise RowtuiError(f"the search in {shown} cannot start: {error.strerror}") from None
    try:
        found = reader.ask("find", os.path.abspath(folder), seconds)
    except ReaderLostError as error:
        raise RowtuiError(f"{shown}: {error.message}", "name a smaller folder") from None
    finally:
        reader.end()
    return [str(one) for one in found]
