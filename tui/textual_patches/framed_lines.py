"""Lines in a frame, without Textual's overhead for each line.

Textual checks borders, outlines, opacity, tints and hatches for each line that it draws, and sends
each line through the filters, which takes as long as the line itself. These properties are the same
for all lines of a widget, so `FramedLines` checks them once: otherwise a page of a list takes 55 %
more CPU (`bench/results/patches.md`). If a widget has more than a frame,
Textual's own code draws it.

A widget that has a rule above it instead of a frame has no place for its subtitle in Textual:
`FramedLines` writes it at the end of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style as RichStyle
from rowtui.tui.textual_patches.fast_strips import FramedStrip, LightStrip, LineStrip
from textual._border import get_box
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.css.styles import StylesBase
from textual.filter import LineFilter
from textual.geometry import Region, Size, Spacing
from textual.strip import Strip
from textual.style import Style

_TITLES = slice(5, 7)
"""Where Textual passes title and subtitle to `render_line`, after styles, y and size."""

SHORTEST_RULE, SHORTEST_TITLE = 1, 16
"""Columns of the rule between a title and a subtitle, and of a title that a subtitle leaves."""


class FrameEdges(NamedTuple):
    """The segments to the left and right of each line, and the background of the line."""

    left: list[Segment]
    right: list[Segment]
    ground: RichStyle


class FramedLines(StylesCache):
    """A cache of drawn lines for any widget that is drawn line by line."""

    def __init__(self) -> None:
        super().__init__()
        self._looks: tuple[object, ...] = ()
        self._edges: FrameEdges | None = None
        self._tails: dict[int, Strip] = {}  # By number of missing cells, the frame behind a line.
        self._frame: object = None  # A new object for each new look.

    def render(  # type: ignore[override]  # noqa: PLR0917
        self,
        styles: StylesBase,
        size: Size,
        base_background: Color,
        background: Color,
        render_content_line: Callable[[int], Strip],
        filters: Sequence[LineFilter],
        *titles: Any,
        content_size: Size,
        padding: Spacing,
        crop: Region,
        opacity: float,
        **others: Any,
    ) -> list[Strip]:
        """Return the lines inside `crop`."""
        updates = getattr(styles, "_cache_key", None)
        looks = (styles, updates, base_background, background, padding, opacity, tuple(filters))
        if looks != self._looks or updates is None or size.width != self._width:
            plain = opacity == 1.0 and not _has_effects(styles)
            self._edges = _edges(styles, base_background, background, padding) if plain else None
            self._looks, self._frame = looks, object()
            self._tails.clear()
            self.clear()
            self._width = size.width
        if self._edges is None:
            known: dict[str, Any] = {
                **others, "content_size": content_size, "padding": padding, "crop": crop,
                "opacity": opacity,
            }  # fmt: skip
            return super().render(
                styles, size, base_background, background, render_content_line, filters, *titles,
                **known,
            )  # fmt: skip
        top, dirty, kept = styles.gutter.top, self._dirty_lines, self._cache
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = None if y in dirty else kept.get(y)
            if strip is None:
                if 0 <= y - top < content_size.height:
                    content = render_content_line(y - top)
                    strip = self._framed(content, content_size.width, background, filters)
                else:
                    frame: Any = (*titles, opacity, others["ansi_theme"], others["native_ansi"])
                    strip = self.render_line(
                        styles, y, size, content_size, padding, base_background, background,
                        render_content_line, *frame,
                    )  # fmt: skip
                    for one in filters:
                        strip = strip.apply_filter(one, background)
                kept[y] = strip
            strips.append(strip)
        dirty.difference_update(crop.line_range)
        if crop.column_span != (0, size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, styles: StylesBase, y: int, size: Size, *places: Any) -> Strip:
        """Return one line; a rule above a widget without a frame has both titles in it."""
        (top, color), _, (bottom, _), (left, _) = styles.border
        if y or not top or bottom or left or places[_TITLES] == (None, None):
            return super().render_line(styles, y, size, *places)
        base, ground, width = places[2], places[3], size.width
        inner = base + ground
        rule = get_box(top, Style(inner), Style(base), Style(foreground=base + color))[0][1]
        heading, remark = places[_TITLES]
        subtitle = _label(remark, inner, width - 2 - SHORTEST_RULE - SHORTEST_TITLE)
        room = width - 2 - SHORTEST_RULE - cell_len(subtitle.text)
        title = _label(heading, inner, room)
        length = width - 2 - cell_len(title.text) - cell_len(subtitle.text)
        between = Segment(rule.text * max(0, length), rule.style)
        parts = (rule, title, between, subtitle, rule)
        return Strip([part for part in parts if part.text]).crop(0, width)

    def _framed(
        self, content: Strip, width: int, background: Color, filters: Sequence[LineFilter]
    ) -> Strip:
        """Return the line between its edges, as it is drawn."""
        if isinstance(content, LineStrip) and content.framed_by is self._frame:
            return content.framed
        assert self._edges is not None
        left, right, ground = self._edges
        length = content.cell_length
        room = width - length
        if room < 0:
            content = content.adjust_cell_length(width, ground)
            room, length = 0, width
        tail = self._tails.get(room)
        if tail is None:
            # The blank is for the scroll bar.
            blank = [Segment(" " * room, ground)] if room else []
            tail = Strip([*blank, *right], room + sum(one.cell_length for one in right))
            for one in filters:
                tail = tail.apply_filter(one, background)
            self._tails[room] = tail
        before = sum([one.cell_length for one in left]) if left else 0
        body: Any = LightStrip([*left, *content], before + length)
        for one in filters:
            body = body.apply_filter(one, background)
        framed = FramedStrip(body, tail) if tail.cell_length else body
        if isinstance(content, LineStrip):
            content.framed_by, content.framed = self._frame, framed
        return framed


def _has_effects(styles: StylesBase) -> bool:
    return bool(
        styles.tint.a
        or styles.text_opacity != 1.0
        or styles.has_rule("hatch")
        or any(kind for kind, _ in styles.outline)
    )


def _edges(
    styles: StylesBase, base_background: Color, background: Color, padding: Spacing
) -> FrameEdges:
    _, (right, right_color), _, (left, left_color) = styles.border
    inner = Style(background=base_background + background)
    outer = Style(background=base_background)
    found: list[list[Segment]] = []
    for kind, color, at in ((left, left_color, 0), (right, right_color, 2)):
        style = Style(foreground=base_background + color)
        found.append([get_box(kind, inner, outer, style)[1][at]] if kind else [])
    ground = inner.rich_style
    if padding.left:
        found[0].append(Segment(" " * padding.left, ground))
    if padding.right:
        found[1].insert(0, Segment(" " * padding.right, ground))
    return FrameEdges(found[0], found[1], ground)


def _label(title: Any, inner: Color, room: int) -> Segment:
    """Return a title (content, colour, background, style) between blanks; nothing for None."""
    if title is None or not title[0].plain:
        return Segment("")
    content, color, _, style = title
    style += Style(background=inner, foreground=inner + color)
    for span in content.spans:  # a link
        style += span.style
    text = content.plain
    if cell_len(text) + 2 > room:
        text = set_cell_size(text, max(0, room - 3)) + "…"
    return Segment(f" {text} ", style.rich_style)
