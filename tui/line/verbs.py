"""Carry out what was typed after `:`, for one app.

`parse` reads a line; this module carries out the command, or refuses it with a sentence.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.core.project.views.views import INJECT
from rowtui.tui.commands.command import PARTS, may_change, shown_keys
from rowtui.tui.commands.registry import BY_ID
from rowtui.tui.line.commands import WORDS, LineCommand
from rowtui.tui.line.field import Aliases, LineHistory, LineScreen
from rowtui.tui.line.parse import CommandOffer, RefusedLine, complete, offers, read
from rowtui.tui.shell.external_program import run_command
from rowtui.tui.shell.keymap import KeyMap, bound, load_keymap
from rowtui.tui.shell.played import control_played
from rowtui.tui.shell.recall import LONGEST_TEXT, MOST_FILTERS
from rowtui.tui.shell.work import start
from rowtui.tui.views.activity_page import ActivityScreen
from rowtui.tui.views.dialogs import PageScreen
from rowtui.tui.views.questions import Question, confirm
from rowtui.tui.views.submit.plan import PlanRequest

if TYPE_CHECKING:
    from rowtui.tui.commands.command import Command
    from rowtui.tui.line.parse import Completion, ParsedLine
    from rowtui.tui.views.pack.state import PackingState
    from rowtui.tui.views.view import Dashboard

HISTORY, ALIASES = "commands", "aliases"
"""The names of the files in the user's state folder."""


