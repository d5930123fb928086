"""Write docs/verbs.md from both registries of verbs: `python docs/make_verbs.py`.

The dashboard's commands (`tui/commands/registry.py`) name their twins on the command line; the
grammar (`cli/parser.py`) says which commands there are. A test fails if the page was not written
again, and if a verb has neither a twin nor a reason in the lists below.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from rowtui.cli.parser import build_parser
from rowtui.tui.commands.command import TITLES, Command
from rowtui.tui.commands.registry import BY_ID, COMMANDS
from rowtui.tui.line.commands import LINE_COMMANDS

PATH = Path(__file__).with_name("verbs.md")

SCREEN_ONLY = {
    "list.* rows.left rows.right text.* graph.* *.pane *.fold *.fold-all": "moves on the screen",
    "*.next* *.previous* *-before *.open explain.sources clusters.jobs clusters.why "
    "log.find": "moves to what is shown next",
    "*.mark* rows.range submit.toggle*": "marks rows; a command names jobs or directories",
    "rows.* groups.filter explain.filter queue.others queue.kind": "arranges rows; a command "
    "prints all of them, for grep and sort, and with --json",
    "app.line app.back app.enlarge app.help app.palette app.quit app.suspend app.copy* app.theme "
    "app.shell app.filters": "is about the program",
    "app.files": "shows files, which `ls`, `less` and image viewers show",
    "app.refresh app.pause": "a command reads everything when it starts",
    "app.activity app.undo*": "is the log of one dashboard, kept in its memory",
    "app.faster app.slower app.steps": "is about a demo",
    "explain.reset explain.change explain.page pack.reset": "is about what was tried on the "
    "screen; a command has options each time",
    "explain.measured": "tries amounts that `usage --recommend --write` shows and writes",
    "explain.lines": "shows lines to copy, which `explain --write` prints before it asks",
    "pack.picture": "is another chart of the same packing",
    "submit.stop": "Ctrl-C does it while `submit` sends",
    "submit.export": "writes files that `plan --json` and `submit --dry-run` print",
    "log.wrap log.pager": "arranges text; a command prints it, for a pager",
    "network.mark network.arrange": "arranges the picture; `network show --dot` prints one",
    "network.waits": "is a page that `network show` prints as the reasons of samples",
}
"""Commands of the dashboard without a twin, as patterns of their ids: why. The first one counts."""

COMMAND_LINE_ONLY = {
    "init": "makes a project, and the dashboard opens one",
    "demo": "makes a project, and opens the dashboard on it",
    "serve": "shows the dashboard in a browser",
    "completion": "is about the shell",
    "check": "is for hooks and continuous integration; the views show the problems of the files",
    "schema": "prints schemas for editors",
    "network init": "writes a file to begin with, to be edited",
    "mapping format": "rewrites a file, for the editor that has it open",
    "mapping test": "is for continuous integration",
    "mapping show": "prints merged files, to be kept; the view Explain shows the values of a job",
    "mapping schema": "prints a schema for editors",
    "notify": "is about the user's channels; the dashboard sends its messages on them",
    "show launchers": "prints configuration, as Row does",
}
"""Commands of the command line without a twin: why."""

OTHER_NAMES = {
    "go.groups": "Row's name of the command; with `-a ACTION` it prints the groups",
    "go.submit": "the view shows the plan that `submit` asks about",
    "submit.confirm": "the yes to the question that `submit` asks",
    "explain.what-if": "each amount is an option of its own",
    "pack.limits": "each limit is an option of its own",
    "pack.longer": "the time is an option, and may be shorter too",
    "queue.why": "the reasons of all jobs, in a table",
    "app.connect": "`:login` is the same",
    "status.why": "asks why of the first group",
    "groups.explain": "asks why of one group",
    "submit.diff": "the differences are an option",
    "clusters.nodes": "polls the queues as well",
    "submit.explain": "asks why of one job of a plan",
    "go.past": "the command prints what the view draws",
    "past.period": "the option takes any time",
}
"""Commands of the dashboard whose labels share no word with their twins: why."""

_INTRODUCTION = """\
# Verbs

