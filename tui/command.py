"""What a command of the registry is, and the views and parts that it may belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowtui.tui.reasons import always

if TYPE_CHECKING:
    from rowtui.tui.session import Session


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    `scope` is "app", one of `PARTS`, or the name of a view. `hint` orders the bottom line, 0 keeps
    it out. `asks`: it changes something outside, so it is confirmed first.
    """

    id: str
    keys: str
    label: str
    description: str
    scope: str = "app"
    hint: int = 0
    asks: bool = False
    enabled: Callable[[Session], str] = always

    @property
    def method(self) -> str:
        """The method of the app or view that carries it out."""
        return "command_" + self.id.partition(".")[2].replace("-", "_").replace(".", "_")

    @property
    def shown_keys(self) -> str:
        """The keys as people write them, `j ↓`."""
        return shown_keys(self.keys)

    def keys_of(self, own: Mapping[str, str]) -> str:
        """The keys of a person who has `own` ones for some commands, as people write them."""
        return shown_keys(own.get(self.id, self.keys))


def shown_keys(keys: str) -> str:
    """`j ↓` for `j,down`."""
    every = (key for key in keys.split(",") if key != NO_KEY)
    return " ".join(KEY_NAMES.get(key, key) for key in every)


NO_KEY = "no-key"
"""In place of keys, where a command has none: Textual takes nothing for "as usual"."""

PARTS = ("list", "rows", "text", "graph")
"""Scopes of widgets, whatever the view."""

LISTED = frozenset({"groups", "network", "explain", "pack", "submit", "queue"})
"""Views whose long lists have the keys of `rows`: filter, sort, columns, ranges, files."""

CHANGE_KEYS = "abcd"
"""Keys of the changes that would admit a job; a destination seldom has more."""

KEY_NAMES = {
    "down": "↓", "up": "↑", "left": "←", "right": "→", "enter": "Enter", "escape": "Esc",
    "space": "space", "question_mark": "?", "at": "@", "pagedown": "PgDn", "pageup": "PgUp",
    "colon": ":", "home": "Home", "slash": "/", "end": "End", "tab": "Tab",
    "left_square_bracket": "[", "right_square_bracket": "]", "greater_than_sign": ">",
    "less_than_sign": "<", "exclamation_mark": "!", "plus": "+", "minus": "-",
}  # fmt: skip

VIEWS = {
    "status": (1, "Status"),
    "groups": (2, "Groups"),
    "explain": (3, "Explain"),
    "pack": (4, "Pack"),
    "submit": (5, "Submit"),
    "queue": (6, "Queue"),
    "log": (7, "Log"),
    "network": (8, "Network"),
}
"""The numbered views: name -> (number, title)."""

TITLES = {**{name: title for name, (_, title) in VIEWS.items()}, "clusters": "Clusters"}
"""All views, also those without a number, by their names."""
