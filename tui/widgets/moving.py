"""The keys of all lists and texts: each moves by a number of lines."""

from __future__ import annotations

from textual.scroll_view import ScrollView


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
