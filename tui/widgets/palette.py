"""Style names of `render/` as Rich styles in the colours of the current theme."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from rowtui.tui.shell.themes import STYLES
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.strip import Strip

if TYPE_CHECKING:
    from rowtui.tui.widgets.cells import Line, Span


class Palette:
    """Resolved styles of one theme; create a new palette when the theme changes."""

    def __init__(self, app: App[object]) -> None:
        self._variables = app.theme_variables
        self._styles: dict[str, Style] = {"": Style.null()}

    def __getitem__(self, name: str) -> Style:
        """Return the style of a name; the empty style for an unknown name."""
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self._resolve(STYLES.get(name, ""))
        return style

    def _resolve(self, words: str) -> Style:
        style = Style.null()
        ground = False
        for word in words.split():
            if word == "on":
                ground = True
            elif word.startswith("$"):
                colour = Color.parse(self._variables[word[1:]]).rich_color
                style += Style(bgcolor=colour) if ground else Style(color=colour)
            else:
                style += Style.parse(word)
        return style

    def strip(self, spans: Iterable[Span], base: Style) -> Strip:
        """Return the spans as one line of the screen."""
        return Strip([Segment(span.text, base + self[span.style]) for span in spans])


def as_content(lines: Iterable[Line], *, stale: bool = False) -> Content:
    """Return lines for a Static; its colours follow the theme by themselves."""
    parts: list[str | tuple[str, str]] = []
    for number, spans in enumerate(lines):
        if number:
            parts.append("\n")
        parts += [(span.text, STYLES.get("dim" if stale else span.style, "")) for span in spans]
    return Content.assemble(*parts)
