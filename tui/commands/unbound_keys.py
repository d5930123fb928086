"""Keys without a command.

A user who types a word without an open field does not mean its letters as commands. Therefore,
after a key without a command, the characters that follow closely do nothing, until the typing
pauses. The app handles keys; it asks this module only about those without a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import (
    KEY_NAMES,
    TITLES,
    VIEWS,
    Command,
)
from rowtui.tui.commands.registry import COMMANDS, commands_here

if TYPE_CHECKING:
    from textual import events


PAUSE = 1.0
"""Seconds without a character after which the next character is a key again."""


class Stray:
    """The text that is typed without an open field."""

    def __init__(self) -> None:
        self.text = ""
        self._at = 0.0

    def begin(self, event: events.Key) -> None:
        """Start with a key without a command; a character may be the first of a text."""
        self.text = event.character or "" if event.is_printable else ""
        self._at = event.time

    def goes_on(self, event: events.Key) -> bool:
        """Whether the key is one more character of that text."""
        if not (self.text and event.is_printable and event.time - self._at < PAUSE):
            self.text = ""
            return False
        self.text += event.character or ""
        self._at = event.time
        return True

    @property
    def answer(self) -> str:
        """The message about the text."""
        return f"'{visible(self.text[-20:])}' was typed where no field is open: it did nothing"


def unbound_words(key: str, view: str, own: Mapping[str, str]) -> str:
    """Return one line about a key that has no command in a view. `own` has the user's own keys.

    `view` "" is a page on top of a view; the page lists its keys itself.
    """
    name = KEY_NAMES.get(key, key)
    if not view:
        return f"{name} does nothing here:"
    elsewhere: dict[str, list[str]] = {}  # by label: the views
    for one in COMMANDS:
        if _has(one, key, own) and one.scope in TITLES:
            number = VIEWS[one.scope][0] if one.scope in VIEWS else "C"
            elsewhere.setdefault(one.label, []).append(f"{number} {TITLES[one.scope]}")
    if elsewhere:
        meant = "; ".join(
            f"{label} is in {' and '.join([*filter(None, [', '.join(views[:-1])]), views[-1]])}"
            for label, views in elsewhere.items()
        )
        return f"{name} does nothing here: {meant}"
    for one in commands_here(view):
        if len(key) == 1 and _has(one, key.swapcase(), own):
            return f"{name} does nothing here: {key.swapcase()} is {one.label}"
    rows = [one for one in COMMANDS if _has(one, key, own) and one.scope == "rows"]
    if rows:
        return f"{name} does nothing here: it is {rows[0].label} in lists of other views"
    return f"{name} does nothing here; ? lists the keys"


def _has(command: Command, key: str, own: Mapping[str, str]) -> bool:
    return key in own.get(command.id, command.keys).split(",")
