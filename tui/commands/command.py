"""The class of a command of the registry, its views and parts, and reasons that views share.

A reason is why a command cannot be used now; "" if it can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def always(_: Session) -> str:
    """Return "": the command can always be used."""
    return ""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the dashboard.

    `scope` is "app", one of `PARTS`, or the name of a view. `asks`: the command
    changes something outside the dashboard, so the user confirms it first. `twin` is the command
    after `rowtui` on the command line with the same effect; docs/verbs.md states why a command has
    none.
    """

    id: str
    keys: str
    label: str
    description: str
    scope: str = "app"
    asks: bool = False
    enabled: Callable[[Session], str] = always
    twin: str = ""

    @property
    def method(self) -> str:
        """The name of the method of the app or view that carries out the command."""
        return "command_" + self.id.partition(".")[2].replace("-", "_").replace(".", "_")

    @property
    def shown_keys(self) -> str:
        """The keys as the user reads them, `j ↓`."""
        return shown_keys(self.keys)

    def keys_of(self, own: Mapping[str, str]) -> str:
        """Return the keys as the user reads them; `own` has the user's own keys, by command id."""
        return shown_keys(own.get(self.id, self.keys))


def shown_keys(keys: str) -> str:
    """Return `j ↓` for `j,down`."""
    every = (key for key in keys.split(",") if key != NO_KEY)
    return " ".join(KEY_NAMES.get(key, key) for key in every)


NO_KEY = "no-key"
"""In place of keys, if a command has none: Textual reads an empty text as "the usual keys"."""

PARTS = ("list", "rows", "text", "graph")
"""Scopes of widgets, independent of the view."""

LISTED = frozenset({"status", "groups", "network", "explain", "pack", "submit", "queue"})
"""Views whose long lists have the keys of `rows`: filter, sort, columns, ranges, files."""

DRAWN = frozenset({"past"})
"""Views without lists and texts, which have the keys of `list` and `text` for themselves."""

KEY_NAMES = {
    "down": "↓", "up": "↑", "left": "←", "right": "→", "enter": "Enter", "escape": "Esc",
    "space": "space", "question_mark": "?", "at": "@", "pagedown": "PgDn", "pageup": "PgUp",
    "colon": ":", "home": "Home", "slash": "/", "end": "End", "tab": "Tab",
    "left_square_bracket": "[", "right_square_bracket": "]", "greater_than_sign": ">",
    "less_than_sign": "<", "exclamation_mark": "!", "plus": "+", "minus": "-",
    "delete": "Del", "equals_sign": "=", "vertical_line": "|",
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
    "past": (9, "Past"),
}
"""The numbered views: name -> (number, title)."""

GROUP_STATUSES = (
    "eligible", "failed", "not reached", "cancelled", "submitted", "waiting", "completed", "all",
)  # fmt: skip
"""The words for the statuses of the directories of which groups are formed (`FILTERS`)."""

TITLES = {**{name: title for name, (_, title) in VIEWS.items()}, "clusters": "Clusters"}
"""All views, also those without a number: name -> title."""

PREVIOUS_VIEW = {"explain": "groups", "pack": "groups", "submit": "groups", "log": "queue"}
"""The view to which a step back leads; from every view that is not listed, it is the status."""


def may_change(session: Session) -> str:
    """Return why nothing can be changed now, or ""."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending and session.sending.running:
        return "a plan is being sent"
    if session.planning:
        return "a plan is being prepared"
    return ""


def with_action(session: Session) -> str:
    """Return why there is no action to show, or ""."""
    return "" if session.action else "there is no action yet"
