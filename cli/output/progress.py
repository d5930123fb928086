"""Progress on stderr, for work that takes more than a moment; only on a terminal.

Work with known progress has a bar. Other work has a line with the current activity and its
duration, written by a separate thread, because the work occupies this one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from rowtui.cli.output.output import Output
from rowtui.core.base.text import file_size

if TYPE_CHECKING:
    from threading import Event, Lock, Thread

    from rowtui.core.project.open_project import OpenProject


BUSY_PATIENCE_SECONDS = 1.0  # shorter work shows nothing
BUSY_REDRAW_SECONDS = 0.5


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
        wait = BUSY_PATIENCE_SECONDS
        while not self._over.wait(wait):
            wait = BUSY_REDRAW_SECONDS
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
def busy_with(project: OpenProject, out: Output, title: str) -> Iterator[Busy]:
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


WIDTH = 30
REDRAW_SECONDS = 0.1  # ten frames a second look smooth and cost little over SSH
PATIENCE_SECONDS = 0.3  # shorter work shows no bar


class ProgressBar:
    """A bar that appears when the work turns out to be long. Without a terminal: silent."""

    def __init__(
        self, out: Output, title: str, words: Callable[[int], str] = "{:,}".format
    ) -> None:
        """Set up the bar. `words`: formats an amount."""
        self.out = out
        self.title = title
        self.words = words
        self.started = time.monotonic()
        self.drawn_at = 0.0
        self.visible = False

    def __call__(self, done: int, total: int) -> None:
        """Report that `done` of `total` are done."""
        if not self.out.progress:
            return
        now = time.monotonic()
        if now - self.started < PATIENCE_SECONDS:
            return
        if now - self.drawn_at < REDRAW_SECONDS and done < total:
            return
        self.drawn_at = now
        self.visible = True
        share = done / total if total else 1.0
        filled = "█" * int(share * WIDTH)
        left = ""
        if done:
            left = f" ({_clock((total - done) * (now - self.started) / done)} left)"
        amount = f"{self.words(done)}/{self.words(total)}"
        sys.stderr.write(f"\r\x1b[K{self.title} {filled:░<{WIDTH}} {amount}{left}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Erase the bar before other text is written; the next report draws it again at once."""
        if self.visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.visible = False
            self.drawn_at = 0.0

    def close(self) -> None:
        """Leave the bar on its line, or erase it."""
        if self.visible:
            sys.stderr.write("\n" if self.out.keep_progress else "\r\x1b[K")
            sys.stderr.flush()
            self.visible = False


def fetching_bars(out: Output) -> Callable[[str, int, int], None]:
    """Return a function that shows how much of each cluster's results was fetched."""
    bars: dict[str, ProgressBar] = {}

    def show(cluster: str, done: int, total: int) -> None:
        if total:
            title = f"Fetching from {cluster}"
            bars.setdefault(cluster, ProgressBar(out, title, file_size))(done, total)
        elif cluster in bars:
            bars.pop(cluster).close()

    return show


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
