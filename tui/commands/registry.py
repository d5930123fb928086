"""The registry of all commands; the footer, the help, the palette and the key map read it.

The other modules of this folder define the commands, most of them those of one view. A command that
cannot be used now is shown with the reason; no command is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from rowtui.tui.commands.command import LISTED, NO_KEY, PARTS, Command
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

FOOTER: Mapping[str, tuple[str, ...]] = {
    "status": ("status.open", "status.submit", "status.submit-all", "status.retry",
               "status.failed", "status.pane"),
    "groups": ("groups.mark", "groups.submit", "groups.explain", "groups.directories",
               "groups.filter", "rows.filter"),
    "explain": ("explain.sources", "explain.what-if", "explain.write", "explain.page",
                "explain.fold", "explain.next-group"),
    "pack": ("pack.node-type", "pack.submit", "pack.limits", "pack.compare", "pack.picture",
             "pack.next-destination"),
    "submit": ("submit.toggle", "submit.confirm", "submit.explain", "submit.diff",
               "submit.next-find", "submit.open"),
    "queue": ("queue.open", "queue.why", "queue.cancel", "queue.hold", "queue.change",
              "queue.retry"),
    "log": ("log.find", "log.next-match", "log.follow", "log.wrap", "log.pager", "log.next"),
    "network": ("network.open", "network.step", "network.start", "network.stop", "network.retry",
                "network.arrange"),
    "past": ("past.next", "past.period", "past.action", "app.refresh"),
    "clusters": ("clusters.jobs", "app.connect", "clusters.nodes", "clusters.why",
                 "clusters.pane", "app.copy"),
}  # fmt: skip
"""The commands of the bottom line of each view, in places that never change."""


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
    """Return the commands that work in a view: its own, those of its lists, global ones.

    A key of the view has the view's verb, not that of a command outside.
    """
    scopes = ("rows", "app") if view in LISTED else ("app",)
    own = [command for command in COMMANDS if command.scope == view]
    keys = {command.keys for command in own} - {NO_KEY}
    return own + [
        command
        for scope in scopes
        for command in COMMANDS
        if command.scope == scope and command.keys not in keys
    ]


def hints_here(view: str) -> list[Command]:
    """Return the commands for the bottom line of a view, in their places."""
    return [BY_ID[name] for name in FOOTER[view]]