`docs/make_verbs.py` writes this page from the dashboard's commands and from the command line's
grammar. A verb has the same name in both. `*` marks verbs that change something: the dashboard asks
before it acts. A key is shown with its view. A verb with `:` has no key: type it, or choose it from
the palette (`ctrl+p`); it runs in the terminal in front of the dashboard.

| on the command line | what it does | in the dashboard |
|---|---|---|
"""


def page() -> str:
    """The whole of verbs.md."""
    twins: dict[str, list[Command]] = {}
    for command in COMMANDS:
        if command.twin:
            twins.setdefault(command.twin, []).append(command)
    order = list(leaves())
    rows = sorted(twins, key=lambda twin: (order.index(command_of(twin) or order[0]), twin))
    parts = [_INTRODUCTION, *(_row(twin, twins[twin]) for twin in rows)]
    parts += ["\n## Other names\n\n", *map(_other, OTHER_NAMES)]
    parts.append("\n## In the dashboard alone\n\n| what | why |\n|---|---|\n")
    for patterns, why in SCREEN_ONLY.items():
        ids = [it.id for it in COMMANDS if not it.twin and reason_of(it.id) == why]
        parts.append(f"| {', '.join(ids) or patterns} | {why} |\n")
    parts.append("\n## On the command line alone\n\n| command | why |\n|---|---|\n")
    parts += [f"| `rowtui {name}` | {why} |\n" for name, why in COMMAND_LINE_ONLY.items()]
    return "".join(parts)


@cache
def leaves() -> dict[str, Any]:
    """Each command that does something, with its parser, in the order of the help."""
    return _leaves(build_parser(), "")


def _leaves(parser: Any, words: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    subs = [it for it in parser._actions if isinstance(it, argparse._SubParsersAction)]
    for name, sub in ((n, s) for it in subs for n, s in it.choices.items()):
        if sub.prog.endswith(f" {name}"):  # no alias
            found |= _leaves(sub, f"{words}{name} ")
    return found if subs else {words.strip(): parser}


def command_of(twin: str) -> str:
    """The command of a twin, without its option; "" if there is none."""
    name = twin.partition(" --")[0]
    return name if name in leaves() else next((it for it in leaves() if _under(it, name)), "")


def _under(command: str, name: str) -> bool:
    """Whether a twin stands for a command: itself, or all that follow its word."""
    return command == name or command.startswith(f"{name} ")


def covered() -> set[str]:
    """The commands that are twins."""
    names = {command.twin.partition(" --")[0] for command in COMMANDS if command.twin}
    return {it for it in leaves() if any(_under(it, name) for name in names)}


def reason_of(name: str) -> str:
    """Why a command of the dashboard has no twin; "" if nothing says so."""
    for patterns, why in SCREEN_ONLY.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns.split()):
            return why
    return ""


def has_same_name(command: Command) -> bool:
    """Whether the label and the twin share a word; a plural is the same word."""

    def words(text: str) -> set[str]:
        return {word.removesuffix("s") for word in re.findall(r"[a-z]+", text.lower())}

    return bool(words(command.label) & words(command.twin))


def _row(twin: str, commands: list[Command]) -> str:
    name, _, option = twin.partition(" --")
    parser = leaves()[command_of(twin)]
    about = parser.description if command_of(twin) == name else commands[0].description
    for action in parser._actions if option else ():
        if f"--{option}" in action.option_strings:
            about = (action.help or "") % {**vars(action), "prog": "rowtui"}
    about = about[:1].lower() + about[1:].rstrip(".")
    mark = " *" * any(command.asks for command in commands)
    return f"| `rowtui {twin}` | {_cell(about)}{mark} | {', '.join(_places(commands))} |\n"


def _places(commands: list[Command]) -> Iterator[str]:
    for command in commands:
        typed = [it for it in LINE_COMMANDS if it.command == command.id and not command.shown_keys]
        keys = command.shown_keys.replace(" ", "` `")
        where = f"{TITLES[command.scope]} " if command.scope in TITLES else ""
        if typed or not keys:
            yield _cell(f"`:{typed[0].usage if typed else command.label.rstrip('…')}`")
        else:
            yield _cell(f"{where}`{keys}`")


def _other(name: str) -> str:
    command = BY_ID[name]
    label = command.label.rstrip("…")
    return f"- *{label}* ({name}) is `rowtui {command.twin}`: {OTHER_NAMES[name]}.\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
