"""View 7: a job's log, of any size, followed while the view is on the screen."""

from __future__ import annotations

from functools import partialmethod
from pathlib import Path
from typing import ClassVar

from rowtui.core.base.text import plural
from rowtui.core.project.queue.rows import key_of
from rowtui.core.project.views.views import LogState
from rowtui.core.submission.plan.record import JobRecord
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.external_program import open_in_pager
from rowtui.tui.shell.work import start
from rowtui.tui.views.queue.jobs import JobsUsed
from rowtui.tui.views.queue.reasons import used_lines
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, bar, line, percentage
from rowtui.tui.widgets.chrome import OneLine, set_titles
from rowtui.tui.widgets.log_pane import POLL_SECONDS, LogPane
from rowtui.tui.widgets.short_text import JOB_MARKS, duration, file_size, limit
from textual.app import ComposeResult
from textual.timer import Timer

PAGER_LINES = 20_000
"""Lines of a remote log that a pager shows."""

_BAR = 16  # columns of the share of the limit

_ONE_LINE = 1000  # columns: what a job uses is cut at the width of the screen


class LogView(ScreenView):
    """A view that polls the log while it is on the screen."""

    MODE = "log"
    BINDINGS = bindings_for("log")
    AUTO_FOCUS: ClassVar[str | None] = "#log"

    def __init__(self) -> None:
        super().__init__()
        self._timer: Timer | None = None
        self._used = JobsUsed(self, self.show_body)

    def body(self) -> ComposeResult:
        """Compose lines about the job and what it uses, and its log."""
        yield OneLine(name="about")
        yield OneLine(name="used")
        yield LogPane(
            lambda: self.session.engine.logs,
            may_look=lambda: self.is_current and not self.session.paused,
            failed=self.dashboard.report,
        )

    @property
    def pane(self) -> LogPane:
        """The log."""
        return self.query_one(LogPane)

    # Polls

    async def on_mount(self) -> None:
        """Start to poll the log."""
        self._timer = self.set_interval(POLL_SECONDS, self.pane.tick)

    def on_screen_suspend(self) -> None:
        """Stop the polls, because the view is hidden."""
        if self._timer is not None:
            self._timer.pause()

    async def on_screen_resume(self) -> None:
        """Poll again, because the view is shown; the base class shows the view itself again."""
        if self._timer is not None:
            self._timer.resume()
        self.pane.look()

    def on_log_pane_changed(self) -> None:
        """Show the new state of the log."""
        if self.ready:
            self.show_body()

    # Display

    def show_body(self) -> None:
        """Show the job and the state of its log."""
        job = self.session.job
        rows = self.pane.rows
        if job is None:
            rows.empty = line(("There are no jobs yet.", "dim"))
            self.pane.open("")
            set_titles(rows, "Log")
            self.remove_class("-used")
            self.query_one("#about", OneLine).show(())
            return
        if job.token != self.pane.token:
            self.pane.open(job.token)
        state = self.pane.state
        rows.empty = self._empty(job, state)
        path = state.path if state else ""
        here = "" if state is None or state.far else path
        set_titles(rows, path or "Log", self.pane.described(), here)
        self.query_one("#about", OneLine).show(self._about(job))
        self._show_used(job)

    def _empty(self, job: JobRecord, state: LogState | None) -> Line:
        if state is None:
            return line(("Reading the log…", "dim"))
        if state.error:
            # An active job without a log has not begun to write; this is not an error.
            soon = job.state.active
            return line((("" if soon else "▲ ") + state.error, "dim" if soon else "warning"))
        if state.size:
            return line((f"No readable line yet in {file_size(state.size)}.", "dim"))
        return line(("The log is empty so far.", "dim"))

    def _about(self, job: JobRecord) -> Line:
        mark = JOB_MARKS[job.state]
        most = job.planned.walltime_seconds if job.planned else 0
        spans = line((f" {mark.glyph} {mark.word}", mark.style))
        if job.why:
            spans += line((f": {job.why}", "failed" if job.state.bad else "dim"))
        if job.elapsed is not None:
            after = "" if job.state.active else "after "
            spans += line(f"  {after}{duration(job.elapsed)}")
            if job.state.active and most:
                used = min(job.elapsed, most)
                parts = ((used, "█", "submitted"), (most - used, "░", "faint"))
                spans += (*line((f" of {limit(most)} ", "dim")), *bar(parts, most, _BAR))
                spans += line(percentage(used, most))
        node = job.queued.nodes if job.queued is not None else ""
        where = "/".join(filter(None, (job.cluster, job.partition)))
        first = f" from {job.directories[0]}" if job.directories else ""
        many = plural(job.size, "directory", "directories")
        return (*spans, *line((f"   {f'{where} {node}'.strip()}   {many}{first}", "dim")))

    def _show_used(self, job: JobRecord) -> None:
        """Show what the job uses of what it requested, once that is known."""
        key = key_of(job)
        self._used.ask_job(key, job, job.state)
        used = self._used.known.get(key)
        shown = self.query_one("#used", OneLine)
        now = self.session.clock()
        lines = [] if used is None else used_lines(used, now, _ONE_LINE)
        self.set_class(bool(lines), "-used")
        if lines:
            shown.show((*line(" "), *lines[0]))

    def copyable(self) -> str:
        """The path of the log."""
        return self.pane.state.path if self.pane.state else ""

    # Commands

    def command_follow(self) -> None:
        """Follow the end of the log, or stay at the current position."""
        self.pane.follow()

    def command_wrap(self) -> None:
        """Break long lines at the width of the screen, or not."""
        self.pane.wrap()

    def command_find(self) -> None:
        """Open the search field."""
        self.pane.find()

    def back(self) -> bool:
        """Leave the search and show the whole log."""
        return self.pane.end_search()

    def command_next_match(self) -> None:
        """Go to the next match, or the next error."""
        self.pane.find_next()

    def command_previous_match(self) -> None:
        """Go to the match, or the error, before."""
        self.pane.find_previous()

    def command_pager(self) -> None:
        """Show the whole log in the user's pager."""
        start(self, self._page, "pager", exclusive=True)

    async def _page(self) -> None:
        state = self.pane.state
        if state is None or not state.path:
            return
        if not state.far:
            await open_in_pager(self.dashboard, Path(state.path), "log")
            return
        tail = await self.session.engine.logs.tail(self.pane.token, PAGER_LINES)
        await open_in_pager(self.dashboard, "\n".join(tail.lines), "log")

    def _step(self, step: int) -> None:
        view, job = self.session.jobs, self.session.job
        if view is None or job is None:
            return
        tokens = [one.token for one in view.jobs]
        if job.token not in tokens:
            text = f"Only the newest {plural(len(tokens), 'job')} are listed; :log opens any."
            self.dashboard.notify(text)
            return
        at = tokens.index(job.token) + step
        if 0 <= at < len(tokens):
            self.session.job_token = self.session.job_to_show = tokens[at]
            self.show()

    command_next = partialmethod(_step, 1)
    command_previous = partialmethod(_step, -1)
