"""A log on the screen: lines made safe to show, fetched by the page, and scrolled both ways.

The engine stores the rows; this module stores the visited pages. When rows are inserted before the
first one, the screen keeps its content.
"""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from rowtui.core.project.views.views import LogPage, LogRow, LogState
from rowtui.tui.widgets.cells import Line, Span, line, plain
from rowtui.tui.widgets.text_lines import TextLines
from textual.geometry import Region, Size
from textual.message import Message
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BAD = re.compile(
    r"\b(error|exception|traceback|fatal|failed|killed|segmentation fault)\b", re.IGNORECASE
)
_WARNING = re.compile(r"\bwarn(ing)?\b", re.IGNORECASE)

MOST_COLUMNS = 2000
"""Columns after which a line is cut: a line may be as long as the file."""


def _readable(text: str) -> str:
    text = text.rstrip("\r\n")
    if "\r" in text:  # A progress bar redraws its line: keep the part that remained visible.
        text = text.rpartition("\r")[2]
    shown = _COLOURS.sub("", text).expandtabs(8)
    return shown[:MOST_COLUMNS] + "…" if len(shown) > MOST_COLUMNS else shown


def _style(shown: str) -> str:
    if _BAD.search(shown):
        return "failed"
    return "warning" if _WARNING.search(shown) else ""


def row_line(row: LogRow, number: int | None, rows: int, found: str, hit: bool) -> Line:
    """Return a row with its number in front; matches stand out, and the latest match most.

    `number` is None if the number is unknown. `found` is a text, or an argument of
    `LogsWork.find`.
    """
    shown = _readable(row.text)
    style = _style(shown)
    before = ""
    if number is not None:
        before = f"{number:>{len(f'{rows:,}')},} " if not row.goes_on else ""
        before = f"{before:>{len(f'{rows:,}') + 1}}"
    mark = "↪" if row.goes_on else " "
    head = line((f"{'›' if hit else ' '}{before}{mark}", "key" if hit else "dim"))
    spans: list[Span] = []
    at = 0
    for start, end in _places(shown, found):
        spans += line((shown[at:start], style), (shown[start:end], "found"))
        at = end
    return (*head, *spans, *line((shown[at:], style)))


def _places(text: str, found: str) -> list[tuple[int, int]]:
    """Return the positions of matches in a row; empty for patterns, which the engine runs."""
    if not found or found == "!" or found.startswith("~"):
        return []
    folds = found == found.lower()
    where, wanted = (text.lower(), found) if folds else (text, found)
    if len(where) != len(text):  # The lower-case form of some letter is longer than the letter.
        where = text
    places: list[tuple[int, int]] = []
    at = where.find(wanted)
    while at >= 0 and len(places) < 50:
        places.append((at, at + len(wanted)))
        at = where.find(wanted, at + len(wanted))
    return places


