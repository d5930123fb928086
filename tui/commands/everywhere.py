"""The commands that work in every view, and the keys of lists, texts and graphs in any view.

Some run as `rowtui ...` in the dashboard's own terminal. They have no key, and the line after `:`
takes them with their options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rowtui.tui.commands.command import NO_KEY, VIEWS, Command, may_change

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


def when_played(session: Session) -> str:
    """Return why the clock cannot be changed, or "" in a demo."""
    return "" if session.played else "this is the real world: its clock runs as it does"


def when_demo(session: Session) -> str:
    """Return why there are no first steps to show, or ""."""
    return "" if session.played else "only a demo has first steps"


def when_real(session: Session) -> str:
    """Return why the command line cannot act on the project of the dashboard, or ""."""
    return "not in a demo" if session.played else ""


def may_undo(session: Session) -> str:
    """Return why there is nothing to undo, or ""."""
    return "" if session.undo.steps else "nothing was done that can be undone"


def may_connect(session: Session) -> str:
    """Return why no login can be started or shown, or ""."""
    if session.jobs is None:
        return "the clusters are not known yet"
    if session.logins or session.connecting:
        return ""
    if any(cluster.connected for cluster in session.jobs.clusters):
        return "every cluster is connected"
    return "no cluster needs a login"


_TWINS = {
    "status": "show status",
    "groups": "show directories",
    "explain": "explain",
    "pack": "pack",
    "submit": "plan",
    "queue": "queue",
    "log": "logs",
    "network": "network show",
    "past": "history",
}
"""The command of the command line that prints what each view shows."""


_GO = tuple(
    Command(f"go.{name}", str(number), title.lower(), f"go to {title}", twin=_TWINS[name])
    for name, (number, title) in VIEWS.items()
)


APP: tuple[Command, ...] = (
    *_GO,
    Command("go.clusters", "C", "clusters", "go to Clusters: logins, nodes, partitions, health",
            twin="show cluster"),
    Command("app.enlarge", "plus", "enlarge", "this pane on the whole screen, and back"),
    Command("app.line", "colon", "command", "type a command: `:queue delta`, `:action sample`"),
    Command("app.palette", "ctrl+p", "commands", "find a command by a part of its name"),
    Command("app.refresh", "r", "read again", "read the project and the scheduler again"),
    Command("app.undo", "u", "undo", "undo the last step: marks, filters, trials, plans, holds",
            enabled=may_undo),
    Command("app.undo-list", "U", "undo list", "all steps that can be undone", enabled=may_undo),
    Command("app.scan", "ctrl+r", "scan", "look at every directory again: products and values",
            twin="scan"),
    Command("app.projects", "P", "projects", "all projects: what needs you, and open another one",
            enabled=when_real, twin="projects"),
    Command("app.pause", "p", "pause", "stop or go on following changes"),
    Command("app.activity", "at", "activity", "events, and the commands that rowtui ran"),
    Command("app.connect", "L", "log in", "log in to a cluster that waits for it",
            enabled=may_connect, twin="connect"),
    Command("app.theme", "T", "theme", "next theme"),
    Command("app.copy", "y", "copy", "copy the selected name or id"),
    Command("app.copy-command", "Y", "copy command",
            "copy the command that opens the dashboard at this row"),
    Command("app.filters", "ctrl+f", "saved filters",
            "choose a filter that was stored with `:save NAME`"),
    Command("app.files", NO_KEY, "files", "the files in the directory of this row"),
    Command("app.shell", "exclamation_mark", "shell",
            "a shell in the directory of this row, beside a running job, or in the project"),
    Command("app.help", "question_mark", "help", "this page"),
    Command("app.suspend", "ctrl+z", "suspend", "back to the shell; `fg` returns here"),
    Command("app.faster", "greater_than_sign", "faster", "the clock of the demo runs faster",
            enabled=when_played),
    Command("app.slower", "less_than_sign", "slower", "let the clock of the demo run slower",
            enabled=when_played),
    Command("app.steps", "I", "first steps", "show or hide the demo's first steps",
            enabled=when_demo),
    Command("app.back", "escape", "back", "one step back"),
    Command("app.quit", "q", "quit", "leave; jobs go on without rowtui"),
)  # fmt: skip
"""The commands that work in every view."""


MOVING: tuple[Command, ...] = (
    Command("list.line-down", "j,down", "down", "one line down", "list"),
    Command("list.line-up", "k,up", "up", "one line up", "list"),
    Command("list.half-down", "ctrl+d", "half page down", "half a page down", "list"),
    Command("list.half-up", "ctrl+u", "half page up", "half a page up", "list"),
    Command("list.page-down", "pagedown", "page down", "one page down", "list"),
    Command("list.page-up", "pageup", "page up", "one page up", "list"),
    Command("list.first", "g,home", "first", "first line", "list"),
    Command("list.last", "G,end", "last", "last line", "list"),
    Command("text.left", "h,left", "left", "scroll a text to the left", "text"),
    Command("text.right", "l,right", "right", "scroll a text to the right", "text"),
    Command("graph.left", "h,left", "left", "to the node that this one takes from", "graph"),
    Command("graph.right", "l,right", "right", "to the node that takes from this one", "graph"),
    Command("graph.find", "slash", "find", "go to a node by its name, or filter its samples",
            "graph"),
)  # fmt: skip
"""The commands that move in lists, texts and graphs; they are the same in all views."""


ROWS: tuple[Command, ...] = (
    Command("rows.filter", "slash", "filter", "show the rows that match a text", "rows"),
    Command("rows.sort", "o", "sort", "sort by the next column, ▲ then ▼", "rows"),
    Command("rows.fields", "vertical_line", "columns", "choose the columns, and their order",
            "rows"),
    Command("rows.range", "v", "range", "mark from here to where v is pressed again", "rows"),
    Command("rows.export", "E", "export", "write the rows to a CSV or JSON file", "rows"),
    Command("rows.left", "h,left", "left", "scroll long texts back", "rows"),
    Command("rows.right", "l,right", "right", "scroll long texts to their ends", "rows"),
)  # fmt: skip
"""The commands of long lists, for the views with such lists (`LISTED` in `command.py`)."""


class InTerminal(NamedTuple):
    """One command that runs in the terminal. `argument`: as in `LineCommand`; `acts`: the command
    may change something.
    """

    words: str
    argument: str
    description: str
    acts: bool = True

    @property
    def id(self) -> str:
        """The id of the command in the registry."""
        return f"terminal.{self.words.replace(' --', ' ').replace(' ', '-')}"


def _may_act(session: Session) -> str:
    return may_change(session) or when_real(session)


def _command(one: InTerminal) -> Command:
    enabled: Callable[[Session], str] = _may_act if one.acts else when_real
    label = one.words + "…" * one.acts
    return Command(
        one.id, NO_KEY, label, one.description, asks=one.acts, enabled=enabled, twin=one.words
    )


IN_TERMINAL = (
    InTerminal("clean", "[OPTIONS]", "remove cached state; the record of jobs is lost"),
    InTerminal("disconnect", "CLUSTER", "end logins that `rowtui connect` made"),
    InTerminal("run", "[OPTIONS]", "drive the project to its end", acts=True),
    InTerminal("usage", "[JOB] [OPTIONS]", "what jobs used of what they requested", acts=False),
    InTerminal("report", "[FILE] [OPTIONS]", "what the jobs did, as an HTML file", acts=False),
    InTerminal("doctor", "[OPTIONS]", "missing or wrong settings, cluster by cluster", acts=False),
    InTerminal("mirror", "[CLUSTER] [OPTIONS]", "copies of the project: compare, send, fetch"),
    InTerminal("secrets", "WHAT [MACHINE]", "passwords of clusters: set, get, delete, list"),
    InTerminal("mapping lint", "[FILE]", "problems of the mapping files", acts=False),
    InTerminal("mapping trust", "[FILE]", "read the code of a mapping file, then let it run"),
    InTerminal(
        "network check", "[OPTIONS]", "everything that is wrong with network.toml", acts=False
    ),
    InTerminal("network make", "[OPTIONS]", "make the directories of all samples"),
    InTerminal("network limits", "[OPTIONS]", "the limits of a run, or new limits"),
    InTerminal("network runs", "[OPTIONS]", "the runs of this network", acts=False),
    InTerminal("network retire", "[--delete]", "directories whose samples are in no source"),
    InTerminal("network restore", "[ID]", "bring back directories that were retired"),
)


TERMINAL: tuple[Command, ...] = tuple(_command(one) for one in IN_TERMINAL)
