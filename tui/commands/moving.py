"""The commands that move in lists, texts and graphs; they are the same in all views."""

from __future__ import annotations

from rowtui.tui.commands.command import Command

COMMANDS: tuple[Command, ...] = (
    Command("list.line-down", "j,down", "down", "one line down", "list"),
    Command("list.line-up", "k,up", "up", "one line up", "list"),
    Command("list.half-down", "ctrl+d", "half page down", "half a page down", "list"),
    Command("list.half-up", "ctrl+u", "half page up", "half a page up", "list"),
    Command("list.page-down", "pagedown", "page down", "one page down", "list"),
    Command("list.page-up", "pageup", "page up", "one page up", "list"),
    Command("list.first", "g,home", "first", "first line", "list"),
    Command("list.last", "G,end", "last", "last line", "list"),
    Command("text.left", "left", "left", "scroll a text to the left", "text"),
    Command("text.right", "right", "right", "scroll a text to the right", "text"),
    Command("graph.left", "h,left", "left", "to the node that this one takes from", "graph"),
    Command("graph.right", "l,right", "right", "to the node that takes from this one", "graph"),
    Command("graph.find", "slash", "find", "go to a node by its name, or filter its samples",
            "graph"),
)  # fmt: skip
