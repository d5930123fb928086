"""Widgets for the lines around every view: header, tabs, message, key hints; and a titled panel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import visible
from rowtui.tui.textual_patches.framed_lines import FramedLines
from rowtui.tui.widgets.cells import (
    Painted,
    Span,
    as_content,
    cut,
    fit,
    line,
)
from rowtui.tui.widgets.links import link_of
from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

if TYPE_CHECKING:
    from rowtui.tui.widgets.cells import Line


FRAME = 2
"""Lines of a frame."""


class Pressable(NamedTuple):
    """A part of a line that can be clicked: columns `start` to `end` (exclusive).

    `about`: the text that is shown when the mouse rests there.
    """

    start: int
    end: int
    command: str
    about: str = ""


def choices(
    parts: Iterable[tuple[str, str, str]], chosen: str
) -> tuple[Line, tuple[Pressable, ...]]:
    """Return ` [eligible 44]  failed 3 ` and its parts, which can be pressed.

    `parts`: value, text and style name of each choice; `chosen` is the value that is chosen.
    """
    spans: list[Span] = []
    areas = []
    at = 0
    for value, text, style in parts:
        shown = f"[{text}] " if value == chosen else f" {text}  "
        areas.append(Pressable(at, at + len(shown), f"={value}"))
        spans += line((shown, "tab" if value == chosen else style))
        at += len(shown)
    return tuple(spans), tuple(areas)


class OneLine(Painted):
    """One line of the screen; parts of it may be pressed with the mouse."""

    class Pressed(Message):
        """A part was pressed whose text is no command but a value of the view, after `=`."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    DEFAULT_CSS = """
    OneLine { height: 1; width: 100%; }
    """
    ALLOW_SELECT = False

    def __init__(self, *, name: str) -> None:
        super().__init__(id=name)
        self._styles_cache = FramedLines()
        self.spans: Line = ()
        self._areas: tuple[Pressable, ...] = ()

    def show(self, spans: Line, areas: Iterable[Pressable] = ()) -> None:
        """Show this text; repaint only if the text has changed."""
        self._areas = tuple(areas)
        if spans != self.spans:
            self.spans = spans
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return the line."""
        return self.palette.strip(fit(self.spans, self.size.width), self.rich_style)

    def _area_at(self, x: int) -> Pressable | None:
        return next((area for area in self._areas if area.start <= x < area.end), None)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Describe the command under the mouse, if the mouse rests there."""
        area = self._area_at(event.x)
        self.tooltip = area.about or None if area is not None else None

    async def on_click(self, event: events.Click) -> None:
        """Carry out the command that was pressed."""
        area = self._area_at(event.x)
        if area is not None and area.command.startswith("="):
            self.post_message(self.Pressed(area.command[1:]))
        elif area is not None:
            await self.app.run_action(f"command('{area.command}')")


class Panel(Static):
    """A frame with a title and lines of text, cut at its width."""

    DEFAULT_CSS = """
    Panel { width: 1fr; height: auto; }
    """

    def __init__(self, title: str, *, name: str) -> None:
        super().__init__("", id=name, markup=False)
        self._styles_cache = FramedLines()
        self.border_title = title
        self.lines: list[Line] = []  # As they were given, not cut.
        self._shown: tuple[object, ...] = ()
        self._stale = False

    def show(self, lines: Iterable[Line], *, stale: bool = False) -> None:
        """Show these lines."""
        self.lines = list(lines)
        self._stale = stale
        self._draw()

    @property
    def line_count(self) -> int:
        """The number of lines of the text."""
        return len(self.lines)

    def on_resize(self) -> None:
        """Cut the lines at the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.size.width
        cut_lines = [cut(spans, width) for spans in self.lines] if width else self.lines
        shown = (tuple(cut_lines), self._stale)
        if shown != self._shown:
            self._shown = shown
            self.update(as_content(cut_lines, stale=self._stale))


def set_titles(widget: Widget, title: str, subtitle: str = "", file: str = "") -> None:
    """Set the texts in a widget's frame; they are never parsed as markup.

    The title links to `file`.
    """
    link = link_of(widget.app, file) if file else None
    for name, text, to in (("border_title", title, link), ("border_subtitle", subtitle, None)):
        shown = (visible(text), to)
        if getattr(widget, f"_shown_{name}", ("", None)) != shown:
            setattr(widget, f"_shown_{name}", shown)
            content = Content.styled(shown[0], Style(link=to) if to else "")
            setattr(widget, name, content if text else None)
