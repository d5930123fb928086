"""The current activity and its duration, on stderr, for work without a known progress.

A separate thread writes the line, because the work occupies this one. Without a terminal nothing is
written.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from threading import Event, Lock, Thread

    from rowtui.cli.output.output import Output
    from rowtui.core.project.project import Project

PATIENCE_SECONDS = 1.0  # shorter work shows nothing
REDRAW_SECONDS = 0.5


class Busy:
    """A line such as `Planning and packing, 0:12`, as long as the `with` block runs."""

    def __init__(self, out: Output, title: str) -> None:
        self.title = title
        self._shows = out.progress
        self._started = time.monotonic()
        self._drawn = False
        self._paused = False
        self._thread: Thread | None = None
        self._over: Event | None = None
        self._lock: Lock | None = None

    def __enter__(self) -> Self:
        """Start to count."""
        if self._shows:
            from threading import Event, Lock, Thread

            self._over, self._lock = Event(), Lock()
            self._thread = Thread(target=self._run, name="busy", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Erase the line."""
        if self._thread is not None and self._over is not None:
            self._over.set()
            self._thread.join()
            self._wipe()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write nothing within this context, because the user may be asked a question."""
        if self._lock is None:
            yield
            return
        with self._lock:
            self._paused = True
            self._wipe()
        try:
            yield
        finally:
            self._paused = False

    def _run(self) -> None:
        assert self._over is not None
        assert self._lock is not None
        wait = PATIENCE_SECONDS
        while not self._over.wait(wait):
            wait = REDRAW_SECONDS
            with self._lock:
                if not self._paused:
                    minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
                    sys.stderr.write(f"\r\x1b[K{self.title}, {minutes}:{seconds:02}")
                    sys.stderr.flush()
                    self._drawn = True

    def _wipe(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


@contextmanager
def busy_with(project: Project, out: Output, title: str) -> Iterator[Busy]:
    """As `Busy`, for work of a project, which may have to ask the user login questions."""
    before = project.wait
    with Busy(out, title) as busy:

        def waiting(work: Coroutine[Any, Any, Any]) -> Any:
            with busy.paused():
                return before(work)

        waits: Callable[[Coroutine[Any, Any, Any]], Any] = waiting
        project.wait = waits
        try:
            yield busy
        finally:
            project.wait = before
