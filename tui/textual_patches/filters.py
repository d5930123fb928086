"""Last conversion of a line before it is drawn: for terminals without glyphs, or without colours.

Textual applies filters to every line of every widget, with frames and messages. Therefore all
screens are drawn in one way, and only this module handles the limits of the terminal.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from rowtui.tui.textual_patches.glyphs import ascii_text
from textual.color import Color
from textual.filter import LineFilter

GROUNDS = {
    15: Style(reverse=True, bold=True),
    8: Style(bold=True),
    11: Style(underline=True),
}
"""Backgrounds of the theme `terminal` (bright white, black, yellow) and the attributes in their
place, because the background of the terminal is unknown.
"""

_SHAPE = ("bold", "dim", "italic", "underline", "blink", "reverse", "strike")


class AsciiGlyphs(LineFilter):
    """A filter that draws with ASCII alone."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same columns in ASCII."""
        return [
            segment if segment.text.isascii() else Segment(ascii_text(segment.text), segment.style)
            for segment in segments
        ]


class GroundsAsAttributes(LineFilter):
    """A filter that draws the cursor and highlights in reverse, bold or underlined, not on a
    colour.

    With `colours` False, nothing has any colour.
    """

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the same text in other styles."""
        return [
            Segment(text, style and _without_ground(style, self._colours), None)
            for text, style, _ in segments
        ]


@lru_cache(4096)
def _without_ground(style: Style, colours: bool) -> Style:
    ground = style.bgcolor
    coloured = ground is not None and not ground.is_default
    instead = GROUNDS.get(ground.number) if ground is not None and ground.number else None
    if colours and instead is None:
        return style
    if instead is None and coloured:
        instead = Style(reverse=True)
    # On a reversed line, foreground colours would become backgrounds of every colour.
    plain = not colours or (instead is not None and bool(instead.reverse))
    shape = Style(
        **{one: getattr(style, one) for one in _SHAPE},
        color=None if plain else style.color,
        meta=style.meta or None,
    )
    return shape + instead if instead is not None else shape