class LineVerbs:
    """The command line of one app. `state` is the user's state folder; None means no history.
    `store` keeps the filters that were named.
    """

    def __init__(self, app: Dashboard, state: Path | None, store: Callable[[], None]) -> None:
        self._app = app
        self._store_place = store
        self._session = app.session
        self.history = LineHistory(state / HISTORY if state is not None else None)
        self.aliases = Aliases(state / ALIASES if state is not None else None)

    def open(self, start: str = "") -> None:
        """Show the line."""
        known = (*offers(self._app.view_name, self._session), *self._named_lines())

        def candidates(text: str) -> Sequence[Completion]:
            return complete(text, known, self.values)

        self._app.push_screen(LineScreen(candidates, self.run, self.history.lines, start))

    def run(self, text: str) -> str:
        """Carry out a line; return "" or the reason for a refusal."""
        known: Sequence[CommandOffer] = offers(self._app.view_name, self._session)
        asked = read(self._expanded(text, known), known, self.values)
        if asked is None:
            return ""
        if isinstance(asked, RefusedLine):
            return asked.why
        self.history.add(text.strip().removeprefix(":"))
        # The line closes first, because the command may open a page of its own.
        self._app.call_later(self._do, asked)
        return ""

    # Names of the user for lines

    def _named_lines(self) -> list[CommandOffer]:
        named = self.aliases.all().items()
        return [CommandOffer(name, text, line=LineCommand(name, text)) for name, text in named]

    def _expanded(self, text: str, known: Sequence[CommandOffer]) -> str:
        """Return the line for which the first word is a name of the user, with the other words."""
        name, _, rest = " ".join(text.strip().removeprefix(":").split()).partition(" ")
        if name in {one.name for one in known}:
            return text
        return f"{self.aliases.all().get(name, name)} {rest}"

    def _alias(self, argument: str) -> str:
        name, _, line = argument.partition(" ")
        names = {one.name for one in offers(self._app.view_name, self._session)}
        if not line:
            return "write a name and a line: `:alias failed queue delta`"
        if name in names:
            return f"{name} is a command"
        line = line.removeprefix(":")
        if not any(line == one or line.startswith(f"{one} ") for one in names):
            return f"{line} begins with no command"
        return self.aliases.set(name, line) or self._note(f"`:{name}` is now `:{line}`.")

    def _unalias(self, name: str) -> str:
        return self.aliases.set(name, "") or self._note(f"`:{name}` is removed.")

    def _note(self, text: str) -> str:
        self._app.notify(visible(text))
        return ""

    # Filters with names

    def _filters(self) -> dict[str, str]:
        """The stored filters of the list on the screen; none without a list."""
        view = self._app.view
        if view is None or not any(table.display for table in view.lists):
            return {}
        return self._app.recall.filters.setdefault(view.list_at_hand.kept_as, {})

    def _save(self, name: str) -> str:
        view = self._app.view
        if view is None or not any(table.display for table in view.lists):
            return "there is no list here"
        text = view.list_at_hand.asked.filter
        filters = self._filters()
        if not text:
            return "this list has no filter: type one with `/`"
        if max(len(name), len(text)) > LONGEST_TEXT or len({*filters, name}) > MOST_FILTERS:
            return f"at most {MOST_FILTERS} filters of {LONGEST_TEXT} characters are stored"
        filters[name] = text
        self._store_place()
        return self._note(f"Filter {name} is {text}: `:filter {name}` uses it.")

    def _filter(self, name: str) -> str:
        view, text = self._app.view, self._filters().get(name, "")
        if view is None or not text:
            return "the filter is gone"
        table = view.list_at_hand
        table.ask(table.asked._replace(filter=text))
        return ""

    def _unsave(self, name: str) -> str:
        self._filters().pop(name, None)
        self._store_place()
        return self._note(f"Filter {name} is removed.")

    async def _do(self, asked: ParsedLine) -> None:
        if asked.offer.command is not None:
            why = await self._carry_out(asked.offer.command)
        else:
            assert asked.offer.line is not None
            if asked.offer.line.values == WORDS:
                self._in_terminal(asked.offer.line, asked.argument)
                return
            verb: Callable[[str], str] | None = getattr(self, f"_{asked.offer.line.name}", None)
            if verb is None:
                await self._app.action_command(asked.offer.line.command)
                return
            why = verb(asked.argument)
        if why:
            shown = f"{asked.offer.name}: {why}"
            self._app.warn(visible(shown))

    async def _carry_out(self, command: Command) -> str:
        if command.scope not in PARTS or command.scope == "rows":
            await self._app.action_command(command.id)
            return ""
        widget = self._app.screen.focused
        name = command.method.replace("command_", "action_")
        action = getattr(widget, name, None)
        if action is None:
            return "there is no list here that has the keys"
        result = action()
        if inspect.isawaitable(result):
            await result
        return ""

    def _in_terminal(self, line: LineCommand, argument: str) -> None:
        """Run a command of the command line in the terminal; ask first if the command may change
        something.
        """
        try:
            words = [*line.name.split(), *shlex.split(argument)]
        except ValueError as error:
            self._app.warn(f"{line.name}: {error}")
            return
        shown = visible(f"rowtui {shlex.join(words)}")

        def run() -> None:
            self._session.note("you", shown)
            start(self._app, partial(run_command, self._app, words), "outside")

        writes = any(word.startswith("--w") for word in words)  # `usage --write`, or shortened
        if writes and (reason := may_change(self._session)):
            self._app.warn(f"{shown}: {reason}")
            return
        if not (writes or BY_ID[line.command].asks):
            run()
            return
        lines = [shown, line.description, "It asks its own questions in the terminal."]
        question = Question(f"Run {line.name} in the terminal?", lines, "yes", to="run it")
        confirm(self._app, question, run, otherwise="Nothing was run.")

    # Pages

    def show_activity(self, which: str = "all") -> None:
        """Show what happened and what was run, or one of both."""
        self._app.push_screen(ActivityScreen(self._session, which))

    def show_keys(self) -> None:
        """Show the user's own keys, the file with them, and the problems in the file."""
        self._app.push_screen(PageScreen("Your keys", keys_page(load_keymap(self._app.config))))

    # Completion of an argument

    def values(self, what: str) -> Sequence[str]:
        """Return the possible values of an argument of this kind."""
        session = self._session
        clusters = session.jobs.clusters if session.jobs else ()
        if what == "action":
            return [one.name for one in session.snapshot.actions] if session.snapshot else []
        if what == "cluster":
            known = [one.name for one in clusters]
            view = session.clusters.view
            return [
                *known,
                *(c.name for c in (view.clusters if view else ()) if c.name not in known),
            ]
        if what == "login":
            return [one.name for one in session.logins]
        if what == "filter":
            return sorted(self._filters())
        if what == "alias":
            return sorted(self.aliases.all())
        if what == "fault":
            return [name for name, _ in session.played.state.faults] if session.played else []
        if what == "theme":
            return self._app.themes.names
        if what == "job":
            jobs = session.jobs.jobs if session.jobs else ()
            return list(dict.fromkeys(one.label for one in jobs if one.job_id))
        return []

    # The commands of the table, by name

    def _go(self, view: str) -> str:
        self._app.call_later(self._app.action_command, f"go.{view}")
        return ""

    def _action(self, name: str) -> str:
        for action in self._session.snapshot.actions if self._session.snapshot else ():
            if action.name == name:
                self._session.action_index = action.index
                self._app.show_again("action")
                return ""
        return f"there is no action '{name}' any more"

    def _of_action(self, view: str, name: str) -> str:
        why = self._action(name) if name else ""
        return why or self._go(view)

    def _groups(self, name: str) -> str:
        return self._of_action("groups", name)

    def _explain(self, name: str) -> str:
        return self._of_action("explain", name)

    def _pack(self, name: str) -> str:
        if not name:
            return self._go("pack")
        if why := self._action(name):
            return why
        packing: PackingState = self._session.packing
        assert self._session.action is not None
        packing.want(PlanRequest(self._session.action.index))
        self._app.go("pack")
        return ""

    def _submit(self, _: str) -> str:
        view = self._app.view_name
        command = "submit.confirm" if view == "submit" else f"{view}.submit"
        wanted = command if command in BY_ID else "go.submit"
        self._app.call_later(self._app.action_command, wanted)
        return ""

    def _queue(self, cluster: str) -> str:
        self._app.go("queue")
        if cluster:
            self._app.call_after_refresh(self._app.show_about, cluster)
        return ""

    def _cluster(self, name: str) -> str:
        self._session.clusters.to_show = name
        self._app.go("clusters")
        self._app.show_again("clusters")
        return ""

    def _log(self, label: str) -> str:
        if not label:
            return self._go("log")
        start(self._app, partial(self._show_log, label), "log-of", exclusive=True)
        return ""

    async def _show_log(self, label: str) -> None:
        """Show the log of any job of the project; the list on screen has only the newest jobs."""
        session = self._session
        try:
            job = await session.engine.jobs.named(label)
        except Exception as error:
            self._app.report("the job is not found", error)
            return
        if job is None:
            text = f"log: no job of this project is called {label}"
            self._app.warn(visible(text))
            return
        session.queue_row = None
        session.known_job = job
        session.job_token = session.job_to_show = job.token
        self._app.go("log")
        self._app.show_again("log")

    def _connect(self, name: str) -> str:
        if name:
            self._app.logins.connect(name)
        else:
            self._app.logins.choose()
        return ""

    def _theme(self, name: str) -> str:
        if not name:
            self._app.themes.next()
        else:
            self._app.themes.choose(name)
        return ""

    def _export(self, path: str) -> str:
        view = self._app.view
        return view.export_to(path) if view is not None else ""

    def _commands(self, _: str) -> str:
        self.show_activity("commands")
        return ""

    def _keys(self, _: str) -> str:
        self.show_keys()
        return ""

    def _demo(self, fault: str) -> str:
        control_played(self._app, INJECT, fault)
        return ""


def keys_page(keys: KeyMap) -> list[str]:
    """Return the page about the user's keys, as lines."""
    if keys.path is None:
        return ["Keys cannot be changed here: there is no folder for settings."]
    shown = visible(str(keys.path))
    lines = [f"{shown}{'' if keys.found else ' (there is no such file yet)'}", ""]
    known = bound()
    for name, own in keys.keys.items():
        usual = shown_keys(",".join(known[name].keys))
        lines.append(f"  {name:<28} {shown_keys(own) or 'no key':<14} instead of {usual}")
    if not keys.keys:
        lines.append("  All keys are as usual.")
    if keys.merged:
        lines += ["", "Merged into other commands:", *(f"  {text}" for text in keys.merged)]
    if keys.wrong:
        lines += ["", "Settings that cannot be applied:", *(f"  {text}" for text in keys.wrong)]
    lines += [
        "",
        "Every command has an id: ? and docs/keys.md show them. A line of the file is",
        '  "queue.cancel" = "ctrl+x"',
        "and takes effect with the next start.",
    ]
    return lines
