"""The palette, `ctrl+p`: every command by its name, and the logins that clusters wait for.

What is possible here comes first; what is not is last, with its reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from rowtui.core.base.text import visible
from rowtui.tui.commands.command import PARTS, TITLES, VIEWS, Command
from rowtui.tui.commands.registry import commands_here
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.widgets.cells import as_content, fit, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.fuzzy import Matcher
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from rowtui.tui.views.view import Dashboard

LABEL = 26
"""Columns of the names of commands; the rest is for descriptions, with the keys at the right."""

NOT_NOW = "Not now"

OTHERS = ("Log in", "Everywhere", "Go to", "Run in the terminal", NOT_NOW)
"""The headings below that of the view, in their order."""


class Entry(NamedTuple):
    """One line of the palette. `act` is None if the command cannot be used now."""

    group: str
    label: str
    about: str
    keys: str
    act: Callable[[], Awaitable[None] | None] | None


def group_of(command: Command, here: str) -> str:
    """Return the heading below which a possible command stands. `here`: the name of the view."""
    if command.id.startswith("terminal."):
        return "Run in the terminal"
    if command.id.startswith("go."):
        return "Go to"
    if command.scope in (here, *PARTS):
        number = f"{VIEWS[here][0]} " if here in VIEWS else ""
        return f"In {number}{TITLES[here]}"
    return "Everywhere"


def entries(app: Dashboard) -> list[Entry]:
    """Return all commands that work in the view, and a login for each cluster that waits."""
    found = []
    for command in commands_here(app.view_name):
        if command.id in ("app.back", "app.palette"):
            continue
        reason = command.enabled(app.session)
        group = NOT_NOW if reason else group_of(command, app.view_name)
        act = None if reason else partial(app.action_command, command.id)
        keys = command.keys_of(app.session.keys)
        about = f"not now: {reason}" if reason else command.description
        found.append(Entry(group, command.label, about, keys, act))
    for cluster in app.session.logins:
        about = visible(cluster.login or cluster.error or cluster.where)
        connect = partial(app.logins.connect, cluster.name)
        found.append(Entry("Log in", f"connect to {visible(cluster.name)}", about, "", connect))
    return found


def matching(all_of: list[Entry], typed: str) -> Iterator[Entry]:
    """Yield the entries that match, by group: the groups as they are, what is not possible last."""
    kept = [(0.0, one) for one in all_of]
    if typed:
        match = Matcher(typed).match
        within = [0.1 * (typed.lower() in one.about.lower()) for one in all_of]
        scored = [
            (max(match(one.label), near), one) for one, near in zip(all_of, within, strict=True)
        ]
        kept = [pair for pair in scored if pair[0] > 0]
    here = [one.group for one in all_of if one.group not in OTHERS]
    for group in (*dict.fromkeys(here), *OTHERS):
        its = [pair for pair in kept if pair[1].group == group]
        yield from (one for _, one in sorted(its, key=lambda pair: -pair[0]))


class PaletteScreen(Dialog[None]):
    """A field, and below it the commands that match what is typed."""

    takes_enter = True
    BINDINGS = [
        Binding("escape", "dismiss", "close", id="palette.close", tooltip="close the palette"),
        Binding("down", "step(1)", "next", show=False, id="palette.next", tooltip="next command"),
        Binding("up", "step(-1)", "previous", show=False, id="palette.previous",
                tooltip="previous command"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._all = entries(cast("Dashboard", self.app))
        self._shown: dict[str, Entry] = {}

    def compose(self) -> ComposeResult:
        """Compose the field above the list."""
        with Vertical(id="palette"):
            yield InputField(
                keys=(("Enter", "run it"), ("↓ ↑", "choose")),
                placeholder="a part of a name or a description",
            )
            yield OptionList(id="found")

    def on_mount(self) -> None:
        """Show all commands."""
        self.call_after_refresh(self._show)

    def on_resize(self) -> None:
        """Lay the lines out for the new width."""
        self.call_after_refresh(self._show)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the commands that match the text."""
        self._show()

    def _show(self) -> None:
        if not self.is_running or not self.query(OptionList):
            return  # the palette is being closed
        found, width = self.query_one(OptionList), self.query_one("#palette").size.width - 1
        if width <= LABEL:
            return
        found.clear_options()
        self._shown = {}
        group = ""
        for one in matching(self._all, self.query_one(Input).value.strip()):
            if one.group != group:
                group = one.group
                found.add_option(Option(as_content([line((group, "heading"))]), disabled=True))
            style = "dim" if one.act is None else ""
            keys = line((f" {one.keys}", "key" if one.act else "dim"))
            room = width - LABEL - 2 - len(one.keys) - 1
            spans = (
                *line("  "), *fit(line((one.label, style)), LABEL),
                *fit(line((one.about, "dim")), max(1, room)), *keys,
            )  # fmt: skip
            name = str(len(self._shown))
            self._shown[name] = one
            found.add_option(Option(as_content([spans]), id=name, disabled=one.act is None))
        first = next((name for name, one in self._shown.items() if one.act is not None), None)
        found.highlighted = found.get_option_index(first) if first is not None else None
        many = f"{len(self._shown)} of {len(self._all)}"
        set_titles(self.query_one("#palette"), "Commands", f"{many} · Enter runs it")

    def action_step(self, step: int) -> None:
        """Move to the next or previous command that is possible."""
        found = self.query_one(OptionList)
        (found.action_cursor_down if step > 0 else found.action_cursor_up)()

    def on_input_submitted(self) -> None:
        """Carry out the command that is highlighted."""
        found = self.query_one(OptionList)
        if found.highlighted is not None:
            self._run(found.get_option_at_index(found.highlighted).id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Carry out the command that was clicked."""
        self._run(event.option_id)

    def _run(self, name: str | None) -> None:
        act = self._shown[name].act if name in self._shown else None
        if name is None or act is None:
            return

        async def carry_out() -> None:
            done = act()
            if done is not None:
                await done

        self.dismiss()
        start(self.app, carry_out, "palette")
