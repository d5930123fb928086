"""View 7: a job's log, of any size, followed while the view is on the screen."""

from __future__ import annotations

from functools import partial, partialmethod
from pathlib import Path
from typing import ClassVar

from rowtui.core.base.text import plural
from rowtui.core.project.queue.rows import key_of
from rowtui.core.project.views.views import ROW, LogPage, LogState
from rowtui.core.submission.plan.record import JobRecord
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.external_program import open_in_pager
from rowtui.tui.shell.work import start
from rowtui.tui.views.queue.jobs import JobsUsed
from rowtui.tui.views.queue.reasons import used_lines
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, bar, line, percentage
from rowtui.tui.widgets.chrome import OneLine, set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.log_rows import LogRows
from rowtui.tui.widgets.short_text import JOB_MARKS, duration, file_size, limit
from textual import events
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widgets import Input

POLL_SECONDS = 0.5
"""Seconds between two polls of the log; only while the log is shown."""

FAR_SECONDS = 2.0
"""Seconds between two polls over a connection."""

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
        self._follow = True
        self._wrap = False
        self._state: LogState | None = None
        self._token = ""
        self._asked = ("", ROW)  # The job whose log is on the screen, and the width of its rows.
        self._found = ""
        self._said = ""  # The result of the latest search.
        self._looking = False
        self._to_the_top = False
        self._since = 0.0
        self._timer: Timer | None = None
        self._used = JobsUsed(self, self.show_body)

    def body(self) -> ComposeResult:
        """Compose lines about the job and what it uses, and its log."""
        yield OneLine(name="about")
        yield OneLine(name="used")
        yield LogRows(
            self._fetch,
            name="log",
            spawn=lambda work: start(self, work, "log-pages"),
            failed=lambda error: self.dashboard.report("the log cannot be read", error),
        )
        yield InputField(
            id="find",
            keys=(("Enter", "find"), ("Esc", "close")),
            disabled=True,
            placeholder="text, or ~ and a regular expression",
        )

    @property
    def rows(self) -> LogRows:
        """The log."""
        return self.query_one("#log", LogRows)

    # Polls

    async def on_mount(self) -> None:
        """Start to poll the log."""
        self._timer = self.set_interval(POLL_SECONDS, self._tick)

    def on_screen_suspend(self) -> None:
        """Stop the polls, because the view is hidden."""
        if self._timer is not None:
            self._timer.pause()

    async def on_screen_resume(self) -> None:
        """Poll again, because the view is shown; the base class shows the view itself again."""
        if self._timer is not None:
            self._timer.resume()
        self._look()

    def _tick(self) -> None:
        self._since += POLL_SECONDS
        if self._state is None or not self._state.far or self._since >= FAR_SECONDS:
            self._look()

    def _look(self, *, earlier: bool = False) -> None:
        job = self.session.job
        if job is None or not self.is_current or self._looking or self.session.paused:
            return
        self._looking = True
        self._since = 0.0
        start(self, partial(self._read, job.token, self._width, earlier), "log")

    @property
    def _width(self) -> int:
        """Bytes of a row: as many as fit, or whole lines."""
        room = self.rows.scrollable_content_region.width - 12
        return max(20, room) if self._wrap else ROW

    async def _fetch(self, first: int, length: int) -> LogPage:
        token, width = self._asked
        return await self.session.engine.logs.page(token, first, length, width=width)

    async def _read(self, token: str, width: int, earlier: bool) -> None:
        try:
            state = await self.session.engine.logs.look(token, earlier=earlier, width=width)
        except Exception as error:
            self.dashboard.report("the log cannot be read", error)
            return
        finally:
            self._looking = False
        if not self.ready or token != self._token or width != self._width:
            return
        if (token, width) != self._asked:
            self._asked = (token, width)
            self.rows.start_over()
        self._state = state
        self.rows.take(state, follow=self._follow)
        self.show_body()
        if self._to_the_top and state.first:
            self._look(earlier=True)
        elif self._to_the_top:
            self._to_the_top = False
            self.rows.scroll_to(y=0, animate=False)

    # Display

    def show_body(self) -> None:
        """Show the job and the state of its log."""
        job = self.session.job
        rows = self.rows
        if job is None:
            rows.empty = line(("There are no jobs yet.", "dim"))
            rows.start_over()
            set_titles(rows, "Log")
            self.remove_class("-used")
            self.query_one("#about", OneLine).show(())
            return
        if job.token != self._token:
            self._token = job.token
            self._state = None
            self._follow, self._to_the_top = True, False
            rows.start_over()
            self._look()
        state = self._state
        rows.empty = self._empty(job, state)
        set_titles(rows, (state.path if state else "") or "Log", self._below(state))
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

    def _below(self, state: LogState | None) -> str:
        if state is None:
            return ""
        parts = ["following the end"] if self._follow else []
        if self._wrap:
            parts.append("long lines broken")
        if self._to_the_top:
            parts.append("reading from the beginning")
        if self._found:
            parts.append(f"find {self._found!r}: {self._said or 'n N'}")
        elif self._said:
            parts.append(self._said)
        rows = plural(state.rows, "row" if self._wrap else "line")
        parts.append(file_size(state.size))
        parts.append(f"last {rows}, g: all" if state.first else rows)
        if state.error and state.rows:
            parts.append(state.error)
        if many := sum(state.trouble):
            parts.append(f"▲ {plural(many, 'line looks like an error', 'lines look like errors')}")
        return " · ".join(parts)

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
        return self._state.path if self._state else ""

    # Commands

    def command_follow(self) -> None:
        """Follow the end of the log, or stay at the current position."""
        self._follow = not self._follow
        self._to_the_top = False
        if self._follow:
            self.rows.action_last()
        self.show_body()

    def on_log_rows_top_wanted(self) -> None:
        """Go to the top; the beginning of the log may have to be read first."""
        self._follow = False
        self._to_the_top = self._state is not None and self._state.first > 0
        if self._to_the_top:
            self._look(earlier=True)
        self.show_body()

    def command_wrap(self) -> None:
        """Break long lines at the width of the screen, or not."""
        self._wrap = not self._wrap
        self._look()
        self.show_body()

    def command_find(self) -> None:
        """Open the search field."""
        field = self.query_one("#find", Input)
        field.disabled = False
        field.value = self._found
        self.add_class("-finding")
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search from the visible part on."""
        event.stop()
        self._found, self._said = event.value.strip("\r\n"), ""
        self._close_find()
        self.rows.look_for(self._found)
        self.show_body()
        if self._found:
            self._find(self._found, backwards=False)

    def on_key(self, event: events.Key) -> None:
        """Close the search field with Escape."""
        if event.key == "escape" and not self.query_one("#find", Input).disabled:
            event.stop()
            event.prevent_default()
            self._close_find()

    def _close_find(self) -> None:
        field = self.query_one("#find", Input)
        field.disabled = True
        self.remove_class("-finding")
        self.rows.focus()

    def back(self) -> bool:
        """Leave the search and show the whole log."""
        if not self._found:
            return False
        self._found = self._said = ""
        self.rows.pages.hit = None
        self.rows.look_for("")
        self.show_body()
        return True

    def _again(self, *, backwards: bool) -> None:
        self._find(self._found or "!", backwards=backwards)

    command_next_match = partialmethod(_again, backwards=False)
    command_previous_match = partialmethod(_again, backwards=True)

    def _find(self, text: str, *, backwards: bool) -> None:
        self._follow = False
        start(self, partial(self._seek, text, backwards), "find", exclusive=True)

    async def _seek(self, text: str, backwards: bool) -> None:
        token, width = self._asked
        hit = self.rows.pages.hit
        at = hit if hit is not None else self.rows.top - (0 if backwards else 1)
        try:
            found = await self.session.engine.logs.find(
                token, text, at, backwards=backwards, width=width
            )
        except Exception as error:
            self.dashboard.report("nothing was found", error)
            return
        if found.row is None or found.generation != self.rows.pages.state.generation:
            what = "no line looks like an error" if text == "!" else "nowhere"
            self._said = what + (", g reads the rest" if self._state and self._state.first else "")
            self.show_body()
            return
        self._said = "from the top again" if found.wrapped else ""
        self.rows.show_hit(found.row)
        self.show_body()

    def command_pager(self) -> None:
        """Show the whole log in the user's pager."""
        start(self, self._page, "pager", exclusive=True)

    async def _page(self) -> None:
        state = self._state
        if state is None or not state.path:
            return
        if not state.far:
            await open_in_pager(self.dashboard, Path(state.path), "log")
            return
        tail = await self.session.engine.logs.tail(self._token, PAGER_LINES)
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
