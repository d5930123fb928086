"""The registry of all commands; the footer, the help, the palette and the key map read it.

The modules `everywhere`, `choosing`, `planning` and `running` define the commands. A command that
cannot be used now is shown with the reason; no command is hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from rowtui.core.base.text import visible
from rowtui.tui.commands import choosing, everywhere, planning, running
from rowtui.tui.commands.command import LISTED, PARTS, Command
from rowtui.tui.line import commands as terminal
from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

if TYPE_CHECKING:
    from rowtui.tui.shell.app import RowtuiApp


COMMANDS: tuple[Command, ...] = (
    *everywhere.APP,
    *everywhere.MOVING,
    *everywhere.ROWS,
    *choosing.STATUS,
    *choosing.GROUPS,
    *choosing.EXPLAIN,
    *planning.PACK,
    *planning.SUBMIT,
    *running.QUEUE,
    *running.LOG,
    *running.NETWORK,
    *running.PAST,
    *everywhere.CLUSTERS,
    *terminal.COMMANDS,
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


# The palette, `ctrl+p`


class RegistryProvider(Provider):
    """The commands that work in the view below the palette, and a login for each cluster that
    waits for one.
    """

    @property
    def _dashboard(self) -> RowtuiApp:
        return cast("RowtuiApp", self.app)

    def _commands(self) -> Iterable[tuple[Command, str, str]]:
        for command in commands_here(self._dashboard.view_name):
            if command.id == "app.back":
                continue
            reason = command.enabled(self._dashboard.session)
            about = f"not now: {reason}" if reason else f"{command.description}"
            yield command, _title(command, self._dashboard), about

    def _logins(self) -> Iterable[tuple[str, str, str]]:
        for cluster in self._dashboard.session.logins:
            title = f"connect to {visible(cluster.name)}"
            yield cluster.name, title, visible(cluster.login or cluster.error or cluster.where)

    async def discover(self) -> Hits:
        """Yield all commands, before anything is typed."""
        for command, title, about in self._commands():
            yield DiscoveryHit(title, partial(self._run, command.id), help=about)
        for name, title, about in self._logins():
            run = partial(self._dashboard.logins.connect, name)
            yield DiscoveryHit(Content(title), run, text=title, help=about)

    async def search(self, query: str) -> Hits:
        """Yield the commands whose label or description matches the typed text."""
        matcher = self.matcher(query)
        for command, title, about in self._commands():
            score = max(matcher.match(title), matcher.match(command.description) * 0.9)
            if score > 0:
                shown = matcher.highlight(title)
                yield Hit(score, shown, partial(self._run, command.id), text=title, help=about)
        for name, title, about in self._logins():
            score = max(matcher.match(title), matcher.match(f"log in to {name}"))
            if score > 0:
                run = partial(self._dashboard.logins.connect, name)
                yield Hit(score, Content(title), run, text=title, help=about)

    async def _run(self, command: str) -> None:
        await self._dashboard.action_command(command)


def _title(command: Command, app: RowtuiApp) -> str:
    keys = command.keys_of(app.session.keys)
    return f"{command.label}  ({keys})" if keys else command.label
