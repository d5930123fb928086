"""The registry of all commands; the footer, the help, the palette and the key map read it.

The other modules of this folder define the commands, most of them those of one view. A command that
cannot be used now is shown with the reason; no command is hidden.
"""

from __future__ import annotations

from rowtui.tui.commands import (
    clusters,
    everywhere,
    explain,
    groups,
    jobs,
    network,
    pack,
    status,
    submit,
)
from rowtui.tui.commands.command import LISTED, PARTS, Command
from textual.binding import Binding, BindingType

COMMANDS: tuple[Command, ...] = (
    *everywhere.APP,
    *everywhere.MOVING,
    *everywhere.ROWS,
    *status.STATUS,
    *groups.GROUPS,
    *explain.EXPLAIN,
    *pack.PACK,
    *submit.SUBMIT,
    *jobs.QUEUE,
    *jobs.LOG,
    *network.NETWORK,
    *jobs.PAST,
    *clusters.CLUSTERS,
    *everywhere.TERMINAL,
)

BY_ID = {command.id: command for command in COMMANDS}


def bindings_for(scope: str) -> list[BindingType]:
    """Return Textual's bindings for one scope; each has the id by which the user remaps it."""
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
    """Return the commands that work in a view: its own, those of its lists, global ones."""
    scopes = (view, "rows", "app") if view in LISTED else (view, "app")
    return [command for scope in scopes for command in COMMANDS if command.scope == scope]


def hints_here(view: str) -> list[Command]:
    """Return the commands for the bottom line of a view, the most useful first."""
    return sorted(
        (command for command in commands_here(view) if command.hint),
        key=lambda command: command.hint,
    )