class MarkedScrollBar(ScrollBar):
    """The log to scale, with `▲` where lines look like errors."""

    counts: Sequence[int] = ()
    mark = Style()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the bar with its marks."""
        strips = super().render_lines(crop)
        shares = resampled(self.counts, self.size.height)[crop.y : crop.bottom]
        for at, (strip, share) in enumerate(zip(strips, shares, strict=False)):
            if share:
                style = (next(iter(strip)).style or Style()) + Style(reverse=False) + self.mark
                strips[at] = Strip([Segment("▲", style)], 1)
                for one in self.get_line_filters():
                    strips[at] = strips[at].apply_filter(one, self.background_colors[1])
        return strips


def resampled(counts: Sequence[int], width: int) -> list[int]:
    if not counts or width <= 0:
        return []
    edges = [at * len(counts) // width for at in range(width + 1)]
    return [sum(counts[start:end]) for start, end in itertools.pairwise(edges)]


PAGE = 100
"""Rows in one request."""

KEPT_PAGES = 40
"""Pages in memory."""

WIDEST = 2100
"""Columns to which a row can be scrolled: rows are cut at about 2,000 bytes."""

Fetch = Callable[[int, int], Awaitable[LogPage]]


class LogPages(Sequence[Line]):
    """The rows of a log as lines; rows that are not loaded yet are blank."""

    def __init__(self) -> None:
        self.state = LogState("")
        self.found = ""
        self.hit: int | None = None
        self.pages: OrderedDict[int, tuple[LogRow, ...]] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of known rows."""
        return self.state.rows

    def __getitem__(self, index: Any) -> Any:
        """Return one row, as it is drawn."""
        row = self.row(index)
        if row is None:
            return line(("…", "dim"))
        number = index + 1 if not self.state.first else None
        return row_line(row, number, self.state.rows, self.found, index == self.hit)

    def row(self, index: int) -> LogRow | None:
        """Return a row, if its page is loaded."""
        page = self.pages.get(index // PAGE)
        at = index % PAGE
        return page[at] if page is not None and at < len(page) else None

    def missing(self, first: int, last: int) -> int | None:
        """Return the first page that is not, or not completely, loaded."""
        for number in range(max(0, first) // PAGE, max(0, min(last, len(self) - 1)) // PAGE + 1):
            whole = min(PAGE, len(self) - number * PAGE)
            if whole > 0 and len(self.pages.get(number, ())) < whole:
                return number
        return None

    def keep(self, page: LogPage) -> None:
        """Store a page, unless rows have other numbers by now."""
        if page.generation != self.state.generation:
            return
        number = page.start // PAGE
        self.pages[number] = page.rows
        self.pages.move_to_end(number)
        while len(self.pages) > KEPT_PAGES:
            self.pages.popitem(last=False)

    def take(self, state: LogState) -> int:
        """Store a new state of the log; return how many rows came in before the known ones."""
        old, self.state = self.state, state
        if state.generation == old.generation:
            return 0
        self.pages.clear()
        self.hit = None
        # One read of earlier rows raises the generation by one; any other change means another log.
        return state.added if old.rows and state.generation == old.generation + 1 else 0


class LogRows(TextLines[Line]):
    """The log of the job on the screen."""

    class TopWanted(Message):
        """Posted when the user goes to the first row, before which there may be more."""

    def __init__(
        self,
        fetch: Fetch,
        *,
        name: str,
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__(lambda spans: spans, name=name)
        self.pages = LogPages()
        self.lines = self.pages
        self._fetch = fetch
        self._spawn = spawn
        self._failed = failed
        self._fetching = False
        self._at_end = True

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scroll bar with marks."""
        if not isinstance(self._vertical_scrollbar, MarkedScrollBar):
            self._vertical_scrollbar = MarkedScrollBar(vertical=True, name="vertical", thickness=1)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def start_over(self) -> None:
        """Reset the rows for another log."""
        self.pages = LogPages()
        self.lines = self.pages
        self._at_end = True
        self.virtual_size = Size(0, 0)
        self.scroll_to(0, 0, animate=False)
        self.refresh()

    def take(self, state: LogState, *, follow: bool) -> None:
        """Use a new state of the log; with `follow` its end stays visible."""
        grown = state.rows != self.pages.state.rows or state.generation != (
            self.pages.state.generation
        )
        bar = self.vertical_scrollbar
        if isinstance(bar, MarkedScrollBar):
            marks = (state.trouble, self.palette["failed"])
            if marks != (bar.counts, bar.mark):
                bar.counts, bar.mark = marks
                bar.refresh()
        follow = follow and self._at_end  # A user who scrolled up reads there.
        added = self.pages.take(state)
        if grown:
            widest = self.scrollable_content_region.width
            self.virtual_size = Size(max(widest, WIDEST if state.rows else 0), state.rows)
            self.refresh()
        if added:
            self.scroll_to(y=self.scroll_offset.y + added, animate=False, force=True)
        elif follow and grown:
            self.scroll_to(y=max(0, state.rows), animate=False, force=True)
        self.want()

    def look_for(self, text: str) -> None:
        """Highlight this text."""
        if text != self.pages.found:
            self.pages.found = text
            self.refresh()

    def show_hit(self, row: int) -> None:
        """Scroll to a row, a third from the top."""
        self.pages.hit = row
        third = self.scrollable_content_region.height // 3
        self.scroll_to(x=0, y=max(0, row - third), animate=False, force=True)
        self.refresh()
        self.want()

    def action_first(self) -> None:
        """Go to the beginning, which may have to be read first."""
        super().action_first()
        self.post_message(self.TopWanted())

    @property
    def top(self) -> int:
        """The first visible row."""
        return int(self.scroll_offset.y)

    @property
    def at_the_end(self) -> bool:
        """Whether the last row is visible."""
        return self.top + self.scrollable_content_region.height >= self.pages.state.rows

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Fetch the rows that are visible now."""
        super().watch_scroll_y(old_value, new_value)
        self._at_end = self.at_the_end
        self.want()

    def on_resize(self) -> None:
        """Fetch the rows that are visible now; the end stays visible."""
        if self._at_end:
            self.scroll_to(y=max(0, self.pages.state.rows), animate=False, force=True)
        self.want()

    def want(self) -> None:
        """Fetch the rows that are visible and not loaded."""
        if not self._fetching and self._next() is not None:
            self._fetching = True
            self._spawn(self._run)

    def _next(self) -> int | None:
        height = self.scrollable_content_region.height
        return self.pages.missing(self.top, self.top + height)

    async def _run(self) -> None:
        try:
            while (number := self._next()) is not None:
                try:
                    page = await self._fetch(number * PAGE, PAGE)
                except Exception as error:
                    self._failed(error)
                    return
                if page.generation == self.pages.state.generation and not page.rows:
                    return
                self.pages.keep(page)
                if page.generation != self.pages.state.generation:
                    return  # The next poll returns the new numbers.
                self.refresh()
        finally:
            self._fetching = False

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, of the loaded rows."""
        if selection.start is None and selection.end is None:
            first, last = self.top, self.top + self.scrollable_content_region.height - 1
        else:
            first = selection.start.y if selection.start is not None else 0
            last = selection.end.y if selection.end is not None else len(self.pages) - 1
        last = min(last, len(self.pages) - 1, first + PAGE * KEPT_PAGES)
        texts = []
        for index in range(first, last + 1):
            span = selection.get_span(index)
            if span is not None:
                text = plain(self.pages[index])
                texts.append(text[span[0] :] if span[1] == -1 else text[span[0] : span[1]])
        return "\n".join(texts), "\n"
