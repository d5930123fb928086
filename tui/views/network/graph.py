"""The picture of a network, drawn line by line; the cursor is on one of its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partialmethod
from typing import ClassVar

from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.views.network.picture.boxes import NodeKey
from rowtui.tui.views.network.picture.layout import BoxPlace
from rowtui.tui.views.network.picture.picture import Graph
from rowtui.tui.widgets.cells import Line, Painted, Span
from rowtui.tui.widgets.table.virtual_table import FLASH_SECONDS
from rowtui.tui.widgets.text_lines import MovingKeys
from textual import events
from textual.geometry import Size, Spacing
from textual.message import Message
from textual.strip import Strip

AROUND = Spacing(1, 4, 1, 4)
"""The visible margin around the chosen node, if the picture is larger than the screen."""


class NetworkGraph(MovingKeys, Painted, can_focus=True):
    """A view of a `Graph` that scrolls both ways. The time depends on the lines on the screen."""

    ALLOW_SELECT = False
    BINDINGS = bindings_for("list") + bindings_for("graph")
    DEFAULT_CSS = """
    NetworkGraph {
        overflow: auto auto;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-gutter: stable;
    }
    """

    class Chosen(Message):
        """Posted when the cursor moves to another node."""

        def can_replace(self, message: Message) -> bool:
            """Whether this message replaces an older one: only the last of a burst matters."""
            return isinstance(message, NetworkGraph.Chosen)

    class Opened(Message):
        """Posted when the chosen node is clicked again."""

    class Wanted(Message):
        """Posted when the user wants to find a node, or a sample."""

    STEPS: ClassVar[dict[str, tuple[int, int]]] = {
        "left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1),
    }  # fmt: skip

    def __init__(self, *, name: str) -> None:
        super().__init__(id=name)
        self.picture: Graph | None = None
        self.empty: Line = ()
        self.chosen: NodeKey | None = None
        self._view_choice: NodeKey | None = None
        self._drawn: dict[int, Strip] = {}
        self.painted_lines = 0  # The number of lines drawn so far; tests read it.

    def show(self, picture: Graph | None, chosen: NodeKey | None) -> None:
        """Show this picture; lines that look the same are not painted. The cursor moves only if the
        view has made another choice.

        A view that is drawn again between a key and the message about it must not undo the key. The
        view also calls this method for its new choice when it handles such a message.
        """
        was, before = self._place, self.chosen
        if chosen != self._view_choice:
            self._view_choice = self.chosen = chosen
        if picture is self.picture and self.chosen == before:
            return
        self.picture = picture
        size = Size(*picture.size) if picture else Size(0, 0)
        if size != self.virtual_size:
            self.virtual_size = size
        self._repaint()
        if self._place != was:
            self.call_after_refresh(self._start_over)

    def flash(self, keys: Iterable[NodeKey]) -> None:
        """Highlight the numbers of these boxes for a moment."""
        self._set_flashing(frozenset(keys))
        if self.picture is not None and self.picture.changed:
            self.set_timer(FLASH_SECONDS, lambda: self._set_flashing(frozenset()))

    def _set_flashing(self, keys: frozenset[NodeKey]) -> None:
        if self.picture is not None and keys != self.picture.changed:
            self.picture.changed = keys
            self._repaint()

    @property
    def _place(self) -> BoxPlace | None:
        """The position of the chosen node."""
        if self.picture is None or self.chosen is None:
            return None
        return self.picture.places.get(self.chosen)

    def _repaint(self) -> None:
        """Draw again if a visible line has changed; the strips are compared."""
        before, self._drawn = self._drawn, {}
        height = self.scrollable_content_region.height
        if any(before.get(y) != self.render_line(y) for y in range(height)):
            self.refresh()

    def _look_at_chosen(self, *, anew: bool = False) -> None:
        """Scroll as little as possible to the chosen node, or from the upper left with `anew`."""
        if (place := self._place) is None:
            return
        window = self.scrollable_content_region.size
        left, top = (0, 0) if anew else self.scroll_offset
        x = _seen(place.x - AROUND.left, place.x + place.width + AROUND.right, left, window.width)
        y = _seen(place.y - AROUND.top, place.y + place.height + AROUND.bottom, top, window.height)
        self.scroll_to(x, y, animate=False, force=True, immediate=True)

    def _start_over(self) -> None:
        self._look_at_chosen(anew=True)

    def _go(self, way: str) -> None:
        picture = self.picture
        if picture is None or self.chosen is None:
            return
        key = picture.neighbour(self.chosen, self.STEPS[way])
        if key is not None:
            self.choose(key)

    action_left = partialmethod(_go, "left")
    action_right = partialmethod(_go, "right")
    action_line_down = partialmethod(_go, "down")
    action_line_up = partialmethod(_go, "up")

    def choose(self, key: NodeKey) -> None:
        """Put the cursor on this node."""
        if key != self.chosen:
            self.chosen = key
            self._repaint()
            self._look_at_chosen()
            self.post_message(self.Chosen())

    # Drawing

    def notify_style_update(self) -> None:
        """Use the colours of the new theme."""
        super().notify_style_update()
        self._drawn.clear()

    def watch_has_focus(self, value: bool) -> None:
        """Draw again: the cursor looks different with the focus."""
        super().watch_has_focus(value)
        self._drawn.clear()
        self.refresh()

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Drop the drawn lines: other columns are on the screen."""
        super().watch_scroll_x(old_value, new_value)
        self._drawn.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Drop the drawn lines: other lines are on the screen."""
        super().watch_scroll_y(old_value, new_value)
        self._drawn.clear()

    def on_resize(self) -> None:
        """Drop the drawn lines: another part is on the screen."""
        self._drawn.clear()
        self.call_after_refresh(self._start_over)

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        if (kept := self._drawn.get(y)) is not None:
            return kept
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        base = self.rich_style
        picture, at = self.picture, top + y
        if picture is None or at >= picture.size[1]:
            spans = (Span(" "), *self.empty) if picture is None and y == 0 else ()
        else:
            spans = picture.row(at, self.chosen, self.has_focus)
            self.painted_lines += 1
        strip = self.palette.strip(spans, base).crop_extend(left, left + width, base)
        self._drawn[y] = strip
        return strip

    # Moving

    def action_find(self) -> None:
        """Find a node, or a sample of the chosen one."""
        self.post_message(self.Wanted())

    def _end(self, *, first: bool) -> None:
        places = self.picture.places if self.picture else {}
        if places:
            ordered = sorted(places, key=lambda key: (places[key].x, places[key].y))
            self.choose(ordered[0 if first else -1])

    action_first = partialmethod(_end, first=True)
    action_last = partialmethod(_end, first=False)

    async def on_click(self, event: events.Click) -> None:
        """Choose the node with a click; open it with a second one."""
        offset = event.get_content_offset(self)
        if offset is None or self.picture is None:
            return
        x, y = offset.x + self.scroll_offset.x, offset.y + self.scroll_offset.y
        for key, place in self.picture.places.items():
            if place.x <= x < place.x + place.width and place.y <= y < place.y + place.height:
                if key == self.chosen and event.chain == 2:
                    self.post_message(self.Opened())
                self.choose(key)
                return


def _seen(start: int, end: int, offset: int, size: int) -> int:
    """Return the nearest offset at which the whole range, or its start, is visible."""
    if start < offset or end - start > size:
        return max(0, start)
    return max(offset, end - size)
