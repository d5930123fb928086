"""The commands after `:` beside the ids and labels of the registry, and the argument of each.

Completion, help and the key reference read these tables. `parse` reads a line, and `verbs` carries
out a command. The commands of `IN_TERMINAL` run as `rowtui ...` in the dashboard's own terminal;
they have no key, and the line takes them with their options.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rowtui.tui.commands.command import NO_KEY, Command, may_change
from rowtui.tui.commands.everywhere import when_real

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


# Commands that run in the terminal


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
    InTerminal("pack --simulate", "[OPTIONS]", "how packers do when run times vary", acts=False),
    InTerminal(
        "network check", "[OPTIONS]", "everything that is wrong with network.toml", acts=False
    ),
    InTerminal("network make", "[OPTIONS]", "make the directories of all samples"),
    InTerminal("network limits", "[OPTIONS]", "the limits of a run, or new limits"),
    InTerminal("network runs", "[OPTIONS]", "the runs of this network", acts=False),
    InTerminal("network retire", "[--delete]", "directories whose samples are in no source"),
    InTerminal("network restore", "[ID]", "bring back directories that were retired"),
    InTerminal(
        "network run --simulate", "[OPTIONS]", "how long each order of jobs would take", acts=False
    ),
)

COMMANDS: tuple[Command, ...] = tuple(_command(one) for one in IN_TERMINAL)


@dataclass(frozen=True, slots=True)
class LineCommand:
    """One word after `:`.

    `argument` is what may follow, as the user reads it: `[ACTION]` if it may be left out, "" for
    nothing. `values` is the kind of words that complete the argument. `command` is the command of
    the registry whose reason not to be used now also applies to this one; the line carries that
    command out unless `LineVerbs` has a method with the name of this one.
    """

    name: str
    description: str
    argument: str = ""
    values: str = ""
    command: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The name and its argument, `queue [CLUSTER]`."""
        return f"{self.name} {self.argument}".rstrip()

    @property
    def needs_argument(self) -> bool:
        """Whether an argument must follow."""
        return bool(self.argument) and not self.argument.startswith("[")


WORDS = "words"
"""The `values` of a command of the command line, which takes any words."""

FREE = "text"
"""The `values` of a command that takes any text: a new name."""

LINE_COMMANDS: tuple[LineCommand, ...] = (
    LineCommand("status", "go to the actions", command="go.status"),
    LineCommand("action", "choose an action, and stay here", "ACTION", "action"),
    LineCommand("groups", "the groups of this action, or of another", "[ACTION]", "action"),
    LineCommand("explain", "where the jobs of an action go, and why", "[ACTION]", "action"),
    LineCommand("pack", "how the jobs of an action are packed on nodes", "[ACTION]", "action"),
    LineCommand("submit", "submit the chosen rows (asks), or go to the plan"),
    LineCommand("queue", "the jobs, of all clusters or of one", "[CLUSTER]", "cluster"),
    LineCommand("log", "the log of a job", "[JOBID]", "job"),
    LineCommand("network", "go to the network", command="go.network"),
    LineCommand("past", "what ran when", command="go.past"),
    LineCommand(
        "clusters", "the clusters: logins, nodes, partitions, health", command="go.clusters"
    ),
    LineCommand("cluster", "one of the clusters", "CLUSTER", "cluster"),
    LineCommand("connect", "log in to a cluster", "[CLUSTER]", "login", "app.connect", ("login",)),
    LineCommand("refresh", "read the project and the queues again", command="app.refresh"),
    LineCommand("theme", "the next theme, or this one", "[THEME]", "theme"),
    LineCommand("export", "write this list to a file", "[FILE]", "file"),
    LineCommand("save", "store the filter of this list under a name", "NAME", FREE),
    LineCommand("filter", "use a stored filter", "NAME", "filter"),
    LineCommand("unsave", "remove a stored filter", "NAME", "filter"),
    LineCommand("alias", "another name for a line", "NAME COMMAND", FREE),
    LineCommand("unalias", "remove such a name", "NAME", "alias"),
    LineCommand("commands", "the commands that rowtui ran: ssh, squeue, sbatch", aliases=("@",)),
    LineCommand("activity", "events", command="app.activity"),
    LineCommand("keys", "which keys are yours, and where they are set"),
    LineCommand("help", "the keys that work here", command="app.help", aliases=("?", "h")),
    LineCommand("demo", "make something go wrong in the demo", "FAULT", "fault", "app.faster"),
    *(LineCommand(one.words, one.description, one.argument, WORDS, one.id) for one in IN_TERMINAL),
    LineCommand("quit", "leave; jobs go on without rowtui", command="app.quit", aliases=("q",)),
)
