"""A text of many lines, such as a script or a log, drawn line by line, and the keys that move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.textual_patches.framed_lines import FramedLines
from rowtui.tui.widgets.cells import Line, Painted, Span, plain, width_of
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip


class MovingKeys(ScrollView):
    """The actions of the scope "list" of the registry, for a widget with lines."""

    def move_by(self, lines: int) -> None:
        """Move down by this number of lines; up if it is negative."""
        self.scroll_relative(y=lines, animate=False)

    @property
    def page_lines(self) -> int:
        """The number of lines of a page."""
        return self.size.height - 1

    @property
    def half_page_lines(self) -> int:
        """The number of lines of half a page."""
        return self.size.height // 2

    def action_line_down(self) -> None:
        """Move one line down."""
        self.move_by(1)

    def action_line_up(self) -> None:
        """Move one line up."""
        self.move_by(-1)

    def action_half_down(self) -> None:
        """Move half a page down."""
        self.move_by(max(1, self.half_page_lines))

    def action_half_up(self) -> None:
        """Move half a page up."""
        self.move_by(-max(1, self.half_page_lines))

    def action_page_down(self) -> None:
        """Move a page down."""
        self.move_by(max(1, self.page_lines))

    def action_page_up(self) -> None:
        """Move a page up."""
        self.move_by(-max(1, self.page_lines))


Item = TypeVar("Item", bound=str | Line)

SIDEWAYS = 8
"""Columns of one step to the side."""


class TextLines(MovingKeys, Painted, Generic[Item], can_focus=True):
    """Lines of text, or of spans; `colour` converts a line to spans only when it is drawn."""

    BINDINGS = bindings_for("list") + bindings_for("text")
    DEFAULT_CSS = """
    TextLines {
        overflow: auto auto;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
    }
    """

    def __init__(self, colour: Callable[[Item], Line], *, name: str) -> None:
        super().__init__(id=name)
        self._styles_cache = FramedLines()
        self._colour: Callable[[Item], Line] = colour
        self.lines: Sequence[Item] = ()
        self.empty: Line = ()
        self._widest = 0

    def show(self, lines: Sequence[Item], *, follow: bool = False) -> None:
        """Show these lines; with `follow` the last line stays visible."""
        if lines != self.lines:
            self.lines = lines
            # An upper bound is enough for the scroll bar, and cheap for long texts.
            self._widest = max(map(_at_most, lines), default=0)
            self.virtual_size = Size(self._widest, len(lines))
            self.refresh()
        if follow:
            self.scroll_to(y=max(0, len(lines)), animate=False)

    @property
    def visible_lines(self) -> list[str]:
        """The lines on the screen, not cut at its width."""
        top = int(self.scroll_offset.y)
        stop = min(top + self.scrollable_content_region.height, len(self.lines))
        return [plain(self._colour(self.lines[index])) for index in range(top, stop)]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, as it is shown."""
        return selection.extract("\n".join(plain(self._colour(text)) for text in self.lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        base = self.rich_style
        index = top + y
        if index >= len(self.lines):
            if index == 0 and self.empty:
                strip = self.palette.strip((Span(" "), *self.empty), base)
                return strip.crop(0, width).adjust_cell_length(width, base)
            return Strip.blank(width, base)
        spans = self._colour(self.lines[index])
        strip = self.palette.strip(spans, base)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(index)) is not None:
            start, end = span
            end = width_of(spans) if end == -1 else end
            chosen = self.screen.get_component_rich_style("screen--selection")
            before, inside, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end)
            strip = Strip.join([before, inside.apply_style(chosen), after])
        if strip.cell_length > left + width > left + 1:  # The line has more text to the right.
            more = self.palette.strip((Span("…", "dim"),), base)
            strip = Strip.join([strip.crop(0, left + width - 1), more])
        return strip.crop_extend(left, left + width, base).apply_offsets(left, index)

    def action_first(self) -> None:
        """Scroll to the first line."""
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        """Scroll to the last line."""
        self.scroll_to(y=len(self.lines), animate=False)

    def action_left(self) -> None:
        """Scroll to the left."""
        self.scroll_relative(x=-SIDEWAYS, animate=False)

    def action_right(self) -> None:
        """Scroll to the right."""
        self.scroll_relative(x=SIDEWAYS, animate=False)


class LaidOut(TextLines[Line]):
    """Lines that are computed for a width, and again for another width."""

    DEFAULT_CSS = """
    LaidOut { scrollbar-gutter: stable; }
    """

    def __init__(self, *, name: str) -> None:
        super().__init__(lambda spans: spans, name=name)
        self._make: Callable[[int], Sequence[Line]] = lambda _: ()

    def show_made(self, make: Callable[[int], Sequence[Line]]) -> None:
        """Show the lines that `make` returns for the current width."""
        self._make = make
        self._lay_out()

    def on_resize(self) -> None:
        """Compute the lines for the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        if width := self.scrollable_content_region.width:
            self.show(self._make(width))


def _at_most(text: str | Line) -> int:
    """Return the number of columns of a line, or a few more."""
    return len(text) + text.count("\t") * 7 if isinstance(text, str) else width_of(text)
