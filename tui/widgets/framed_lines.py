"""Lines in a frame, without Textual's work for each line.

Textual asks for borders, outlines, opacity, tints and hatches of each line that it draws, which is
as much work as the line itself. They are the same for all lines of a widget: asked for once, and
where there is more than a frame, Textual's own way is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual._border import get_box
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.css.styles import StylesBase
from textual.geometry import Size, Spacing
from textual.strip import Strip
from textual.style import Style


class Edges(NamedTuple):
    """What stands left and right of each line, and below it."""

    left: list[Segment]
    right: list[Segment]
    ground: RichStyle


class FramedLines(StylesCache):
    """For a widget whose `render_line` gives whole lines."""

    def __init__(self) -> None:
        super().__init__()
        self._edges: Edges | None = None

    def render(  # type: ignore[override]
        self,
        styles: StylesBase,
        size: Size,
        base_background: Color,
        background: Color,
        *lines: Any,
        padding: Spacing,
        opacity: float = 1.0,
        **others: Any,
    ) -> list[Strip]:
        """The lines inside `crop`."""
        plain = opacity == 1.0 and not (padding.left or padding.right or _has_effects(styles))
        self._edges = _edges(styles, base_background, background) if plain else None
        known: dict[str, Any] = {**others, "padding": padding, "opacity": opacity}
        return super().render(styles, size, base_background, background, *lines, **known)

    def render_line(
        self, styles: StylesBase, y: int, size: Size, content_size: Size, *others: Any
    ) -> Strip:
        """One line; those of the frame itself are Textual's."""
        line = y - styles.gutter.top
        if self._edges is None or not 0 <= line < content_size.height:
            return super().render_line(styles, y, size, content_size, *others)
        _, _, _, render_content_line, *_ = others
        content: Strip = render_content_line(line)
        edges, room = self._edges, content_size.width - content.cell_length
        if room < 0:
            content = content.adjust_cell_length(content_size.width, edges.ground)
        below = [Segment(" " * room, edges.ground)] if room > 0 else []  # the scroll bar
        return Strip([*edges.left, *content, *below, *edges.right], size.width)


def _has_effects(styles: StylesBase) -> bool:
    return bool(
        styles.tint.a
        or styles.text_opacity != 1.0
        or styles.has_rule("hatch")
        or any(kind for kind, _ in styles.outline)
    )


def _edges(styles: StylesBase, base_background: Color, background: Color) -> Edges:
    _, (right, right_color), _, (left, left_color) = styles.border
    inner = Style(background=base_background + background)
    outer = Style(background=base_background)
    found: list[list[Segment]] = []
    for kind, color, at in ((left, left_color, 0), (right, right_color, 2)):
        style = Style(foreground=base_background + color)
        found.append([get_box(kind, inner, outer, style)[1][at]] if kind else [])
    return Edges(found[0], found[1], inner.rich_style)
