"""View 7: the end of a job's log, followed while it is on the screen."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from rowtui.core.engine import JobView, LogTail
from rowtui.core.text import plural
from rowtui.tui.actions import bindings_for
from rowtui.tui.render.cells import Line, line
from rowtui.tui.render.jobs import job_id, why
from rowtui.tui.render.log import log_line
from rowtui.tui.render.marks import JOB_MARKS
from rowtui.tui.render.numbers import file_size
from rowtui.tui.screens.view import View, set_titles
from rowtui.tui.widgets.chrome import OneLine
from rowtui.tui.widgets.text_lines import TextLines
from rowtui.tui.work import start
from textual.app import ComposeResult
from textual.timer import Timer

POLL_SECONDS = 0.5
"""Between two looks at the log, only while it is shown."""

MOST_LINES = 2000
"""Lines of the tail that are kept; the whole log is for a pager."""


class LogView(View):
    """Asks for the tail again and again while it is the view on the screen."""

    MODE = "log"
    BINDINGS = bindings_for("log")
    AUTO_FOCUS: ClassVar[str | None] = "#log"

    def __init__(self) -> None:
        super().__init__()
        self._follow = True
        self._tail: LogTail | None = None
        self._token = ""
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        """A line about the job, and its log."""
        yield OneLine(name="about")
        yield TextLines(log_line, name="log")

    def on_mount(self) -> None:
        """Look at the log now and then."""
        self._timer = self.set_interval(POLL_SECONDS, self._look)

    def on_screen_suspend(self) -> None:
        """Nobody reads it."""
        if self._timer is not None:
            self._timer.pause()

    def on_screen_resume(self) -> None:
        """Somebody reads it. (The view itself is shown again by its base.)"""
        if self._timer is not None:
            self._timer.resume()
        self._look()

    def _look(self) -> None:
        job = self.session.job
        if job is not None and self.is_current:
            start(self, partial(self._read, job.record.token), "log", exclusive=True)

    async def _read(self, token: str) -> None:
        try:
            tail = await self.session.engine.log_tail(token, MOST_LINES)
        except Exception as error:
            self.dashboard.report("the log cannot be read", error)
            return
        job = self.session.job
        if self.ready and job is not None and job.record.token == token:
            self._tail = tail
            self.show_body()

    def show_body(self) -> None:
        """The job and the last known end of its log."""
        job = self.session.job
        text = self.query_one("#log", TextLines)
        if job is None:
            text.empty = line(("There are no jobs yet.", "dim"))
            text.show(())
            set_titles(text, "Log")
            self.query_one("#about", OneLine).show(())
            return
        if job.record.token != self._token:
            self._token = job.record.token
            self._tail = None
            self._follow = True
            self._look()
        tail = self._tail
        if tail is None:
            text.empty = line(("Reading the log…", "dim"))
        elif tail.error:
            soon = job.state.active  # nothing is wrong: it has not begun to write
            text.empty = line((("" if soon else "▲ ") + tail.error, "dim" if soon else "warning"))
        else:
            text.empty = line(("The log is empty so far.", "dim"))
        lines = tail.lines if tail else ()
        text.show(lines, follow=self._follow)
        size = f"{file_size(tail.size)} · {plural(len(lines), 'line')}" if tail else ""
        cut = f"last {size}" if len(lines) >= MOST_LINES else size
        set_titles(text, tail.path if tail else "Log", ("FOLLOW · " if self._follow else "") + cut)
        self.query_one("#about", OneLine).show(self._about(job))

    def _about(self, job: JobView) -> Line:
        mark = JOB_MARKS[job.state]
        record = job.record
        first = record.directories[0] if record.directories else ""
        more = f" and {len(record.directories) - 1:,} more" if len(record.directories) > 1 else ""
        return line(
            (f" {mark.glyph} {mark.word}", mark.style),
            f"  job {job_id(record)}  {record.action}  ",
            (first + more + "  ", "dim"),
            (why(job), "failed" if job.state.bad else "dim"),
        )

    def copyable(self) -> str:
        """The path of the log."""
        return self._tail.path if self._tail else ""

    def command_follow(self) -> None:
        """Follow, or stay where it is."""
        self._follow = not self._follow
        self.show_body()

    def command_next(self) -> None:
        """The next job of the list."""
        self._step(1)

    def command_previous(self) -> None:
        """The previous job of the list."""
        self._step(-1)

    def _step(self, step: int) -> None:
        view, job = self.session.jobs, self.session.job
        if view is None or job is None:
            return
        tokens = [one.record.token for one in view.jobs]
        at = tokens.index(job.record.token) + step
        if 0 <= at < len(tokens):
            self.session.job_token = self.session.job_to_show = tokens[at]
            self.show()
