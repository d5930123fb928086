"""The commands after `:` beside the ids and labels of the registry, and the argument of each.

Completion, help and the key reference read this table. `parse` reads a line, and `verbs` carries
out a command.
"""

from __future__ import annotations

from dataclasses import dataclass

from rowtui.tui.commands.everywhere import IN_TERMINAL


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
    LineCommand("files", "the files in the directory of this row", command="app.files"),
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
