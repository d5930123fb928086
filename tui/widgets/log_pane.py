"""A log, or a file that is read as a text, of any size: polled, followed, and searched.

The pane reads what `LogsWork` calls a token. The screen around it has the keys and shows the
state: the pane posts `Changed` when there is something new to show.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural
from rowtui.core.project.views.views import ROW, LogPage, LogState
from rowtui.tui.shell.work import start
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.log_rows import LogRows
from rowtui.tui.widgets.short_text import file_size
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

if TYPE_CHECKING:
    from rowtui.core.engine.local.logs import LogsWork

POLL_SECONDS = 0.5
"""Seconds between two polls of the log; only while the log is shown."""

FAR_SECONDS = 2.0
"""Seconds between two polls over a connection."""

WHOLE = 64_000_000
"""Bytes of the largest file that is shown from its beginning; a larger one is read from its end."""


class LogPane(Vertical):
    """The rows of one log, with a field for searches below."""

    class Changed(Message):
        """Posted when the state of the log, of a search, or of the pane has changed."""

    DEFAULT_CSS = """
    LogPane { height: 1fr; }
    LogPane #log { height: 1fr; }
    LogPane #find { display: none; background: $panel; color: $foreground; }
    LogPane.-finding #find { display: block; }
    """

    def __init__(
        self,
        logs: Callable[[], LogsWork],
        *,
        may_look: Callable[[], bool],
        failed: Callable[[str, Exception], None],
    ) -> None:
        """Create the pane. `may_look`: whether the log may be polled now."""
        super().__init__()
        self._logs = logs
        self._may_look = may_look
        self._failed = failed
        self.token = ""
        self.state: LogState | None = None
        self.following = True
        self.wrapping = False
        self.found = ""
        self._said = ""  # The result of the latest search.
        self._asked = ("", ROW)  # The log on the screen, and the width of its rows.
        self._looking = False
        self._to_the_top = False
        self._from_top = False
        self._since = 0.0

    def compose(self) -> ComposeResult:
        """Compose the log and the field."""
        yield LogRows(
            self._fetch,
            name="log",
            spawn=lambda work: start(self, work, "log-pages"),
            failed=partial(self._failed, "the log cannot be read"),
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

    def open(self, token: str, *, from_top: bool = False) -> None:
        """Show another log, at its end or, if it is not very large, its beginning; "" for none."""
        self.token = token
        self.state = None
        self.following, self._to_the_top = True, False
        self._from_top = from_top
        self.rows.start_over()
        self.look()

    def tick(self) -> None:
        """Poll the log if it is time; the screen calls this every `POLL_SECONDS`."""
        self._since += POLL_SECONDS
        if self.state is None or not self.state.far or self._since >= FAR_SECONDS:
            self.look()

    def look(self, *, earlier: bool = False) -> None:
        """Poll the log; with `earlier`, read more rows before the first known one."""
        if not self.token or self._looking or not self._may_look():
            return
        self._looking = True
        self._since = 0.0
        start(self, partial(self._read, self.token, self._width, earlier), "log")

    @property
    def _width(self) -> int:
        """Bytes of a row: as many as fit, or whole lines."""
        room = self.rows.scrollable_content_region.width - 12
        return max(20, room) if self.wrapping else ROW

    async def _fetch(self, first: int, length: int) -> LogPage:
        token, width = self._asked
        return await self._logs().page(token, first, length, width=width)

    async def _read(self, token: str, width: int, earlier: bool) -> None:
        try:
            state = await self._logs().look(token, earlier=earlier, width=width)
        except Exception as error:
            self._failed("the log cannot be read", error)
            return
        finally:
            self._looking = False
        if not self.is_running or token != self.token or width != self._width:
            return
        if (token, width) != self._asked:
            self._asked = (token, width)
            self.rows.start_over()
        self.state = state
        if self._from_top:
            self._from_top = False
            self.following = state.size > WHOLE
            self._to_the_top = not self.following
        self.rows.take(state, follow=self.following)
        self.post_message(self.Changed())
        if self._to_the_top and state.first:
            self.look(earlier=True)
        elif self._to_the_top:
            self._to_the_top = False
            self.rows.scroll_to(y=0, animate=False)

    def described(self) -> str:
        """Return the state of the log and of the search, for the frame."""
        state = self.state
        if state is None:
            return ""
        parts = ["following the end"] if self.following else []
        if self.wrapping:
            parts.append("long lines broken")
        if self._to_the_top:
            parts.append("reading from the beginning")
        if self.found:
            parts.append(f"find {self.found!r}: {self._said or 'n N'}")
        elif self._said:
            parts.append(self._said)
        rows = plural(state.rows, "row" if self.wrapping else "line")
        parts.append(file_size(state.size))
        parts.append(f"last {rows}, g: all" if state.first else rows)
        if state.error and state.rows:
            parts.append(state.error)
        if many := sum(state.trouble):
            parts.append(f"▲ {plural(many, 'line looks like an error', 'lines look like errors')}")
        return " · ".join(parts)

    # Commands

    def follow(self) -> None:
        """Follow the end of the log, or stay at the current position."""
        self.following = not self.following
        self._to_the_top = False
        if self.following:
            self.rows.action_last()
        self.post_message(self.Changed())

    def on_log_rows_top_wanted(self) -> None:
        """Go to the top; the beginning of the log may have to be read first."""
        self.following = False
        self._to_the_top = self.state is not None and self.state.first > 0
        if self._to_the_top:
            self.look(earlier=True)
        self.post_message(self.Changed())

    def wrap(self) -> None:
        """Break long lines at the width of the screen, or not."""
        self.wrapping = not self.wrapping
        self.look()
        self.post_message(self.Changed())

    def find(self) -> None:
        """Open the search field."""
        field = self.query_one("#find", Input)
        field.disabled = False
        field.value = self.found
        self.add_class("-finding")
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search from the visible part on."""
        event.stop()
        self.found, self._said = event.value.strip("\r\n"), ""
        self._close_find()
        self.rows.look_for(self.found)
        self.post_message(self.Changed())
        if self.found:
            self._find(self.found, backwards=False)

    def on_key(self, event: events.Key) -> None:
        """Close the search field with Escape."""
        if event.key == "escape" and not self.query_one("#find", Input).disabled:
            event.stop()
            event.prevent_default()
            self._close_find()

    def _close_find(self) -> None:
        self.query_one("#find", Input).disabled = True
        self.remove_class("-finding")
        self.rows.focus()

    def end_search(self) -> bool:
        """Drop the search; return False if there is none."""
        if not self.found:
            return False
        self.found = self._said = ""
        self.rows.pages.hit = None
        self.rows.look_for("")
        self.post_message(self.Changed())
        return True

    def find_next(self) -> None:
        """Go to the next match; without a search, to the next line that looks like an error."""
        self._find(self.found or "!", backwards=False)

    def find_previous(self) -> None:
        """Go to the match, or the error, before."""
        self._find(self.found or "!", backwards=True)

    def _find(self, text: str, *, backwards: bool) -> None:
        self.following = False
        start(self, partial(self._seek, text, backwards), "find", exclusive=True)

    async def _seek(self, text: str, backwards: bool) -> None:
        token, width = self._asked
        hit = self.rows.pages.hit
        at = hit if hit is not None else self.rows.top - (0 if backwards else 1)
        try:
            found = await self._logs().find(token, text, at, backwards=backwards, width=width)
        except Exception as error:
            self._failed("nothing was found", error)
            return
        if found.row is None or found.generation != self.rows.pages.state.generation:
            what = "no line looks like an error" if text == "!" else "nowhere"
            self._said = what + (", g reads the rest" if self.state and self.state.first else "")
        else:
            self._said = "from the top again" if found.wrapped else ""
            self.rows.show_hit(found.row)
        self.post_message(self.Changed())
