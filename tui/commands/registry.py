"""The registry of all commands; the footer, the help, the palette and the key map read it.

`catalogue.py` defines the commands. A command that cannot be used now is shown with the reason; no
command is hidden.
"""

from __future__ import annotations

from rowtui.tui.commands import catalogue
from rowtui.tui.commands.command import (
    CHANGE_KEYS,
    KEY_NAMES,
    LISTED,
    PARTS,
    TITLES,
    VIEWS,
    Command,
)
from rowtui.tui.line import terminal
from textual.binding import Binding, BindingType

__all__ = [
    "BY_ID",
    "CHANGE_KEYS",
    "COMMANDS",
    "KEY_NAMES",
    "PARTS",
    "TITLES",
    "VIEWS",
    "Command",
    "bindings_for",
    "commands_here",
    "hints_here",
]

COMMANDS: tuple[Command, ...] = (
    *catalogue.APP,
    *catalogue.MOVING,
    *catalogue.ROWS,
    *catalogue.STATUS,
    *catalogue.GROUPS,
    *catalogue.EXPLAIN,
    *catalogue.PACK,
    *catalogue.SUBMIT,
    *catalogue.QUEUE,
    *catalogue.LOG,
    *catalogue.NETWORK,
    *catalogue.CLUSTERS,
    *terminal.COMMANDS,
)

BY_ID = {command.id: command for command in COMMANDS}


def bindings_for(scope: str) -> list[BindingType]:
    """Return Textual's bindings for one scope; each binding has the id by which the user can remap
    it.
    """
    return [
        Binding(
            command.keys,
            command.method.removeprefix("command_")
            if scope in PARTS
            else f"app.command('{command.id}')",
            command.label,
            show=False,
            tooltip=command.description,
            id=command.id,
        )
        for command in COMMANDS
        if command.scope == scope
    ]


def commands_here(view: str) -> list[Command]:
    """Return the commands that work in a view: first its own, then those of its lists, then global
    ones.
    """
    scopes = (view, "rows", "app") if view in LISTED else (view, "app")
    return [command for scope in scopes for command in COMMANDS if command.scope == scope]


def hints_here(view: str) -> list[Command]:
    """Return the commands for the bottom line of a view, the most useful first."""
    return sorted(
        (command for command in commands_here(view) if command.hint),
        key=lambda command: command.hint,
    )
