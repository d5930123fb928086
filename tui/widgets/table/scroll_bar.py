"""The scroll bar of a table, and the messages of a table to its view."""

from __future__ import annotations

from collections.abc import Hashable

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget


class _News(Message):
    def __init__(self, table: Widget) -> None:
        super().__init__()
        self.table = table

    @property
    def control(self) -> Widget:
        """The table."""
        return self.table


class CursorMoved(_News, namespace="virtual_table"):
    """Posted when the cursor is on another row. Only the last message of a burst matters."""

    def __init__(self, table: Widget, index: int, key: Hashable | None) -> None:
        super().__init__(table)
        self.index = index
        self.key = key

    def can_replace(self, message: Message) -> bool:
        """Whether this message replaces an older one: only the newest position counts."""
        return isinstance(message, CursorMoved) and message.table is self.table


class RowPressed(_News, namespace="virtual_table"):
    """Posted when the row under the cursor was clicked again, to open it."""


class HeadingPressed(_News, namespace="virtual_table"):
    """Posted when a column's heading was clicked, to sort by it."""

    def __init__(self, table: Widget, column: str) -> None:
        super().__init__(table)
        self.column = column


EIGHTHS = 8
"""A thumb moves by eighths of a line."""


class QuietScrollBar(ScrollBar):
    """Textual's vertical scroll bar, of one column, drawn again only if its look has changed.

    A step in a list of a million rows moves the thumb by less than can be drawn. Textual's own bar
    draws all its lines for each step, which takes a quarter of the time for a page.
    """

    def __init__(self) -> None:
        super().__init__(vertical=True, name="vertical")
        self._cells: LRUCache[Segment, Strip] = LRUCache(64)
        self._drawn: tuple[tuple[object, ...], list[Strip]] = ((), [])
        self._asked: tuple[object, ...] | None = None  # The values that decided the last look.

    def validate_position(self, position: float) -> float:
        """Return the nearest lower position that is drawn at another place."""
        unseen = self.window_virtual_size - self.window_size
        if unseen <= 0 or self.grabbed:
            return position
        thumb = max(1.0, self.window_size * self.window_size / self.window_virtual_size)
        step = unseen / max(1.0, (self.window_size - thumb) * EIGHTHS)
        return int(position / step) * step if step > 1 / EIGHTHS else position

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the strips; cells with the same look share one strip."""
        asked = self._decided_by(crop)
        if asked is not None and asked == self._asked:
            return self._drawn[1]
        self._asked = None
        drawn = self.render()
        if not isinstance(drawn, ScrollBarRender):
            return super().render_lines(crop)
        _, background = self.background_colors
        filters = self.get_line_filters()
        self._asked = asked
        look = (
            crop, self.size, drawn.virtual_size, drawn.window_size, drawn.position, drawn.style,
            background, tuple(filters),
        )  # fmt: skip
        if look == self._drawn[0]:
            return self._drawn[1]
        style = self.app.console.get_style(drawn.style)
        assert style.bgcolor is not None
        assert style.color is not None
        bar = drawn.render_bar(
            size=self.size.height,
            virtual_size=drawn.virtual_size,
            window_size=drawn.window_size,
            position=drawn.position,
            back_color=style.bgcolor,
            bar_color=style.color,
        )
        strips = []
        for segment in list(bar.segments)[crop.y : crop.bottom]:
            strip = self._cells.get(segment)
            if strip is None:
                strip = self._cells[segment] = Strip([segment], 1)
            for one in filters:
                strip = strip.apply_filter(one, background)
            strips.append(strip)
        self._drawn = (look, strips)
        return strips

    def _decided_by(self, crop: Region) -> tuple[object, ...] | None:
        """Return all values that decide the look; None if there are values that change often."""
        assert self.parent is not None
        styles = self.parent.styles
        updates = getattr(styles, "_cache_key", None)
        shines_through = styles.scrollbar_background.a < 1
        if updates is None or shines_through or self.grabbed or self.mouse_over:
            return None
        place = (self.window_virtual_size, self.window_size, self.position)
        return (crop, self.size, *place, styles, updates, self.app.theme, *self.get_line_filters())
