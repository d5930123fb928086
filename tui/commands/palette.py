"""The palette, `ctrl+p`: every command by its name, and the logins that clusters wait for.

Textual's own palette shows this provider; only the app loads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import Command
from rowtui.tui.commands.registry import commands_here
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

if TYPE_CHECKING:
    from rowtui.tui.views.view import Dashboard


class RegistryProvider(Provider):
    """The commands that work in the view below the palette, and a login for each cluster that
    waits for one.
    """

    @property
    def _dashboard(self) -> Dashboard:
        return cast("Dashboard", self.app)

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


def _title(command: Command, app: Dashboard) -> str:
    keys = command.keys_of(app.session.keys)
    return f"{command.label}  ({keys})" if keys else command.label
